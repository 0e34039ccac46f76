"""Every error a person may see: what was found, what was expected, what to do."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import msgspec

SHOWN = 20  # faults that are shown one by one; the rest are counted
LONGEST_NOTE = 200  # letters of what a program says itself
LONGEST_NAME = 60  # letters of a name that are compared and shown


class PalestraError(Exception):
    """Something a person can mend. The message is shown as it is, without a traceback."""


class Told(PalestraError):
    """An error in the languages that pages are shown in. Terminals and logs have the English."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.zh = zh

    def in_language(self, language: str) -> str:
        return self.zh if language == "zh" else str(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Told, (str(self), self.zh)  # so that it can come back from a worker process


class Missing(Told):
    """What was asked for is not there, or not for whoever asks."""


class SignedOut(Told):
    """Only for those who have signed in."""


class Forbidden(Told):
    """Not for whoever asks, whoever they are."""


class TooOften(Told):
    """Not now: it was tried too often."""


class UnknownName(PalestraError):
    """A name that nothing here has."""

    def __init__(self, kind: str, name: str, known: Iterable[str], unusable: Iterable[str] = ()) -> None:
        names, asked = sorted(map(_cut, known)), _cut(name)
        near = difflib.get_close_matches(asked, names, n=1, cutoff=0.4)
        known_ones = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {known_ones or 'none'}."
        others = "".join(f"\nCould not be loaded: {why}" for why in unusable)  # it may be one of these
        super().__init__(f"There is no {kind} {asked!r}. {hint}{others}")

    def __reduce__(self) -> tuple[Any, ...]:
        return PalestraError, (str(self),)  # so that it can come back from a worker process


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong with a submission or a data set."""

    where: str  # file, and the line, row or key in it
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}, expected {self.expected}"


class Refused(PalestraError):
    """Input that cannot be taken as it is."""

    def __init__(self, faults: list[Fault], count: int, usable: Any = None) -> None:
        self.faults = faults  # the first SHOWN of them
        self.count = count  # all of them
        self.usable = usable  # the answers that remain when every fault is a gap; else None
        lines = [str(fault) for fault in faults]
        if count > len(faults):
            lines.append(f"… and {count - len(faults)} more")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        return Refused, (self.faults, self.count, self.usable)  # so that it can come back from a worker process

    def keeping(self, change: Callable[[Any], Any]) -> "Refused":
        """The same refusal, its usable answers brought into another shape."""
        return Refused(self.faults, self.count, None if self.usable is None else change(self.usable))


class Faults:
    """Collects what is wrong with one input, so that a person hears of all of it at once.

    A gap is a fault that concerns one answer alone (it is missing, NaN, a zero vector): under `--allow-missing` it is
    charged as the rules say instead of refusing the file. Everything else added refuses the file.
    """

    def __init__(self) -> None:
        self.shown: list[Fault] = []
        self.count = 0
        self.only_gaps = True

    def add(self, where: str, found: str, expected: str, count: int = 1) -> None:
        """Note a fault that refuses the input; `count` is how many alike it stands for."""
        self.only_gaps = False
        self._note(where, found, expected, count)

    def gap(self, where: str, found: str, expected: str, count: int = 1) -> None:
        """Note an answer that cannot be used."""
        self._note(where, found, expected, count)

    def absorb(self, refusal: Refused) -> None:
        """Take over what a part of the input was refused for."""
        self.only_gaps = self.only_gaps and refusal.usable is not None
        self.count += refusal.count
        self.shown += refusal.faults[: max(SHOWN - len(self.shown), 0)]

    def _note(self, where: str, found: str, expected: str, count: int) -> None:
        self.count += count
        if len(self.shown) < SHOWN:
            self.shown.append(Fault(where, found, expected))

    def __bool__(self) -> bool:
        return self.count > 0

    def finish(self, usable: Any = None) -> None:
        """Raise `Refused` if anything was noted; `usable` is what remains if only gaps were."""
        if self.count:
            raise Refused(self.shown, self.count, usable if self.only_gaps else None)


def refuse(where: str, found: str, expected: str) -> NoReturn:
    """Refuse at once, for a fault that leaves nothing else to look at."""
    raise Refused([Fault(where, found, expected)], 1)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def clip(text: object, limit: int = 60) -> str:
    """Quote something a stranger wrote, cut to a length that fits in a message."""
    shown = repr(text)
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def clean(text: str) -> str:
    """What a stranger wrote, in one printable line that is not too long."""
    letters = "".join(letter if letter.isprintable() else " " for letter in text[: 10 * LONGEST_NOTE])
    return " ".join(letters.split())[:LONGEST_NOTE]


def brief(error: BaseException) -> str:
    """An error in few words. Its message may be a stranger's own text, so it is cut and printable."""
    try:
        text = f"{type(error).__name__}: {error}"
    except BaseException:
        text = type(error).__name__
    return clean(text)
