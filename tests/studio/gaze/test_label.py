"""A folder of pictures from the command to labels that the gaze prediction track reads."""

from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from palestra.cli.app import app
from palestra.errors import PalestraError
from palestra.eyes.simulator.renderer import Renderer
from palestra.studio.gaze.label import _smoothed, pictures_in, read_points, write_labels
from palestra.studio.gaze.model import apart_deg
from palestra.tracks.gaze_prediction import format as opened
from tests.studio.gaze import drawn

RIG = """focal_px = {focal}
centre_px = {centre}
position_mm = {position}
rotation = {rotation}
lights_mm = {lights}
"""
OTHERS_DEG = [(-8.0, 5.0), (-4.0, 5.0), (0.0, 5.0), (4.0, 5.0), (8.0, 5.0), (10.0, -6.0)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray]:
    """Pictures of a person by a headset, nine of them of known points; and the gaze in each."""
    place = tmp_path_factory.mktemp("labelled")
    person, camera = drawn.people(1)[0], drawn.camera(0)
    renderer = Renderer(person, camera)
    gazes = np.array([drawn.direction(*angles) for angles in [*drawn.KNOWN_DEG, *OTHERS_DEG]])
    (place / "eyes").mkdir()
    for i, gaze in enumerate(gazes):
        cv2.imwrite(str(place / "eyes" / f"{i:03d}.png"), drawn.picture(renderer, person, gaze, i).image)
    known = drawn.FAR_MM * gazes[: len(drawn.KNOWN_DEG)]
    names = [f"{i:03d}.png" for i in range(len(known))]
    pl.DataFrame({"picture": names, "x_mm": known[:, 0], "y_mm": known[:, 1], "z_mm": known[:, 2]}).write_csv(
        place / "points.csv"
    )
    (place / "rig.toml").write_text(
        RIG.format(
            focal=camera.focal_px, centre=list(camera.centre_px), position=camera.position_mm.tolist(),
            rotation=camera.rotation.tolist(), lights=camera.leds_mm.tolist(),
        )
    )  # fmt: skip
    return place, gazes


def test_pictures_become_labels_that_the_track_reads(folder: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    place, gazes = folder
    release = tmp_path / opened.RELEASE / "train"
    (release / "labels").mkdir(parents=True)
    words = ["studio", "gaze", place / "eyes", "--rig", place / "rig.toml", "--points", place / "points.csv"]
    words += ["--out", tmp_path / "gaze.csv", "--labels", release / "labels" / "0001.txt", "--median", "1"]
    ran = CliRunner().invoke(app, [*map(str, words), "--residuals", str(tmp_path / "residuals.png")])
    assert ran.exit_code == 0, ran.output
    assert "15 of 15 pictures have a gaze" in ran.output
    labels = opened.read_labels(tmp_path, "train", ["0001"])
    assert labels["frame"].to_list() == list(range(15))
    off = [apart_deg(np.array(row), gaze) for row, gaze in zip(labels.select("x", "y", "z").rows(), gazes, strict=True)]
    assert np.median(off) < 0.6 and max(off) < 2.5
    assert cv2.imread(str(tmp_path / "residuals.png")).shape[1] > 600
    table = pl.read_csv(tmp_path / "gaze.csv")
    assert table.columns == ["picture", "x", "y", "z", "yaw_deg", "pitch_deg", "glints", "off_px"]


def test_a_median_takes_a_slip_away_and_stops_at_gaps() -> None:
    yaws = [0.0, 1.0, 2.0, 25.0, 4.0, 5.0, np.nan, 7.0, 8.0]
    vectors = np.array([[np.nan] * 3 if np.isnan(yaw) else drawn.direction(yaw, 0.0) for yaw in yaws])
    smooth = np.degrees(np.arctan2(*_smoothed(vectors, 5)[:, [0, 2]].T))
    np.testing.assert_allclose(smooth, [0, 1, 2, 4, 4, 5, np.nan, 7, 8], atol=0.05)
    np.testing.assert_allclose(_smoothed(vectors, 1), vectors, atol=1e-12)


def test_labels_with_a_gap_are_not_written(tmp_path: Path) -> None:
    table = pl.DataFrame({"picture": ["a.png", "b.png"], "x": [0.0, None], "y": [0.0, None], "z": [1.0, None]})
    with pytest.raises(PalestraError, match=r"1 of 2 pictures have no gaze \(first: b\.png\)"):
        write_labels(table, tmp_path / "a.txt")
    assert list(tmp_path.iterdir()) == []


def test_folders_and_points_that_cannot_be_are_refused(folder: tuple[Path, np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(PalestraError, match="no pictures there"):
        pictures_in(tmp_path)
    files = pictures_in(folder[0] / "eyes")
    for text, said in (
        ("picture,x_mm\na,1\n", "Expected a CSV with picture,x_mm"),
        ("picture,x_mm,y_mm,z_mm\nzzz.png,0,0,1000\n", "no picture 'zzz.png'"),
        ("picture,x_mm,y_mm,z_mm\n000.png,nan,0,1000\n", "no number"),
    ):
        (tmp_path / "points.csv").write_text(text)
        with pytest.raises(PalestraError, match=said):
            read_points(tmp_path / "points.csv", files)
