"""Reads contest.toml: all that is wrong with it is told at once, each with its line."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path as File
from typing import Any

from palestra.contest.rules import value_parsers as rule_values
from palestra.contest.rules.checks import Draft, Problem, problems, track_problems
from palestra.contest.rules.keys import (
    AWARD,
    CONTEST,
    HERE,
    MATCH,
    PHASE,
    PROMOTION,
    REGISTRATION,
    TABLES,
    VERIFICATION,
    Key,
)
from palestra.contest.rules.model import Award, MatchPlan, Phase, Promotion, Rules, Verification
from palestra.contest.rules.toml_lines import Path, load
from palestra.contest.rules.track_places import place_problems, shown_places
from palestra.errors import Faults, PalestraError, clip, known_names, refuse
from palestra.text import Text, Words, say

LARGEST = 1_000_000  # bytes of a contest file
PARTS = {"promotion": PROMOTION, "verification": VERIFICATION, "match": MATCH}  # tables of a phase


def read(file: File, tracks: Collection[str] | None = None) -> Rules:
    """The rules in a contest file. With `tracks`, phases must use those, and as they allow; and what the file names as
    places of its tracks must be there."""
    return parse(text_of(file), file.name, tracks, file.resolve().parent)


def text_of(file: File) -> str:
    """What a contest file says, as far as it may be long."""
    try:
        with file.open("rb") as source:
            data = source.read(LARGEST + 1)
    except OSError as error:
        raise PalestraError(
            say("{file}: cannot be read ({why}). Expected a contest file.", file=file, why=error.strerror)
        ) from None
    _require_size(len(data), file.name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        where = say("{file}: line {line:,}", file=file.name, line=line)
        refuse(where, say("bytes that are not UTF-8"), say("a text file, saved as UTF-8"))


def parse(text: str, where: str, tracks: Collection[str] | None = None, home: File | None = None) -> Rules:
    """The rules in a contest file's text; `where` is what messages call it, `home` the folder that it lies in."""
    _require_size(len(text), where)
    values, lines = load(text, where)
    page = _Page(where, lines)
    draft = page.draft(values)
    page.problems += problems(draft)
    page.finish()
    rules = _rules(draft)
    if tracks is not None:
        page.problems += place_problems(page.tracks(values), home) if home else ()
        page.problems += track_problems(rules, tracks)
        page.finish()
    return rules


def named_tracks(file: File, must_be_there: bool = False) -> tuple[str, ...]:
    """The folders and packages that a contest file names for its tracks, whatever else is wrong with the file."""
    values, lines = load(text_of(file), file.name)
    page = _Page(file.name, lines)
    found = page.tracks(values)
    page.problems += place_problems(found, file.resolve().parent) if must_be_there else ()
    page.finish()
    return found


def parse_sent(text: str, where: str, file: File | None) -> Rules:
    """The rules in a text that somebody sent. It must name the places for tracks that the file on this machine names:
    whoever could change them from afar could have any folder's code run."""
    rules = parse(text, where)
    try:
        ours = named_tracks(file) if file else ()
    except PalestraError:  # a file that cannot be read names none
        ours = ()
    values, lines = load(text, where)
    page = _Page(where, lines)
    theirs = page.tracks(values)
    if theirs != ours:
        expected = say(
            "{places}, as in the file on the server. Where tracks lie can only be changed there",
            places=shown_places(ours) or say("no tracks"),
        )
        page.fault(("contest", "tracks"), shown_places(theirs) or say("no tracks"), expected)
    page.finish()
    return rules


def _require_size(size: int, where: str) -> None:
    if size > LARGEST:
        most = f"{LARGEST:,}"
        refuse(
            where, say("more than {most} bytes", most=most), say("a contest file of {most} bytes at most", most=most)
        )


class _Page:
    """A contest file that is being read: what is wrong with it, and where."""

    def __init__(self, where: str, lines: Mapping[Path, int]) -> None:
        self.where = where
        self.lines = lines
        self.problems: list[Problem] = []
        self.zone = "UTC"

    def draft(self, values: dict[str, Any]) -> Draft:
        """All values that can be read."""
        self.require_known(
            values, [name.strip("[]") for name in TABLES if "." not in name], (), say("a table of the file")
        )
        contest = self.table(values, "contest", {**CONTEST, **HERE}, needed=True)
        for name in HERE:
            contest.pop(name, None)  # it is not of the rules
        registration = self.table(values, "registration", REGISTRATION)
        phases = [self.phase(phase, i) for i, phase in enumerate(self.tables(values, "phase", needed=True))]
        awards = [self.fields(award, AWARD, ("award", i)) for i, award in enumerate(self.tables(values, "award"))]
        return Draft(contest | registration, phases, self.weights(values.get("weights", {})), awards)

    def tracks(self, values: dict[str, Any]) -> tuple[str, ...]:
        """Folders and packages of the contest's tracks; of what else the file says nothing is looked at."""
        found: dict[str, tuple[str, ...]] = {}
        contest = values.get("contest")
        if isinstance(contest, dict) and "tracks" in contest:
            self.take(found, "tracks", contest["tracks"], HERE["tracks"], ("contest", "tracks"))
        return found.get("tracks", ())

    def phase(self, table: dict[str, Any], i: int) -> dict[str, Any]:
        here: Path = ("phase", i)
        found = self.fields({key: table[key] for key in table if key not in PARTS}, PHASE, here, PARTS)
        for name, keys in PARTS.items():
            if name in table:
                found[name] = self.table(table, name, keys, here)
        return found

    def weights(self, table: Any) -> dict[str, float]:
        if not isinstance(table, dict):
            self.fault(("weights",), rule_values.shown(table), say("[weights] with a share for each phase"))
            return {}
        found: dict[str, float] = {}
        for name, value in table.items():
            self.take(found, name, value, Key(rule_values.weight), ("weights", name))
        return found

    def table(
        self, values: dict[str, Any], name: str, keys: Mapping[str, Key], above: Path = (), needed: bool = False
    ) -> dict[str, Any]:
        """The fields of a table that is there once."""
        header = f"[{'.'.join([*map(str, above[:1]), name])}]"
        if name not in values:
            if needed:
                self.fault(above, say("no {name}", name=header), say("a table {header}", header=header))
            return {}
        if not isinstance(values[name], dict):
            expected = say("a table {header}, with one pair of brackets", header=header)
            self.fault((*above, name), rule_values.shown(values[name]), expected)
            return {}
        return self.fields(values[name], keys, (*above, name))

    def tables(self, values: dict[str, Any], name: str, needed: bool = False) -> list[dict[str, Any]]:
        """The tables of a kind that may come often."""
        found = values.get(name, [])
        if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
            what = f"[{name}]" if isinstance(found, dict) else rule_values.shown(found)
            self.fault((name,), what, say("[[{name}]], with two pairs of brackets, for each {name}", name=name))
            return []
        if needed and not found:
            self.fault((), say("no {name}", name=f"[[{name}]]"), say("one [[{name}]] at least", name=name))
        return found

    def fields(
        self, table: dict[str, Any], keys: Mapping[str, Key], here: Path, also: Collection[str] = ()
    ) -> dict[str, Any]:
        """The values of a table, by their names in the rules; what cannot be read is a fault, and left out."""
        kind = ".".join(part for part in here if isinstance(part, str))
        self.require_known(table, [*keys, *also], here, say("a key of {table}", table=kind))
        found: dict[str, Any] = {}
        for name, key in keys.items():
            if name in table:
                self.take(found, key.field or name, table[name], key, (*here, name))
            elif key.needed:
                self.fault(here, say("no {name}", name=name), say("{name} = …", name=name))
            if name == "zone":
                self.zone = found.get("zone", "UTC")  # times below are in it
        return found

    def take(self, found: dict[str, Any], field: str, value: Any, key: Key, path: Path) -> None:
        try:
            found[field] = key.read(value, self.zone)
        except rule_values.Unfit as unfit:
            self.fault(path, unfit.found or rule_values.shown(value), unfit.expected)

    def require_known(self, table: dict[str, Any], known: Collection[str], here: Path, kind: Text) -> None:
        for name in table:
            if name not in known:
                expected = say("{expected}. {hint}", expected=kind, hint=known_names(name, known))
                self.fault((*here, name), clip(name), expected)

    def fault(self, path: Path, found: Text, expected: Text) -> None:
        self.problems.append(Problem(path, found, expected))

    def finish(self) -> None:
        """Refuse the file if anything is wrong with it, in the order of its lines."""
        faults = Faults()
        for line, problem in sorted(((self.line(item.path), item) for item in self.problems), key=lambda pair: pair[0]):
            faults.add(self.place(line, problem.path), problem.found, problem.expected)
        faults.finish()

    def place(self, line: int, path: Path) -> Words:
        if key := ".".join(part for part in path if isinstance(part, str)):
            return say("{file}: line {line:,}, {key}", file=self.where, line=line, key=key)
        return say("{file}: line {line:,}", file=self.where, line=line)

    def line(self, path: Path) -> int:
        """The line of a key, or of the table that it is missing from."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def _rules(draft: Draft) -> Rules:
    return Rules(
        **draft.contest,
        phases=tuple(_phase(phase) for phase in draft.phases),
        weights=draft.weights,
        awards=tuple(Award(**{"phase": "", **award}) for award in draft.awards),
    )


def _phase(fields: dict[str, Any]) -> Phase:
    promotion, verification, match = (fields.get(name) for name in PARTS)
    return Phase(
        **{name: value for name, value in fields.items() if name not in PARTS},
        promotion=Promotion(**promotion) if promotion else None,
        verification=Verification(**verification) if verification else None,
        match=MatchPlan(**match) if match is not None else None,  # all of it may be left to its defaults
    )
