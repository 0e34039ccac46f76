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
from palestra.contest.rules.value_parsers import hint
from palestra.errors import PalestraError
from palestra.records import Track


class Problem(NamedTuple):
    """Something that does not fit, and the key that it is about."""

    path: Path
    found: str
    expected: str


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
        yield Problem(("registration", "closes"), "an end that is not after the start", "opens before closes")
    for day in draft.contest.get("working_weekends", ()):
        if day in draft.contest.get("holidays", ()):
            path = ("contest", "working_weekends")
            yield Problem(path, f"{day}, which is among the holidays", "a day in one of the two")
    for i, phase in enumerate(draft.phases):
        yield from _phase(draft, i, phase)
    yield from _weights(draft)
    yield from _awards(draft)


def _phase(draft: Draft, i: int, phase: dict[str, Any]) -> Iterator[Problem]:
    here: Path = ("phase", i)
    opens, closes, freeze = phase.get("opens"), phase.get("closes"), phase.get("freeze")
    if "id" in phase and phase["id"] in [other.get("id") for other in draft.phases[:i]]:
        yield Problem((*here, "id"), f"{phase['id']!r}, which an earlier phase has", "an id of its own")
    if opens is not None and closes is not None:
        if closes <= opens:
            yield Problem((*here, "closes"), "an end that is not after the start", "opens before closes")
        elif freeze is not None and not opens < freeze < closes:
            yield Problem((*here, "freeze"), "a time outside the phase", "a time between opens and closes")
    if "freeze_own" in phase and "freeze" not in phase:
        yield Problem((*here, "freeze_own"), "no freeze", "the time of a freeze beside it")
    if phase.get("entry") == "promoted" and "id" in phase and not _promoted_from(draft, phase["id"]):
        expected = f'[phase.promotion] with to = "{phase["id"]}" in an earlier phase'
        yield Problem((*here, "entry"), '"promoted", and no phase that promotes to it', expected)
    if "promotion" in phase:
        yield from _promotion(draft, i, phase)
    elif "verification" in phase:
        expected = "[phase.promotion] as well, since it is promoted teams who hand in bundles"
        yield Problem((*here, "verification"), "verification without promotion", expected)


def _promoted_from(draft: Draft, phase_id: str) -> bool:
    return any(other.get("promotion", {}).get("to") == phase_id for other in draft.phases)


def _promotion(draft: Draft, i: int, phase: dict[str, Any]) -> Iterator[Problem]:
    here: Path = ("phase", i, "promotion", "to")
    to = phase["promotion"].get("to")
    if to is None:
        return
    if to not in draft.ids:
        yield Problem(here, f"the phase {to!r}", f"a later phase. {hint(to, draft.ids)}")
        return
    later = [other for other in draft.phases[i + 1 :] if other.get("id") == to]
    if not later:
        yield Problem(here, f"the phase {to!r}, which does not come after this one", "a later phase")
        return
    if later[0].get("entry") != "promoted":
        yield Problem(here, f"the phase {to!r}, which everyone may enter", f'entry = "promoted" in {to!r}')
    if later[0].get("opens", math.inf) < phase.get("closes", -math.inf):
        expected = "a phase that opens once this one has closed and its board is settled"
        yield Problem(here, f"the phase {to!r}, which opens before this one closes", expected)


def _weights(draft: Draft) -> Iterator[Problem]:
    for name in draft.weights:
        if name not in draft.ids:
            yield Problem(("weights", name), f"the phase {name!r}", f"the id of a phase. {hint(name, draft.ids)}")
    total = math.fsum(draft.weights.values())
    if draft.weights and not math.isclose(total, 1, abs_tol=1e-9):
        yield Problem(("weights",), f"weights that sum to {total:.6g}", "weights that sum to 1")


def _awards(draft: Draft) -> Iterator[Problem]:
    for i, award in enumerate(draft.awards):
        name = award.get("phase", "")
        if name and name not in draft.ids:
            expected = f"the id of a phase. {hint(name, draft.ids)}"
            yield Problem(("award", i, "phase"), f"the phase {name!r}", expected)
        elif not name and not draft.weights:
            expected = 'phase = "…", or [weights] for a final standing over several phases'
            yield Problem(("award", i), "an award for no phase", expected)


# Against the tracks that this installation has


def track_problems(rules: Rules, known: Collection[str]) -> Iterator[Problem]:
    """What tracks have against the rules; `known`: the tracks that may be used."""
    tracks: dict[str, Track] = {}
    for i, phase in enumerate(rules.phases):
        found = _installed(phase.track, known)
        if isinstance(found, str):
            yield Problem(("phase", i, "track"), f"{phase.track!r}", f"a track that is installed. {found}")
        else:
            tracks[phase.id] = found
            yield from _track(i, phase, found)
    yield from _weighted(rules, tracks)


def _installed(track_id: str, known: Collection[str]) -> Track | str:
    """The track, or why it cannot be used: which others there are, or what is wrong with it."""
    if track_id not in known:
        return registry.broken().get(track_id) or hint(track_id, known)
    try:
        return registry.track(track_id)
    except PalestraError as error:
        return str(error)


def _track(i: int, phase: Phase, track: Track) -> Iterator[Problem]:
    try:
        registry.configured(track, phase.settings)
    except PalestraError as error:
        yield Problem(("phase", i, "settings"), f"{phase.settings}", f"settings that {track.id} has. {error}")
    metrics = [metric.name for metric in track.metrics]
    for name in phase.ties:
        if name not in [*metrics, "earlier"]:
            expected = f"metrics of {track.id} or 'earlier'. {hint(name, [*metrics, 'earlier'])}"
            yield Problem(("phase", i, "ties"), f"{name!r}", expected)
    if track.arrives == ["file"] and (phase.pace, phase.timing) != ("fast", "track"):
        yield Problem(("phase", i), "pace or timing", f"neither, since {track.id} takes files and has no clock")
    if phase.match and not track.match:
        yield Problem(("phase", i, "match"), f"a match in {track.id}", "a track in which a robot acts at a table")
    if phase.match and phase.ties:
        yield Problem(("phase", i, "ties"), f"{list(phase.ties)}", "none, since the rules of a match part equals")


def _weighted(rules: Rules, tracks: dict[str, Track]) -> Iterator[Problem]:
    """Degrees and shares cannot be added; and who missed a phase gets 0 for it, which must be the worst there is."""
    ranks = {name: tracks[name].ranks for name in rules.weights if name in tracks}
    low = [f"{name} ({metric.name})" for name, metric in ranks.items() if metric.better == "lower"]
    if low:
        found = f"phases in which the lowest value is the best: {', '.join(low)}"
        yield Problem(("weights",), found, "phases that rank by a metric of which more is better, such as a score")
    elif len({metric.unit for metric in ranks.values()}) > 1:
        yield Problem(("weights",), "phases that rank by metrics of unlike units", "metrics of one unit")
