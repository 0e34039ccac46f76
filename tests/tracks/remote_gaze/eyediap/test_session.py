"""EYEDIAP's recordings and their tracking files: names, rows, gaps, states, and what is refused."""

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.errors import PalestraError, Refused
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.tracking import FIELDS
from tests.tracks.remote_gaze.eyediap import sample

SCREEN, BALL = "1_A_CS_S", "12_B_FT_M"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("eyediap")
    for session in (SCREEN, BALL, "3_A_DS_M"):
        sample.write(data, sample.recording(session), videos=False)
    return data


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return Path(shutil.copytree(made, tmp_path / "data"))


def edit(data: Path, session: str, file: str, change) -> Path:
    """Change the lines of one of a recording's files."""
    path = data / "Data" / session / file
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    return path


def with_line(number: int, text: str):
    """Line `number` (0 is the header) replaced."""
    return lambda lines: [*lines[:number], text, *lines[number + 1 :]]


def refusal(call, *arguments) -> str:
    with pytest.raises(Refused) as caught:
        call(*arguments)
    return str(caught.value)


# --- names


def test_there_are_94_recordings_as_table_1_has_them():
    assert len(eyediap.ALL) == 94 == len(set(eyediap.ALL))
    people = {person: [str(name) for name in eyediap.ALL if name.person == person] for person in range(1, 17)}
    assert [len(people[person]) for person in range(1, 17)] == [6] * 11 + [2] * 2 + [8] * 3
    assert people[12] == ["12_B_FT_S", "12_B_FT_M"]
    ends = {"DS": 14, "CS": 14, "FT": 19}  # people and conditions of each target; each with a head that rests or moves
    assert {target: sum(name.target == target for name in eyediap.ALL) // 2 for target in ends} == ends


def test_the_release_numbers_recordings_by_person_condition_target_and_head():
    assert [eyediap.name_of(text).index for text in ("1_A_DS_S", "1_A_DS_M", "1_A_CS_S", "1_A_FT_M")] == [0, 1, 2, 5]
    assert [eyediap.name_of(text).index for text in ("12_B_FT_S", "14_A_DS_S", "14_B_FT_S", "16_B_FT_M")] == [
        66, 70, 76, 93,
    ]  # fmt: skip
    assert sorted(set(eyediap.ALL)) == list(eyediap.ALL)
    assert all(eyediap.name_of(str(name)) == name for name in eyediap.ALL)


@pytest.mark.parametrize("text", ["12_A_DS_S", "17_A_DS_S", "1_A_DS_X", "1-A-DS-S", "", "1_B_FT_S", "01_A_DS_S"])
def test_a_name_of_no_recording_is_refused_with_the_nearest(text):
    with pytest.raises(PalestraError, match=r"There is no session .*(Did you mean|Known)"):
        eyediap.name_of(text)


def test_recordings_are_found_in_the_releases_order(data):
    assert [str(name) for name in eyediap.sessions(data)] == [SCREEN, "3_A_DS_M", BALL]
    (data / "Data" / ".1_A_DS_S.7.new").mkdir()  # one that is being written
    assert len(eyediap.sessions(data)) == 3


def test_a_folder_that_is_no_recording_is_refused(data):
    (data / "Data" / "1_A_DS_Q").mkdir()
    with pytest.raises(PalestraError, match="1_A_DS_S"):
        eyediap.sessions(data)


# --- frames


def test_frames_are_what_was_recorded(data):
    recorded = sample.recording(SCREEN)
    table = eyediap.frames(data, recorded.name)
    assert table["frame"].to_list() == list(range(sample.FRAMES)) and table.schema["frame"] == pl.Int32
    assert table["state"].to_list() == recorded.states
    tracked = recorded.available
    assert np.array_equal(
        table.select(eyediap.POSE[:9]).to_numpy()[tracked].reshape(-1, 3, 3), recorded.rotations[tracked]
    )
    assert np.array_equal(table.select(eyediap.POSE[9:]).to_numpy()[tracked], recorded.translations[tracked])
    assert np.array_equal(table.select(eyediap.EYES).to_numpy()[tracked].reshape(-1, 2, 3), recorded.eyes[tracked])
    assert np.array_equal(table.select(eyediap.SCREEN).to_numpy(), recorded.screen)
    # The file has the target before the Kinect; the way there and back rounds.
    assert np.allclose(table.select(eyediap.TARGET).to_numpy(), recorded.target, rtol=0, atol=1e-15)


def test_what_was_not_tracked_is_null_and_nothing_else(data):
    recorded = sample.recording(BALL)
    table = eyediap.frames(data, recorded.name)
    for column in (*eyediap.POSE, *eyediap.EYES):
        assert table[column].is_not_null().to_list() == recorded.available.tolist()
    assert not any(table.select(eyediap.TARGET).null_count().row(0))
    assert np.array_equal(table.select(eyediap.TARGET).to_numpy(), recorded.target)
    assert table["sx"].null_count() == table["sy"].null_count() == table.height


def test_a_ball_that_was_not_found_is_null(tmp_path):
    recorded = sample.recording(BALL)
    recorded.target[4] = np.nan
    sample.write(tmp_path, recorded, videos=False)
    assert eyediap.frames(tmp_path, recorded.name)["target_x"].is_null().arg_true().to_list() == [4]


def test_the_screens_point_is_the_displays_point(data):
    table = eyediap.frames(data, eyediap.name_of(SCREEN))
    points = eyediap.display(data).point_of(table.select(eyediap.SCREEN).to_numpy())
    assert np.allclose(points, table.select(eyediap.TARGET).to_numpy(), atol=1e-12)


def test_without_its_file_the_target_is_null(data):
    name = eyediap.name_of(SCREEN)
    assert eyediap.has_target(data, name)
    (data / "Data" / SCREEN / "screen_coordinates.txt").unlink()
    table = eyediap.frames(data, name)
    assert not eyediap.has_target(data, name)
    assert table.select(*eyediap.TARGET, "sx", "sy").null_count().row(0) == (sample.FRAMES,) * 5
    assert table.columns == eyediap.frames(data, eyediap.name_of(BALL)).columns


def test_both_spellings_of_a_file_are_read(data):
    name, folder = eyediap.name_of(SCREEN), data / "Data" / SCREEN
    usual = eyediap.frames(data, name), eyediap.camera(data, name, "rgb_hd"), eyediap.depth_model(data, name)
    (folder / "eye_tracking.txt").rename(folder / "eyes_tracking.txt")
    for which in eyediap.VIDEOS:
        (folder / f"{which}_calibration.txt").rename(folder / f"calibration_{which}.txt")
    assert eyediap.frames(data, name).equals(usual[0])
    assert np.array_equal(eyediap.camera(data, name, "rgb_hd").intrinsics, usual[1].intrinsics)
    assert np.array_equal(eyediap.depth_model(data, name).beta, usual[2].beta)


def test_a_missing_file_is_refused_with_both_its_names(data):
    (data / "Data" / SCREEN / "eye_tracking.txt").unlink()
    said = refusal(eyediap.frames, data, eyediap.name_of(SCREEN))
    assert "eye_tracking.txt or eyes_tracking.txt" in said


# --- rows


@pytest.mark.parametrize("row", ["5", "5;1;2;3", "5;" + ";".join(["0.5"] * 13), "5;" + ";".join(["0"] * 12), "5;;x"])
def test_a_row_of_zeros_or_of_another_length_is_not_available(data, row):
    name = eyediap.name_of(SCREEN)
    before = eyediap.tracking(data, name, "head_pose")
    edit(data, SCREEN, "head_pose.txt", with_line(6, row))
    after = eyediap.tracking(data, name, "head_pose")
    assert after.row(5) == (5, *[None] * 12)
    others = pl.col("frame") != 5
    assert after.filter(others).equals(before.filter(others))


def test_rows_may_end_in_a_separator_have_blanks_and_windows_line_ends(data):
    name = eyediap.name_of(SCREEN)
    before = eyediap.frames(data, name)
    path = data / "Data" / SCREEN / "eye_tracking.txt"
    path.write_bytes(path.read_bytes().replace(b";", b"; ").replace(b"\n", b";\r\n"))
    assert eyediap.frames(data, name).equals(before)


def test_the_index_may_be_written_as_a_decimal(data):
    before = eyediap.tracking(data, eyediap.name_of(SCREEN), "head_pose")
    edit(data, SCREEN, "head_pose.txt", lambda lines: [lines[0], *(line.replace(";", ".0;", 1) for line in lines[1:])])
    assert eyediap.tracking(data, eyediap.name_of(SCREEN), "head_pose").equals(before)


@pytest.mark.parametrize(
    ("change", "where", "said"),
    [
        (lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]], "line 4", "frame 2"),  # out of order
        (lambda lines: [*lines[:3], *lines[4:]], "line 4", "frame 2"),  # one is missing
        (lambda lines: [*lines[:4], *lines[3:]], "line 5", "frame 3"),  # one is there twice
        (with_line(7, "6;" + ";".join(["1"] * 11 + ["nan"])), "line 8", "tz nan"),
        (with_line(7, "6;" + ";".join(["1"] * 11 + ["-inf"])), "line 8", "tz -inf"),
        (with_line(7, "6;" + ";".join(["1"] * 11 + ["x1"])), "line 8", "x1"),
        (with_line(7, "six;1"), "line 8", "frame's number"),
        (with_line(7, ""), "line 8", "frame's number"),
        (lambda lines: lines[1:], "line 1", "header"),
        (lambda lines: lines[:1], "head_pose.txt", "no rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_row_is_refused_with_its_line(data, change, where, said):
    edit(data, SCREEN, "head_pose.txt", change)
    message = refusal(eyediap.frames, data, eyediap.name_of(SCREEN))
    assert "head_pose.txt" in message and where in message and said in message


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        (1.01 * np.eye(3), "off the identity"),
        (np.array([[1, 0.01, 0], [0, 1, 0], [0, 0, 1.0]]), "off the identity"),
        (np.diag([1.0, 1, -1]), "mirrored"),
    ],
)
def test_a_head_that_is_no_rotation_is_refused(data, matrix, said):
    row = ";".join(map(repr, matrix.ravel().tolist()))
    edit(data, SCREEN, "head_pose.txt", with_line(4, f"3;{row};0.1;0.2;0.3"))
    message = refusal(eyediap.frames, data, eyediap.name_of(SCREEN))
    assert "line 5" in message and said in message


def test_numbers_that_were_rounded_are_still_a_rotation(data):
    edit(data, SCREEN, "head_pose.txt", with_line(4, "3;0.955;0;0.296;0;1;0;-0.296;0;0.955;0.1;0.2;0.3"))
    assert eyediap.frames(data, eyediap.name_of(SCREEN))["r00"][3] == 0.955


@pytest.mark.parametrize("file", ["eye_tracking.txt", "screen_coordinates.txt"])
def test_files_with_different_numbers_of_frames_are_refused(data, file):
    edit(data, SCREEN, file, lambda lines: lines[:-1])
    message = refusal(eyediap.frames, data, eyediap.name_of(SCREEN))
    assert file in message and "19 frames" in message and "20, as in head_pose.txt" in message


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_every_number_is_read_as_the_same_bits_wherever_rows_are_cut(tmp_path_factory, drawn):
    """Against a reader that splits lines in Python."""
    fields = FIELDS["ball_tracking"]
    finite = st.floats(allow_nan=False, allow_infinity=False)
    rows = drawn.draw(st.lists(st.lists(finite, min_size=0, max_size=len(fields) + 2), min_size=1, max_size=12))
    folder = tmp_path_factory.mktemp("rows") / "Data" / BALL
    folder.mkdir(parents=True)
    lines = ["a header", *(";".join([str(at), *map(repr, row)]) for at, row in enumerate(rows))]
    (folder / "ball_tracking.txt").write_text("\n".join(lines) + "\n")
    read = eyediap.tracking(folder.parent.parent, eyediap.name_of(BALL), "ball_tracking")
    for at, row in enumerate(rows):
        whole = len(row) == len(fields) and any(row)
        assert read.row(at) == (at, *(row if whole else [None] * len(fields)))


# --- states


def states_of(data: Path) -> list[str | None]:
    return eyediap.frames(data, eyediap.name_of(SCREEN))["state"].to_list()


def state_file(data: Path) -> Path:
    return next((data / "Annotations").rglob(f"{SCREEN}/gaze_state.txt"))


def test_recordings_with_a_point_that_jumps_have_no_states(data):
    assert eyediap.frames(data, eyediap.name_of("3_A_DS_M"))["state"].null_count() == sample.FRAMES


def test_states_are_found_wherever_they_were_unpacked(data):
    before = states_of(data)
    for place in (f"Annotations/{SCREEN}", f"Annotations/GazeState/Export 2/{SCREEN}"):
        folder = data / place
        folder.mkdir(parents=True)
        state_file(data).rename(folder / "gaze_state.txt")
        assert states_of(data) == before


def test_states_may_run_on_be_short_or_in_another_order(data):
    before, file = states_of(data), state_file(data)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines, "20\tNL", "21\tNL"]) + "\n\n")
    assert states_of(data) == before
    file.write_text("\n".join(reversed(lines[:-2])) + "\n")
    assert states_of(data) == [*before[:-2], None, None]


@pytest.mark.parametrize("line", ["3\tok", "3 OK", "x\tOK", "3", "-1\tOK"])
def test_a_state_that_is_none_is_refused_with_its_line(data, line):
    file = state_file(data)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:3], line, *lines[4:]]) + "\n")
    message = refusal(states_of, data)
    assert "gaze_state.txt" in message and ("line 4" in message or "below 0" in message)


def test_a_frame_with_two_states_is_refused(data):
    file = state_file(data)
    file.write_text(file.read_text().replace("4\tOK", "3\tOK", 1))
    assert "more than once" in refusal(states_of, data)


def test_a_rotation_whose_numbers_overflow_is_none(data):
    row = "1;" + ";".join(["1e200"] * 9) + ";0;0;0"
    edit(data, SCREEN, "head_pose.txt", with_line(2, row))
    assert "a rotation" in refusal(eyediap.tracking, data, eyediap.name_of(SCREEN), "head_pose")


def test_a_byte_order_mark_in_the_place_of_rows_is_refused(data):
    path = data / "Data" / SCREEN / "eye_tracking.txt"
    path.write_bytes(b"Eyes tracking: frame;RGB\n\xef\xbb\xbf\n")
    assert "no rows" in refusal(eyediap.tracking, data, eyediap.name_of(SCREEN), "eye_tracking")
