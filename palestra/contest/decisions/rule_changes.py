"""Where a contest's file and the rules in its log differ: once a contest is open, only the log's are in force."""

from pathlib import Path

from palestra import registry
from palestra.contest.log import State
from palestra.contest.rules import TABLES, Phase, Rules, calendar, reader
from palestra.errors import Refused

SHOWN = 6  # differences that are named; the rest are counted
_CONTEST = {key.field or name: f"[contest] {name}" for name, key in TABLES["[contest]"].items()}
_CONTEST |= {key.field: f"[registration] {name}" for name, key in TABLES["[registration]"].items()}
_CONTEST |= {"weights": "[weights]", "awards": "[[award]]"}
_PHASE = {key.field or name: name for name, key in TABLES["[[phase]]"].items()}


def differences(ours: Rules, theirs: Rules) -> list[str]:
    """What other rules say otherwise, by the names of the file's keys; `theirs` are those of the file."""
    found = [name for field, name in _CONTEST.items() if getattr(ours, field) != getattr(theirs, field)]
    before, after = ({phase.id: phase for phase in rules.phases} for rules in (ours, theirs))
    for name in dict.fromkeys([*before, *after]):
        if name not in before or name not in after:
            found.append(f"phase {name} (only in the {'log' if name in before else 'file'})")
        elif before[name] != after[name]:
            found.append(f"phase {name}: {', '.join(_keys(before[name], after[name]))}")
    return found or (["the order of the phases"] if ours != theirs else [])


def _keys(before: Phase, after: Phase) -> list[str]:
    fields = [field for field in before.__struct_fields__ if getattr(before, field) != getattr(after, field)]
    return [_PHASE.get(field, field) for field in fields]


def told(file: Path, state: State, now: int, desk: str) -> list[str]:
    """What an organiser who starts a server must know of this, in a few lines; nothing where both say the same."""
    lines = [line for phase in state.rules(now).phases if (line := _moved(state, phase, now))]
    try:
        theirs = reader.read(file, registry.tracks())
    except Refused as refusal:
        return [f"{file} cannot be read, and is not needed: the rules in the log are in force. {refusal}", *lines]
    others = differences(state.rules(now), theirs)
    if not others:
        return lines
    number = sum(one.counts_from <= now for one in state.versions)
    since = calendar.told(state.versions[number - 1].counts_from, theirs.zone)
    more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
    return [
        f"In force are the rules in the log: version {number}, since {since}. {file} differs in "
        f"{'; '.join(others[:SHOWN])}{more}.",
        _way_out(file, theirs, state, desk),
        *lines,
    ]


def _way_out(file: Path, theirs: Rules, state: State, desk: str) -> str:
    """A file that is a later version comes into force by itself; any other one has to be announced."""
    same = [number for number, one in enumerate(state.versions, 1) if one.rules == theirs]
    newest = len(state.versions)
    if newest in same:
        start = calendar.told(state.versions[-1].counts_from, theirs.zone)
        return f"The file is version {newest}, which counts from {start}: there is nothing to do."
    known = f"The file is still version {same[-1]}. " if same else ""
    return f"{known}It has no effect by itself: to put it into force, paste it at {desk}, and look at the differences."


def _moved(state: State, phase: Phase, now: int) -> str:
    """A phase that was opened or closed at another time than any rules say."""
    moved, zone = state.phase(phase.id, now), state.rules(now).zone
    if (moved.opens, moved.closes) == (phase.opens, phase.closes):
        return ""
    opens, closes = calendar.told(moved.opens, zone), calendar.told(moved.closes, zone, closing=True)
    return f"Phase {phase.id} was moved at the desk: it opens {opens} and closes {closes}."
