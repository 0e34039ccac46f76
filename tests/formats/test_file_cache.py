"""A file is read again when it is another, and not before."""

import os
from pathlib import Path

import pytest

from palestra.errors import Refused, refuse
from palestra.formats import file_cache, read_once
from palestra.formats.plain_files import read_bytes


@pytest.fixture
def read():
    """A reader, and the files that it opened."""
    opened = []

    @read_once(most=2)
    def reader(file: Path) -> str:
        opened.append(file.name)
        return read_bytes(file, 100).decode()

    return reader, opened


def write(file: Path, text: str) -> Path:
    """A file that has been there for some time."""
    file.write_text(text)
    os.utime(file, ns=(1, 1))
    return file


@pytest.fixture(autouse=True)
def _settled(monkeypatch):
    """Files count as old as soon as they are written; when they were changed cannot be set back."""
    monkeypatch.setattr(file_cache, "FRESH_NS", 0)


def test_a_file_is_opened_once_however_often_it_is_asked_for(tmp_path, read):
    reader, opened = read
    file = write(tmp_path / "a", "one")
    assert [reader(file), reader(file), reader(Path(str(file)))] == ["one"] * 3
    assert opened == ["a"]


@pytest.mark.parametrize("text", ["longer", "two"])
def test_a_file_that_was_written_again_is_read_again(tmp_path, read, text):
    reader, _ = read
    file = write(tmp_path / "a", "one")
    assert reader(file) == "one"
    file.write_text(text)
    assert reader(file) == text


def test_another_file_in_its_place_is_read_again(tmp_path, read):
    reader, _ = read
    file = write(tmp_path / "a", "one")
    assert reader(file) == "one"
    write(tmp_path / "b", "two").replace(file)
    assert reader(file) == "two"


def test_no_more_files_are_kept_than_was_said(tmp_path, read):
    reader, opened = read
    files = [write(tmp_path / name, name) for name in "abc"]
    for file in [*files, files[0]]:
        reader(file)
    assert opened == ["a", "b", "c", "a"]


def test_what_was_just_written_is_not_kept(tmp_path, read, monkeypatch):
    monkeypatch.setattr(file_cache, "FRESH_NS", 3600 * 10**9)
    reader, opened = read
    file = tmp_path / "a"
    file.write_text("one")
    assert reader(file) == reader(file) == "one"
    assert opened == ["a", "a"]


def test_what_cannot_be_read_is_refused_each_time(tmp_path, read):
    reader, _ = read
    for _ in range(2):
        with pytest.raises(Refused, match="nothing there"):
            reader(tmp_path / "a")
    assert reader(write(tmp_path / "a", "there now")) == "there now"


def test_a_refusal_is_not_kept(tmp_path):
    answers = ["bad", "good"]

    @read_once(most=2)
    def reader(file: Path) -> str:
        if (answer := answers.pop(0)) == "bad":
            refuse(file.name, answer, "good")
        return answer

    file = write(tmp_path / "a", "one")
    with pytest.raises(Refused):
        reader(file)
    assert reader(file) == "good"
