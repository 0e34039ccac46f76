"""The simple solutions are alive: they run, resume and beat saying nothing."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import PalestraError, UnknownName
from palestra.evaluation import solve
from palestra.eyes.pupil import find_pupil, read_grey
from palestra.eyes.regression import fit_ridge
from palestra.model_cards import is_ready
from palestra.scoring import score
from palestra.scoring.submission import collect
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.gaze_prediction.solutions import simple
from palestra.tracks.near_eye.solutions.gaze_pupil import corrected

ANSWERING = [solution for solution in registry.solutions() if solution.solves]
ALL = [(solution.track, solution.name) for solution in ANSWERING if is_ready(solution)]
UNTRAINED = [(solution.track, solution.name) for solution in ANSWERING if not is_ready(solution)]


def value(track, data, answers):
    return score.score(track, score.load(track, data), answers, "x").result.metrics[track.ranks.name].value


@pytest.mark.parametrize(("track_id", "name"), ALL)
def test_a_solution_answers_every_trial_and_beats_the_template(track_id, name, tiny, solved):
    track, data, out = registry.track(track_id), tiny(track_id), solved(track_id, name)
    trials = track.trials(data)
    found, blank = (value(track, data, answers) for answers in (collect(track, out, trials), track.blank(trials)))
    assert found < blank if track.ranks.better == "lower" else found > blank
    assert [path.name for path in out.parent.iterdir()] == [out.name], "no parts are left behind"


@pytest.mark.parametrize(("track_id", "name"), UNTRAINED)
def test_a_solution_whose_weights_are_not_shipped_says_what_brings_them(track_id, name, tiny, cli, tmp_path):
    ran = cli(
        "solve", track_id, name, "--data", tiny(track_id), "--out", tmp_path / f"a{registry.track(track_id).suffix}"
    )
    assert ran.code == 1 and "make train-" in ran.err and not list(tmp_path.iterdir())


UNHURRIED = {
    "emotion-eeg-v1": "rule=preliminary",
    "near-eye-live-v1": "deadline_s=600",
    "tabletop-manip-v1": "limit_s=2",
}
LIVE = [(solution.track, solution.name) for solution in registry.solutions() if solution.plays]


@pytest.mark.parametrize(("track_id", "name"), LIVE)
def test_a_live_solution_answers_every_trial(track_id, name, tiny, cli, tmp_path):
    words = ["--set", UNHURRIED[track_id]]
    ran = cli(
        "play", track_id, name, "--data", tiny(track_id), "--pace", "fast", "--run", tmp_path / "run", "--json", *words
    )
    assert ran.code == 0 and ran.json["valid"], ran.err
    metrics = {key: found["value"] for key, found in ran.json["metrics"].items()}
    assert metrics.get("missed", metrics.get("misses", 0)) == 0


def test_a_live_solution_writes_no_file(cli, tmp_path):
    ran = cli("solve", "emotion-eeg-v1", "entropy", "--out", tmp_path / "a.csv")
    assert ran.code == 1 and "palestra play emotion-eeg-v1 entropy" in ran.err


@pytest.mark.parametrize("name", ["hold-last", "linear"])
def test_forecasting_from_labels_leaves_the_forecast_s_error_alone(name, tiny, tmp_path):
    track, data = registry.track("gaze-prediction-v1"), tiny("gaze-prediction-v1")
    solve.solve(track, registry.solution(track.id, name), data, {"angles": "truth"}, tmp_path / "a.json")
    assert value(track, data, collect(track, tmp_path / "a.json", track.trials(data))) < 2.5


def test_linear_is_the_least_squares_line_through_fifty_angles(tiny, tmp_path):
    from palestra.metrics.angles import to_angles
    from palestra.tracks.gaze_prediction.solutions.history import histories

    track, data = registry.track("gaze-prediction-v1"), tiny("gaze-prediction-v1")
    solve.solve(track, registry.solution(track.id, "linear"), data, {"angles": "truth"}, tmp_path / "a.json")
    answers = collect(track, tmp_path / "a.json", track.trials(data))
    sequence = track.trials(data)["sequence"][0]
    past = histories(data, [sequence], None)[0]
    found = np.stack(to_angles(answers.filter(pl.col("trial").str.starts_with(f"{sequence}/"))[:, 1:].to_numpy()), -1)
    for axis in range(2):
        line = np.poly1d(np.polyfit(np.arange(50), past[:, axis], 1))
        assert found[:, axis] == pytest.approx(line(np.arange(50, 55)), abs=1e-6)


def test_a_stopped_run_goes_on_where_it_was(tiny, tmp_path, monkeypatch):
    track, data = registry.track("gaze-prediction-v1"), tiny("gaze-prediction-v1")
    solution = registry.solution(track.id, "hold-last")
    rule, seen = registry.resolve(solution.solves), []

    def predict(data, trials, model):
        seen.append(trials["sequence"][0])
        if len(seen) == 4:
            raise KeyboardInterrupt
        return rule.predict(data, trials, model)

    monkeypatch.setattr(simple, "HOLD_LAST", SimpleNamespace(fit=rule.fit, predict=predict))
    with pytest.raises(KeyboardInterrupt):
        solve.solve(track, solution, data, {"angles": "truth"}, tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()
    answers = solve.solve(track, solution, data, {"angles": "truth"}, tmp_path / "a.json")
    assert seen.count(seen[3]) == 2
    assert all(seen.count(name) == 1 for name in seen if name != seen[3])
    assert answers.height == track.trials(data).height


def test_an_option_that_is_not_there_gets_a_hint(tiny, tmp_path):
    track = registry.track("gaze-prediction-v1")
    with pytest.raises(UnknownName, match="angles"):
        solve.solve(track, registry.solution(track.id, "linear"), tiny(track.id), {"angle": "x"}, tmp_path / "a")


def test_data_without_pictures_is_told_in_words(tmp_path):
    with pytest.raises(PalestraError, match="no picture there"):
        read_grey(tmp_path / "x.png")


def test_pupils_are_found_where_the_masks_have_them(tiny):
    data = tiny("eye-segmentation-v1")
    away = []
    for trial, file, key in openeds.read_hidden(data).rows():
        sequence, name = trial.split("/")
        rows, columns = np.nonzero(openeds.open_mask(file, key) == 3)
        if len(rows) < 500:
            continue
        pupil = find_pupil(read_grey(openeds.image_file(data, sequence, int(name.removesuffix(".npy")))))
        away.append(np.hypot(pupil.x - columns.mean(), pupil.y - rows.mean()))
    assert len(away) > 15
    assert np.median(away) < 2
    assert np.mean(np.array(away) < 10) > 0.8


def test_ridge_learns_a_quadratic_and_stays_within_what_it_saw():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(400, 2))
    values = np.column_stack([1 + 2 * inputs[:, 0] + inputs[:, 1] ** 2, inputs[:, 0] * inputs[:, 1]])
    model = fit_ridge(inputs, values, penalty=1e-6)
    assert model(inputs[:50]) == pytest.approx(values[:50], abs=1e-3)
    assert (model(np.full((1, 2), 1e6)) <= values.max(axis=0)).all()


def test_the_correction_brings_calibration_frames_home():
    rng = np.random.default_rng(0)
    truth = rng.uniform(-300, 300, (200, 2))
    found = 0.9 * truth + [40, -25]
    rows = np.array([3, 50, 90, 120, 180], np.uint32)
    better = corrected(found, rows, truth[rows])
    assert np.abs(better - truth).mean() < 0.25 * np.abs(found - truth).mean()
    assert corrected(found, np.array([], np.uint32), truth[:0]) is found


def test_an_error_in_a_worker_process_is_told_in_words(tiny, tmp_path, monkeypatch, cli):
    import shutil

    from palestra import parallel

    monkeypatch.setenv(parallel.WORKERS, "2")
    data = tiny("gaze-prediction-v1")
    shutil.copytree(data, tmp_path / "data", ignore=shutil.ignore_patterns("*.png", "truth"))
    out = tmp_path / "a.json"
    ran = cli(
        "solve", "gaze-prediction-v1", "linear", "--data", tmp_path / "data", "--out", out, "--set", "angles=truth"
    )
    assert ran.code == 1
    assert "the test labels" in ran.err
    assert "broke" not in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"], "and leaves nothing behind"


def test_another_data_set_does_not_get_the_answers_of_this_one(tiny, tmp_path):
    track, solution = registry.track("gaze-prediction-v1"), registry.solution("gaze-prediction-v1", "linear")
    prints = {solve._fingerprint(track, solution, place, {}) for place in (tiny(track.id), tmp_path)}
    assert len(prints) == 2
