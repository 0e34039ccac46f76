"""The table as a track: played by programs, judged at the end, scored exactly, shown."""

import msgspec
import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import PalestraError
from palestra.live.episode_run import require_same
from palestra.live.live_data import read_live_data
from palestra.live.recording import Recording
from palestra.live.run import Play
from palestra.live.session import Guests, play_live
from palestra.live.timeline_page import write_run
from palestra.records import Draws
from palestra.scoring import score
from palestra.tracks.tabletop import manip_v1 as table
from palestra.tracks.tabletop.replay import actions_of, cases_with_goals, review

TRACK = "tabletop-manip-v1"


@pytest.fixture(scope="module")
def played(tiny, tmp_path_factory):
    """A run of the policy that knows everything and of one that does nothing."""
    folder, track = tmp_path_factory.mktemp("run"), registry.track(TRACK)
    order = Play("fast", trusted=True, watched=False)
    ran = play_live(read_live_data(track, tiny(TRACK)), Guests(["scripted", "do-nothing"]), order, folder / "run")
    write_run(ran, folder / "run.html")
    return ran, folder


def test_the_scripted_policy_solves_the_cases_and_doing_nothing_solves_none(played):
    ran, _ = played
    values = {name: scored.result.metrics for name, scored in ran.scored.items()}
    assert values["scripted"]["score"].value >= 0.95
    assert values["do-nothing"]["score"].value == 0
    assert values["do-nothing"]["full"].value == 0


def test_a_recorded_run_is_played_again_to_the_same_bytes_and_scores_the_same(played, cli):
    again = cli("replay", played[1] / "run", "--json")
    assert again.code == 0, again.err
    assert "differ" not in again.err


def test_a_changed_action_is_found_out(played, tiny):
    _, folder = played
    run, track = Recording(folder / "run"), registry.track(TRACK)
    truth = table.truth(tiny(TRACK), table.Settings())
    name = run.head.sittings[0]
    done = actions_of(run, "scripted")[name]
    case = cases_with_goals(truth)[name]
    then = next(one.decision.answer for one in run.decisions("scripted") if one.decision.trial == name)
    assert review(case, done).left.decode() == track.hear(then)["left"]
    assert review(case, done[: len(done) // 2]).left != review(case, done).left
    with pytest.raises(PalestraError, match="do not lead to what was recorded"):
        require_same(run, [*track.episode.cases(tiny(TRACK))[1:], track.episode.cases(tiny(TRACK))[0]])


def test_the_page_shows_when_each_sub_goal_held(played):
    ran, folder = played
    page = (folder / "run.html").read_text()
    for name in ran.recording.head.sittings:
        assert f"scripted: {name}: " in page


def test_physics_of_another_version_is_refused():
    with pytest.raises(PalestraError, match="mujoco 0"):
        registry.track(TRACK, {"physics": "mujoco 0.0.1"})
    assert registry.track(TRACK).setting_values["physics"].startswith("mujoco ")


def test_a_contestants_view_has_neither_hidden_cases_nor_their_goals(tiny):
    assert set(registry.track(TRACK).dataset.hidden) == {"truth", "hidden"}
    trials = registry.track(TRACK).trials(tiny(TRACK))
    assert set(trials.columns) == {"trial", "case", "group"}


def test_without_hidden_cases_those_to_practise_on_are_played(tiny, tmp_path):
    import shutil

    shutil.copytree(tiny(TRACK), tmp_path / "mine", ignore=shutil.ignore_patterns("hidden", "truth"))
    track = registry.track(TRACK)
    cases = track.episode.cases(tmp_path / "mine")
    assert [case.name for case in cases] == track.trials(tmp_path / "mine")["trial"].to_list()
    assert all(name.name.split("-")[1].startswith("p") for name in cases)
    assert track.truth(tmp_path / "mine")["total"].min() >= 1


def test_a_case_without_an_answer_is_charged_its_limit_and_nothing_is_met(tiny):
    track = registry.track(TRACK)
    sheet = score.load(track, tiny(TRACK))
    empty = track.blank(sheet.trials).clear().with_columns(latency_s=pl.lit(0.0), note=pl.lit(""))
    result = score.score(track, sheet, empty, "nobody", 0).result
    assert result.metrics["score"].value == 0
    assert result.metrics["total_s"].value == 90 * sheet.trials.height


def test_numbers_are_those_of_the_rules():
    rows = pl.DataFrame({"score": [1.0, 0.5, 0.0, 1.0], "seconds": [10.9, 20.4, 30.6, 1.0]})
    draws = Draws(np.arange(4), np.ones((1, 4)))
    assert table.total_s(rows, draws).tolist() == [62.0]  # 62.9, rounded down once
    assert table.variance(rows, draws)[0] == pytest.approx(np.var([1.0, 0.5, 0.0, 1.0]))


def test_what_was_left_is_kept_as_text_and_what_is_nothing_is_said():
    said = table.hear({"things": [], "seconds": 3.5})
    assert said == {"seconds": 3.5, "left": msgspec.json.encode({"things": []}).decode()}
    with pytest.raises(ValueError, match="nothing"):
        table.hear(None)


def test_a_run_can_be_seen_as_films(played, tiny, tmp_path, monkeypatch):
    import av

    from palestra.tracks.tabletop import replay

    ran, _ = played
    monkeypatch.setattr(replay, "SIDE_PX", 64)
    monkeypatch.setattr(replay, "actions_of", lambda run, name: {"pick-h1": actions_of(run, name)["pick-h1"][:20]})
    files = registry.track(TRACK).display.films(tiny(TRACK), ran.recording, tmp_path / "films")
    assert [file.name for file in files] == ["01-scripted-pick-h1.mp4", "02-do-nothing-pick-h1.mp4"]
    with av.open(str(files[0])) as film:
        assert sum(1 for _ in film.decode(video=0)) == 10 + 10
