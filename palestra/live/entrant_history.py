"""One entrant's run as columns: what a summary and a timeline tell.

Times are those of the stream; pauses between sittings are left out.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.entrants import left_unanswered, taken_unanswered
from palestra.live.answers import Heard
from palestra.live.recording import MOST_STRAYS, Recording
from palestra.live.scored_run import ScoredRun
from palestra.live.stream import no_answer, not_in_time
from palestra.metrics.quantiles import at_shares
from palestra.text import Text, Words, message, say

Floats = NDArray[np.float64]
SHARES = (0.5, 0.95, 0.99)  # of latencies that are told
THOUGHT_SHARES = (0.5, 0.95, 1.0)
NOTES = 20  # that a table lists
PACES = {"real": message("the wall clock"), "fast": message("virtual time")}


@dataclass(frozen=True)
class Story:
    """Decisions in the order of play, and what else became of an entrant."""

    trials: list[str]
    sitting: NDArray[np.int64]
    at_s: Floats  # when they were sent, since the start of the stream
    latency_s: Floats  # NaN where there is no answer
    host_late_s: Floats
    deadline_s: Floats  # NaN where there is none
    notes: list[Text]  # empty where there is an answer
    late: NDArray[np.bool_]  # no answer in time, but one afterwards
    strays: list[str]  # the trials that they name
    deaths: list[Text]  # why its program ended, each time that it did

    @property
    def answered(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.latency_s)

    @property
    def latencies_s(self) -> Floats:
        """Of the answers."""
        return self.latency_s[self.answered]

    @property
    def limit_s(self) -> float | None:
        """The longest deadline, if there is any."""
        known = self.deadline_s[~np.isnan(self.deadline_s)]
        return float(known.max()) if len(known) else None

    @property
    def starts_s(self) -> dict[int, float]:
        """When each sitting's first decision was."""
        sittings, first = np.unique(self.sitting, return_index=True)
        return dict(zip(sittings.tolist(), self.at_s[first].tolist(), strict=True))

    @property
    def stray_count(self) -> Text:
        count = f"{len(self.strays):,}"
        return say("{count} or more", count=count) if len(self.strays) >= MOST_STRAYS else count

    @property
    def silent(self) -> bool:
        """Whether it never reported an answer, not even one that is late or cannot be used."""
        nothing = {not_in_time(), no_answer(), taken_unanswered(), left_unanswered()}
        return bool(self.notes) and not self.strays and set(self.notes) <= nothing

    def note_counts(self) -> list[tuple[Text, int, str]]:
        """Each note, how often, and on which trial first; the most frequent first."""
        first: dict[Text, str] = {}
        for note, trial in zip(self.notes, self.trials, strict=True):
            first.setdefault(note, trial)
        counts = Counter(note for note in self.notes if note)
        return [(note, count, first[note]) for note, count in counts.most_common()]


def story_of(run: ScoredRun, entrant: str) -> Story:
    """What became of an entrant. An answer that the track does not understand is none."""
    recording = run.recording
    strays = [stray.trial for stray in recording.strays(entrant)]
    strayed = set(strays)
    heard = sorted(run.heard[entrant], key=lambda one: (one.sitting, one.decision.due_s))
    decisions = [one.decision for one in heard]
    missed = np.array([one.decision.answered_s is None or one.note != "" for one in heard], bool)
    return Story(
        trials=[one.trial for one in decisions],
        sitting=np.array([one.sitting for one in heard], np.int64),
        at_s=_one_after_another(heard),
        latency_s=np.where(missed, np.nan, _numbers([one.latency_s for one in decisions])),
        host_late_s=_numbers([one.host_late_s for one in decisions]),
        deadline_s=_numbers([one.deadline_s for one in decisions]),
        notes=[one.note for one in heard],
        late=missed & np.array([one.trial in strayed for one in decisions], bool),
        strays=strays,
        deaths=recording.end.deaths.get(entrant, []) if recording.end else [],
    )


def _numbers(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _one_after_another(heard: list[Heard]) -> Floats:
    """When each decision was sent, if a sitting began as soon as the last deadline of the one before has passed."""
    at_s, start_s, end_s, sitting = [], 0.0, 0.0, 0
    for one in heard:
        if one.sitting != sitting:
            start_s, sitting = end_s, one.sitting
        at_s.append(start_s + one.decision.sent_s)
        end_s = max(end_s, at_s[-1] + (one.decision.deadline_s or 0.0))
    return np.array(at_s, np.float64)


@dataclass(frozen=True)
class Acts:
    """How an entrant acted in its worlds: how long it thought, what was wrong with what it said."""

    cases: int
    periods: int
    thought_s: Floats  # of each answer
    late_s: float  # that the host was late, at most
    notes: Counter[Text]
    deaths: list[Text]

    @property
    def thought(self) -> Words:
        if not len(self.thought_s):
            return say("it never answered")
        half, most, worst = (f"{1000 * value:,.0f} ms" for value in at_shares(self.thought_s, THOUGHT_SHARES))
        return say("p50 {half}, p95 {most}, at most {worst}", half=half, most=most, worst=worst)


def read_acts(run: Recording, entrant: str) -> Acts:
    steps = [moved.step for moved in run.steps(entrant)]
    return Acts(
        cases=sum(1 for _ in run.decisions(entrant)),
        periods=len(steps),
        thought_s=np.array([step.thought_s for step in steps if step.thought_s is not None], np.float64),
        late_s=max((step.late_s for step in steps), default=0.0),
        notes=Counter(step.note for step in steps if step.note),
        deaths=run.end.deaths.get(entrant, []) if run.end else [],
    )


def ended(why: Text) -> Words:
    return say("the program ended: {why}", why=why)


def of_all(count: int, total: int) -> Words:
    return say("{count} of {total}", count=f"{count:,}", total=f"{total:,}")


def pace(recording: Recording) -> Text:
    name = recording.head.pace
    return say(PACES[name]) if name in PACES else name


def stopped(recording: Recording) -> Text:
    return "" if recording.end else say("The run was stopped before its end.")
