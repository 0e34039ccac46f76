"""What a team is told of its data and of what it can hand in: as it is, and no more than holds."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from palestra import registry
from palestra.contest.log import events as e
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.visibility import NOBODY
from palestra.errors import Refused
from palestra.scoring.submission import collect
from palestra.text import Words, human_bytes
from palestra.web.views import team, upload_limits
from tests.contest.story import a_phase
from tests.web.conftest import As, World

FILE_TRACKS = ("near-eye-gaze-v1", "gaze-prediction-v1", "eye-segmentation-v1")


def change_first(world: World, **other: Any) -> None:
    world.clock.advance(1000)
    rules = world.state.rules()
    phases = (msgspec.structs.replace(rules.phases[0], **other), *rules.phases[1:])
    world.add(e.RulesAmended(encode_rules(msgspec.structs.replace(rules, phases=phases)), world.clock(), "a reason"))


# Data


def test_an_organiser_is_not_told_of_a_team(people: dict[str, As]) -> None:
    english, chinese = (people["organiser"].get(f"/data?lang={language}").text for language in ("en", "zh"))
    assert "Your team has access" not in english
    assert "You organise this contest" in english
    assert "您是本次比赛的主办方" in chinese


def test_a_licence_is_told_as_accepted_only_where_there_is_one(world: World, people: dict[str, As]) -> None:
    assert '<span class="soft">· licence accepted' in people["captain"].get("/data").text
    change_first(world, licence=Words())
    assert "licence accepted" not in people["captain"].get("/data").text


def test_the_page_of_data_follows_what_changes(people: dict[str, As]) -> None:
    html = people["captain"].get("/data").text
    assert 'sse-connect="/live?data=1' in html
    assert 'sse-swap="data,data-change"' in html


# What can be handed in


def test_a_closed_phase_has_nothing_left(world: World, people: dict[str, As]) -> None:
    assert "Left now" in people["captain"].get("/phases/first").text
    world.clock.at = world.state.phase("first").closes
    html = people["captain"].get("/phases/first").text
    assert "Left now" not in html
    assert "This phase is closed." in html
    assert html.index('<form class="uploader"') < html.index(" hidden>", html.index('<form class="uploader"'))


def test_a_phase_to_come_tells_its_quota_and_not_what_is_left(people: dict[str, As], world: World) -> None:
    world.close_first()
    html = people["captain"].get("/phases/second").text
    assert "1,000 submissions per day" in html
    assert "Left now" not in html


def test_the_size_that_is_told_is_the_one_that_is_applied(world: World, people: dict[str, As], tiny: Any) -> None:
    (world.site.setup.home / "near-eye").symlink_to(tiny("near-eye-gaze-v1"))
    change_first(world, data="near-eye")
    phase = world.state.phase("first", world.clock())
    most = upload_limits.most_bytes(world.site.setup.home, phase)
    assert most is not None
    html = people["captain"].get("/phases/first").text
    assert f'data-limit="{most}"' in html
    assert f"{most:,} bytes" in html
    assert "200 MB" not in html
    record = people["captain"].get("/api/phases/first/submissions").json()
    assert record["forms"][0]["limit_bytes"] == most
    change_first(world, limit_bytes=1000)
    assert 'data-limit="1000"' in people["captain"].get("/phases/first").text
    assert "files up to" not in people["captain"].get("/").text


@pytest.mark.parametrize(
    ("track_id", "kinds"),
    [("near-eye-gaze-v1", (".csv",)), ("gaze-prediction-v1", (".json",)), ("eye-segmentation-v1", (".json", ".zip"))],
    ids=FILE_TRACKS,
)
def test_the_page_offers_the_kinds_of_file_that_the_track_reads(
    world: World, tmp_path: Path, track_id: str, kinds: tuple[str, ...]
) -> None:
    phase = a_phase(track=track_id)
    (form,) = team.forms(world.state, phase, registry.track(track_id), NOBODY, tmp_path, world.clock())
    assert form.suffixes == kinds


def test_a_page_to_hand_in_on_takes_nothing_but_what_is_offered(people: dict[str, As]) -> None:
    assert 'accept=".csv"' in people["captain"].get("/phases/first").text


@pytest.mark.parametrize("track_id", FILE_TRACKS)
def test_a_track_refuses_exactly_what_is_longer_than_it_says(track_id: str, tiny: Any, tmp_path: Path) -> None:
    track, data = registry.track(track_id), tiny(track_id)
    most = upload_limits.most_bytes(data.parent, a_phase(track=track_id, data=data.name))
    assert most is not None
    trials, file = track.trials(data), tmp_path / f"answers{track.suffix}"
    for size, told in ((most + 1, True), (most, False)):
        with file.open("wb") as out:
            out.truncate(size)
        with pytest.raises(Refused) as refusal:
            collect(track, file, trials)
        assert (refusal.value.faults[0].expected == f"at most {human_bytes(most)}") == told


def test_data_that_is_not_here_leaves_the_rules_limit(tmp_path: Path) -> None:
    assert upload_limits.most_bytes(tmp_path, a_phase(data="nowhere")) is None
    assert upload_limits.most_bytes(tmp_path, a_phase()) is None
    assert upload_limits.most_bytes(tmp_path, a_phase(track="near-eye-live-v1", data="nowhere")) is None


def test_data_that_cannot_be_read_leaves_the_rules_limit(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert upload_limits.most_bytes(tmp_path, a_phase(data="empty")) is None


# Awards


def test_the_place_of_a_given_award_is_the_one_it_was_given_for(world: World, people: dict[str, As]) -> None:
    world.close_first()
    people["organiser"].done("give-awards", id="", reason="as the board stands")
    before = people["organiser"].get("/desk/awards").text
    assert "today:" not in before
    world.add(e.RescoringProposed("r1", "first", ("s2",), "a better scorer"))
    world.score("s2", 0.5, "r1")
    world.add(e.RescoringApplied("r1"))
    after = people["organiser"].get("/desk/awards").text
    assert [row.entry.team for row in world.site.boards.rows("first")] == ["t2", "t1"]
    first = after[after.index("First prize") : after.index("Second prize")]
    assert 'data-label="Rank">1<br><span class="soft small">today: 2</span>' in first
