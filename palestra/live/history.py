"""One entrant's run as columns, read from its recording: what a timeline tells.

Times are those of the stream; pauses between sittings are left out.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.live.answers import heard
from palestra.live.recording import Decided, Recording
from palestra.records import Track

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Story:
    """Decisions in the order of play, and what else became of an entrant."""

    trials: list[str]
    sitting: NDArray[np.int64]
    at_s: Floats  # when they were sent, since the start of the stream
    latency_s: Floats  # NaN where there is no answer
    host_late_s: Floats
    deadline_s: Floats  # NaN where there is none
    notes: list[str]  # empty where there is an answer
    late: NDArray[np.bool_]  # no answer in time, but one afterwards
    strays: list[str]  # the trials that they name
    deaths: list[str]  # why its program ended, each time that it did

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

    def note_counts(self) -> list[tuple[str, int, str]]:
        """Each note, how often, and on which trial first; the most frequent first."""
        first: dict[str, str] = {}
        for note, trial in zip(self.notes, self.trials, strict=True):
            first.setdefault(note, trial)
        counts = Counter(note for note in self.notes if note)
        return [(note, count, first[note]) for note, count in counts.most_common()]


def read_story(recording: Recording, entrant: str, track: Track | None = None) -> Story:
    """What is recorded of an entrant. Given the track, an answer that it does not understand is none."""
    records = sorted(recording.decisions(entrant), key=lambda record: (record.sitting, record.decision.due_s))
    decisions = [record.decision for record in records]
    notes = [heard(track, one)[1] if track else one.note for one in decisions]
    missed = np.array([one.answered_s is None or note != "" for one, note in zip(decisions, notes, strict=True)], bool)
    strays = [stray.trial for stray in recording.strays(entrant)]
    strayed = set(strays)
    return Story(
        trials=[one.trial for one in decisions],
        sitting=np.array([record.sitting for record in records], np.int64),
        at_s=_one_after_another(records),
        latency_s=np.where(missed, np.nan, _numbers([one.latency_s for one in decisions])),
        host_late_s=_numbers([one.host_late_s for one in decisions]),
        deadline_s=_numbers([one.deadline_s for one in decisions]),
        notes=notes,
        late=missed & np.array([one.trial in strayed for one in decisions], bool),
        strays=strays,
        deaths=recording.end.deaths.get(entrant, []) if recording.end else [],
    )


def _numbers(values: list[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _one_after_another(records: list[Decided]) -> Floats:
    """When each decision was sent, if a sitting began as soon as the last deadline of the one before has passed."""
    at_s, start_s, end_s, sitting = [], 0.0, 0.0, 0
    for record in records:
        if record.sitting != sitting:
            start_s, sitting = end_s, record.sitting
        at_s.append(start_s + record.decision.sent_s)
        end_s = max(end_s, at_s[-1] + (record.decision.deadline_s or 0.0))
    return np.array(at_s, np.float64)
