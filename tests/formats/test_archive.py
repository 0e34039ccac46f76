import gzip
import io
import os
import socket
import stat
import struct
import tarfile
import threading
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palestra.formats.archive import Members, open_members
from tests.formats.strangers import refusal, result_or_refusal, run_bounded, says

FILES = {"S_0/1.npy": b"one" * 100, "S_0/2.npy": b"", "S_1/1.npy": bytes(range(256))}
quick = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def write_folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def write_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("S_0") if "S_0/1.npy" in files else None
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def write_tar(path: Path, files: dict[str, bytes], mode: Any = "w", kind: int = tarfile.PAX_FORMAT) -> Path:
    with tarfile.open(path, mode, format=kind) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


WRITERS: dict[str, Callable[[Path, dict[str, bytes]], Path]] = {
    "folder": write_folder,
    "zip": write_zip,
    "tar": write_tar,
    "ustar": lambda path, files: write_tar(path, files, "w", tarfile.USTAR_FORMAT),
    "gnu": lambda path, files: write_tar(path, files, "w", tarfile.GNU_FORMAT),
    "tar.gz": lambda path, files: write_tar(path, files, "w:gz"),
}
every_kind = pytest.mark.parametrize("kind", WRITERS)


def opened(path: Path, members: int = 10, member_bytes: int = 1000, total_bytes: int = 2000, **more: Any) -> Members:
    return open_members(path, members, member_bytes, total_bytes, **more)


def contents(path: Path, **more: Any) -> dict[str, bytes]:
    with opened(path, **more) as members:
        return {name: members.read(name) for name in members}


@every_kind
def test_members_come_back_by_name(tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path / f"team.{kind}", FILES)
    assert contents(path) == FILES
    with opened(path) as members:
        assert len(members) == 3
        assert "S_0/1.npy" in members and "S_0" not in members
        assert members.size("S_0/1.npy") == 300
        for name in reversed(list(members)):
            assert members.read(name) == FILES[name]
        says(refusal(members.read, "S_9/1.npy"), "team", "no member 'S_9/1.npy'", "the name of a member")


@every_kind
def test_the_only_folder_at_the_top_is_left_out_unless_its_names_are_expected(tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path / "a", {f"my team/{name}": data for name, data in FILES.items()})
    assert contents(path) == FILES
    assert set(contents(path, strip_top=False)) == {f"my team/{name}" for name in FILES}
    path = WRITERS[kind](tmp_path / "b", {"S_0/1.npy": b"1", "S_0/2.npy": b"2"})
    assert set(contents(path)) == {"1.npy", "2.npy"}
    assert set(contents(path, expected=["S_0/2.npy"])) == {"S_0/1.npy", "S_0/2.npy"}
    path = WRITERS[kind](tmp_path / "c", {"a/1.npy": b"1", "2.npy": b"2"})
    assert set(contents(path)) == {"a/1.npy", "2.npy"}


@every_kind
def test_what_macos_adds_is_passed_over(tmp_path: Path, kind: str) -> None:
    junk = {"__MACOSX/S_0/._1.npy": b"x" * 1500, ".DS_Store": b"x", "S_0/.DS_Store": b"x", "S_0/._1.npy": b"x"}
    assert contents(WRITERS[kind](tmp_path / "a", FILES | junk)) == FILES


@every_kind
def test_long_and_foreign_names_are_read(tmp_path: Path, kind: str) -> None:
    files = {"x" * 120 + "/" + "y" * 90 + ".npy": b"long", "été/漢字.npy": b"foreign"}
    assert contents(WRITERS[kind](tmp_path / "a", files)) == files


@every_kind
def test_limits_are_kept(tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path / "a", FILES)
    says(refusal(opened, path, members=2), "a", "3 members", "at most 2")
    says(refusal(opened, path, member_bytes=299), "a: S_0/1.npy", "300 bytes", "at most 299 bytes")
    says(refusal(opened, path, total_bytes=555), "a", "556 bytes in all", "at most 555 bytes")
    assert contents(path, members=3, member_bytes=300, total_bytes=556) == FILES


@every_kind
def test_far_too_many_entries_are_not_all_listed(tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path / "a", {f"{number}": b"" for number in range(1100)})
    says(refusal(opened, path, members=3), "a", "more than 1,00", "")


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz", "gnu"])
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("/etc/passwd", "an absolute name"),
        ("../x", "'..' in the name"),
        ("a/../../x", "'..' in the name"),
        ("C:/x", "an absolute name"),
        ("a\\..\\x", "a backslash"),
        ("a\x1b[2J", "unprintable"),
        ("x/" * 17 + "x", "35 characters and 18 folders"),
        ("x" * 600, "600 characters"),
    ],
)
def test_dangerous_names_are_refused(tmp_path: Path, kind: str, name: str, found: str) -> None:
    path = WRITERS[kind](tmp_path / "a", {"S_0/1.npy": b"1", name: b"2"})
    says(refusal(opened, path), "a: ", found, "a relative name like S_0/1.npy")


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
def test_double_names_are_refused(tmp_path: Path, kind: str) -> None:
    path = WRITERS[kind](tmp_path / "a", {"S_0/1.npy": b"1", "./S_0//1.npy": b"2"})
    says(refusal(opened, path), "S_0//1.npy", "a second member of this name", "each name once")


def test_links_and_devices_in_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_folder(tmp_path / "a", FILES)
    monkeypatch.chdir(path)
    (path / "S_0/3.npy").symlink_to("/etc/passwd")
    (path / "S_2").symlink_to(path / "S_0")
    os.mkfifo(path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    refused = refusal(opened, path)
    for where, found in [("S_0/3.npy", "a link"), ("S_2", "a link"), ("pipe", "a pipe"), ("socket", "a socket")]:
        says(refused, f"a: {where}", found, "a file")
    assert refused.count == 4


def test_a_link_put_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    path = write_folder(tmp_path / "a", FILES)
    members = opened(path)
    (path / "S_0/1.npy").unlink()
    (path / "S_0/1.npy").symlink_to(path / "S_1/1.npy")
    says(refusal(members.read, "S_0/1.npy"), "1.npy", "cannot be opened", "")


def test_deep_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a" / Path(*["x"] * 40)).mkdir(parents=True)
    says(refusal(opened, tmp_path / "a"), "a", "more than 16 deep", "")


def test_an_unreadable_name_in_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with open(os.fsencode(tmp_path / "a") + b"/\xff", "wb"):  # noqa: PTH123
        pass
    says(refusal(opened, tmp_path / "a"), "a: ", "not in UTF-8", "a relative name")


@pytest.mark.parametrize(
    ("kind", "found"),
    [(tarfile.SYMTYPE, "a link"), (tarfile.LNKTYPE, "a link"), (tarfile.CHRTYPE, "a device"),
     (tarfile.BLKTYPE, "a device"), (tarfile.FIFOTYPE, "a pipe"), (b"V", "an entry of the type b'V'"),
     (tarfile.GNUTYPE_SPARSE, "a sparse file")],
)  # fmt: skip
def test_links_and_devices_in_tars_are_refused(tmp_path: Path, kind: bytes, found: str) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("x")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
        archive.addfile(tarfile.TarInfo("y"))
    refused = refusal(opened, tmp_path / "a.tar")
    says(refused, "a.tar: x", found, "a file")
    assert refused.count == 1


def test_links_devices_and_odd_packing_in_zips_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, mode in [("link", stat.S_IFLNK), ("device", stat.S_IFCHR)]:
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
        archive.writestr("lzma", b"x" * 50, zipfile.ZIP_LZMA)
    refused = refusal(opened, tmp_path / "a.zip")
    for where, found in [("link", "a link"), ("device", "a device"), ("lzma", "a file packed by method 14")]:
        says(refused, f"a.zip: {where}", found, "a file")


def test_encrypted_members_are_refused(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"x": b"1"})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    says(refusal(opened, path), "a.zip: x", "an encrypted file", "a file")


def test_a_zip_that_lies_about_a_size_gives_no_more_than_it_says(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "a.zip", {"x": bytes(10_000_000)})
    data = bytearray(path.read_bytes())
    struct.pack_into("<I", data, data.index(b"PK\1\2") + 24, 900)
    path.write_bytes(data)
    members = opened(path)
    tracemalloc.start()
    says(refusal(members.read, "x"), "a.zip: x", 'cannot be unpacked ("Bad CRC', "a whole zip")
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_a_zip_with_a_huge_directory_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = write_zip(
        tmp_path / "a.zip", {"x" * 50000: b"", "y" * 60000: b"", **{str(n) * 400: b"" for n in range(900)}}
    )
    says(refusal(opened, path), "a.zip", "a directory of 1", "at most 326.7 kB")


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    head = tarfile.TarInfo("x")
    head.size = 4_000_000_000
    with gzip.open(tmp_path / "a.tar.gz", "wb", compresslevel=1) as out:
        out.write(head.tobuf())
        for _ in range(64):
            out.write(bytes(1_000_000))
    says(refusal(opened, tmp_path / "a.tar.gz"), "a.tar.gz", "bytes unpacked", "at most")


@pytest.mark.parametrize(("kind", "most"), [(b"x", "16,384"), (b"L", "4,096"), (b"g", "16,384"), (b"K", "4,096")])
def test_huge_tar_headers_are_refused_before_they_are_read(tmp_path: Path, kind: bytes, most: str) -> None:
    head = tarfile.TarInfo("x")
    head.type, head.size = kind, 1_000_000_000
    (tmp_path / "a.tar").write_bytes(head.tobuf() + bytes(1024))
    says(refusal(opened, tmp_path / "a.tar"), "a.tar: byte 513", "a header of 1,000,000,000 bytes", most)
    head.size = 0
    (tmp_path / "a.tar").write_bytes(head.tobuf() * 2000)
    says(refusal(opened, tmp_path / "a.tar"), "a.tar: byte", "the 9. in a row", "8 in a row")


@pytest.mark.parametrize("facts", [b"x" * 20, b"0 path=a\n", b"99 path=a\n", b"9 path=a\n" * 2 + b"9", b"11 size=-5\n",
                                   b"12 size=1e9\n", b"9" * 5000])  # fmt: skip
def test_broken_tar_facts_are_refused(tmp_path: Path, facts: bytes) -> None:
    head = tarfile.TarInfo("x")
    head.type, head.size = b"x", len(facts)
    body = facts + bytes(-len(facts) % 512) + tarfile.TarInfo("y").tobuf(tarfile.USTAR_FORMAT) + bytes(1024)
    (tmp_path / "a.tar").write_bytes(head.tobuf(tarfile.USTAR_FORMAT) + body)
    says(refusal(opened, tmp_path / "a.tar"), "a.tar", "cannot be unpacked", "a whole .tar")


def test_negative_tar_sizes_are_refused(tmp_path: Path) -> None:
    head = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    head[124:136] = b"\xff" * 12
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    (tmp_path / "a.tar").write_bytes(head + bytes(1024))
    refusal(opened, tmp_path / "a.tar")


@pytest.mark.parametrize("kind", ["zip", "tar", "tar.gz"])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.9])
def test_archives_cut_short_are_refused(tmp_path: Path, kind: str, part: float) -> None:
    path = WRITERS[kind](tmp_path / f"a.{kind}", {f"S_0/{number}.npy": os.urandom(700) for number in range(5)})
    data = path.read_bytes().rstrip(b"\0")
    path.write_bytes(data[: int(len(data) * part)])
    refusal(contents, path, total_bytes=10_000)


@pytest.mark.parametrize(
    ("data", "found"),
    [(b"", "an empty file"), (b"hello", "a file of 5 bytes"), (b"x" * 600, "cannot be unpacked"), (b"0" * 600, "tar"),
     (b"\x1f\x8bxxxxx" * 90, "cannot be unpacked"), (b"PK\3\4" * 100, "a zip that cannot be read")],
)  # fmt: skip
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes, found: str) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    says(refusal(opened, tmp_path / "a.zip"), "a.zip", found, "")


def test_a_missing_archive_and_one_that_is_too_large_are_refused(tmp_path: Path) -> None:
    says(refusal(opened, tmp_path / "a.zip"), "a.zip", "nothing there", "")
    with (tmp_path / "a.zip").open("wb") as out:
        out.truncate(2_000_000_000)
    says(refusal(opened, tmp_path / "a.zip"), "a.zip", "2.0 GB", "at most")


def test_empty_archives_have_no_members(tmp_path: Path) -> None:
    for kind in ("zip", "tar", "tar.gz"):
        assert contents(WRITERS[kind](tmp_path / kind, {})) == {}
    (tmp_path / "folder").mkdir()
    assert contents(tmp_path / "folder") == {}


@every_kind
def test_threads_may_share_the_members(tmp_path: Path, kind: str) -> None:
    files = {f"S_{number}/1.npy": os.urandom(5000) for number in range(20)}
    wrong: list[str] = []
    with opened(WRITERS[kind](tmp_path / "a", files), 20, 5000, 100_000) as members:

        def read_all() -> None:
            wrong.extend(name for name in members if members.read(name) != files[name])

        threads = [threading.Thread(target=read_all) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_zip_of_countless_tiny_entries_takes_bounded_memory(tmp_path: Path) -> None:
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    count = 1_000_000
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 65535, 65535, count * len(entry), 4, 0)
    (tmp_path / "a.zip").write_bytes(b"PK\3\4" + entry * count + end)
    run_bounded(
        f"""
        from palestra.errors import Refused
        from palestra.formats.archive import open_members
        try:
            open_members({str(tmp_path / "a.zip")!r}, 30_000, 1_000_000, 1_000_000_000)
        except Refused:
            pass
        else:
            raise AssertionError
        """,
        megabytes=400,
    )


@quick
@given(st.sampled_from([b"", b"PK\3\4", b"PK\5\6", b"\x1f\x8b\x08\0"]), st.binary(max_size=600))
def test_arbitrary_bytes_are_read_or_refused(tmp_path: Path, start: bytes, data: bytes) -> None:
    (tmp_path / "a").write_bytes(start + data)
    result_or_refusal(contents, tmp_path / "a")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    path = tmp_path_factory.mktemp("samples")
    return [WRITERS[kind](path / kind, FILES).read_bytes() for kind in ("zip", "tar", "gnu", "tar.gz")]


@quick
@given(st.data())
def test_mutated_archives_are_read_or_refused(tmp_path: Path, samples: list[bytes], data: st.DataObject) -> None:
    mutated = bytearray(data.draw(st.sampled_from(samples)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        mutated[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    (tmp_path / "a").write_bytes(mutated)
    found = result_or_refusal(contents, tmp_path / "a")
    assert found is None or all(len(content) <= 1000 for content in found.values())


names = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P"], exclude_characters="\\/:"), min_size=1, max_size=9
)


@quick
@given(st.dictionaries(names.filter(lambda name: not name.startswith(".")), st.binary(max_size=99), max_size=6))
def test_generated_archives_come_back(tmp_path: Path, files: dict[str, bytes]) -> None:
    files = {f"{number % 2}/{name}": content for number, (name, content) in enumerate(files.items())}
    for kind in ("zip", "tar", "ustar", "gnu", "tar.gz"):
        assert contents(WRITERS[kind](tmp_path / "a", files), strip_top=False) == files
