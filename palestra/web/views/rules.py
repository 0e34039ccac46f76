"""What pages about the rules are given: the rules in words, and what each version changed in the one before."""

import difflib
from collections.abc import Iterator

import msgspec

from palestra.contest.log import State
from palestra.contest.rules import Rules, edited_file, written
from palestra.errors import Missing, PalestraError
from palestra.text import Words, say, say_as
from palestra.web.models import public as v
from palestra.web.models import rules as rv
from palestra.web.site import Site
from palestra.web.text import sections

AROUND = 2  # lines of a contest file that are shown beside one that changes


def page(site: Site, number: int = 0) -> rv.RulesPage:
    """A version of the rules; the one in force where none is named."""
    state, now = site.state, site.now
    in_force = number_in_force(state, now)
    number = number or in_force
    if not 1 <= number <= len(state.versions):
        raise Missing(say("There is no such version of the rules."))
    rules = state.versions[number - 1].rules
    return rv.RulesPage(
        number=number,
        version=version_of(state, number),
        standing="in_force" if number == in_force else "coming" if number > in_force else "past",
        sections=tuple(_as_moved(state, now, sections(rules)) if number == in_force else sections(rules)),
        amendments=tuple(amendments(state)),
        file=f"/api/rules/{number}/contest.toml",
    )


def number_in_force(state: State, now: int) -> int:
    return max([number for number, one in enumerate(state.versions, 1) if one.counts_from <= now], default=1)


def version_of(state: State, number: int) -> v.RulesVersion:
    one = state.versions[number - 1]
    return v.RulesVersion(
        number=number, at=one.announced_at, counts_from=one.counts_from, reason=one.reason, url=f"/rules/{number}"
    )


def amendments(state: State) -> Iterator[rv.Amendment]:
    """Every version, newest first, with what it changed."""
    for number in range(len(state.versions), 0, -1):
        before = state.versions[number - 2].rules if number > 1 else None
        after = state.versions[number - 1].rules
        yield rv.Amendment(
            version=version_of(state, number), changes=tuple(changes(before, after)) if before is not None else ()
        )


def _as_moved(state: State, now: int, told: list[rv.RuleSection]) -> Iterator[rv.RuleSection]:
    """With the times that phases were moved to, and why."""
    for section in told:
        phase = section.id.removeprefix("phase-")
        moves = state.moved.get(phase, []) if section.id != phase else []
        times = state.phase(phase, now) if moves else None
        if times is None or (times.opens, times.closes) != (moves[-1].opens, moves[-1].closes):
            yield section
            continue
        moved = {f"phase.{phase}.opens": times.opens, f"phase.{phase}.closes": times.closes}
        rows = [msgspec.structs.replace(row, at=moved.get(row.key, row.at)) for row in section.rows]
        why = rv.RuleRow(key="moved", label=say("Moved by the organiser"), value=Words(moves[-1].reason))
        yield msgspec.structs.replace(section, rows=(*rows, why))


# What is other in another version


def changes(before: Rules, after: Rules) -> list[rv.RuleChange]:
    """The rules that differ, in the order of the newer version; what is gone from it comes last."""
    old, new = _by_key(before), _by_key(after)
    found = [
        rv.RuleChange(section=title, label=row.label, before=old[key][1] if key in old else None, after=row)
        for key, (title, row) in new.items()
        if key not in old or _says(old[key][1]) != _says(row)
    ]
    gone = [(title, row) for key, (title, row) in old.items() if key not in new]
    return found + [rv.RuleChange(section=title, label=row.label, before=row) for title, row in gone]


def _says(row: rv.RuleRow) -> tuple[Words, Words, int | None]:
    return row.label, row.value, row.at


def _by_key(rules: Rules) -> dict[str, tuple[Words, rv.RuleRow]]:
    """Every rule by its key, with the title of its section. Titles are rules as well."""
    found: dict[str, tuple[Words, rv.RuleRow]] = {}
    for section in sections(rules):
        if section.id.startswith(("contest", "phase-")):
            title = rv.RuleRow(key=f"{section.id}.title", label=say_as("rule", "Name"), value=section.title)
            found[title.key] = (section.title, title)
        found |= {row.key: (section.title, row) for row in section.rows}
    return found


def file_text(site: Site) -> str:
    """The contest file with the rules that were announced last; the comments are those of the organiser's own file."""
    rules, file = site.state.versions[-1].rules, site.setup.file
    return edited_file(file, rules) if file else written(rules)


def compared(before: str, after: str) -> Iterator[rv.FileLine]:
    """A contest file line by line against the one before; long stretches that stay are left out."""
    old, new = before.splitlines(), after.splitlines()
    kinds = {" ": "same", "-": "gone", "+": "new"}
    for number, line in enumerate(list(difflib.unified_diff(old, new, lineterm="", n=AROUND))[2:]):
        if line.startswith("@@"):
            if number:
                yield rv.FileLine(kind="gap")
        else:
            yield rv.FileLine(kind=kinds[line[0]], text=line[1:])  # type: ignore[arg-type]


def require_other(before: Rules, after: Rules) -> None:
    if before == after:
        raise PalestraError(say("These rules say the same as those that were announced last: nothing would change."))
