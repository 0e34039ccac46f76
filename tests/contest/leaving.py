"""A small contest with a bit of everything in it, for tests of what leaves a contest and comes back."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Engine

from palestra import registry
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.reducer import fold
from palestra.contest.log.state import State
from palestra.contest.rules import model as rulebook
from palestra.contest.rules.model import Award, Phase, Rules
from palestra.contest.storage import tables
from palestra.contest.storage.database import open_database, reading, sqlite_address, writing
from palestra.contest.storage.file_store import Files
from palestra.contest.workers import score as work
from palestra.text import Words
from tests import OUTSIDE
from tests.contest.conftest import START_MS, Clock

TRACKS = OUTSIDE
DAY_MS = 86_400_000
CLIPS = 24
PASSWORD_HASH = "$argon2id$v=19$m=65536$a-password-that-never-leaves"
TOKEN_DIGEST = "deadbeef" * 8
EMAIL = "ada@lovelace.example"
TRACE = b"Traceback: the truth is 42 in line 7"
TRUTH_PACK = b"clip,blinks: the truth pack"
VIEW_PACK = b"the contestant's view"

RULES = Rules(
    id="blinks",
    name=Words("Blink cup", "眨眼杯"),
    zone="Asia/Shanghai",
    phases=(
        Phase(
            id="open", title=Words("Open round"), track="blink-count-v1", data="data", opens=START_MS - DAY_MS,
            closes=START_MS + 10 * DAY_MS, freeze=START_MS + 5 * DAY_MS,
        ),
        Phase(
            id="split", title=Words("Half of them"), track="blink-count-v1", data="data", opens=START_MS - DAY_MS,
            closes=START_MS + 10 * DAY_MS, split=0.5,
        ),
        Phase(
            id="secret", title=Words("For organisers"), track="blink-count-v1", data="data", opens=START_MS - DAY_MS,
            closes=START_MS + 10 * DAY_MS, board_for="organisers",
        ),
    ),
    weights={"open": 0.4, "split": 0.6},
    awards=(Award("open", Words("First prize", "一等奖"), 1), Award("", Words("Grand prize"), 1)),
)  # fmt: skip


class Small:
    """Writes events and scores submissions for real, at the time of its clock."""

    def __init__(self, engine: Engine, folder: Path, at: int = START_MS) -> None:
        self.engine, self.clock, self.folder = engine, Clock(at), folder
        self.home = folder / "home"
        self.files = Files.open(str(folder / "files"))
        self._write_data()

    def _write_data(self) -> None:
        (self.home / "data" / "truth").mkdir(parents=True)
        trials = [f"c{i},p{i % 8}" for i in range(CLIPS)]
        truth = [f"c{i},{i % 5}" for i in range(CLIPS)]
        (self.home / "data" / "clips.csv").write_text("\n".join(["trial,unit", *trials, ""]))
        (self.home / "data" / "truth" / "clips.csv").write_text("\n".join(["trial,truth_blinks", *truth, ""]))

    def say(self, *bodies: e.Body, by: str = "acc-ada") -> None:
        with writing(self.engine) as connection:
            chain.append(connection, bodies, by, self.clock())

    def state(self) -> State:
        with reading(self.engine) as connection:
            return fold(chain.read(connection))

    def rows(self) -> list[tuple[int, int, str, str, str]]:
        with reading(self.engine) as connection:
            return list(chain.rows(connection))

    def submit(self, name: str, team: str, phase: str, off: int, baseline: str = "") -> None:
        """A submission whose answers are off by so many blinks, more for some people."""
        lines = [f"c{i},{i % 5 + off * (1 + i % 8 % 3)}" for i in range(CLIPS)]
        data = "\n".join(["trial,blinks", *lines, ""]).encode()
        file = self.files.put(data)
        self.say(
            e.SubmissionMade(name, team, phase, file, f"{name}.csv", len(data), baseline), e.SubmissionAccepted(name)
        )

    def score(self, name: str, rescoring: str = "") -> None:
        state = self.state()
        one = state.submissions[name]
        assignment = work.Assignment(
            kind="score", attempt=one.attempt + 1, phase=state.phase(one.phase), home=str(self.home),
            files=self.files.where, submission=name, team=one.baseline or state.teams[one.team].name, file=one.file,
            name=one.name, rescoring=rescoring,
        )  # fmt: skip
        made = work.score(assignment).bodies
        self.say(*made, by="worker:1")
        scores = next(body.files["scores"] for body in made if isinstance(body, e.ResultMade))
        report = msgspec.structs.replace(assignment, kind="report", file=scores)
        self.say(*work.write_report(report).bodies, by="worker:1")


def tell(small: Small, team: str = "Team Ada") -> None:
    """A contest from its opening to results, refusals, a freeze and an award."""
    small.say(e.ContestOpened(rulebook.encode(RULES), "palestra"), by="system")
    small.say(
        e.AccountMade("acc-org", "organiser", "organiser"),
        e.AccountMade("acc-ada", "ada", "member", EMAIL),
        e.AccountMade("acc-bob", "bob", "member", "bob@example.org"),
        e.TeamMade("ada", team, "acc-ada"),
        e.TeamMade("bob", "Bob's", "acc-bob"),
        e.MemberInvited("ada", "c" * 64),
        e.DataPacked("open", "view", small.files.put(VIEW_PACK), len(VIEW_PACK)),
        e.DataPacked("open", "truth", small.files.put(TRUTH_PACK), len(TRUTH_PACK)),
    )
    for name, who, phase, off in (("s1", "ada", "open", 2), ("s2", "bob", "open", 1), ("s3", "ada", "split", 3)):
        small.clock.advance(60_000)
        small.submit(name, who, phase, off)
        small.score(name)
    small.submit("s4", "bob", "split", 1)
    small.score("s4")
    small.submit("s5", "ada", "secret", 4)
    small.score("s5")
    small.submit("s6", "", "open", 5, baseline="zero")
    small.score("s6")
    small.submit("s7", "bob", "open", 1)
    small.say(
        e.AttemptStarted("s7", 1, "w"),
        e.AttemptFailed("s7", 1, "platform", "ours", small.files.put(TRACE), last=True),
    )
    small.submit("s8", "bob", "open", 6)  # is under way
    small.say(e.AwardGiven(0, "bob", "best"))


def put_secrets(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(tables.passwords.insert().values(account="acc-ada", hash=PASSWORD_HASH, changed_at=START_MS))
        key = {"digest": TOKEN_DIGEST, "id": "k1", "kind": "token", "account": "acc-ada", "made_at": 1, "expires_at": 2}
        connection.execute(tables.keys.insert().values(**key))
        for what in ("login:ada", "login:bob", "login:eve"):
            connection.execute(tables.tries.insert().values(what=what, at=START_MS))


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Small:
    """The contest as it was told once: scoring takes a while."""
    folder = tmp_path_factory.mktemp("told")
    engine = open_database(sqlite_address(folder / "contest.db"))
    made = Small(engine, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(registry.OUTSIDE, str(TRACKS))
        tell(made)
    engine.dispose()
    return made


@pytest.fixture
def small(told: Small, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """The same contest, this test's alone, in a database of each sort."""
    monkeypatch.setenv(registry.OUTSIDE, str(TRACKS))
    shutil.copytree(told.folder / "files", tmp_path / "files")
    copy = Small(engine, tmp_path, told.clock())
    head = told.rows()[-1]
    with writing(engine) as connection:
        names = [column.name for column in tables.events.columns]
        connection.execute(tables.events.insert(), [dict(zip(names, row, strict=True)) for row in told.rows()])
        connection.execute(tables.settings.insert().values(name=chain.HEAD, value=f"{head[0]}:{head[4]}"))
    put_secrets(engine)
    return copy


def contents(engine: Engine, left_out: Sequence[str] = ("snapshots", "workers")) -> dict[str, list[dict[str, object]]]:
    """All rows of all tables."""
    with reading(engine) as connection:
        return {
            name: [dict(row) for row in connection.execute(table.select().order_by(*table.primary_key)).mappings()]
            for name, table in tables.metadata.tables.items()
            if name not in left_out
        }


def amended(**changes: object) -> Rules:
    return msgspec.structs.replace(RULES, **changes)
