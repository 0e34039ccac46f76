"""The offset of an eye tracker: found by person and pattern in spite of glances elsewhere; refused where it is none."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from palestra.cli import app
from palestra.errors import PalestraError, Refused
from palestra.metrics.angles import angles_deg
from palestra.studio.calibrate.offset import calibrate_offset, offset_of, smooth
from palestra.studio.calibrate.tables import read_table
from tests.studio.calibrate.eye_tables import OFFSETS, tracked


def columns(file, what):
    rows = list(csv.DictReader(file.open()))
    return np.array([[float(row[f"{what}_{axis}"]) for axis in "xyz"] for row in rows])


def test_offsets_are_taken_away_of_each_person_and_pattern(tmp_path):
    file = tracked(tmp_path / "tracked.csv")
    report = calibrate_offset(file, tmp_path)
    aim = columns(file, "target") - columns(file, "cornea")
    before, after = (angles_deg(columns(one, "gaze"), aim) for one in (file, tmp_path / "gaze.csv"))
    assert np.median(before) > 1.2
    assert np.median(after) < 0.6
    found = {(row["person"], row["pattern"]): row for row in csv.DictReader((tmp_path / "offsets.csv").open())}
    for whose, (yaw, _) in OFFSETS.items():
        assert np.degrees(float(found[whose]["offset_x"])) == pytest.approx(yaw, abs=0.25)
    assert len(report.measures) == 3 * len(OFFSETS)


def test_glances_elsewhere_shift_the_plain_mean_and_not_this_one():
    rng = np.random.default_rng(0)
    aim = np.tile([0.0, 0.0, 1.0], (200, 1))
    gaze = aim + [0.03, 0, 0] + rng.normal(0, 0.004, (200, 3)) * [1, 1, 0]
    gaze[:30] += [0.4, 0.2, 0]
    vector, kept = offset_of(gaze, aim)
    assert np.linalg.norm(vector - [0.03, 0, 0]) < 0.002
    assert np.linalg.norm((gaze - aim).mean(axis=0) - [0.03, 0, 0]) > 0.05
    assert not kept[:30].any()
    assert kept[30:].mean() > 0.97


def test_the_median_of_five_takes_single_frames_out_and_stays_within_a_sequence():
    gaze = np.tile([0.0, 0.0, 1.0], (12, 1))
    gaze[4] = [1.0, 0, 0]
    gaze[8:] = [0.0, 1.0, 0.0]
    smoothed = smooth(gaze, 8 * ["a"] + 4 * ["b"])
    assert np.allclose(smoothed[:8], [0, 0, 1])
    assert np.allclose(smoothed[8:], [0, 1, 0])


def test_the_command_says_what_is_left(tmp_path):
    file = tracked(tmp_path / "tracked.csv")
    ran = CliRunner().invoke(app.app, ["studio", "calibrate", "offset", str(file), "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert "ada, saccades: off by, after" in ran.output
    assert (tmp_path / "out" / "offsets.png").exists()


def test_gaze_in_another_frame_is_no_offset(tmp_path):
    file = tracked(tmp_path / "tracked.csv")
    rows = file.read_text().splitlines()
    turned = [",".join([*(cells := row.split(","))[:-3], cells[-1], cells[-2], cells[-3]]) for row in rows[1:]]
    file.write_text("\n".join([rows[0], *turned]) + "\n")
    with pytest.raises(PalestraError, match=r"away from the targets.*no calibration was written"):
        calibrate_offset(file, tmp_path)
    assert not (tmp_path / "offsets.csv").exists()


def test_gaze_that_has_nothing_to_do_with_targets(tmp_path):
    file = tracked(tmp_path / "tracked.csv", wrong=0.0)
    rows = file.read_text().splitlines()
    rng = np.random.default_rng(0)
    mixed = [rows[0], *(f"{row.rsplit(',', 3)[0]},{x!r},{y!r},1.0" for row, (x, y) in
                        zip(rows[1:], rng.uniform(-0.5, 0.5, (len(rows), 2)).tolist(), strict=False))]  # fmt: skip
    file.write_text("\n".join(mixed) + "\n")
    with pytest.raises(PalestraError, match=r"still .* off after its offset was taken away"):
        calibrate_offset(file, tmp_path)


def test_too_few_frames_and_gaze_without_direction(tmp_path):
    file = tracked(tmp_path / "tracked.csv")
    rows = file.read_text().splitlines()
    file.write_text("\n".join(rows[:11]) + "\n")
    with pytest.raises(PalestraError, match="ada has 10 frames of saccades"):
        calibrate_offset(file, tmp_path)
    file.write_text("\n".join([*rows, rows[1].rsplit(",", 3)[0] + ",0,0,0"]) + "\n")
    with pytest.raises(Refused, match="1 rows whose gaze has no direction"):
        calibrate_offset(file, tmp_path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a,b\n1,2\n", "no column person, x"),
        (b"person,x\n", "no rows"),
        (b"person,x\nada,1\nben,nan\n", "line 3"),
        (b"person,x\nada,1,2\n", "line 2"),
        (b"\xff\xfe\x00", "UTF-16"),
    ],
)
def test_tables_that_are_none(tmp_path, content, told):
    (tmp_path / "table.csv").write_bytes(content)
    with pytest.raises(Refused, match=told):
        read_table(tmp_path / "table.csv", ["x"], ["person"])
