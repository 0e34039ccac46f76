"""Whose fault an error in a reader is: the file's, unless it tells of the disk, the memory or the reader's own code."""

import errno
import zlib
from pathlib import Path

import polars as pl
import pytest

from palestra.authoring import Slip
from palestra.errors import PalestraError
from palestra.formats import refusing
from tests.formats.strangers import refusal, says

FILE = Path("folder/answers.zip")


def reads(error: BaseException) -> None:
    with refusing(FILE, "a zip of masks"):
        raise error


@pytest.mark.parametrize(
    "error",
    [IndexError("string index out of range"), KeyError("x"), TypeError("NoneType"), RecursionError("too deep"),
     zlib.error("x"),
     UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), NotImplementedError("zip64"),
     AssertionError("\x1b[2J"),
     OSError("Not a gzipped file"), IsADirectoryError(errno.EISDIR, "Is a directory"),
     OSError(errno.ENAMETOOLONG, "too long"),
     pl.exceptions.ComputeError("no"), pl.exceptions.PanicException("index out of bounds")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_a_reader_stumbles_over_is_the_files_fault_and_its_traceback_stays(error):
    refused = refusal(reads, error)
    says(refused, "answers.zip", "what cannot be read", "a zip of masks")
    assert refused.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "Input/output error"),
     PermissionError(errno.EACCES, "x"),
     FileNotFoundError(errno.ENOENT, "gone"), MemoryError(), NameError("rows"), ModuleNotFoundError("nopackage"),
     Slip("files.read returned None, expected a polars DataFrame"), KeyboardInterrupt(), SystemExit(3)],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_what_fails_in_the_machine_or_the_readers_own_code_is_not(error):
    with pytest.raises(type(error)) as caught:
        reads(error)
    assert caught.value is error


def test_a_panic_that_a_tracks_guard_has_noted_is_still_the_files_fault():
    def guarded():
        try:
            raise pl.exceptions.PanicException("index out of bounds")
        except BaseException as error:
            raise Slip("track.py:12: files.read fails") from error

    def read():
        with refusing(FILE, "a table"):
            guarded()

    says(refusal(read), "answers.zip", "PanicException: index out of bounds", "a table")


def test_what_is_said_in_words_already_stays_as_it_is():
    error = PalestraError("a table without a column `x`")
    with pytest.raises(PalestraError) as caught:
        reads(error)
    assert caught.value is error
