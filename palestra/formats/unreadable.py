"""Whatever a reader stumbles over in a stranger's file is that file's fault, and not of the machine that reads it."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from palestra.authoring import Slip
from palestra.errors import Fault, PalestraError, Refused, brief
from palestra.formats.plain_files import shown_name
from palestra.text import Text, say

# What the system says of a name or an offset that a file asks for; `None` is of libraries that raise an OSError of
# their own. All others tell of disks, rights and limits, which are ours.
OF_THE_FILE = (
    None, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP, errno.EILSEQ,
    errno.EOVERFLOW, errno.ENOTEMPTY, errno.EFBIG,
)  # fmt: skip
OURS = (MemoryError, NameError, ImportError, Slip, FileNotFoundError, PermissionError, ConnectionError, TimeoutError)


@contextmanager
def refusing(path: str | Path, expected: Text) -> Iterator[None]:
    """Refuses the file in words for any error of its reader. What it was is the refusal's cause, for the organiser."""
    try:
        yield
    except PalestraError:
        raise
    except BaseException as error:
        if _is_ours(error):
            raise
        found = say("what cannot be read ({brief})", brief=brief(_root(error)))
        raise Refused([Fault.of(shown_name(path), found, expected)], 1) from error


def _is_ours(error: BaseException) -> bool:
    """No fault of what is read: the disk, the memory, a name that the reader's code lacks, the end of us."""
    error = _root(error)
    if isinstance(error, OURS):
        return True
    if isinstance(error, OSError):
        return error.errno not in OF_THE_FILE
    return (
        not isinstance(error, Exception) and type(error).__name__ != "PanicException"
    )  # of polars, which is no Exception


def _root(error: BaseException) -> BaseException:
    """A panic that a track's guard has noted is still a panic."""
    return error.__cause__ if isinstance(error, Slip) and error.__cause__ is not None else error
