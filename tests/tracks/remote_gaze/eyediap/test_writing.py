"""EYEDIAP's files as we write them: the same bits back, whole or not at all, and readable by others' readers."""

from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from palestra.metrics.transforms import Display, World
from palestra.tracks.remote_gaze import eyediap
from tests.tracks.remote_gaze.eyediap import sample

SESSIONS = ("1_A_CS_S", "14_B_FT_M", "2_A_DS_M")
finite = st.floats(-1e150, 1e150)
nearby = st.floats(-0.4, 0.4)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    for session in SESSIONS:
        sample.write(folder, sample.recording(session))
    return folder


# --- a reader as people write it who have the data set: lines, semicolons, positions, OpenCV


@dataclass
class Outside:
    """What such a reader finds in a recording's folder. It shares nothing with ours."""

    root: Path
    session: str

    def rows(self, file: str, fields: int) -> np.ndarray:
        lines = (self.root / "Data" / self.session / file).read_text().splitlines()[1:]
        table = np.zeros((len(lines), fields))
        for at, line in enumerate(lines):
            cells = [float(cell) for cell in line.strip().split(";")]
            assert int(cells[0]) == at
            if len(cells) == fields + 1:
                table[at] = cells[1:]
        return table

    def camera(self, file: str) -> dict[str, np.ndarray]:
        with (self.root / "Data" / self.session / file).open() as stream:
            assert stream.readline().strip() == "[resolution]"
            found = {"size": np.array([int(cell) for cell in stream.readline().split(";")])}
            for name, title in (("K", "[intrinsics]"), ("R", "[R]"), ("T", "[T]")):
                assert stream.readline().strip() == title
                found[name] = np.array([[float(cell) for cell in stream.readline().split(";")] for _ in range(3)])
        return found

    def depth_numbers(self) -> tuple[list[float], list[float], np.ndarray]:
        lines = (self.root / "Data" / self.session / "depth_calibration.txt").read_text().splitlines()
        at = {line: number for number, line in enumerate(lines) if line.startswith("[")}
        k, alpha = (list(map(float, lines[at[title] + 1].split(";"))) for title in ("[k_coefficients]", "[alpha]"))
        return k, alpha, np.array([[float(cell) for cell in line.split(";")] for line in lines[at["[beta]"] + 1 :]])

    def screen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        lines = (self.root / "Metadata/ScreenCalibration/screen_calibration.txt").read_text().splitlines()
        turn = np.array([[float(cell) for cell in line.split(";")] for line in lines[5:8]])
        shift = np.array([[float(cell) for cell in line.split(";")] for line in lines[9:12]])
        return turn, shift, np.array([float(lines[1]), float(lines[3])])

    def states(self) -> list[str]:
        file = self.root / "Annotations/GazeState/GazeStateExport/Data" / self.session / "gaze_state.txt"
        return [line.strip().split("\t")[1] for line in file.read_text().splitlines()]

    def video(self, file: str) -> list[np.ndarray]:
        capture, frames = cv2.VideoCapture(str(self.root / "Data" / self.session / file)), []
        assert capture.isOpened() and capture.get(cv2.CAP_PROP_FPS) == 30
        while (read := capture.read())[0]:
            frames.append(read[1])
        return frames  # blue, green, red


def seen(camera: dict[str, np.ndarray], points: np.ndarray) -> np.ndarray:
    """K·Rᵀ(p − T), as the release's own script has it."""
    before = points @ camera["R"] - (camera["R"].T @ camera["T"]).reshape(1, 3)
    flat = before @ camera["K"].T
    return flat[:, :2] / flat[:, 2:]


@pytest.mark.parametrize("session", SESSIONS)
def test_an_outside_reader_finds_what_was_recorded(data, session):
    theirs, recorded = Outside(data, session), sample.recording(session)
    tracked = recorded.available
    head, eyes = theirs.rows("head_pose.txt", 12), theirs.rows("eye_tracking.txt", 18)
    assert np.array_equal(head[tracked, :9].reshape(-1, 3, 3), recorded.rotations[tracked])
    assert np.array_equal(head[tracked, 9:], recorded.translations[tracked])
    assert np.array_equal(eyes[tracked, 12:15], recorded.eyes[tracked, 0])  # left, then right
    assert np.array_equal(eyes[tracked, 15:18], recorded.eyes[tracked, 1])
    assert not head[~tracked].any() and not eyes[~tracked].any()
    eyeballs = np.loadtxt(data / f"Metadata/Participants/eyes_position_{session.split('_')[0]}.txt")
    for at in np.flatnonzero(tracked):  # Eq. 4
        world = head[at, :9].reshape(3, 3) @ eyeballs.T + head[at, 9:].reshape(3, 1)
        assert np.allclose(world.T.ravel(), eyes[at, 12:18], atol=1e-12)


@pytest.mark.parametrize("session", SESSIONS)
def test_an_outside_reader_finds_the_projections_where_the_cameras_see_the_points(data, session):
    theirs, recorded = Outside(data, session), sample.recording(session)
    files = ("rgb_vga_calibration.txt", "depth_calibration.txt", "rgb_hd_calibration.txt")
    eyes = theirs.rows("eye_tracking.txt", 18)[recorded.available]
    for at, camera in enumerate(map(theirs.camera, files)):
        assert np.allclose(seen(camera, eyes[:, 12:15]), eyes[:, 4 * at : 4 * at + 2], atol=1e-9)
        assert np.allclose(seen(camera, eyes[:, 15:18]), eyes[:, 4 * at + 2 : 4 * at + 4], atol=1e-9)
        if not recorded.name.on_screen:
            ball = theirs.rows("ball_tracking.txt", 9)
            assert np.allclose(seen(camera, ball[:, 6:9]), ball[:, 2 * at : 2 * at + 2], atol=1e-9)


def test_an_outside_reader_brings_the_screens_points_into_the_world(data):
    theirs, recorded = Outside(data, "1_A_CS_S"), sample.recording("1_A_CS_S")
    rows = theirs.rows("screen_coordinates.txt", 5)
    assert np.array_equal(rows[:, :2], recorded.screen)
    world = rows[:, 2:] @ np.diag([1.0, -1.0, -1.0]).T + np.array([0, 0, 1.0])  # Eq. 1
    assert np.allclose(world, recorded.target, atol=1e-12)
    # Eq. 2 and 3 in their own words
    turn, shift, k = theirs.screen()
    r_w, t_w = np.diag([1.0, -1.0, -1.0]), np.array([[0], [0], [1.0]])
    r_s, t_s = turn.T @ r_w.T, -turn.T @ shift - turn.T @ r_w.T @ t_w
    pixels = ((r_s @ world.T + t_s)[:2] / k.reshape(2, 1)).T
    assert np.allclose(pixels, recorded.screen, atol=1e-9)


def test_an_outside_reader_finds_the_ball_in_the_world(data):
    assert np.array_equal(
        Outside(data, "14_B_FT_M").rows("ball_tracking.txt", 9)[:, 6:], sample.recording("14_B_FT_M").target
    )


def test_an_outside_reader_finds_states_where_the_release_has_them(data):
    assert Outside(data, "1_A_CS_S").states() == sample.recording("1_A_CS_S").states
    assert not list((data / "Annotations").rglob("2_A_DS_M"))


@pytest.mark.parametrize("which", eyediap.VIDEOS)
def test_an_outside_reader_sees_the_videos(data, which):
    frames, recorded = Outside(data, "14_B_FT_M").video(f"{which}.mov"), sample.recording("14_B_FT_M")
    assert len(frames) == sample.FRAMES
    camera = recorded.cameras[which]
    assert {frame.shape for frame in frames} == {(camera.height, camera.width, 3)}
    assert [eyediap.drawn_index(frame[..., ::-1]) for frame in frames] == list(range(sample.FRAMES))


def test_an_outside_reader_turns_depth_into_the_same_metres(data):
    theirs, name = Outside(data, "14_B_FT_M"), eyediap.name_of("14_B_FT_M")
    (k0, k1), (a0, a1), beta = theirs.depth_numbers()
    model = eyediap.depth_model(data, name)
    with eyediap.video(data, name, "depth") as ours:
        for picture, frame in zip(ours, theirs.video("depth.mov"), strict=True):
            blue, green, red = (frame[..., channel].astype(np.float64) for channel in range(3))
            d = green * 8 + blue
            z = 1 / (k1 * (d + beta * np.exp(a0 - a1 * d)) + k0)
            z[(red != 0) | (d == 0) | (d == 2047)] = np.nan
            assert np.allclose(eyediap.depth_m(eyediap.disparity_of(picture), model), z, rtol=1e-5, equal_nan=True)


# --- round trips


@settings(max_examples=25, deadline=None)
@given(
    drawn=st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            arrays(np.float64, (n, 3), elements=finite),
            arrays(np.float64, (n, 2, 3), elements=nearby),
            arrays(np.float64, (n, 3), elements=nearby),
            arrays(np.bool_, (n,)),
        )
    )
)
def test_every_number_is_read_with_the_bits_it_was_written_with(tmp_path_factory, drawn):
    translations, eyes, target, tracked = drawn
    data, count = tmp_path_factory.mktemp("bits"), len(target)
    recorded = replace(
        sample.recording("13_B_FT_S", count), translations=translations, eyes=eyes, target=target, available=tracked
    )
    eyediap.write_session(data, recorded, {})
    table = eyediap.frames(data, recorded.name)
    assert table["tx"].is_not_null().to_list() == tracked.tolist()
    assert np.array_equal(table.select(eyediap.POSE[9:]).to_numpy()[tracked], translations[tracked])
    assert np.array_equal(table.select(eyediap.EYES).to_numpy()[tracked], eyes.reshape(-1, 6)[tracked])
    assert np.array_equal(table.select(eyediap.TARGET).to_numpy(), target)
    raw = eyediap.tracking(data, recorded.name, "ball_tracking")
    seen_by_hd = np.asarray(recorded.cameras["rgb_hd"].project(World(target)))
    assert np.array_equal(raw.select("hd_x", "hd_y").to_numpy(), seen_by_hd)


def test_the_same_recording_gives_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        sample.write(tmp_path / folder, sample.recording("14_B_FT_M"))
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert len(files) == 9 + 1 + 2  # nine of the recording; its states; the screen and the eyeballs
    assert all((tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes() for file in files)


def test_metadata_is_read_as_it_was_written(data):
    turn, shift, k = eyediap.screen_calibration(data)
    assert all(np.array_equal(a, b) for a, b in zip((turn, shift, k), sample.SCREEN, strict=True))
    shown, made = eyediap.display(data), Display.calibrated(*sample.SCREEN)
    assert np.array_equal(shown.pose.rotation, made.pose.rotation)


# --- whole or not at all


def test_pictures_are_taken_in_step(tmp_path):
    recorded, taken = sample.recording(frames=5), []

    def noting(which: str, source):
        for number, picture in enumerate(source):
            taken.append((number, which))
            yield picture

    pictures = {which: noting(which, source) for which, source in sample.pictures(recorded).items()}
    eyediap.write_session(tmp_path, recorded, pictures)
    assert [number for number, _ in taken] == sorted(number for number, _ in taken)
    assert len(taken) == 15


def test_videos_may_be_left_out(tmp_path):
    recorded = sample.recording(frames=3)
    eyediap.write_session(tmp_path, recorded, {"rgb_vga": sample.colours(recorded, "rgb_vga")})
    found = [which for which in eyediap.VIDEOS if eyediap.has_video(tmp_path, recorded.name, which)]
    assert found == ["rgb_vga"]
    assert eyediap.camera(tmp_path, recorded.name, "rgb_hd").width == 320


@pytest.mark.parametrize("count", [2, 4])
def test_pictures_that_are_too_few_or_too_many_leave_nothing_behind(tmp_path, count):
    recorded = sample.recording(frames=3)
    with pytest.raises(ValueError, match="pictures"):
        eyediap.write_session(
            tmp_path, recorded, {"rgb_vga": sample.colours(sample.recording(frames=count), "rgb_vga")}
        )
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_recording_that_fails_leaves_the_one_before_it(tmp_path):
    recorded = sample.write(tmp_path, sample.recording(frames=3))

    def broken():
        yield next(sample.disparities(recorded))
        raise RuntimeError("the lamp went out")

    with pytest.raises(RuntimeError, match="lamp"):
        eyediap.write_session(tmp_path, recorded, {"depth": broken()})
    assert [path.name for path in (tmp_path / "Data").iterdir()] == ["1_A_CS_S"]
    with eyediap.video(tmp_path, recorded.name, "depth") as video:
        assert len(video) == 3
    sample.write(tmp_path, recorded, videos=False)  # and a new one takes its place
    assert not eyediap.has_video(tmp_path, recorded.name, "depth")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"translations": np.zeros((2, 3))}, "different lengths"),
        ({"states": ["OK"]}, "different lengths"),
        ({"states": ["OK", "ok", "BK"]}, "the states are"),
        ({"screen": None}, "DS and CS alone"),
        ({"cameras": {}}, "the cameras and videos are"),
        ({"translations": np.full((3, 3), np.nan)}, "not finite"),
        ({"eyes": np.full((3, 2, 3), 5.0)}, "not before a camera"),
    ],
)
def test_a_recording_that_does_not_hold_together_is_not_written(tmp_path, changes, said):
    with pytest.raises(ValueError, match=said):
        sample.write(tmp_path, sample.recording(frames=3), videos=False, **changes)
    assert not list(tmp_path.rglob("*.txt"))
