"""Machines of a final, compared."""

import platform
from importlib import metadata
from pathlib import Path

import msgspec

from palestra.executors import machine
from palestra.executors.machine import Machine, differences, fingerprint

ONE = Machine("hall-1", "Xeon", 8, 64, ("H200",), "6.1", "3.11.2", {"numpy": "2.0"})


def like(name, **other):
    return msgspec.structs.replace(ONE, name=name, **other)


def test_this_machine_is_as_the_system_says():
    found = fingerprint()
    assert found.cores == Path("/proc/cpuinfo").read_text().count("processor\t")
    assert found.kernel == platform.release()
    assert found.libraries["numpy"] == metadata.version("numpy")
    total_kib = int(Path("/proc/meminfo").read_text().split()[1])
    assert abs(found.memory_gib - total_kib / (1 << 20)) <= 1
    assert msgspec.json.decode(msgspec.json.encode(found), type=Machine) == found


def test_graphics_cards_and_their_driver_are_read_where_the_kernel_has_them(tmp_path, monkeypatch):
    for number in range(2):
        (tmp_path / "gpus" / str(number)).mkdir(parents=True)
        (tmp_path / "gpus" / str(number) / "information").write_text("Model: \t NVIDIA H200\nIRQ: 5\n")
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX  550.54\nGCC version: 12\n")
    monkeypatch.setattr(machine, "GPUS", tmp_path)
    found = fingerprint()
    assert found.gpus == ("NVIDIA H200", "NVIDIA H200")
    assert found.libraries["nvidia"] == "NVIDIA UNIX  550.54"


def test_machines_that_are_alike_have_nothing_to_tell():
    assert differences([ONE]) == []
    assert differences([ONE, like("hall-2"), like("hall-3")]) == []


def test_what_is_not_alike_is_told_in_words_with_the_machines():
    other = like("hall-3", cores=4, gpus=(), libraries={"numpy": "2.0", "torch": "2.4"})
    assert [told.en for told in differences([ONE, like("hall-2"), other])] == [
        "cores: 8 on hall-1, hall-2; 4 on hall-3",
        "graphics cards: H200 on hall-1, hall-2; none on hall-3",
        "torch: not installed on hall-1, hall-2; 2.4 on hall-3",
    ]
