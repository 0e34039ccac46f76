"""A live run with its results: as it was played, or computed again from its recording."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from palestra.entrants import Entry
from palestra.errors import PalestraError
from palestra.live import episode_run, recording
from palestra.live.answers import Heard, answers_of, hear
from palestra.live.live_data import LiveData
from palestra.live.recording import Recording, Who
from palestra.live.stream import spoiled
from palestra.live.waiting import starved
from palestra.records import Result, Track
from palestra.scoring import Scored, Sheet
from palestra.scoring import score as scoring
from palestra.text import Text, Words, say, words_of


@dataclass(frozen=True)
class ScoredRun:
    """What came of a run, by entrant."""

    track: Track
    data: Path  # the data set's folder
    recording: Recording
    heard: Mapping[str, Sequence[Heard]]  # every decision, in the order in which they were closed
    scored: Mapping[str, Scored]


def score(
    track: Track, sheet: Sheet, who: Entry | Who, heard: Sequence[Heard], seed: int, stopped: Text = ""
) -> Scored:
    """One entrant's Result; it does not count where the host spoiled the run, others had the processors, or the run was
    stopped."""
    answers = answers_of(track, sheet.trials, heard)
    scored = scoring.score(track, sheet, answers, who.name, seed, sandbox=who.sandbox)
    decisions = [one.decision for one in heard]
    reasons = [words_of(reason) for reason in (spoiled(decisions), starved(decisions), stopped) if reason]
    return Scored(not_counted(scored.result, reasons) if reasons else scored.result, scored.rows)


def not_counted(result: Result, reasons: Sequence[Words]) -> Result:
    english, chinese = [why.en for why in reasons], [why.zh for why in reasons]
    return msgspec.structs.replace(result, valid=False, invalid_because=english, invalid_because_zh=chinese)


def hear_recorded(track: Track, run: Recording, entrant: str) -> list[Heard]:
    """An entrant's decisions, read from the recording and interpreted."""
    return [hear(track, record.decision, record.sitting) for record in run.decisions(entrant)]


def rescore(run: Recording, data: LiveData) -> ScoredRun:
    """The results of a recorded run, computed again from what was said."""
    heard = {who.name: hear_recorded(data.track, run, who.name) for who in run.head.entrants}
    scored = {who.name: _rescored(run, data, who, heard[who.name]) for who in run.head.entrants}
    return ScoredRun(data.track, data.folder, run, heard, scored)


def _rescored(run: Recording, data: LiveData, who: Who, heard: Sequence[Heard]) -> Scored:
    all_of_them = run.head.decisions
    stopped = (
        ""
        if run.end
        else say("the run was stopped after {count} of {all} decisions", count=len(heard), all=all_of_them)
    )
    again = score(data.track, data.sheet, who, heard, run.head.seed, stopped)
    before = next((result for result in run.end.results if result.entrant == who.name), None) if run.end else None
    if before is None:
        return again
    then = before.provenance  # where and when it was played is not to be computed
    place = {"host": then.host, "sandbox": then.sandbox, "made_at": then.made_at}
    about = msgspec.structs.replace(again.result.provenance, **place)
    return Scored(msgspec.structs.replace(again.result, provenance=about), again.rows)


def require_sent(run: Recording, data: LiveData) -> None:
    """See that the data set gives what was sent, tick by tick, as far as the run went; or that what was done in its
    worlds leads to what was left."""
    if data.track.episode:
        episode_run.require_same(run, data.cases)
        return
    recorded = run.ticks()
    for number, sitting in enumerate(data.sittings):
        if sitting.captured:  # the run was stopped in it: what was captured there is no sitting
            return
        for tick in sitting.planned():
            sent = next(recorded, None)
            if sent is None:
                return
            if (sent.sitting, sent.due_s, sent.trial) != (number, tick.due_s, tick.trial) or (
                sent.checksum != recording.checksum_of(tick)
            ):
                where = f"{sitting.name}, {tick.due_s:.1f} s"
                raise PalestraError(
                    say(
                        "{folder} does not give what was sent in this run (first at {where}): other data?",
                        folder=data.folder,
                        where=where,
                    )
                )
