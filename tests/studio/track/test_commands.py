"""What the commands write is what the gaze track reads; what they cannot use they refuse in words."""

import re

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from palestra.cli.studio import app
from palestra.metrics.transforms import World
from palestra.studio.capture.capture import Capture
from palestra.studio.capture.specs import sources_of
from palestra.studio.capture.writer import How
from palestra.studio.track.calibration_file import Disparities
from palestra.studio.track.depth_units import DepthUnit
from palestra.tracks.remote_gaze import eyediap
from tests.studio.track.conftest import NECK
from tests.studio.track.recorded import camera_text, write_calibration, write_pairs
from tests.studio.track.scene import COLOUR_CAMERA, Look, camera, hand_before

BALL = np.array([0.16, 0.02, 0.45])
AT = "0:{:.0f},{:.0f}".format(*COLOUR_CAMERA.project(World(BALL)))
NAME, LIMIT_S = eyediap.name_of("1_A_FT_M"), 120.0


def run(*words):
    return CliRunner().invoke(app, ["track", *map(str, words)])


def refused(*words):
    result = run(*words)
    assert result.exit_code != 0
    return re.sub(r"\s+", " ", str(result.exception or result.output))


@pytest.fixture(scope="module")
def looks(sitting):
    found = [Look(head, BALL + [0.004 * at, 0, 0], (), NECK) for at, head in enumerate(sitting.heads[:12])]
    return [*found[:8], Look(found[8].head, None, (hand_before(found[8].head, 0.0),), NECK), *found[9:]]


@pytest.fixture(scope="module")
def pictures(sitting, looks, tmp_path_factory):
    pairs = [(sitting.scene.colour(look), sitting.scene.depth(look)) for look in looks]
    return write_pairs(tmp_path_factory.mktemp("track") / "pictures", pairs)


@pytest.fixture(scope="module")
def tracked(pictures, tmp_path_factory):
    out = tmp_path_factory.mktemp("tracked")
    for what, more in (("ball", ["--at", AT]), ("head", [])):
        result = run(what, pictures, "--session", NAME, "--out", out, *more)
        assert result.exit_code == 0, result.output
        assert "in 11 of 12 frames" in result.stderr
    return out


def test_the_gaze_track_reads_what_was_tracked(sitting, looks, tracked):
    table = eyediap.frames(tracked, NAME)
    assert table.height == 12 and eyediap.sessions(tracked) == [NAME]
    known = [at for at in range(12) if at != 8]
    assert table["tx"].is_null().to_list() == table["target_x"].is_null().to_list() == [at == 8 for at in range(12)]
    target = table[known].select(eyediap.TARGET).to_numpy()
    off = np.linalg.norm(target - [looks[at].ball for at in known], axis=1)
    assert np.median(off) < 0.003
    eyes = table[known].select(eyediap.EYES).to_numpy().reshape(-1, 2, 3)
    true = np.array([looks[at].head(sitting.scene.person.eyes) for at in known])
    assert np.median(np.linalg.norm(eyes - true, axis=2)) < 0.006
    assert (eyes[:, 0, 0] > eyes[:, 1, 0]).all()  # left first


def test_eyeballs_are_carried_with_the_head_from_their_file(tracked):
    table = eyediap.frames(tracked, NAME).drop_nulls("tx")
    turns = table.select(eyediap.POSE[:9]).to_numpy().reshape(-1, 3, 3)
    shifts = table.select(eyediap.POSE[9:]).to_numpy()
    eyes = np.asarray(eyediap.eyeballs(tracked, 1))
    carried = np.einsum("nij,ej->nei", turns, eyes) + shifts[:, None]
    np.testing.assert_allclose(carried, table.select(eyediap.EYES).to_numpy().reshape(-1, 2, 3), atol=1e-9)


def test_projections_are_by_the_cameras_that_were_there(tracked):
    table = eyediap.tracking(tracked, NAME, "ball_tracking").drop_nulls()
    points = World(table.select(eyediap.TARGET).to_numpy())
    for which, fields in (("rgb_vga", ["vga_x", "vga_y"]), ("depth", ["depth_x", "depth_y"])):
        seen = eyediap.camera(tracked, NAME, which).project(points)
        np.testing.assert_allclose(table.select(fields).to_numpy(), seen, atol=1e-6)
    assert not table.select("hd_x", "hd_y").to_numpy().any()


def test_a_persons_next_session_has_the_same_eyeballs(pictures, tracked):
    before = (tracked / "Metadata/Participants/eyes_position_1.txt").read_bytes()
    assert run("head", pictures, "--session", "1_A_FT_S", "--out", tracked).exit_code == 0
    assert (tracked / "Metadata/Participants/eyes_position_1.txt").read_bytes() == before


def test_what_capture_recorded_is_tracked_as_the_pictures_are(pictures, tracked, tmp_path):
    capture = Capture(tmp_path / "recording", sources_of([f"rgbd=depth:{pictures}@fast"]), How(), lambda *_: None)
    capture.start()
    capture.wait(LIMIT_S)
    capture.finish()
    words = ["ball", tmp_path / "recording", "--session", NAME, "--at", AT, "--out", tmp_path / "out"]
    result = run(*words, "--calibration", pictures)
    assert result.exit_code == 0, result.output
    file = f"Data/{NAME}/ball_tracking.txt"
    assert (tmp_path / "out" / file).read_bytes() == (tracked / file).read_bytes()


def test_disparities_of_a_kinect_are_metres_by_its_calibration():
    model = eyediap.DepthModel((3.09, -0.00284), (0.94, 0.0019), np.full((4, 6), 0.3))
    disparity = np.array([[0, 2047, 500, 600, 700, 800]] * 4, np.uint16)
    ours = DepthUnit(disparities=Disparities(model.k, model.alpha, model.beta))
    expected = np.nan_to_num(eyediap.depth_m(disparity, model), nan=0.0)
    np.testing.assert_allclose(ours.metres(disparity, (slice(None), slice(None))), expected, rtol=1e-5)


# --- refusals


def changed(pictures, tmp_path, change, what="depth"):
    """A copy of two of the pictures, with depths or colours changed."""
    pairs = []
    for number in (0, 1):
        colour = cv2.imread(str(pictures / "colour" / f"{number}.png"))
        depth = cv2.imread(str(pictures / "depth" / f"{number}.png"), cv2.IMREAD_UNCHANGED)
        pairs.append((colour, change(depth)) if what == "depth" else (change(colour), depth))
    return write_pairs(tmp_path / "changed", pairs)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d * 0, ["the depth pictures hold no depth"]),
        (lambda d: (d * 10.0).clip(0, 65535).astype(np.uint16), ["the middle of all depths is", "Say --unit 0.1mm"]),
        (lambda d: (d // 100).astype(np.uint16), ["the middle of all depths is", "Units that are known"]),
        (lambda d: np.where(d == 0, 2047, d // 2).astype(np.uint16), ["Say --unit disparity"]),
        (lambda d: (d // 10).astype(np.uint8), ["expected 16 bits for each pixel"]),
        (lambda d: d[:240, :320], ["320 × 240 pixels", "of a camera of 640 × 480"]),
    ],
    ids=["nothing", "tenths", "decimetres", "disparities", "8 bits", "another size"],
)
def test_depth_that_is_none_is_refused(pictures, tmp_path, change, words):
    said = refused("head", changed(pictures, tmp_path, change), "--session", NAME, "--out", tmp_path / "out")
    assert all(word in said for word in words), said
    assert not (tmp_path / "out").exists()


def test_disparities_without_their_calibration_are_refused(pictures, tmp_path):
    said = refused("head", pictures, "--session", NAME, "--out", tmp_path, "--unit", "disparity")
    assert "[k_coefficients]" in said


def test_a_calibration_of_another_size_or_none_is_refused(pictures, tmp_path):
    folder = write_pairs(tmp_path / "other", [])
    said = refused("head", pictures, "--session", NAME, "--out", tmp_path, "--calibration", tmp_path)
    assert "there is no rgb_vga_calibration.txt" in said
    half = camera(260.0, (0, 0, 1.0))
    (folder / "rgb_vga_calibration.txt").write_text(camera_text(half).replace("640;480", "320;240"))
    said = refused("head", pictures, "--session", NAME, "--out", tmp_path, "--calibration", folder)
    assert "640 × 480 pixels" in said and "320 × 240" in said


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("[intrinsics]", "[matrix]", "[intrinsics]"),
        ("640;480", "640;x", "2 numbers"),
        ("640;480", "0;480", "a width and a height"),
        ("[R]\n1.0;", "[R]\n2.0;", "a rotation"),
        ("525.0;0.0", "-525.0;0.0", "fx 0 cx"),
    ],
)
def test_a_damaged_calibration_is_refused_by_place(pictures, tmp_path, old, new, word):
    write_calibration(tmp_path)
    file = tmp_path / "rgb_vga_calibration.txt"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    said = refused("head", pictures, "--session", NAME, "--out", tmp_path / "out", "--calibration", tmp_path)
    assert word in said and "rgb_vga_calibration.txt" in said


def test_a_folder_without_depth_is_refused(pictures, tmp_path):
    (tmp_path / "colour").mkdir()
    said = refused("head", tmp_path, "--session", NAME, "--out", tmp_path / "out")
    assert "found the folders colour, expected one of colour" in said and "depth" in said


def test_a_recording_without_depth_is_refused(pictures, tmp_path):
    capture = Capture(tmp_path / "r", sources_of([f"left=played:{pictures / 'colour'}@fast"]), How(), lambda *_: None)
    capture.start()
    capture.wait(LIMIT_S)
    capture.finish()
    said = refused("head", tmp_path / "r", "--session", NAME, "--out", tmp_path / "out", "--calibration", pictures)
    assert "has no depth: none of its sources (left)" in said


def test_an_empty_room_is_refused(sitting, tmp_path):
    folder = write_pairs(tmp_path / "empty", [(sitting.scene.colour(Look()), sitting.scene.depth(Look()))] * 2)
    said = refused("head", folder, "--session", NAME, "--out", tmp_path / "out")
    assert "Nobody is before the camera" in said


@pytest.mark.parametrize("at", ["0:320,240", "0:400,400", "5:1,1", "here"])
def test_a_ball_that_is_not_where_it_was_pointed_at_is_refused(pictures, tmp_path, at):
    said = refused("ball", pictures, "--session", NAME, "--out", tmp_path / "out", "--at", at)
    words = {"0:320,240": "no ball of 4 cm", "0:400,400": "Frame 0:", "5:1,1": "there is no depth", "here": "FRAME:X,Y"}
    assert words[at] in said, said


def test_a_ball_as_grey_as_the_room_is_refused(pictures, tmp_path):
    def grey(colour):
        return cv2.cvtColor(cv2.cvtColor(colour, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR)

    folder = changed(pictures, tmp_path, grey, "colour")
    said = refused("ball", folder, "--session", NAME, "--out", tmp_path / "out", "--at", AT)
    assert "no ball of 4 cm and of a colour of its own" in said


def test_what_was_tracked_is_not_written_over(pictures, tracked):
    assert "is there already" in refused("head", pictures, "--session", NAME, "--out", tracked)
    assert "is there already" in refused("ball", pictures, "--session", NAME, "--out", tracked, "--at", AT)


def test_sessions_are_named_as_eyediap_names_them(pictures, tmp_path):
    assert "no session's name" in refused("head", pictures, "--session", "monday", "--out", tmp_path)
    said = refused("ball", pictures, "--session", "1_A_DS_S", "--out", tmp_path, "--at", AT)
    assert "nobody looks at a ball" in said


def test_eyeballs_of_another_heads_frame_are_not_used(pictures, tmp_path):
    file = tmp_path / "Metadata/Participants/eyes_position_1.txt"
    file.parent.mkdir(parents=True)
    file.write_text("0.03 0 0.06\n-0.03 0 0.06\n")
    said = refused("head", pictures, "--session", NAME, "--out", tmp_path)
    assert "of another head's frame" in said
