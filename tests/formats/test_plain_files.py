import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from palestra.errors import SHOWN, Refused
from palestra.formats.plain_files import (
    FileFaults,
    decode_text,
    folder,
    is_folder,
    read_bytes,
    regular_file,
    shown_name,
    write_bytes,
)
from palestra.text import human_bytes
from tests.formats.strangers import refusal, says


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_bytes(b"hello")
    return path


def test_a_plain_file_is_taken(file: Path) -> None:
    assert regular_file(file, 5) == file
    assert read_bytes(str(file), 5) == b"hello"
    assert read_bytes(file, 500) == b"hello"


def test_a_link_to_a_plain_file_is_taken_unless_asked_otherwise(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(file)
    assert read_bytes(link, 10) == b"hello"
    says(refusal(read_bytes, link, 10, follow=False), "link.csv", "cannot be opened", "can be read")


@pytest.mark.parametrize("read", [regular_file, read_bytes])
def test_what_is_no_plain_file_is_refused_without_waiting(
    read: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may have 107 letters
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    for name, found in [("pipe", "a pipe"), ("socket", "a socket"), (".", "a folder")]:
        says(refusal(read, tmp_path / name, 10), (tmp_path / name).name, found, "a file")
    says(refusal(read, "/dev/zero", 10), "zero", "a device", "a file")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    says(refusal(regular_file, tmp_path / "b.csv", 5), "b.csv", "nothing there", "b.csv")
    says(refusal(folder, tmp_path / "b"), "b", "nothing there", "folder")
    says(refusal(is_folder, tmp_path / "b"), "b", "nothing there", "folder")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "\udc80"])
def test_an_impossible_path_is_refused(path: str) -> None:
    refusal(regular_file, path, 5)


def test_a_file_under_a_file_is_refused(file: Path) -> None:
    says(refusal(regular_file, file / "x", 5), "x", "cannot be looked at", "file")


def test_both_sizes_are_in_the_message(tmp_path: Path) -> None:
    big = tmp_path / "big.csv"
    with big.open("wb") as out:
        out.truncate(2_000_000_000)
    says(refusal(read_bytes, big, 1_500_000), "big.csv", "2.0 GB", "at most 1.5 MB")


def test_an_empty_file_is_refused_unless_it_may_be_empty(tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.touch()
    says(refusal(regular_file, empty, 5), "empty.csv", "an empty file", "something in it")
    assert regular_file(empty, 5, may_be_empty=True) == empty
    assert read_bytes(empty, 5, may_be_empty=True) == b""


def test_a_file_where_a_folder_belongs_is_refused(file: Path) -> None:
    says(refusal(folder, file), "a.csv", "a file", "a folder")
    assert folder(file.parent) == file.parent
    assert is_folder(file.parent) and not is_folder(file)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(file: Path) -> None:
    file.chmod(0)
    says(refusal(read_bytes, file, 10), "a.csv", "cannot be opened", "can be read")


@pytest.mark.parametrize(
    ("n", "shown"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (1_500_000, "1.5 MB"),
     (999_999, "1.0 MB"), (38_503_936, "38.5 MB"), (2**31, "2.1 GB"), (5 * 10**15, "5000.0 TB")],
)  # fmt: skip
def test_sizes_read_as_people_write_them(n: int, shown: str) -> None:
    assert human_bytes(n) == shown


def test_names_that_do_not_print_are_escaped() -> None:
    assert shown_name("/a/team.csv") == "team.csv"
    assert shown_name("/a/te\x1bam\udc80.csv").encode() == rb"'te\x1bam\udc80.csv'"
    assert len(shown_name("x" * 4000)) <= 120


def test_writing_replaces_the_whole_file_and_leaves_nothing_else(file: Path) -> None:
    write_bytes(file, b"new")
    assert file.read_bytes() == b"new"
    assert [path.name for path in file.parent.iterdir()] == ["a.csv"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(file: Path) -> None:
    with pytest.raises(TypeError):
        write_bytes(file, "text")  # type: ignore[arg-type]
    assert file.read_bytes() == b"hello"
    assert [path.name for path in file.parent.iterdir()] == ["a.csv"]


def test_gaps_do_not_hide_what_refuses_the_file() -> None:
    faults = FileFaults("a.csv")
    for line in range(30):
        faults.gap(faults.at(f"line {line}"), "nothing", "a number")
    faults.add(faults.at("line 99"), "x", "a number")
    assert faults
    with pytest.raises(Refused) as caught:
        faults.finish(usable=1)
    assert caught.value.faults[0].where == "a.csv: line 99"
    assert (caught.value.count, len(caught.value.faults), caught.value.usable) == (31, SHOWN, None)


def test_with_gaps_alone_the_rest_is_usable() -> None:
    faults = FileFaults("a.csv")
    faults.gap("a", "b", "c", count=3)
    with pytest.raises(Refused) as caught:
        faults.finish(usable=1)
    assert (caught.value.count, caught.value.usable) == (3, 1)
    FileFaults("a.csv").finish()


@pytest.mark.parametrize(
    ("data", "where", "found"),
    [
        ("a,b\n".encode("utf-16"), "a.csv", "UTF-16 (by its byte order mark)"),
        ("a,b\n1,2\n".encode("utf-16-le"), "line 1, byte 2", "UTF-16"),
        (b"ab\ncd\0ef\n" * 9, "line 2, byte 3", "a NUL byte"),
        (b"ab\ncd\nf\xfcr\n", "line 3, byte 2", "0xfc, which is not UTF-8 (Latin-1"),
        (b"\xef\xbb\xbfab\nf\xfcr\n", "line 2, byte 2", "0xfc"),
        (b"\xef\xbb\xbf\xfc", "line 1, byte 4", "0xfc"),
        (b"ab\xe2\x82", "line 1, byte 3", "0xe2"),
    ],
)
def test_other_encodings_are_named_with_their_place(data: bytes, where: str, found: str) -> None:
    says(refusal(decode_text, data, "a.csv"), where, found, "UTF-8")


def test_utf_8_is_decoded_with_and_without_a_mark() -> None:
    assert decode_text("é\n".encode(), "a") == decode_text("é\n".encode("utf-8-sig"), "a") == "é\n"
