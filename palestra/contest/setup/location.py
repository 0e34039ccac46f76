"""Where a contest lies: its file, and beside it a folder with database and files, unless a setting says else."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from sqlalchemy import Engine, make_url

from palestra import registry
from palestra.authoring import is_guarded
from palestra.contest import Contest
from palestra.contest.accounts import tokens
from palestra.contest.decisions import organiser
from palestra.contest.log import Now, wall_clock, watched
from palestra.contest.log import events as e
from palestra.contest.rules import Phase, find_tracks, held_on_stage, named_tracks, read, track_of
from palestra.contest.storage import (
    Files,
    connect,
    downloads,
    is_begun,
    open_database,
    open_to_read,
    require_begun,
    sqlite_address,
    told_if_damaged,
    writing,
)
from palestra.contract import check_start
from palestra.errors import PalestraError, Refused, UnknownName
from palestra.formats import captures_people
from palestra.records import Track
from palestra.text import Words, joined, say, say_as

Part = Literal["starter", "truth", "view"]
KEY = "contest.key"  # the signing key, beside the database
LINK_MS = 7 * 86_400_000  # that a first organiser's link is good for


@dataclass(frozen=True)
class Place:
    """A contest's file and where its database and files are."""

    file: Path  # contest.toml
    database: str = ""  # an address; empty: SQLite beside the file
    files: str = ""  # an address or a folder; empty: beside the file

    @property
    def home(self) -> Path:
        return self.file.resolve().parent

    @property
    def folder(self) -> Path:
        """What belongs to the contest and to nobody else."""
        return self.home / f"{self.file.stem}.contest"

    @property
    def spool(self) -> Path:
        return self.folder / "uploads"

    def is_open(self) -> bool:
        """Whether there is a contest, or what is left of one."""
        return bool(self.database) or (self.folder / "contest.db").exists() or bool(self._left())

    def find_tracks(self) -> None:
        """Look for tracks where the file says. Where the file counts, its reader tells what is wrong with it; the rules
        of a contest that runs are in its log."""
        try:
            places = named_tracks(self.file) if self.file.is_file() else ()
        except Refused:
            return
        find_tracks(places, self.home)

    def require_tracks(self, contest: Contest) -> None:
        """Refuse to go on where a phase's track cannot be used here, as when a contest has moved without its tracks."""
        for phase in contest.state.rules().phases:
            try:
                track_of(phase)
            except PalestraError as error:
                raise PalestraError(
                    say(
                        "{file}: phase {id} cannot be run here, for its track {track} cannot be used. {why_not}",
                        file=self.file,
                        id=phase.id,
                        track=phase.track,
                        why_not=self._why_not(error),
                    )
                ) from None

    def slips(self, phases: Iterable[Phase]) -> dict[str, str]:
        """By phase, why nothing could be scored in it: slips in tracks from outside, and in their truth. They are
        looked for before teams meet them; data that is not there yet is told elsewhere."""
        found = {}
        for phase in phases:
            track, data = track_of(phase), self.home / phase.data
            if is_guarded(track) and phase.data and data.is_dir():
                try:
                    check_start(track, data)
                except PalestraError as error:
                    found[phase.id] = str(error)
        return found

    def require_sound(self, slips: Mapping[str, str]) -> None:
        """Refuse to start a contest in which nothing could be scored."""
        if slips:
            lines = [say("Phase {id} cannot be scored. {slip}", id=phase, slip=slip) for phase, slip in slips.items()]
            raise PalestraError(joined(lines, "\n"))

    def look_at_tracks(self, contest: Contest) -> dict[str, str]:
        """The same of a contest that is there: refused before its first team, told to the organiser from then on."""
        slips = self.slips(contest.state.rules().phases)
        if not contest.state.teams:
            self.require_sound(slips)
        return slips

    def _why_not(self, error: PalestraError) -> str:
        try:
            named = named_tracks(self.file, must_be_there=True)
        except PalestraError as fault:  # with its line
            return str(fault)
        hint = "" if named else " A track from outside is found by `tracks` of [contest], which names its folder."
        return f"{error}{hint}"

    def open(self, now: Now | None = None, needs_tracks: bool = True) -> Contest:
        """The contest as it is. One that has no event yet is opened with the rules in its file."""
        if not self.file.is_file():
            raise PalestraError(
                say("{file} is not there. `palestra contest init {file}` writes one to begin with.", file=self.file)
            )
        self.find_tracks()
        self.require_whole()
        self.folder.mkdir(mode=0o700, exist_ok=True)
        engine = open_database(self.address)
        with told_if_damaged(engine):
            contest = Contest(engine, Files.open(self.files or str(self.folder / "files")), now or watched(wall_clock))
        if not contest.state.versions:
            rules = read(self.file, registry.tracks())
            self.require_sound(self.slips(rules.phases))
            home = f"palestra {version('palestra')}"
            # A server and its workers may be started together: one of them opens it.
            contest.act("system", lambda state, _: [] if state.versions else organiser.open_contest(state, rules, home))
        if needs_tracks:
            self.require_tracks(contest)
        return contest

    @property
    def address(self) -> str:
        """Of its database."""
        return self.database or sqlite_address(self.folder / "contest.db")

    @contextmanager
    def read(self) -> Iterator[Engine]:
        """Its database as it is: nothing in it or beside it is changed."""
        with open_to_read(self.address) as engine:
            self._require_whole(engine)
            require_begun(engine)
            yield engine

    def require_whole(self) -> None:
        """Refuse to begin anew beside what an earlier contest left: its log would be another one, unnoticed."""
        engine = connect(self.address, read_only=True)
        try:
            self._require_whole(engine)
        finally:
            engine.dispose()

    def _require_whole(self, engine: Engine) -> None:
        """What it left is looked for first. Where another process opens the contest now, its log is there before
        anything else is."""
        left = self._left()
        if left and not is_begun(engine):
            raise PalestraError(
                say(
                    "{folder} has {left} of a contest, but its database ({database}) is missing or empty. Nothing was "
                    "changed. To get the contest back: move {folder} aside, then `palestra contest restore {file} "
                    "BACKUPS`. To begin anew: move it aside, then start again.",
                    folder=self.folder,
                    left=left,
                    database=make_url(self.address).render_as_string() if self.database else "contest.db",
                    file=self.file,
                )
            )

    def _left(self) -> Words:
        """What only a contest that was opened has beside its database."""
        if (self.folder / KEY).exists():
            return say("the key")
        if any((self.folder / "files").glob(f"{'[0-9a-f]' * 2}/*")):
            return say("the files")
        journal = self.folder / "contest.db-wal"
        if not self.database and journal.exists() and not (self.folder / "contest.db").exists():
            return say("unfinished changes (contest.db-wal)")
        return Words()


def without_data(place: Place, contest: Contest) -> list[Phase]:
    """Phases whose data folder is not there."""
    return [one for one in contest.state.rules().phases if not one.data or not (place.home / one.data).is_dir()]


def off_stage(place: Place, contest: Contest) -> list[Phase]:
    """Phases whose people are captured while they are played, and that are not played on stage and in real time."""
    return [
        one
        for one in contest.state.rules().phases
        if one.data and captures_people(place.home / one.data) and not (held_on_stage(one) and one.pace == "real")
    ]


def unpacked(place: Place, contest: Contest) -> list[tuple[Phase, Part]]:
    """Each phase's contestant view, truth and starter kit that are not in the file store yet."""
    bare, found = without_data(place, contest), []
    for phase in contest.state.rules().phases:
        parts: tuple[Part, ...] = ("starter", "truth") if track_of(phase).live else ("starter", "truth", "view")
        have = contest.state.packs.get(phase.id, {})
        found += [(phase, part) for part in parts if part not in have and phase not in bare]
    return found


def pack_data(place: Place, contest: Contest, told: Callable[[str], None]) -> None:
    """Put what is not packed yet into the file store. What cannot be packed is told, and holds up nothing else."""
    for phase, part in unpacked(place, contest):
        told(f"{phase.id}: packing the {part} …")
        try:
            packed = _packed(track_of(phase), place.home / phase.data, contest.files, part)
        except Exception as error:
            slip = str(error) if isinstance(error, PalestraError) else registry.slip_of(error)
            if not slip:
                raise
            told(f"{phase.id}: the {part} cannot be packed, and the rest goes on. {slip}")
            continue
        _note(contest, e.DataPacked(phase.id, part, packed.file, packed.bytes))


def _packed(track: Track, data: Path, files: Files, part: Part) -> downloads.Pack:
    if part == "starter":
        return downloads.pack_starter(track, files)
    if part == "truth":
        return downloads.pack_truth(track, data, files)
    return downloads.pack_view(track, data, files, lambda count: None)


def _note(contest: Contest, event: e.DataPacked) -> None:
    contest.act("system", lambda state, now: [event])


def first_link(contest: Contest) -> str | None:
    """A secret with which somebody becomes the first organiser; nothing where there is one."""
    if any(one.role == "organiser" and not one.closed for one in contest.state.accounts.values()):
        return None
    with writing(contest.engine) as connection:
        tokens.revoke_all(connection, "", "link", ("found",))
        secret, _ = tokens.make(connection, "link", "", contest.now(), LINK_MS, ("found",))
    return secret


def reset_link(contest: Contest, name: str) -> str:
    """A secret with which somebody chooses a new password."""
    account = contest.state.names.get(name.lower())
    if account is None:
        raise UnknownName(say_as("kind", "account"), name, list(contest.state.names)[:1000])
    with writing(contest.engine) as connection:
        return tokens.make(connection, "link", account, contest.now(), LINK_MS, ("reset",))[0]
