"""A data set as a live run needs it: read once, before anybody plays, and handed to whoever asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from palestra import registry
from palestra.errors import PalestraError
from palestra.formats import captures_people
from palestra.live import episode_run
from palestra.records import Case, PersonPictures, PersonSignal, Sitting, Track
from palestra.scoring import Sheet
from palestra.scoring import score as scoring
from palestra.text import say

CAPTURED_SITTINGS = "palestra.studio.sitting.sittings:captured_sittings"  # looked up when needed, as solutions are


@dataclass(frozen=True)
class LiveData:
    """What is sent, in order, and what answers are scored against."""

    track: Track
    folder: Path
    sittings: Sequence[Sitting]
    cases: Sequence[Case]  # a sitting each; empty where nobody acts in a world
    sheet: Sheet  # has the truth

    @property
    def waiting_s(self) -> float:
        """How long a run in real time lets windows for new versions pass, all together."""
        return sum(sitting.window_s for sitting in self.sittings)

    def reread_sheet(self) -> Sheet:
        """Trials and truth, now that more was captured."""
        return scoring.load(self.track, self.folder)


def read_live_data(track: Track, folder: Path, sheet: Sheet | None = None) -> LiveData:
    """Read a data set, all but the samples that are sent; the sheet too, unless the caller has it already."""
    sittings, cases = sittings_and_cases(track, folder)
    return LiveData(track, folder, sittings, cases, sheet or scoring.load(track, folder))


def sittings_of(track: Track, folder: Path) -> Sequence[Sitting]:
    """The sittings alone, for whoever needs no truth."""
    return sittings_and_cases(track, folder)[0]


def sittings_and_cases(track: Track, folder: Path) -> tuple[Sequence[Sitting], Sequence[Case]]:
    """What is played, without its truth."""
    require_live(track)
    if track.episode:
        cases = track.episode.cases(folder)
        return [episode_run.sitting_of(case) for case in cases], cases
    return track.stream.sittings(folder) if track.stream else [], []


def with_captured(data: Path, person: PersonPictures | PersonSignal, known: Sequence[Sitting]) -> Sequence[Sitting]:
    """The sittings of a data set, with those of people who are captured while they are played."""
    if not captures_people(data):
        return known
    sittings: Sequence[Sitting] = registry.resolve(CAPTURED_SITTINGS)(data, person, known)
    return sittings


def require_live(track: Track) -> None:
    if not track.live:
        raise PalestraError(
            say("{id} is not played live: `palestra score {id} FILE` scores a submission.", id=track.id)
        )
