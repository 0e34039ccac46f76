"""A person's gaze from known points: beside the naive fit on the same frames, and what is refused."""

import numpy as np
import pytest
from typer.testing import CliRunner

from palestra.cli import app
from palestra.errors import PalestraError
from palestra.studio.calibrate.gaze import calibrate_gaze, fit_gaze, read_gaze
from palestra.studio.calibrate.tables import read_table
from tests.studio.calibrate.eye_tables import POINTS, features, looked


def test_gaze_is_found_within_half_a_degree_in_spite_of_blinks(tmp_path):
    file = looked(tmp_path / "points.csv")
    calibrate_gaze(file, tmp_path)
    person = read_gaze(tmp_path / "gaze.json").people["ada"]
    yaw, pitch = np.random.default_rng(1).uniform([-14, -9], [14, 9], (200, 2)).T
    found = person.angles(features(yaw, pitch))
    off = np.hypot(*(found - np.stack([yaw, pitch], axis=1)).T)
    assert np.median(off) < 0.4
    assert person.error_deg < 0.6
    table = read_table(file, ("x", "y", "yaw_deg", "pitch_deg"), ("person",))
    seen, asked = table.numbers("x", "y"), table.numbers("yaw_deg", "pitch_deg")
    rows = np.column_stack([seen, np.ones(len(seen))])
    terms = np.linalg.lstsq(rows, asked, rcond=None)[0]  # naive: a plane through everything
    naive = np.column_stack([features(yaw, pitch), np.ones(len(yaw))]) @ terms
    assert np.median(np.hypot(*(naive - np.stack([yaw, pitch], axis=1)).T)) > 2 * np.median(off)


def test_the_command_tells_each_persons_error(tmp_path):
    file = looked(tmp_path / "points.csv")
    ran = CliRunner().invoke(app.app, ["studio", "calibrate", "gaze", str(file), "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert "ben: off by on points not fitted to" in ran.output
    assert (tmp_path / "out" / "gaze.png").exists()


def test_with_few_points_fewer_terms_are_fitted():
    points = np.repeat(POINTS[[0, 2, 4, 6, 8]], 20, axis=0)
    seen = features(*points.T) + np.random.default_rng(0).normal(0, 0.2, (len(points), 2))
    assert len(fit_gaze("ada", seen, points).gaze.terms[0]) == 3


def test_too_few_points_and_points_in_a_line(tmp_path):
    with pytest.raises(PalestraError, match="ada looked at 4 points, at least 5"):
        calibrate_gaze(looked(tmp_path / "few.csv", points=POINTS[[0, 2, 6, 8]]), tmp_path)
    line = np.stack([np.linspace(-15, 15, 7), np.zeros(7)], axis=1)
    with pytest.raises(PalestraError, match="the points lie in one line"):
        calibrate_gaze(looked(tmp_path / "line.csv", points=line), tmp_path)


def test_an_eye_that_was_never_found():
    points = np.repeat(POINTS, 20, axis=0)
    with pytest.raises(PalestraError, match=r"numbers seen \(x, y\) lie in one line"):
        fit_gaze("ada", np.full((len(points), 2), 7.0), points)


def test_a_person_who_looked_elsewhere_is_refused_and_drawn(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["person,x,y,yaw_deg,pitch_deg"]
    for yaw, pitch in POINTS.tolist():
        lines += [f"ada,{x!r},{y!r},{yaw!r},{pitch!r}" for x, y in rng.uniform(300, 340, (20, 2)).tolist()]
    (tmp_path / "points.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(PalestraError, match="no calibration was written"):
        calibrate_gaze(tmp_path / "points.csv", tmp_path / "out")
    assert (tmp_path / "out" / "gaze.png").exists()
    assert not (tmp_path / "out" / "gaze.json").exists()


def test_a_file_that_is_no_gaze(tmp_path):
    (tmp_path / "gaze.json").write_text("[]")
    with pytest.raises(PalestraError, match="was not written by"):
        read_gaze(tmp_path / "gaze.json")
