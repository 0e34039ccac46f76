"""Gaze calibrated on a few known points: better than as it was read, and what it says of itself is true."""

import numpy as np
import pytest

from palestra.annotation.gaze_points import calibrate
from palestra.annotation.table import COLUMNS
from palestra.errors import PalestraError

LIGHTS = np.array([[-40.0, -30], [40, -30], [-40, 35], [40, 35], [0, -45]])
IRIS_PX = 180.0


def person(count, seed, slip_px=0.0, axis_noise=0.8, glints=True, kappa=(5.0, -1.5)):
    """Rows of somebody whose gaze is known: the axis is off by their own angle, the headset may slip."""
    rng = np.random.default_rng(seed)
    gaze = rng.uniform((-18, -14), (18, 14), (count, 2))
    rows, points = [], {}
    for number, (yaw, pitch) in enumerate(gaze):
        slip = rng.normal(0, slip_px, 2)
        axis = 0.93 * np.array([yaw, pitch]) - kappa + rng.normal(0, axis_noise, 2)
        pupil = np.array([320, 200]) + slip + np.array([1.9 * yaw, -1.9 * pitch]) + rng.normal(0, 0.3, 2)
        lights = np.array([320, 200]) + slip + LIGHTS + np.array([0.5 * yaw, -0.5 * pitch])
        seen = lights[rng.permutation(5)[: rng.integers(3, 6)]] + rng.normal(0, 0.3)
        name = f"{number:03}.png"
        points[name] = (float(yaw), float(pitch))
        told = {
            "file": name, "gaze_yaw_deg": f"{axis[0]:.2f}", "gaze_pitch_deg": f"{axis[1]:.2f}",
            "pupil_x": f"{pupil[0]:.2f}", "pupil_y": f"{pupil[1]:.2f}", "iris_long": f"{IRIS_PX}",
            "glints": "; ".join(f"{x:.1f} {y:.1f}" for x, y in seen) if glints else "",
        }  # fmt: skip
        rows.append({**dict.fromkeys(COLUMNS, ""), **told})
    return rows, points


def off_deg(rows, points):
    told = [(float(row["calibrated_yaw_deg"]), float(row["calibrated_pitch_deg"])) for row in rows]
    return float(np.linalg.norm(np.array(told) - [points[row["file"]] for row in rows], axis=1).mean())


@pytest.mark.parametrize("count", [4, 9, 16])
def test_a_few_points_bring_all_other_pictures_near(count):
    rows, points = person(80, 1)
    given = dict(list(points.items())[:count])
    found, result = calibrate(rows, given)
    assert result.points == result.used == count and result.before_deg > 4
    assert off_deg(found[count:], points) < 0.35 * result.before_deg
    assert off_deg(found[count:], points) < result.left_out_deg + 0.7


def test_reflections_are_used_where_the_headset_slips():
    rows, points = person(80, 2, slip_px=12.0, axis_noise=3.0)
    found, result = calibrate(rows, dict(list(points.items())[:16]))
    assert "reflections" in result.features
    without = [{**row, "glints": ""} for row in rows]
    other, plain = calibrate(without, dict(list(points.items())[:16]))
    assert "reflections" not in plain.features and result.left_out_deg < 0.7 * plain.left_out_deg
    assert off_deg(found[16:], points) < 0.7 * off_deg(other[16:], points)


def test_pictures_without_what_is_used_have_the_axis_calibrated():
    rows, points = person(40, 3, slip_px=12.0, axis_noise=3.0)
    bare = [{**row, "glints": ""} if number >= 30 else row for number, row in enumerate(rows)]
    found, result = calibrate(bare, dict(list(points.items())[:16]))
    assert "reflections" in result.features and off_deg(found[30:], points) < 6
    unread = [
        {**row, "gaze_yaw_deg": "", "pupil_x": "", "glints": ""} if number == 39 else row
        for number, row in enumerate(rows)
    ]
    assert calibrate(unread, dict(list(points.items())[:16]))[0][39]["calibrated_yaw_deg"] == ""


def test_what_is_told_of_the_error_is_of_points_left_out():
    """With as many features as points, those that were learnt from fit whatever they are."""
    rows, points = person(40, 4)
    rng = np.random.default_rng(5)
    nonsense = {name: tuple(rng.uniform(-15, 15, 2)) for name in list(points)[:5]}
    _, result = calibrate(rows, nonsense)
    assert result.left_out_deg > 8


def test_too_few_eyes_that_were_read_are_refused():
    rows, points = person(6, 6)
    blind = [{**row, "gaze_yaw_deg": ""} for row in rows[:4]] + rows[4:]
    with pytest.raises(PalestraError, match="in 2 pictures, and at least 3"):
        calibrate(blind, points)
