"""Freezes all processes of a program, wherever they fled to, by the control group that they are in."""

import contextlib
import os
from collections.abc import Mapping

# The file of each version of control groups, and what is written to it. Version 2 takes a tenth of the time.
WAYS = {"cgroup.freeze": (b"1", b"0"), "freezer.state": (b"FROZEN", b"THAWED")}


class Freezer:
    """Holds one program, and lets it go on. Where there is no such group it does nothing."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.frozen, self._file = False, -1
        for name, words in WAYS.items():
            if self._file < 0 and name in files:
                with contextlib.suppress(OSError):  # it is over already
                    self._file = os.open(files[name], os.O_WRONLY)
                    self._freeze, self._thaw = words

    @property
    def works(self) -> bool:
        return self._file >= 0

    def freeze(self) -> None:
        if self.works and not self.frozen:
            self.frozen = True
            self._write(self._freeze)

    def thaw(self) -> None:
        if self.frozen:
            self.frozen = False
            self._write(self._thaw)

    def _write(self, word: bytes) -> None:
        with contextlib.suppress(OSError):  # its group is gone, and the program with it
            os.pwrite(self._file, word, 0)

    def close(self) -> None:
        self.frozen = False
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
