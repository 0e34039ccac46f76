"""`palestra contest rehearse` and `pack` for any track with a match: here one from outside the package."""

from collections.abc import Callable
from pathlib import Path

import pytest

from palestra import registry
from palestra.cli import rehearse
from palestra.contest import Contest
from palestra.contest.log import events as ev
from palestra.contest.match import events as e
from palestra.contest.match.cases import Entrant
from palestra.contest.match.rules import PRESETS
from palestra.contest.rules import reader
from palestra.contest.rules.model import encode
from palestra.contest.storage.database import open_database
from palestra.contest.storage.files import Files
from palestra.errors import UnknownName
from tests import OUTSIDE
from tests.conftest import Ran
from tests.databases import Made

CONTEST = """\
[contest]
id = "towers"
name = { en = "Towers", zh = "塔" }
zone = "Asia/Shanghai"

[[phase]]
id = "onsite"
title = { en = "On site", zh = "线下赛" }
track = "tower-v1"
data = "data"
opens = 2027-10-16T09:00:00
closes = 2027-10-17T18:00:00

[phase.match]
slot = "20 min"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A contest's file beside its data."""
    monkeypatch.setenv(registry.OUTSIDE, str(OUTSIDE / "match"))
    (tmp_path / "data").mkdir()
    (tmp_path / "contest.toml").write_text(CONTEST)
    return tmp_path / "contest.toml"


def test_a_track_from_outside_is_rehearsed_on_paper(cli: Callable[..., Ran], file: Path) -> None:
    ran = cli("contest", "rehearse", file, "onsite", "builder=nobody", "idler=nobody", "--json")
    assert ran.code == 0, ran.err
    assert [(one["rank"], one["team"], one["score"], one["cases"]) for one in ran.json] == [
        (1, "builder", "1", 2),
        (2, "idler", "0", 2),
    ]


def test_its_manual_says_what_the_track_says(cli: Callable[..., Ran], file: Path, tmp_path: Path) -> None:
    assert cli("contest", "pack", file, tmp_path / "pack.html").code == 0
    assert "Blocks are of wood." in (tmp_path / "pack.html").read_text()


def test_a_track_that_cannot_be_rehearsed_is_refused_in_words(cli: Callable[..., Ran], file: Path) -> None:
    file.write_text(CONTEST.replace("tower-v1", "near-eye-gaze-v1"))
    ran = cli("contest", "rehearse", file, "onsite", "builder=nobody")
    assert ran.code == 1 and "near-eye-gaze-v1 is not played at the table that is simulated here." in ran.err


def test_a_match_with_a_case_that_the_data_lacks_is_refused_before_anything_is_played(file: Path, blank: Made) -> None:
    contest = Contest(open_database(blank.address), Files.open(str(blank.folder / "files")), lambda: 1_792_000_000_000)
    sheet = registry.track("tower-v1").match.sheet(file.parent / "data", "hidden")  # type: ignore[union-attr]
    group = sheet.groups[0]
    strange = type(group)(group.id, group.title, (type(group.cases[0])("tower-9", group.title, group.cases[0].goals),))
    body = e.MatchOpened(
        match="m1", phase="onsite", rules=PRESETS["seed"], groups=(strange,), teams=(Entrant("t1", "Red"),),
        head="head", rehearsal=True,
    )  # fmt: skip
    rules = encode(reader.read(file))
    contest.act("system", lambda state, now: [ev.ContestOpened(rules, "tests"), body])
    with pytest.raises(UnknownName, match=r"case in data.*tower-9"):
        rehearse.at_a_match(contest, file.parent, "m1", ["t1=nobody"], False, print)
    contest.engine.dispose()
