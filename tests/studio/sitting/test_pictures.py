"""A final on people: pictures are taken as points are shown, sent to all at once, kept, and played again from files."""

import shutil
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.errors import NotCaptured, PalestraError
from palestra.live.live_data import read_live_data
from palestra.live.run import Play
from palestra.live.session import Guests, play_live, replay_live
from palestra.records import CAPTURES
from palestra.studio.capture.recording import Recording
from palestra.studio.sitting import pictures
from palestra.studio.sitting.pictures import fitted
from tests.entrants.talking import free_port
from tests.live.hall import require_sandbox
from tests.studio.sitting import final
from tests.studio.sitting.page_player import LIMIT_S, PagePlayer

TOLERANCE_NS = 150_000_000  # of a picture every 40 ms; on a busy machine they arrive later than they were due


@pytest.fixture
def eyes(tiny: Callable[[str], Path]) -> Path:
    """Stored pictures of a tester, one for each of 30 points."""
    return tiny("near-eye-live-v1") / "test" / "T1"


def play(data: Path, folder: Path, words: list[str], pace: str = "real"):
    order = Play(pace, watched=False)  # type: ignore[arg-type]
    return play_live(read_live_data(final.track(), data), Guests(words), order, folder)


def words_of(programs: dict[str, Path]) -> list[str]:
    return [f"{name}={file}" for name, file in programs.items()]


def test_a_final_scores_as_its_pictures_do_from_files_and_is_replayed_to_the_same_bytes(
    eyes: Path, tmp_path: Path
) -> None:
    require_sandbox()
    port = free_port()
    data = final.prepared(tmp_path, ["Ada", "Ben"], final.played(eyes), port)
    words = words_of(final.programs(tmp_path))
    page = PagePlayer(port, people=2)
    page.start()
    live = play(data, tmp_path / "live", words)
    page.join(LIMIT_S)
    assert page.failure is None
    results = {name: one.result for name, one in live.scored.items()}
    assert all(result.valid for result in results.values()) and results.keys() == {"bright", "dark"}
    assert [len(heard) for heard in live.heard.values()] == [8, 8]
    assert {heard.said is not None for some in live.heard.values() for heard in some} == {True}

    again = replay_live(tmp_path / "live", None)
    assert again.same
    stored = play(data, tmp_path / "stored", words, "fast")
    for name, result in results.items():
        twin = stored.scored[name].result
        assert (twin.metrics, twin.by, twin.provenance.data) == (result.metrics, result.by, result.provenance.data)
        said = [[heard.said for heard in played.heard[name]] for played in (live, stored)]
        assert said[0] == said[1]
    sent, resent = (
        [(tick.sitting, tick.due_s, tick.checksum, tick.trial) for tick in run.recording.ticks()]
        for run in (live, stored)
    )
    assert sent == resent and len(sent) == 8
    require_pictures_of_their_moments(data)


def require_pictures_of_their_moments(data: Path) -> None:
    """What was kept of each point is the recorded frame nearest to half a second after its onset."""
    for person in ("Ada", "Ben"):
        folder = data / CAPTURES / f"{person}-1"
        onsets = pl.read_parquet(folder / "presented" / "onsets.parquet").filter(shows="capture")
        recording = Recording(folder / "recorded")
        assert onsets.height == 4
        for number, onset_s in enumerate(onsets["onset_s"], 1):
            for eye in ("left", "right"):
                times = recording.times(eye)["arrived_ns"].to_numpy()
                near = np.flatnonzero(np.abs(times - onset_s * 1e9) < TOLERANCE_NS)
                frames = [taken.images[0] for taken in recording.frames(eye) if taken.number in near.tolist()]
                kept = cv2.imread(str(data / "test" / person / eye / f"{number:02d}.png"), cv2.IMREAD_GRAYSCALE)
                assert any(np.array_equal(kept, fitted(frame, (400, 640))) for frame in frames)


def test_where_they_look_is_known_before_and_in_the_direction_of_the_screen(eyes: Path, tmp_path: Path) -> None:
    data = final.prepared(tmp_path, ["Ada", "Ben"], final.played(eyes), 0)
    truth = final.track().truth(data)
    assert truth["trial"].to_list() == [f"{name}/{point:02d}" for name in ("Ada", "Ben") for point in range(1, 5)]
    # The margin of 5 % leaves 90 % of 531 mm: 238.95 mm on either side, seen from 600 mm.
    assert truth["yaw_deg"].abs().to_list() == pytest.approx([21.72] * 8, abs=0.01)
    assert truth["pitch_deg"].abs().max() == pytest.approx(12.64, abs=0.01)
    orders = truth.group_by("tester", maintain_order=True).agg(pl.concat_str("truth_x", "truth_y"))["truth_x"]
    assert orders[0].to_list() != orders[1].to_list()  # each person's is drawn anew


def test_pictures_that_are_wholly_there_are_not_taken_again(eyes: Path, tmp_path: Path) -> None:
    data = final.prepared(tmp_path, ["Ada", "Ben"], final.played(eyes), 0)
    for eye in ("left", "right"):
        (data / "test" / "Ada" / eye).mkdir(parents=True)
        for point in range(1, 5):
            shutil.copy(eyes / eye / f"{point:02d}.png", data / "test" / "Ada" / eye)
    sittings = read_live_data(final.track(), data).sittings
    assert [(one.name, one.captured) for one in sittings] == [("Ada", False), ("Ben", True)]


def test_a_source_that_ends_too_early_ends_the_run_in_words_and_keeps_what_was_recorded(
    eyes: Path, tmp_path: Path
) -> None:
    require_sandbox()
    port = free_port()
    data = final.prepared(tmp_path, ["Ada"], final.played(eyes, rate_hz=20, loop=""), port)
    page = PagePlayer(port, people=1)
    page.start()  # 30 pictures at 20 Hz are over after 1.5 s, the points after 2.4 s
    with pytest.raises(PalestraError, match=r"ended during the sitting of Ada|no picture of"):
        play(data, tmp_path / "run", words_of(final.programs(tmp_path)))
    recording = Recording(data / CAPTURES / "Ada-1" / "recorded")
    assert {name: recording.times(name).height for name in recording.names} == {"left": 30, "right": 30}
    assert read_live_data(final.track(), data).sittings[0].captured  # and so Ada begins anew


def test_an_unfinished_sitting_begins_anew_and_its_pictures_are_put_aside(eyes: Path, tmp_path: Path) -> None:
    require_sandbox()
    port = free_port()
    data = final.prepared(tmp_path, ["Ada"], final.played(eyes), port)
    (data / "test" / "Ada" / "left").mkdir(parents=True)
    shutil.copy(eyes / "left" / "30.png", data / "test" / "Ada" / "left" / "01.png")
    page = PagePlayer(port, people=1)
    page.start()
    live = play(data, tmp_path / "run", words_of(final.programs(tmp_path))[:1])
    assert live.scored["bright"].result.valid
    aside = data / CAPTURES / "Ada-unfinished-1" / "left" / "01.png"
    assert aside.read_bytes() == (eyes / "left" / "30.png").read_bytes()
    assert replay_live(tmp_path / "run", None).same


def test_a_page_that_is_closed_after_the_last_point_holds_up_nobody(
    eyes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_sandbox()
    monkeypatch.setattr(pictures, "LAST_WORD_NS", 200_000_000)
    port = free_port()
    data = final.prepared(tmp_path, ["Ada"], final.played(eyes), port)

    page = PagePlayer(port, people=1, finishes=False)
    page.start()
    live = play(data, tmp_path / "run", words_of(final.programs(tmp_path))[:1])
    assert live.scored["bright"].result.valid and page.failure is None
    assert len(live.heard["bright"]) == 4


def test_people_who_are_captured_cannot_be_played_in_virtual_time(eyes: Path, tmp_path: Path) -> None:
    data = final.prepared(tmp_path, ["Ada"], final.played(eyes), 0)
    with pytest.raises(PalestraError, match="only --pace real can do"):
        play(data, tmp_path / "run", words_of(final.programs(tmp_path)), "fast")


def test_a_camera_that_is_not_there_is_said_and_nothing_is_written(eyes: Path, tmp_path: Path) -> None:
    require_sandbox()
    data = final.prepared(tmp_path, ["Ada"], {**final.played(eyes), "right": "camera:97"}, free_port())
    with pytest.raises(PalestraError, match="no camera 97 that can be opened"):
        play(data, tmp_path / "run", words_of(final.programs(tmp_path)))
    assert not (data / "test").exists()


def test_pictures_that_cannot_be_written_end_the_run_in_words(eyes: Path, tmp_path: Path) -> None:
    require_sandbox()
    port = free_port()
    data = final.prepared(tmp_path, ["Ada"], final.played(eyes), port)
    (data / "test").write_text("a file where a folder should be")
    page = PagePlayer(port, people=1)
    page.start()
    with pytest.raises(NotCaptured, match="cannot be written: Not a directory"):
        play(data, tmp_path / "run", words_of(final.programs(tmp_path))[:1])
    recording = Recording(data / CAPTURES / "Ada-1" / "recorded")
    assert recording.head.ended_at and recording.times("left").height > 0


def test_rules_that_show_points_at_other_times_are_refused(eyes: Path, tmp_path: Path) -> None:
    data = final.prepared(tmp_path, ["Ada"], final.played(eyes), 0)
    with pytest.raises(PalestraError, match=r"by the rules in force there are 4, the last after 6\.5 s"):
        read_live_data(registry.track("near-eye-live-v1"), data)


@pytest.mark.parametrize(
    ("shape", "middle"),
    [
        ((400, 640), (slice(None), slice(None))),
        ((480, 640, 3), (slice(40, 440), slice(None))),  # cut above and below
        ((400, 800), (slice(None), slice(80, 720))),
    ],
)
def test_pictures_of_another_size_are_cut_to_their_middle(shape: tuple[int, ...], middle: tuple[slice, slice]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    assert np.array_equal(fitted(image, (400, 640)), grey[middle])
    assert fitted(np.repeat(np.repeat(image, 2, 0), 2, 1), (400, 640)).shape == (400, 640)


def test_pictures_of_sixteen_bits_keep_their_brightness() -> None:
    deep = np.full((400, 640), 0x8000, np.uint16)
    assert np.unique(fitted(deep, (400, 640))).tolist() == [0x80]
