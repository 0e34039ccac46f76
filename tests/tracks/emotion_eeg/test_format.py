import gc
import itertools
import os
import pickle
import pickletools
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from palestra.errors import Refused
from palestra.formats.pickle_reader import read_pickle
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg.experiment import Event, Video
from tests.formats.strangers import refusal, result_or_refusal, says

quick = settings(deadline=None, max_examples=150)
every_protocol = pytest.mark.parametrize("protocol", [2, 3, 4, 5])
START, STOP, OPEN, CLOSE, ON, OFF = 250, 251, 242, 243, 240, 241


def noise(samples: int, scale: float = 20.0, seed: int = 0) -> NDArray[Any]:
    array = np.random.default_rng(seed).normal(0, scale, (33, samples))
    array[32] = 0
    array[32, [0, -1]] = START, STOP
    return array


def dumped(tmp_path: Path, value: Any, protocol: int = 4, name: str = "7.pkl") -> Path:
    file = tmp_path / name
    file.write_bytes(pickle.dumps(value, protocol))
    return file


def timeline(seconds: float = 2.0, order: Any = range(1, 29), rest_s: float = 6.0) -> list[Event]:
    """Triggers of a whole experiment: blocks of four, seven in all."""
    at, found = 100, [Event(100, START)]

    def later(after_s: float, code: int) -> None:
        nonlocal at
        at += round(after_s * 250)
        found.append(Event(at, code))

    for place, video in enumerate(order):
        if place % 4 == 0:
            later(3, OPEN)
        later(rest_s if place % 4 else 5.5, video)
        later(0.1, ON)
        later(seconds + video % 3 / 10, OFF)
        if place % 4 == 3:
            later(rest_s, CLOSE)
    later(2, STOP)
    return found


def row_of(found: list[Event], held: int = 1) -> NDArray[Any]:
    row = np.zeros(found[-1].sample + 60)
    for event in found:
        row[event.sample : event.sample + held] = event.code
    return row


def person(tmp_path: Path, name: str = "60.pkl", scale: float = 20.0, dtype: Any = np.float64) -> eeg.Recording:
    """A recording with offsets and drifts, as amplifiers have them."""
    row = row_of(timeline())
    array = noise(len(row), scale)
    array[:32] = np.cumsum(array[:32], axis=1) * 0.1 + scale * np.arange(32)[:, None] * 10
    array[32] = row
    eeg.write_recording(array, tmp_path / name, dtype)
    return eeg.open_recording(tmp_path / name)


# --- pickles


@every_protocol
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f4", "<f8", ">f8"])
def test_a_recording_is_what_numpy_wrote(tmp_path: Path, protocol: int, order: Any, kind: str) -> None:
    array = np.array(noise(300), kind, order=order)
    recording = eeg.open_recording(dumped(tmp_path, array, protocol))
    assert recording.signal.dtype.itemsize == array.dtype.itemsize and recording.signal.shape == (33, 300)
    assert (recording.signal == array).all() and (recording.triggers == array[32]).all()
    assert (recording.mapping is not None) == (protocol > 2), "protocol 2 writes bytes as text"
    assert not recording.signal.flags.writeable
    recording.release()
    assert (recording.signal == array).all()


def test_slices_read_only_arrays_and_optimized_pickles_are_mapped_too(tmp_path: Path) -> None:
    array = noise(600)
    frozen = array.copy()
    frozen.flags.writeable = False
    for value in (array[:, ::2], frozen):
        for protocol in (3, 4, 5):
            recording = eeg.open_recording(dumped(tmp_path, value, protocol))
            assert recording.mapping and (recording.signal == value).all()
    (tmp_path / "o.pkl").write_bytes(pickletools.optimize(pickle.dumps(array, 5)))
    assert eeg.open_recording(tmp_path / "o.pkl").mapping


def test_a_recording_of_python_2_is_mapped(tmp_path: Path) -> None:
    array = noise(50)
    head = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x21K\x32\x86cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R"
        b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
    )
    (tmp_path / "1.pkl").write_bytes(head + struct.pack("<i", array.nbytes) + array.tobytes() + b"tb.")
    recording = eeg.open_recording(tmp_path / "1.pkl")
    assert recording.mapping and (recording.signal == array).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [[1], [7, 0, 250, 3], [70_000]])
def test_blocks_are_written_as_numpy_reads_them(tmp_path: Path, kind: Any, sizes: list[int]) -> None:
    array = noise(sum(sizes)).astype(kind)
    cuts = np.cumsum([0, *sizes])
    blocks = (array[:, a:b] for a, b in itertools.pairwise(cuts))
    file = tmp_path / "train" / "3.pkl"
    assert eeg.write_recording(blocks, file, kind) == sum(sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = pickle.loads(file.read_bytes())
    assert loaded.dtype == kind and loaded.flags.f_contiguous and (loaded == array).all()
    loaded[0, 0] = 1  # it can be worked on, as any array
    recording = eeg.open_recording(file)
    assert (recording.signal == array).all() and recording.signal.flags.aligned
    assert (read_pickle(file, 10**9) == array).all()
    whole = tmp_path / "whole.pkl"
    eeg.write_recording(array, whole, kind)
    assert whole.read_bytes() == file.read_bytes()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "3.pkl"
    eeg.write_recording(noise(10), file)
    before = file.read_bytes()

    def failing() -> Any:
        yield noise(10)
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        eeg.write_recording(failing(), file)
    says(refusal(eeg.write_recording, [noise(5)[:32]], file), "3.pkl", "32 × 5", "33 × samples")
    says(refusal(eeg.write_recording, [], file), "3.pkl", "0 samples", "at least one")
    says(refusal(eeg.write_recording, noise(5), file, np.int16), "", "int16", "float32")
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_long_recording_takes_little_memory(tmp_path: Path, order: Any) -> None:
    """Both orders: in Fortran's, the trigger row lies all over the file."""
    samples, file = 800_000, tmp_path / "55.pkl"  # 211 MB, mostly a hole in the file
    eeg.write_recording(noise(2), file)
    data = file.read_bytes()
    offset = len(data) - 3 - 33 * 2 * 8
    head = data[: offset - 8].replace(struct.pack("<ci", b"J", 2), struct.pack("<ci", b"J", samples))
    head = head if order == "F" else head[::-1].replace(b"\x88", b"\x89", 1)[::-1]
    with file.open("wb") as stream:
        stream.write(head + struct.pack("<Q", 33 * samples * 8))
        stream.seek(offset + 33 * samples * 8)
        stream.write(b"tb.")
    code = f"""
import resource
from pathlib import Path
from palestra.tracks.emotion_eeg import format as eeg
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
recording = eeg.open_recording(Path({str(file)!r}))
for at in range(0, 800_000, 50_000):
    recording.signal[:, at:at + 50_000].sum(); recording.release()
print(recording.signal.shape, recording.signal.flags.f_contiguous, peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert done[:3] == ["(33,", "800000)", str(order == "F")]
    assert int(done[3]) < 80, f"{done[3]} MB"


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("touch /tmp/palestra-evil",)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (Evil(), "the global posix.system"),
        (np.array([Evil()] * 33, object), "objects"),
        (noise(5)[:32], "32 × 5"),
        (noise(5)[None], "1 × 33 × 5"),
        (noise(5)[:, :0], "33 × 0"),
        (np.array(3.0), "of no sides"),
        (noise(5).astype(int), "int64"),
        (noise(5).astype(np.float16), "float16"),
        (noise(5).astype(complex), "complex128"),
        (np.full((33, 5), "a"), "<U1"),
        ({"data": noise(5)}, "a pickle of dict"),
        ([noise(5), noise(5)], "a pickle of list"),
        (b"raw", "a pickle of bytes"),
        (None, "a pickle of NoneType"),
    ],
)
@every_protocol
def test_other_pickles_are_refused(tmp_path: Path, value: Any, found: str, protocol: int) -> None:
    says(refusal(eeg.open_recording, dumped(tmp_path, value, protocol)), "7.pkl", found, "")
    assert not Path("/tmp/palestra-evil").exists()


@pytest.mark.parametrize("trigger", [np.nan, np.inf, -1, 0.5, 256, 1e300])
def test_triggers_are_integers(tmp_path: Path, trigger: float) -> None:
    array = noise(70_000)
    array[32, 69_000] = trigger
    file = dumped(tmp_path, array)
    says(refusal(eeg.open_recording, file), "row 33, sample 69,001", repr(trigger), "an integer from 0 to 255")


def test_what_must_be_loaded_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eeg, "MAX_LOADED_BYTES", 5_000)
    assert eeg.open_recording(dumped(tmp_path, noise(100), 4)).mapping
    says(refusal(eeg.open_recording, dumped(tmp_path, noise(100), 2)), "7.pkl", "cannot be mapped", "5.0 kB")
    monkeypatch.setattr(eeg, "MAX_BYTES", 5_000)
    says(refusal(eeg.open_recording, dumped(tmp_path, noise(100), 4)), "7.pkl", "26.", "at most 5.0 kB")
    says(refusal(eeg.open_recording, tmp_path / "none.pkl"), "none.pkl", "nothing there", "")
    says(refusal(eeg.open_recording, tmp_path), "", "a folder", "a file")


def agrees(file: Path) -> None:
    """Refused, or what the reader that loads everything finds."""
    recording = result_or_refusal(eeg.open_recording, file)
    if recording is not None:
        loaded = read_pickle(file, 10**7)
        assert loaded.shape == recording.signal.shape and np.array_equal(loaded, recording.signal, equal_nan=True)


@quick
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_in_words(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.pkl"
    file.write_bytes(data)
    agrees(file)


@quick
@given(st.integers(2, 5), st.data())
def test_damaged_recordings_are_refused_or_right(
    tmp_path_factory: pytest.TempPathFactory, protocol: int, data: Any
) -> None:
    file = tmp_path_factory.getbasetemp() / "damaged.pkl"
    whole = pickle.dumps(noise(3), protocol)
    ends = st.one_of(st.integers(0, 260), st.integers(len(whole) - 130, len(whole) - 1))  # around the array's bytes
    damaged = bytearray(whole)
    for at, byte in data.draw(st.lists(st.tuples(ends, st.integers(0, 255)), min_size=1, max_size=3)):
        damaged[at] = byte
    cut = data.draw(st.sampled_from([len(damaged)] * 3 + [data.draw(st.integers(0, len(damaged)))]))
    file.write_bytes(bytes(damaged[:cut]) + data.draw(st.sampled_from([b"", b"", b"."])))
    agrees(file)


def test_a_pickle_cannot_ask_for_the_same_bytes_without_end(tmp_path: Path) -> None:
    bomb = b"\x80\x04]" + b"(C\xff" + b"x" * 255 + b"e" + b"(h\x00e" * 100_000 + b"."
    (tmp_path / "1.pkl").write_bytes(bomb)
    refusal(eeg.open_recording, tmp_path / "1.pkl")


def test_faced_recordings_are_read(tmp_path: Path) -> None:
    array = np.random.default_rng(0).normal(size=(28, 32, 7500))
    signal = eeg.open_faced(dumped(tmp_path, array, 4, "sub000.pkl"))
    assert signal.shape == array.shape and (signal[27] == array[27]).all() and not signal.flags.owndata
    del signal
    gc.collect()
    file = dumped(tmp_path, array[:, :30], 4, "sub001.pkl")
    says(refusal(eeg.open_faced, file), "sub001.pkl", "28 × 30 × 7500", "28 × 32 × 7500")
    says(refusal(eeg.open_recording, tmp_path / "sub000.pkl"), "sub000.pkl", "28 × 32 × 7500", "33 rows")


# --- electrodes


def test_the_order_of_rows_agrees_with_the_channel_names() -> None:
    assert len(set(material.BATCH_1)) == len(set(material.BATCH_2)) == 32
    renamed = [material.NEWER_NAMES.get(name, name) for name in material.BATCH_1]
    array = np.arange(33)[:, None] * np.ones(4)
    moved = material.to_batch_2(array, 1)
    assert [renamed[int(row)] for row in moved[:32, 0]] == list(material.BATCH_2) and (moved[32] == 32).all()
    assert (material.to_batch_2(array[:32], 1) == moved[:32]).all()
    assert (material.to_batch_2(array, 2) == array).all()
    assert (*range(16), *range(18, 32), 17, 16, 32) == material.TO_BATCH_2
    says(refusal(material.to_batch_2, array, 3), "rows", "batch 3", "batch 1 or 2")
    says(refusal(material.to_batch_2, array[:30], 1), "rows", "30", "32 or 33")


@pytest.mark.parametrize("rows", [32, 33])
def test_rows_in_another_batch_s_order_come_back_as_they_were(rows: int) -> None:
    array = np.arange(rows)[:, None] * np.ones(4)
    older = material.from_batch_2(array, 1)
    names = [material.NEWER_NAMES.get(name, name) for name in material.BATCH_1]
    assert [material.BATCH_2[int(row)] for row in older[:32, 0]] == names
    assert (material.to_batch_2(older, 1) == array).all()
    assert (material.from_batch_2(array, 2) == array).all()
    says(refusal(material.from_batch_2, array[:30], 1), "rows", "30", "32 or 33")
    says(refusal(material.from_batch_2, array, 3), "rows", "batch 3", "batch 1 or 2")


@pytest.mark.parametrize(
    ("name", "batch", "number"),
    [("1", 1, 1), ("sub054", 1, 54), ("55", 2, 55), ("P80", 2, 80), ("99", 2, 99), ("anna", 2, None)],
)
def test_the_batch_follows_from_the_number(tmp_path: Path, name: str, batch: int, number: int | None) -> None:
    file = dumped(tmp_path, noise(60), name=f"{name}.pkl")
    recording = eeg.open_recording(file)
    assert (recording.batch, recording.person) == (batch, number)
    assert eeg.open_recording(file, batch=1).batch == 1
    (tmp_path / "test").mkdir()
    assert eeg.open_recording(file.rename(tmp_path / "test" / file.name)).batch == 2


@pytest.mark.parametrize(("scale", "unit"), [(20.0, "µV"), (20e-6, "V")])
def test_units_are_told_apart_and_made_microvolts(tmp_path: Path, scale: float, unit: str) -> None:
    array = noise(1000, scale)
    recording = eeg.open_recording(dumped(tmp_path, array, name="1.pkl"))
    assert recording.unit == unit and recording.rate_hz == 250
    block = recording.standard(0, 1000)
    assert 10 < np.abs(block[:32]).mean() < 30 and (block[32] == array[32]).all()
    assert np.allclose(block[31], array[16] * 20 / scale), "A1 is the last of batch 2"


def test_people_are_listed_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("10", "9", "2"):
        eeg.write_recording(noise(5), tmp_path / "train" / f"{name}.pkl")
    assert list(eeg.recordings(tmp_path, "train")) == ["2", "9", "10"]
    (tmp_path / "test").mkdir()
    says(refusal(eeg.recordings, tmp_path, "test"), "test", "no recordings", "<person>.pkl")


# --- triggers


@pytest.mark.parametrize("held", [1, 5, 20])
def test_events_are_where_triggers_begin(held: int) -> None:
    found = timeline()
    assert material.events(row_of(found, held)) == found
    assert material.events(row_of(found, held).astype(np.uint8)) == found


def test_triggers_that_touch_are_two_events() -> None:
    row = np.array([250, 0, 22, 22, 240, 240, 0, 241, 0])
    assert material.events(row) == [Event(0, 250), Event(2, 22), Event(4, 240), Event(7, 241)]
    assert material.events(np.zeros(4)) == [] == material.events(np.zeros(0))


def test_contestants_see_four_triggers_and_not_where_others_begin() -> None:
    row = np.array([250, 0, 242, 242, 242, 7, 240, 0, 241, 243, 0, 251])
    assert material.visible_triggers(row).tolist() == [250, 0, 242, 0, 0, 0, 0, 0, 0, 243, 0, 251]
    assert row[5] == 7, "a copy"
    codes = {event.code for event in material.events(material.visible_triggers(row_of(timeline())))}
    assert codes == {250, 242, 243, 251}


def test_videos_are_from_240_to_241() -> None:
    found = timeline()
    shown = material.videos(found)
    assert [video.number for video in shown] == list(range(1, 29))
    assert [video.label for video in shown] == [material.LABELS[number] for number in range(1, 29)]
    starts = [event.sample for event in found if event.code == ON]
    stops = [event.sample for event in found if event.code == OFF]
    assert [(video.start, video.stop) for video in shown] == list(zip(starts, stops, strict=True))
    assert all(video.start - video.announced == 25 for video in shown)
    assert material.videos([*found, Event(10**6, 99)]) == shown, "triggers of the equipment are passed over"


@pytest.mark.parametrize(
    ("codes", "where", "found", "expected"),
    [
        ([ON, OFF], "sample 1", "the trigger 240", "a video's number"),
        ([3, OFF], "sample 11", "the trigger 241", "the start of video 3 (240)"),
        ([3, ON], "end", "no end of video 3", "the end of video 3 (241)"),
        ([3, ON, ON, OFF], "sample 21", "the trigger 240", "the end of video 3"),
        ([3, ON, 4, ON, OFF], "sample 21", "the trigger 4", "the end of video 3"),
        ([3, 4, ON, OFF], "sample 11", "the trigger 4", "the start of video 3"),
        ([3, ON, CLOSE], "sample 21", "the trigger 243", "the end of video 3"),
        ([3, ON, OFF, OFF], "sample 31", "the trigger 241", "a video's number"),
        ([3, ON, OFF, 3, ON, OFF], "sample 31", "video 3 again", "each video once"),
    ],
)
def test_impossible_sequences_are_refused(codes: list[int], where: str, found: str, expected: str) -> None:
    made = [Event(10 * place, code) for place, code in enumerate(codes)]
    says(refusal(material.videos, made), where, found, expected)


def test_all_faults_of_a_sequence_are_told() -> None:
    made = [Event(place, code) for place, code in enumerate([ON, 1, ON, OFF, OFF, 2, 3, ON, OFF])]
    assert refusal(material.videos, made).count == 3


@given(st.lists(st.sampled_from([1, 2, 240, 241, 242, 243, 250, 251, 77]), max_size=12))
def test_videos_of_any_sequence_are_those_that_are_whole(codes: list[int]) -> None:
    made = [Event(place, code) for place, code in enumerate(codes)]
    shown = result_or_refusal(material.videos, made)
    if shown is not None:
        known = [code for code in codes if code not in (77, 242, 243, 250, 251)]
        assert known == [code for video in shown for code in (video.number, ON, OFF)]
    result_or_refusal(material.blocks, made)
    result_or_refusal(material.experiment, made)


def test_blocks_and_the_experiment_are_spans() -> None:
    found = timeline()
    spans = material.blocks(found)
    assert len(spans) == 7
    assert all(sum(a < video.start < b for video in material.videos(found)) == 4 for a, b in spans)
    assert material.experiment(found) == (100, found[-1].sample)
    says(refusal(material.blocks, [Event(4, CLOSE)]), "sample 5", "243", "242 first")
    says(refusal(material.blocks, [Event(4, OPEN)]), "end", "no 243", "242")
    says(refusal(material.experiment, []), "triggers", "0 experiments", "one")


def one_video(number: int, seconds: float) -> list[Event]:
    return [Event(0, number), Event(25, ON), Event(25 + round(seconds * 250), OFF)]


@pytest.mark.parametrize(
    ("who", "number", "seconds", "start_s", "stop_s"),
    [
        (26, 22, 83.02, 7.02, 83.02),  # the surplus comes before the film
        (54, 22, 83, 7, 83),
        (25, 22, 83, 0, 83),
        (55, 22, 83, 0, 83),
        (None, 22, 83, 0, 83),
        (40, 22, 75.9, 0, 75.9),
        (40, 21, 83, 0, 83),
        (31, 27, 100, 0, 83),
        (31, 22, 83, 7, 83),
        (30, 27, 100, 0, 100),
    ],
)
def test_odd_recordings_are_cropped(
    who: int | None, number: int, seconds: float, start_s: float, stop_s: float
) -> None:
    [video] = material.videos(one_video(number, seconds), who)
    assert (video.start - 25, video.stop - 25) == (round(start_s * 250), round(stop_s * 250))


def test_a_recording_knows_whether_it_may_be_odd(tmp_path: Path) -> None:
    row = row_of(one_video(22, 83))
    array = noise(len(row))
    array[32] = row
    for name, length_s in (("train/40", 76), ("train/60", 83), ("test/40", 83)):
        eeg.write_recording(array, tmp_path / f"{name}.pkl")
        [video] = eeg.open_recording(tmp_path / f"{name}.pkl").videos()
        assert video.stop - video.start == length_s * 250, name


# --- the test set


def prepared(recording: eeg.Recording, seed: int = 0) -> tuple[NDArray[Any], list[Event]]:
    parts, truth = eeg.prepare_test(recording, np.random.default_rng(seed))
    return np.concatenate(list(parts), axis=1), truth


def test_a_prepared_recording_keeps_every_video_once(tmp_path: Path) -> None:
    recording = person(tmp_path)
    array, truth = prepared(recording)
    assert material.events(array[32]) == truth
    before, after = recording.videos(), material.videos(truth)
    assert [video.number for video in after] != [video.number for video in before]
    by_number = {video.number: video for video in before}
    assert len(after) == 28 and set(by_number) == {video.number for video in after}
    for video in after:
        source = by_number[video.number]
        assert video.stop - video.start == source.stop - source.start
        difference = array[:32, video.start : video.stop] - recording.signal[:32, source.start : source.stop]
        assert np.ptp(difference, axis=1).max() < 1e-6, "a video is moved by one number per channel"


def test_a_prepared_recording_keeps_its_blocks_and_length(tmp_path: Path) -> None:
    recording = person(tmp_path)
    array, truth = prepared(recording)
    whole = material.experiment(material.events(recording.triggers))
    assert array.shape[1] == whole.stop - whole.start + 1
    assert array[32, 0] == START and array[32, -1] == STOP
    spans = material.blocks(truth)
    assert [sum(a < video.announced and video.stop < b for video in material.videos(truth)) for a, b in spans] == [
        4
    ] * 7
    counts = np.unique([event.code for event in truth], return_counts=True)
    original = np.unique([event.code for event in material.events(recording.triggers)], return_counts=True)
    assert np.array_equal(counts, original)


@pytest.mark.parametrize("scale", [20.0, 20e-6])
def test_the_baseline_is_corrected_without_jumps(tmp_path: Path, scale: float) -> None:
    recording = person(tmp_path, scale=scale)
    assert recording.unit == ("V" if scale < 1 else "µV")
    array, truth = prepared(recording)
    for video in material.videos(truth):
        assert np.abs(array[:32, video.start - 250 : video.start].mean(axis=1)).max() < 1e-6 * scale
    usual = np.abs(np.diff(recording.signal[:32])).max()
    assert np.abs(np.diff(array[:32])).max() < 1.5 * usual
    assert np.abs(recording.signal[:32]).mean() > 5 * np.abs(array[:32]).mean(), "offsets are gone"


def test_preparing_depends_on_the_seed_alone(tmp_path: Path) -> None:
    recording = person(tmp_path, dtype=np.float32)
    first, again, other = prepared(recording, 1), prepared(recording, 1), prepared(recording, 2)
    assert first[0].tobytes() == again[0].tobytes() and first[1] == again[1] and first[1] != other[1]
    assert first[0].dtype == np.float32


def test_a_prepared_recording_of_batch_1_has_the_rows_of_batch_2(tmp_path: Path) -> None:
    one, two = prepared(person(tmp_path, "2.pkl")), prepared(person(tmp_path, "70.pkl"))
    assert np.allclose(one[0], material.to_batch_2(two[0], 1)) and one[1] == two[1]


def test_a_prepared_recording_is_written_and_read_as_the_test_set(tmp_path: Path) -> None:
    parts, truth = eeg.prepare_test(person(tmp_path), np.random.default_rng(3))
    eeg.write_recording(parts, tmp_path / "test" / "60.pkl")
    recording = eeg.open_recording(tmp_path / "test" / "60.pkl")
    assert material.events(recording.triggers) == truth and recording.videos() == material.videos(truth)


def test_short_pauses_are_shared_between_neighbours(tmp_path: Path) -> None:
    row = row_of(timeline(seconds=1.0, rest_s=0.2))
    array = noise(len(row))
    array[32] = row
    eeg.write_recording(array, tmp_path / "60.pkl")
    _, truth = prepared(eeg.open_recording(tmp_path / "60.pkl"))
    assert len(material.videos(truth)) == 28


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            lambda found: [event for event in found if not 20_000 < event.sample < 24_500 or event.code > 241],
            "no video",
        ),
        (lambda found: [event for event in found if event.code not in (OPEN, CLOSE)], "videos outside of blocks"),
        (lambda found: [event for event in found if event.code != STOP], "no 251"),
    ],
)
def test_recordings_that_cannot_be_prepared_are_refused(tmp_path: Path, change: Any, found: str) -> None:
    row = row_of(change(timeline()))
    array = noise(len(row))
    array[32] = row
    eeg.write_recording(array, tmp_path / "60.pkl")
    with pytest.raises(Refused, match=found):
        eeg.prepare_test(eeg.open_recording(tmp_path / "60.pkl"), np.random.default_rng(0))


# --- the material


def test_the_material_adds_up() -> None:
    table = material.material()
    assert table.columns[:5] == ["video", "seconds", "valence", "emotion", "label"]
    assert table["video"].to_list() == list(range(1, 29))
    assert table["seconds"].sum() == 1844 and table["seconds"].min() == 34 and table["seconds"].max() == 129
    assert [table["label"].to_list().count(label) for label in range(9)] == [3, 3, 3, 3, 4, 3, 3, 3, 3]
    assert table["valence"].to_list() == ["negative"] * 12 + ["neutral"] * 4 + ["positive"] * 12
    assert [emotion.label for emotion in material.EMOTIONS] == list(range(9))
    assert [emotion.title.zh for emotion in material.EMOTIONS] == [
        "愤怒",
        "恶心",
        "恐惧",
        "悲伤",
        "中性",
        "愉悦",
        "激励",
        "高兴",
        "温情",
    ]
    scored = sum(film.seconds - 2 for film in material.FILMS) - 7  # video 22 is 76 s for almost all
    assert scored == 1781
    rows = {row["video"]: row for row in table.iter_rows(named=True)}
    assert (rows[20]["seconds"], rows[20]["emotion"], rows[28]["label"], rows[13]["valence_zh"]) == (
        129, "inspiration", 8, "中性",
    )  # fmt: skip


def test_a_video_is_a_plain_record() -> None:
    assert Video(1, 0, 25, 50, 0)._asdict() == {"number": 1, "label": 0, "start": 25, "stop": 50, "announced": 0}
