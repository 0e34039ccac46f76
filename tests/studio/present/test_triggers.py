"""Triggers go out when an onset is reported, through a real pseudo-terminal and the real LSL, and are logged."""

import os
import pty
import subprocess
import sys
import time
import tty
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from palestra.errors import PalestraError
from palestra.studio.present.plans.geometry import Screen
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.plans.stimuli import Emotion, Stimuli
from palestra.studio.present.reports import Report
from palestra.studio.present.triggers import LATE_S, SerialPort, Triggers
from tests import ROOT

PLAN = plan_of(Stimuli(Screen(531, 299, 600), (Emotion(),)))


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """Both ends of a pseudo-terminal: a number to read from, and the device that a port opens."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    yield ours, os.ttyname(theirs)
    for number in (ours, theirs):
        os.close(number)


class Log:
    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def write(self, kind: str, **values: Any) -> None:
        self.records.append({"kind": kind, **values})


def taken(number: int, count: int) -> list[int]:
    """What came through the terminal: at least so many bytes, and whatever comes with them."""
    got = b""
    while len(got) < count:
        got += os.read(number, 1000)
    return list(got)


def onset(event: int) -> Report:
    return Report("page-of-a-test", event, "onset", 0.0, event)


def test_each_trigger_is_one_byte_on_the_serial_port_in_the_order_of_the_plan(terminal):
    ours, device = terminal
    log = Log()
    with closing(SerialPort(device)) as port:
        triggers = Triggers(PLAN, [port], log.write)
        for event in PLAN.events[:30]:
            triggers.send(onset(event.number), time.monotonic())
    codes = [event.trigger for event in PLAN.events[:30] if event.trigger]
    assert taken(ours, len(codes)) == codes and codes[:2] == [250, 242]
    assert [record["code"] for record in log.records] == codes
    assert {record["serial"] for record in log.records} == {"sent"}
    assert all(record["sent_s"] >= record["onset_s"] for record in log.records)


def test_a_trigger_that_would_come_too_late_is_not_sent_and_the_log_says_so(terminal):
    ours, device = terminal
    log = Log()
    with closing(SerialPort(device)) as port:
        triggers = Triggers(PLAN, [port], log.write)
        triggers.send(onset(0), time.monotonic() - 2 * LATE_S)
        triggers.send(onset(1), time.monotonic())
    assert taken(ours, 1) == [242]
    assert "too late" in log.records[0]["serial"] and triggers.unsent == 1


class Broken:
    name = "serial"

    def send(self, code: int, onset_s: float) -> None:
        raise OSError(5, "Input/output error")

    def close(self) -> None: ...


def test_a_port_that_breaks_does_not_end_the_run():
    log = Log()
    triggers = Triggers(PLAN, [Broken()], log.write)
    triggers.send(onset(0), time.monotonic())
    assert "Input/output error" in log.records[0]["serial"]
    assert triggers.unsent == 1 and "Input/output" in triggers.why


def test_a_port_that_is_not_there_is_told():
    with pytest.raises(PalestraError, match="/dev/none cannot be opened"):
        SerialPort("/dev/none")


# liblsl reads its settings once in a process and keeps threads: the scene is played in a process of its own.
SCENE = """
import time, pylsl
from palestra.studio.present.triggers import LslMarkers
way = LslMarkers({name!r})
inlet = pylsl.StreamInlet(pylsl.resolve_byprop("name", {name!r}, timeout=60)[0])
inlet.open_stream(60)
onset_s = time.monotonic() - 0.02
lsl_s = pylsl.local_clock() - 0.02
for code in (250, 242, 3):
    way.send(code, onset_s)
got = [inlet.pull_sample(timeout=60) for _ in range(3)]
close = max(abs(stamp - lsl_s) for _, stamp in got) < 0.01
print([sample[0] for sample, _ in got], close, inlet.info().channel_format())
"""


def test_lsl_markers_have_the_time_of_the_onset_and_not_of_the_sending(tmp_path):
    settings = tmp_path / "lsl.cfg"
    settings.write_text(
        "[ports]\nIPv6 = disable\n[multicast]\nResolveScope = machine\n"
        f"[lab]\nKnownPeers = {{127.0.0.1}}\nSessionID = {uuid.uuid4().hex}\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", SCENE.format(name=f"markers-{uuid.uuid4().hex}")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "LSLAPICFG": str(settings)},
    )
    assert ran.stdout.strip() == "[250, 242, 3] True 4", ran.stderr  # 4: int32
