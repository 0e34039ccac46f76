"""The truth scores nothing, and every slip that others made costs what it must."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import Refused
from palestra.evaluation import protocol_data as studying
from palestra.metrics.transforms import KINECT_TO_WORLD
from palestra.scoring import score
from palestra.tracks.remote_gaze.eyediap.answers import read_answers, write_answers, write_example
from palestra.tracks.remote_gaze.eyediap.measures import EYES, RAYS
from tests.tracks.remote_gaze.sessions import write_sessions

PEOPLE = (1, 14, 15)
NAMES = [f"{p}_A_{target}_{head}" for p in PEOPLE for target in ("DS", "CS", "FT") for head in "SM"]
NAMES += [f"{p}_B_FT_{head}" for p in (14, 15) for head in "SM"]
PROTOCOLS = [protocol.name for protocol in registry.track("remote-gaze-v1").study.protocols]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_sessions(tmp_path_factory.mktemp("eyediap"), NAMES)


def sheet_of(data: Path, protocol: str, **settings: str):
    track = registry.track("remote-gaze-v1", {"protocol": protocol, **settings})
    return track, score.load(track, data)


def true_answers(sheet) -> pl.DataFrame:
    columns = {name: pl.col(f"truth_{name}") for name in RAYS}
    found = sheet.truth.select("trial", **columns, sx=pl.lit(None, pl.Float64), sy=pl.lit(None, pl.Float64))
    return found.filter(pl.col("left_ox").is_not_null())


def values(track, sheet, answers) -> dict[str, float]:
    found = score.score(track, sheet, answers, "test").result.metrics
    return {name: estimate.value for name, estimate in found.items()}


def turned(answers: pl.DataFrame, change) -> pl.DataFrame:
    """Answers whose directions went through a function of (n, 3)."""
    columns = {}
    for eye in EYES:
        names = [f"{eye}_v{axis}" for axis in "xyz"]
        new = change(answers.select(names).to_numpy())
        columns |= {name: pl.Series(new[:, i]) for i, name in enumerate(names)}
    return answers.with_columns(**columns)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_truth_as_an_answer_is_off_by_exactly_nothing(data, protocol):
    track, sheet = sheet_of(data, protocol)
    found = values(track, sheet, true_answers(sheet))
    angles = {name: value for name, value in found.items() if name.endswith(("_deg", "_m")) and value == value}
    assert angles == dict.fromkeys(angles, 0.0)
    assert {"error_deg", "left_deg", "right_deg", "passing_deg", "distance_m"} <= set(angles)
    assert found.get("error_px", 0) == pytest.approx(0, abs=1e-9)  # where a line meets the screen is computed
    assert math.isnan(found.get("sensitivity", math.nan))  # nothing grows from nothing


def test_a_constant_turn_costs_its_angle(data):
    track, sheet = sheet_of(data, "1-FT")
    angle = math.radians(7)

    def nod(sights):
        """By 7°, about an axis square to each line of sight."""
        axes = np.cross(sights, [1.0, 0, 0])
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        return sights * math.cos(angle) + np.cross(axes, sights) * math.sin(angle)

    found = values(track, sheet, turned(true_answers(sheet), nod))
    assert found["error_deg"] == pytest.approx(7, abs=1e-9)
    assert found["passing_deg"] == pytest.approx(7, abs=1e-9)


def test_yaw_and_pitch_swapped_costs_the_angle_between_them(data):
    track, sheet = sheet_of(data, "1-DS")
    true = true_answers(sheet)

    def swapped(sights):
        return sights[:, [1, 0, 2]]

    rows = sheet.truth.filter(pl.col("evaluation") == "evaluated").join(true, on="trial")
    by_hand = []
    for eye in EYES:
        v = rows.select(f"truth_{eye}_v{axis}" for axis in "xyz").to_numpy()
        w = swapped(v)
        cosine = (v * w).sum(axis=1) / (np.linalg.norm(v, axis=1) * np.linalg.norm(w, axis=1))
        by_hand.append(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    expected = rows.with_columns(e=pl.Series(np.mean(by_hand, axis=0))).group_by("run").agg(pl.col("e").mean())
    found = values(track, sheet, turned(true, swapped))
    assert found["error_deg"] == pytest.approx(expected["e"].mean(), abs=1e-6)
    assert found["error_deg"] > 5


def test_the_cameras_frame_taken_for_the_worlds_looks_the_other_way(data):
    track, sheet = sheet_of(data, "1-FT")
    back = KINECT_TO_WORLD.back()
    found = values(track, sheet, turned(true_answers(sheet), lambda sights: back.turn(sights)))
    # y and z are mirrored, so what is left of the line is its part along x: cos = (x² − y² − z²) / |v|².
    rows = sheet.truth.filter(pl.col("evaluation") == "evaluated")
    angles = []
    for eye in EYES:
        x, y, z = rows.select(f"truth_{eye}_v{axis}" for axis in "xyz").to_numpy().T
        angles.append(np.degrees(np.arccos((x * x - y * y - z * z) / (x * x + y * y + z * z))))
    expected = rows.with_columns(e=pl.Series(np.mean(angles, axis=0))).group_by("run").agg(pl.col("e").mean())
    assert found["error_deg"] == pytest.approx(expected["e"].mean(), abs=1e-9)
    assert found["error_deg"] > 90
    assert found["passing_deg"] > 89  # Eq. 7 stops at 90°


def test_left_for_right_is_off_by_the_vergence(data):
    track, sheet = sheet_of(data, "1-FT")
    true = true_answers(sheet)
    swapped = true.rename({name: f" {name}" for name in RAYS})
    other = {"left": "right", "right": "left"}
    swapped = swapped.with_columns(
        pl.col(f" {other[e]}_{a}").alias(f"{e}_{a}") for e, a in (n.split("_") for n in RAYS)
    )
    found = values(track, sheet, swapped.select(true.columns))
    rows = sheet.truth.filter(pl.col("evaluation") == "evaluated")
    v, w = (rows.select(f"truth_{eye}_v{axis}" for axis in "xyz").to_numpy() for eye in EYES)
    between = np.degrees(np.arctan2(np.linalg.norm(np.cross(v, w), axis=1), (v * w).sum(axis=1)))
    expected = rows.with_columns(e=pl.Series(between)).group_by("run").agg(pl.col("e").mean())["e"].mean()
    assert found["error_deg"] == pytest.approx(expected, abs=1e-9)
    # Eq. 6 and 7 do not see it: each line still meets the target, from the other eye.
    assert found["distance_m"] == pytest.approx(0, abs=1e-9)


def test_a_point_on_the_screen_is_scored_in_pixels_and_as_an_angle(data):
    track, sheet = sheet_of(data, "1-CS")
    points = sheet.truth.select("trial", sx=pl.col("truth_sx") + 30, sy=pl.col("truth_sy") - 40)
    answers = points.select("trial", *(pl.lit(None, pl.Float64).alias(name) for name in RAYS), "sx", "sy")
    found = values(track, sheet, answers)
    assert found["error_px"] == pytest.approx(50)
    assert 0.5 < found["error_deg"] < 3
    exact = answers.with_columns(sx=pl.col("sx") - 30, sy=pl.col("sy") + 40)
    assert values(track, sheet, exact)["error_deg"] == pytest.approx(0, abs=1e-9)


def test_what_a_filter_removes_is_counted_and_not_scored(data):
    track, sheet = sheet_of(data, "2-FT")
    found = score.score(track, sheet, true_answers(sheet), "truth").result
    counts = {row["evaluation"]: row["trials"] for row in found.by["evaluation"]}
    assert set(counts) == {"evaluated", "blink", "head pose", "no head"}
    assert sum(counts.values()) == sheet.truth.height
    _, wide = sheet_of(data, "2-FT", most_yaw_deg="180", most_pitch_deg="90")
    assert wide.truth.filter(pl.col("evaluation") == "head pose").is_empty()


def test_a_wrong_answer_on_a_blink_costs_nothing(data):
    track, sheet = sheet_of(data, "1-FT")
    blinks = sheet.truth.filter(pl.col("evaluation") == "blink")["trial"].implode()
    true = true_answers(sheet)
    wrong = true.with_columns(left_vx=pl.when(pl.col("trial").is_in(blinks)).then(9.0).otherwise(pl.col("left_vx")))
    assert values(track, sheet, wrong)["error_deg"] == 0.0


def test_no_answer_costs_as_looking_the_other_way(data):
    track, sheet = sheet_of(data, "1-DS")
    found = values(track, sheet, true_answers(sheet).clear())
    assert (found["error_deg"], found["passing_deg"]) == (180, 90)


def test_one_eye_alone_is_charged_for_the_other(data):
    track, sheet = sheet_of(data, "1-DS")
    one = true_answers(sheet).with_columns(pl.lit(None, pl.Float64).alias(name) for name in RAYS if "right" in name)
    found = values(track, sheet, one)
    assert (found["left_deg"], found["right_deg"], found["error_deg"]) == (0, 180, 90)


def test_means_are_over_sessions_and_not_over_frames(data):
    track, sheet = sheet_of(data, "1-FT")
    rows = score.score_trials(track, sheet, track.blank(sheet.trials))
    kept = rows.filter(pl.col("evaluation") == "evaluated")
    by_session = kept.group_by("run").agg(pl.col("error_deg").mean())
    assert values(track, sheet, track.blank(sheet.trials))["error_deg"] == pytest.approx(by_session["error_deg"].mean())


def test_sensitivity_is_averaged_over_pairs(data):
    track, sheet = sheet_of(data, "2-FT")
    rows = score.score_trials(track, sheet, track.blank(sheet.trials)).filter(pl.col("evaluation") == "evaluated")
    means = {key: part["error_deg"].mean() for key, part in rows.group_by("experiment", "person", "condition")}
    pairs = {key[1:] for key in means}
    growth = [max(0, means["moving", *p] / means["still", *p] - 1) for p in pairs]
    assert values(track, sheet, track.blank(sheet.trials))["sensitivity"] == pytest.approx(np.mean(growth))


def test_the_hull_holds_what_was_looked_at_while_learning(data):
    track, sheet = sheet_of(data, "1-FT")
    study = studying.study_of(track)
    own = sheet.truth.filter(pl.col("inside_hull"))
    assert 0 < own.height < sheet.truth.height
    tested = study.samples(data, ["1_A_FT_S"]).with_columns(experiment=pl.lit("x"))
    judged = study.judge(tested, tested)
    assert judged.filter(pl.col("yaw_deg").is_not_null())["inside_hull"].all()
    assert set(judged["evaluation"]) == {"learnt from", "no head", "blink"}


@pytest.mark.parametrize("protocol", ["1-CS", "3-FT"])
def test_files_are_read_back_as_they_were_written(data, tmp_path, protocol):
    _track, sheet = sheet_of(data, protocol)
    answers = sheet.trials.select("trial").join(true_answers(sheet), on="trial", how="left", maintain_order="left")
    write_answers(answers, tmp_path / "a.csv")
    write_example(answers, tmp_path / "Example")
    for place in (tmp_path / "a.csv", tmp_path / "Example"):
        assert read_answers(place, sheet.trials).equals(answers)


def test_points_are_read_back_as_they_were_written(data, tmp_path):
    _track, sheet = sheet_of(data, "1-CS")
    points = sheet.truth.select("trial", sx="truth_sx", sy="truth_sy")
    answers = points.select("trial", *(pl.lit(None, pl.Float64).alias(name) for name in RAYS), "sx", "sy")
    write_answers(answers, tmp_path / "a.csv")
    assert read_answers(tmp_path / "a.csv", sheet.trials).equals(answers)


def test_a_frame_outside_the_protocol_is_refused_by_name(data, tmp_path):
    _track, sheet = sheet_of(data, "1-CS")
    write_answers(true_answers(sheet), tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "a.csv").write_text(text + "own,1_A_CS_S,0,left,0,0,0,0,0,1\n")
    with pytest.raises(Refused, match="frame '0'"):
        read_answers(tmp_path / "a.csv", sheet.trials)
    write_example(true_answers(sheet), tmp_path / "Example")
    with (tmp_path / "Example/own/1_A_CS_S.txt").open("a") as file:
        file.write("0;" + ";".join("0" * 12) + "\n")
    with pytest.raises(Refused, match="frame '0'"):
        read_answers(tmp_path / "Example", sheet.trials)


def test_a_folder_with_a_strange_session_is_refused(data, tmp_path):
    _track, sheet = sheet_of(data, "1-CS")
    write_example(true_answers(sheet), tmp_path / "Example")
    (tmp_path / "Example/own/99_A_CS_S.txt").write_text("frame\n")
    with pytest.raises(Refused, match="99_A_CS_S"):
        read_answers(tmp_path / "Example", sheet.trials)


def test_a_tracked_frame_without_an_answer_is_a_gap(data, tmp_path):
    _track, sheet = sheet_of(data, "1-CS")
    write_answers(true_answers(sheet)[1:], tmp_path / "a.csv")
    with pytest.raises(Refused) as refused:
        read_answers(tmp_path / "a.csv", sheet.trials)
    assert refused.value.usable is not None


def test_data_whose_targets_were_taken_out_has_no_truth(data, tmp_path):
    import shutil

    copy = tmp_path / "view"
    shutil.copytree(data, copy)
    (copy / "Data/1_A_FT_S/ball_tracking.txt").unlink()
    track = registry.track("remote-gaze-v1", {"protocol": "1-FT"})
    assert track.trials(copy).equals(track.trials(data))
    with pytest.raises(Refused, match="1_A_FT_S"):
        track.truth(copy)


@pytest.mark.parametrize("protocol", ["1-FT", "2-CS"])
def test_a_contestants_view_has_the_targets_to_learn_from_and_no_tested_one(data, tmp_path, protocol):
    import zipfile

    from palestra.datasets import redact

    track = registry.track("remote-gaze-v1", {"protocol": protocol})
    redact.pack(track, data, tmp_path / "view.zip", lambda count: None)
    with zipfile.ZipFile(tmp_path / "view.zip") as archive:
        archive.extractall(tmp_path / "view")
    with pytest.raises(Refused, match="no target in any tested frame"):
        track.truth(tmp_path / "view")
    assert track.trials(tmp_path / "view").equals(track.trials(data))
    study = studying.study_of(track)
    for fold in studying.folds_of(study, studying.protocol_of(study, protocol), data):
        learnt = studying.training(study, fold, tmp_path / "view", None).rows
        assert learnt.equals(studying.training(study, fold, data, None).rows)
        for experiment, stretch in fold.tests:
            rows = study.samples(tmp_path / "view", [stretch.piece])
            tested = rows[rows.height // 2 :] if stretch.half == "second" else rows
            assert tested["truth_left_vx"].is_null().all(), experiment
            assert tested["truth_state"].is_null().all()


def test_the_truth_that_is_released_is_the_whole_of_those_files(data):
    track = registry.track("remote-gaze-v1", {"protocol": "1-DS"})
    assert {str(path) for path in track.dataset.in_part(data)} == {
        f"Data/{person}_A_DS_S/screen_coordinates.txt" for person in PEOPLE
    }
