"""Every error a person may see: what was found, what was expected, what to do."""

import difflib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, Self

import msgspec

from palestra.text import Text, Words, in_language, joined, say, say_as, sentences

SHOWN = 20  # faults that are shown one by one; the rest are counted
LONGEST_NOTE = 200  # letters of what a program says itself
LONGEST_NAME = 60  # letters of a name that are compared and shown
LONGEST_PART = 380  # letters of each part of a fault: a library's words may quote a megabyte of a stranger's file


class PalestraError(Exception):
    """Something a person can mend. The message is shown as it is, without a traceback.

    Terminals and logs have the English; pages say it in the reader's language.
    """

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text

    def in_language(self, language: str) -> str:
        return in_language(self.text, language)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.text, self.__dict__)  # so that it can come back from a worker process


def _again(kind: type[PalestraError], text: Text, known: dict[str, Any]) -> PalestraError:
    """An error as it was, whatever its class asks for when a new one is made."""
    error = kind.__new__(kind)
    PalestraError.__init__(error, text)
    error.__dict__.update(known)
    return error


class Missing(PalestraError):
    """What was asked for is not there, or not for whoever asks."""


class SignedOut(PalestraError):
    """Only for those who have signed in."""


class Forbidden(PalestraError):
    """Not for whoever asks, whoever they are."""


class TooOften(PalestraError):
    """Not now: it was tried too often."""


class UnknownName(PalestraError):
    """A name that nothing here has."""

    def __init__(
        self, kind: Text, name: str, known: Iterable[str], unusable: Iterable[Text] = (), more: Text = ""
    ) -> None:
        missing = say("There is no {kind} {name!r}. {hint}", kind=kind, name=_cut(name), hint=known_names(name, known))
        missing = sentences(missing, more)
        others = [say("Could not be loaded: {why}", why=why) for why in unusable]  # it may be one of these
        super().__init__(joined([missing, *others], "\n"))

    def __reduce__(self) -> tuple[Any, ...]:
        return PalestraError, (self.text,)  # so that it can come back from a worker process


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong with a submission or a data set."""

    where: str  # file, and the line, row or key in it
    found: str
    expected: str
    zh: str = ""  # all of it in Chinese

    @classmethod
    def of(cls, where: Text, found: Text, expected: Text) -> Self:
        where, found, expected = _fit(where), _fit(found), _fit(expected)
        said = say("{where}: found {found}, expected {expected}", where=where, found=found, expected=expected)
        return cls(str(where), str(found), str(expected), said.zh)

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}, expected {self.expected}"

    @property
    def text(self) -> Words:
        return Words(str(self), self.zh)


def _fit(text: Text) -> Text:
    """A part of a fault as it may be shown: not too long, and nothing in it that a terminal would obey."""
    if isinstance(text, Words):
        return Words(_plain(text.en), _plain(text.zh))
    return _plain(text)


def _plain(text: str) -> str:
    if len(text) > LONGEST_PART:
        text = f"{text[: LONGEST_PART - 1]}…"
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


class NotCaptured(PalestraError):
    """A person who was to be captured while they were played could not be, or not to the end."""


class Refused(PalestraError):
    """Input that cannot be taken as it is."""

    def __init__(self, faults: list[Fault], count: int, usable: Any = None) -> None:
        self.faults = faults  # the first SHOWN of them
        self.count = count  # all of them
        self.usable = usable  # the answers that remain when every fault is a gap; else None
        lines = [fault.text for fault in faults]
        if count > len(faults):
            lines.append(say_as("submission", "… and {count} more", count=count - len(faults)))
        super().__init__(joined(lines, "\n"))

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

    def add(self, where: Text, found: Text, expected: Text, count: int = 1) -> None:
        """Note a fault that refuses the input; `count` is how many alike it stands for."""
        self.only_gaps = False
        self._note(where, found, expected, count)

    def gap(self, where: Text, found: Text, expected: Text, count: int = 1) -> None:
        """Note an answer that cannot be used."""
        self._note(where, found, expected, count)

    def absorb(self, refusal: Refused) -> None:
        """Take over what a part of the input was refused for."""
        self.only_gaps = self.only_gaps and refusal.usable is not None
        self.count += refusal.count
        self.shown += refusal.faults[: max(SHOWN - len(self.shown), 0)]

    def _note(self, where: Text, found: Text, expected: Text, count: int) -> None:
        self.count += count
        if len(self.shown) < SHOWN:
            self.shown.append(Fault.of(where, found, expected))

    def __bool__(self) -> bool:
        return self.count > 0

    def finish(self, usable: Any = None) -> None:
        """Raise `Refused` if anything was noted; `usable` is what remains if only gaps were."""
        if self.count:
            raise Refused(self.shown, self.count, usable if self.only_gaps else None)


def refuse(where: Text, found: Text, expected: Text) -> NoReturn:
    """Refuse at once, for a fault that leaves nothing else to look at."""
    raise Refused([Fault.of(where, found, expected)], 1)


def nearest_name(name: str, known: Iterable[str]) -> Words:
    """The known name that is most like this one, as a question; nothing where none is like it."""
    near = difflib.get_close_matches(_cut(name), sorted(map(_cut, known)), n=1, cutoff=0.4)
    return say("Did you mean {near!r}?", near=near[0]) if near else Words()


def known_names(name: str, known: Iterable[str]) -> Words:
    """The nearest of the known names, or else the first of all of them."""
    names = sorted(map(_cut, known))
    if near := nearest_name(name, names):
        return near
    if not names:
        return say("Known: none.")
    shown = ", ".join(names[:SHOWN])
    if len(names) > SHOWN:
        return say("Known: {names} and {count} more.", names=shown, count=len(names) - SHOWN)
    return say("Known: {names}.", names=shown)


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def text_of(error: Exception) -> Text:
    """What an error says: in both languages where it was raised with Words."""
    if isinstance(error, PalestraError):
        return error.text
    return error.args[0] if error.args and isinstance(error.args[0], Words) else str(error)


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
