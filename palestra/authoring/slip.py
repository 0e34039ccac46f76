"""A slip in a track's own code, in words: which track, which file and line, what went wrong, what to do.

A slip that a guarded function notices is noted on the error itself: its type stays what it was, whoever catches it goes
on as before, and the note is in every traceback that an organiser reads. `blame` finds it, or the author's line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from palestra.authoring.home import Home, Place
from palestra.errors import LONGEST_NOTE, brief, clean

NOTED = "A slip in the track. "
DEEPEST = 20  # causes of causes that are looked at


class Slip(Exception):
    """What a track's code gave is not what it should give. Not for contestants, so it is not a PalestraError."""


def told(track: str, place: Place | str, what: str, remedy: str) -> str:
    end = "" if what.endswith((".", "?", "…")) else "."
    return f"{track}: {place}: {what}{end} {remedy}"


def of_error(
    track: str, home: Home, error: BaseException, field: str = "", place: Place | None = None, metric: str = ""
) -> str:
    """An error in a track's function; `place` is where that function is given, where no line of the author's is met."""
    found = home.of_error(error) or place or home.of_field(field)
    name = (metric and f"the metric {metric!r}") or found.function or field or "its code"
    return told(track, found, f"{name} fails with {_brief(error)}", f"{_remedy(error, field)} {again(track)}")


def of_load(who: str, track: str, home: Home, error: BaseException) -> str:
    """An error in the file itself, while it is imported."""
    found = home.of_error(error) or Place(home.file, 1)
    return told(who, found, f"fails when it is loaded: {_brief(error)}", f"{_remedy(error, '')} {again(track)}")


def again(track: str) -> str:
    return f"Then run `palestra tracks {track} --check`."


def note(error: BaseException, text: str) -> None:
    """Write a slip on an error, once."""
    if not noted(error):
        error.add_note(f"{NOTED}{text}")


def noted(error: BaseException) -> str:
    notes = getattr(error, "__notes__", ())
    return next((one.removeprefix(NOTED) for one in notes if one.startswith(NOTED)), "")


def blame(error: BaseException, homes: Mapping[str, Home]) -> str:
    """The slip that an error comes from, where one of these tracks brought it about; else nothing."""
    chain = list(_causes(error))
    for one in chain:
        if isinstance(one, Slip):
            return str(one)
        if text := noted(one):
            return text
    for one in chain:
        for track, home in homes.items():
            if home.of_error(one):
                return of_error(track, home, one)
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(DEEPEST):
        if one is None:
            return
        yield one
        one = one.__cause__ or one.__context__


def _brief(error: BaseException) -> str:
    """What happened, without the plans and hints that libraries add in paragraphs of their own."""
    try:
        first = str(error).partition("\n\n")[0]
    except Exception:  # of an error that cannot be told
        return brief(error)
    shown = clean(f"{type(error).__name__}: {first}")
    return f"{shown.rpartition(' ')[0]} …" if len(shown) == LONGEST_NOTE else shown


def _remedy(error: BaseException, field: str) -> str:
    kind = type(error).__name__
    if isinstance(error, ModuleNotFoundError):
        return f"Install the package that has {error.name or 'it'} where Palestra is installed, or do without it."
    if isinstance(error, ImportError):
        return "Import a name that the module has."
    if isinstance(error, SyntaxError):
        return "Correct the Python there."
    if isinstance(error, FileNotFoundError):
        return "Name the data set's folder with --data, or write the file that it lacks."
    if isinstance(error, TypeError) and "unexpected keyword argument" in str(error):
        return "Use the fields that docs/add-a-track.md lists."
    if isinstance(error, TypeError) and "required positional argument" in str(error):
        return "Give it every argument that it needs."
    if field == "files.read":
        return "Refuse a faulty file in words: read it with palestra.formats.read_table, or use palestra.errors.Faults."
    if field.endswith(".hear"):
        return "Raise a ValueError that says what was returned and what was expected."
    if kind in ("ColumnNotFoundError", "KeyError"):
        return "Name a column that the table has."
    if "Pickl" in kind or "pickle" in str(error):
        return "Use functions of the module, and functools.partial in the place of a lambda."
    return "Correct it there."
