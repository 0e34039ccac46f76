"""What must fit together in a contest: its phases, weights and awards, and its tracks.

Checks look at drafts: what of a file could be read, so that one slip does not hide another.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from palestra import registry
from palestra.contest.rules.model import Phase, Rules
from palestra.contest.rules.toml_lines import Path
from palestra.errors import PalestraError, known_names
from palestra.records import Track
from palestra.text import Text, Words, say


class Problem(NamedTuple):
    """Something that does not fit, and the key that it is about."""

    path: Path
    found: Text
    expected: Text


@dataclass
class Draft:
    """The values of a contest file that could be read, by the names that the rules have for them."""

    contest: dict[str, Any] = field(default_factory=dict)  # with registration
    phases: list[dict[str, Any]] = field(default_factory=list)
    weights: dict[str, float] = field(default_factory=dict)
    awards: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return [phase["id"] for phase in self.phases if "id" in phase]


def problems(draft: Draft) -> Iterator[Problem]:
    """All that does not fit together."""
    opens, closes = draft.contest.get("registration_opens"), draft.contest.get("registration_closes")
    if opens is not None and closes is not None and closes <= opens:
        yield _ends_too_early(("registration", "closes"))
    for day in draft.contest.get("working_weekends", ()):
        if day in draft.contest.get("holidays", ()):
            path = ("contest", "working_weekends")
            yield Problem(path, say("{day}, which is among the holidays", day=day), say("a day in one of the two"))
    for i, phase in enumerate(draft.phases):
        yield from _phase(draft, i, phase)
    yield from _weights(draft)
    yield from _awards(draft)


def _ends_too_early(path: Path) -> Problem:
    return Problem(path, say("an end that is not after the start"), say("opens before closes"))


def _phase(draft: Draft, i: int, phase: dict[str, Any]) -> Iterator[Problem]:
    here: Path = ("phase", i)
    opens, closes, freeze = phase.get("opens"), phase.get("closes"), phase.get("freeze")
    if "id" in phase and phase["id"] in [other.get("id") for other in draft.phases[:i]]:
        found = say("{phase!r}, which an earlier phase has", phase=phase["id"])
        yield Problem((*here, "id"), found, say("an id of its own"))
    if opens is not None and closes is not None:
        if closes <= opens:
            yield _ends_too_early((*here, "closes"))
        elif freeze is not None and not opens < freeze < closes:
            yield Problem((*here, "freeze"), say("a time outside the phase"), say("a time between opens and closes"))
    if "freeze_own" in phase and "freeze" not in phase:
        yield Problem((*here, "freeze_own"), say("no freeze"), say("the time of a freeze beside it"))
    if phase.get("entry") == "promoted" and "id" in phase and not _promoted_from(draft, phase["id"]):
        expected = say('[phase.promotion] with to = "{phase}" in an earlier phase', phase=phase["id"])
        yield Problem((*here, "entry"), say('"promoted", and no phase that promotes to it'), expected)
    if "promotion" in phase:
        yield from _promotion(draft, i, phase)
    elif "verification" in phase:
        expected = say("[phase.promotion] as well, since it is promoted teams who hand in bundles")
        yield Problem((*here, "verification"), say("verification without promotion"), expected)


def _promoted_from(draft: Draft, phase_id: str) -> bool:
    return any(other.get("promotion", {}).get("to") == phase_id for other in draft.phases)


def _promotion(draft: Draft, i: int, phase: dict[str, Any]) -> Iterator[Problem]:
    here: Path = ("phase", i, "promotion", "to")
    to = phase["promotion"].get("to")
    if to is None:
        return
    if to not in draft.ids:
        yield Problem(here, say("the phase {phase!r}", phase=to), _with_hint(say("a later phase"), to, draft.ids))
        return
    later = [other for other in draft.phases[i + 1 :] if other.get("id") == to]
    if not later:
        found = say("the phase {phase!r}, which does not come after this one", phase=to)
        yield Problem(here, found, say("a later phase"))
        return
    if later[0].get("entry") != "promoted":
        expected = say('entry = "promoted" in {phase!r}', phase=to)
        yield Problem(here, say("the phase {phase!r}, which everyone may enter", phase=to), expected)
    if later[0].get("opens", math.inf) < phase.get("closes", -math.inf):
        expected = say("a phase that opens once this one has closed and its board is settled")
        yield Problem(here, say("the phase {phase!r}, which opens before this one closes", phase=to), expected)


def _with_hint(expected: Words, name: str, known: Collection[str]) -> Words:
    return say("{expected}. {hint}", expected=expected, hint=known_names(name, known))


def _unknown_phase(draft: Draft, path: Path, name: str) -> Problem:
    return Problem(path, say("the phase {phase!r}", phase=name), _with_hint(say("the id of a phase"), name, draft.ids))


def _weights(draft: Draft) -> Iterator[Problem]:
    for name in draft.weights:
        if name not in draft.ids:
            yield _unknown_phase(draft, ("weights", name), name)
    total = math.fsum(draft.weights.values())
    if draft.weights and not math.isclose(total, 1, abs_tol=1e-9):
        found, expected = (say("weights that sum to {total}", total=one) for one in (f"{total:.6g}", "1"))
        yield Problem(("weights",), found, expected)


def _awards(draft: Draft) -> Iterator[Problem]:
    for i, award in enumerate(draft.awards):
        name = award.get("phase", "")
        if name and name not in draft.ids:
            yield _unknown_phase(draft, ("award", i, "phase"), name)
        elif not name and not draft.weights:
            expected = say('phase = "…", or [weights] for a final standing over several phases')
            yield Problem(("award", i), say("an award for no phase"), expected)


# Against the tracks that this installation has


def track_problems(rules: Rules, known: Collection[str]) -> Iterator[Problem]:
    """What tracks have against the rules; `known`: the tracks that may be used."""
    tracks: dict[str, Track] = {}
    for i, phase in enumerate(rules.phases):
        found = _installed(phase.track, known)
        if isinstance(found, Track):
            tracks[phase.id] = found
            yield from _track(i, phase, found)
        else:
            expected = say("{expected}. {hint}", expected=say("a track that is installed"), hint=found)
            yield Problem(("phase", i, "track"), repr(phase.track), expected)
    yield from _weighted(rules, tracks)


def _installed(track_id: str, known: Collection[str]) -> Track | Text:
    """The track, or why it cannot be used: which others there are, or what is wrong with it."""
    if track_id not in known:
        return registry.broken().get(track_id) or known_names(track_id, known)
    try:
        return registry.track(track_id)
    except PalestraError as error:
        return error.text


def _track(i: int, phase: Phase, track: Track) -> Iterator[Problem]:
    try:
        registry.configured(track, phase.settings)
    except PalestraError as error:
        expected = say("{expected}. {hint}", expected=say("settings that {track} has", track=track.id), hint=error.text)
        yield Problem(("phase", i, "settings"), str(phase.settings), expected)
    metrics = [metric.name for metric in track.metrics]
    for name in phase.ties:
        if name not in [*metrics, "earlier"]:
            expected = say("metrics of {track} or 'earlier'", track=track.id)
            yield Problem(("phase", i, "ties"), repr(name), _with_hint(expected, name, [*metrics, "earlier"]))
    if not track.live and phase.held:
        expected = say("neither, since {track} takes files: nothing is played", track=track.id)
        yield Problem(("phase", i, "held"), repr(phase.held), expected)
    if phase.match and phase.held == "online":
        yield Problem(
            ("phase", i, "held"), '"online"', say("no such key: the cases of a match are played at its table")
        )
    if phase.held == "on-stage" and not phase.rehearsal and track.dataset.make is None:
        expected = say('rehearsal = "…", a folder of data to try bundles on, since {track} makes none', track=track.id)
        yield Problem(("phase", i, "held"), '"on-stage"', expected)
    if track.arrives == ["file"] and (phase.pace, phase.timing) != ("fast", "track"):
        expected = say("neither, since {track} takes files and has no clock", track=track.id)
        yield Problem(("phase", i), say("pace or timing"), expected)
    if phase.match and not track.match:
        expected = say("a track in which a robot acts at a table")
        yield Problem(("phase", i, "match"), say("a match in {track}", track=track.id), expected)
    if phase.match and phase.ties:
        expected = say("none, since the rules of a match part equals")
        yield Problem(("phase", i, "ties"), str(list(phase.ties)), expected)


def _weighted(rules: Rules, tracks: dict[str, Track]) -> Iterator[Problem]:
    """Degrees and shares cannot be added; and who missed a phase gets 0 for it, which must be the worst there is."""
    ranks = {name: tracks[name].ranks for name in rules.weights if name in tracks}
    low = [f"{name} ({metric.name})" for name, metric in ranks.items() if metric.better == "lower"]
    if low:
        found = say("phases in which the lowest value is the best: {names}", names=", ".join(low))
        expected = say("phases that rank by a metric of which more is better, such as a score")
        yield Problem(("weights",), found, expected)
    elif len({metric.unit for metric in ranks.values()}) > 1:
        found = say("phases that rank by metrics of unlike units")
        yield Problem(("weights",), found, say("metrics of one unit"))
