"""Synthetic emotional EEG: sittings as the document describes them, in the recordings of two batches."""

import tomllib
from itertools import pairwise

import numpy as np
import pytest

from palestra.datasets.order import rng_for
from palestra.records import Order
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg import maker
from palestra.tracks.emotion_eeg.simulator import CHANNELS, draw_brain, stream

TRACK = "emotion-eeg-v1"


@pytest.fixture
def data(tiny):
    return tiny(TRACK)


def people(data, split):
    return {name: eeg.open_recording(file) for name, file in eeg.recordings(data, split).items()}


def valences_of_blocks(recording):
    """Of the videos in each block, in their order."""
    blocks = material.blocks(material.events(recording.triggers))
    return [
        [material.EMOTIONS[v.label].valence for v in recording.videos() if block.start < v.start < block.stop]
        for block in blocks
    ]


def tape(number, size="paper", split="train"):
    return maker._sitting(Order(size), maker._Person(split, number), maker._SIZES[size].pace)


def seconds(videos, number):
    return next((video.stop - video.start) / material.RATE_HZ for video in videos if video.number == number)


def test_tiny_has_people_of_both_batches_to_learn_from_and_five_others_to_be_tested_on(data):
    train, test = ([person.person for person in people(data, split).values()] for split in ("train", "test"))
    assert len(train) == 3 and any(number <= 54 for number in train) and any(55 <= number <= 80 for number in train)
    assert test == [81, 82, 83, 84, 85]


def test_everybody_watches_every_video(data):
    for recording in (*people(data, "train").values(), *people(data, "test").values()):
        assert sorted(video.number for video in recording.videos()) == list(range(1, 29))
        assert recording.signal.dtype == np.float32


def test_a_training_block_has_four_videos_of_one_valence_and_a_test_block_any(data):
    for recording in people(data, "train").values():
        blocks = valences_of_blocks(recording)
        assert [len(block) for block in blocks] == [4] * 7
        assert sorted(block[0] for block in blocks) == ["negative"] * 3 + ["neutral"] + ["positive"] * 3
        assert all(len(set(block)) == 1 for block in blocks)
    mixed = [len(set(block)) > 1 for one in people(data, "test").values() for block in valences_of_blocks(one)]
    assert sum(mixed) > len(mixed) / 2


def test_triggers_stand_in_the_order_of_the_document(data):
    for recording in people(data, "train").values():
        codes = [event.code for event in material.events(recording.triggers)]
        videos = iter([code for code in codes if code in material.LABELS])
        block = [242, *(code for _ in range(4) for code in (None, 240, 241)), 243]
        expected = [250, *block * 7, 251]
        assert codes == [next(videos) if code is None else code for code in expected]
        assert recording.triggers[0] == recording.triggers[-1] == 0, "the amplifier runs before and after"


def test_a_video_s_number_stands_a_tenth_of_a_second_before_its_start(data):
    for recording in (*people(data, "train").values(), *people(data, "test").values()):
        assert {video.start - video.announced for video in recording.videos()} == {25}


@pytest.mark.parametrize("older", [True, False])
def test_a_recording_is_what_the_world_gives_in_the_unit_and_order_of_its_batch(data, older):
    order = Order()
    recording = next(one for one in people(data, "train").values() if (one.batch == 1) is older)
    who = maker._Person("train", recording.person)
    sitting = maker._sitting(order, who, maker._SIZES["tiny"].pace)
    brain = draw_brain(rng_for(order, "brain", who.number), maker.DIFFICULTY)
    eeg_uv = next(iter(stream(brain, sitting.segments, rng_for(order, "eeg", who.number))))
    assert recording.unit == ("µV" if older else "V")
    np.testing.assert_allclose(recording.standard(0, eeg_uv.shape[1])[:32], eeg_uv, rtol=1e-5, atol=1e-3)
    names = material.BATCH_1 if older else material.BATCH_2
    oz = recording.signal[names.index("Oz"), : eeg_uv.shape[1]] * (1 if older else 1e6)
    np.testing.assert_allclose(oz, eeg_uv[CHANNELS.index("Oz")], rtol=1e-5, atol=1e-3)


def test_test_people_are_in_volts_from_the_250_to_the_251(data):
    for recording in people(data, "test").values():
        assert (recording.unit, recording.batch) == ("V", 2)
        assert (recording.triggers[0], recording.triggers[-1]) == (250, 251)


def test_the_data_set_of_the_document_has_80_people_to_learn_from_and_18_others():
    who = maker._people(Order("paper"))
    train, test = ([person.number for person in who if person.split == split] for split in ("train", "test"))
    assert train == list(range(1, 81)) and test == list(range(81, 99))
    assert sum(material.batch_of(number) == 1 for number in train) == 54


@pytest.mark.parametrize("size", ["tiny", "small"])
@pytest.mark.parametrize("seed", range(5))
def test_smaller_data_sets_have_both_batches_whatever_the_seed(size, seed):
    train = [person.number for person in maker._people(Order(size, seed)) if person.split == "train"]
    assert {material.batch_of(number) for number in train} == {1, 2}
    assert len(set(train)) == len(train) == maker._SIZES[size].train


def test_a_whole_sitting_takes_an_hour_and_a_half_of_which_47_minutes_lie_in_blocks():
    sittings = [tape(number) for number in range(1, 81)]
    hours = [sitting.seconds / 3600 for sitting in sittings]
    assert np.mean(hours) == pytest.approx(1.5, abs=0.05) and min(hours) > 1.3 and max(hours) < 1.7
    blocks = [sum(block.stop - block.start for block in material.blocks(one.events)) / 250 / 60 for one in sittings]
    assert np.mean(blocks) == pytest.approx(47, abs=1)


def test_videos_last_as_long_as_the_table_says_give_or_take_tens_of_milliseconds():
    videos = material.videos(tape(10).events)
    lengths = {video.number: (video.stop - video.start) / 250 for video in videos}
    table = {film.video: film.seconds for film in material.FILMS} | {22: 76}
    assert lengths == pytest.approx(table, abs=0.035)
    assert len({round(length * 250) % 250 for length in lengths.values()}) > 5


def test_odd_recordings_are_odd_where_the_document_says_and_are_cropped_to_the_film():
    for number, raw_22, raw_27 in ((25, 76, 83), (26, 83, 83), (31, 83, 95), (54, 83, 83), (55, 76, 83)):
        sitting = tape(number)
        raw = material.videos(sitting.events)
        assert (seconds(raw, 22), seconds(raw, 27)) == pytest.approx((raw_22, raw_27), abs=0.04)
        cropped = material.videos(sitting.events, number if number <= 54 else None)
        assert (seconds(cropped, 22), seconds(cropped, 27)) == pytest.approx((76, 83), abs=0.04)


@pytest.mark.parametrize(("number", "video", "before"), [(26, 22, True), (31, 27, False)])
def test_what_is_cropped_of_an_odd_recording_is_not_the_film(number, video, before):
    sitting = tape(number)
    (film,) = [segment for segment in sitting.segments if segment.video == video]
    span = next(one for one in material.videos(sitting.events, number) if one.number == video)
    assert (span.start / 250, span.stop / 250) == pytest.approx((film.start_s, film.stop_s), abs=0.04)
    whole = next(one for one in material.videos(sitting.events) if one.number == video)
    assert (span.start > whole.start, span.stop < whole.stop) == (before, not before)


def test_shortened_recordings_are_not_odd():
    for size, longest_s in (("tiny", 5.0), ("small", 30.0)):
        videos = material.videos(tape(31, size).events)
        assert videos == material.videos(tape(31, size).events, 31)
        assert max(video.stop - video.start for video in videos) / 250 < longest_s + 0.04
        assert min(video.stop - video.start for video in videos) / 250 > {"tiny": 4.9, "small": 7.9}[size]


def test_segments_follow_each_other_without_a_gap():
    segments = tape(1).segments
    assert all(one.stop_s == other.start_s for one, other in pairwise(segments))
    assert {segment.what for segment in segments} == {"rest", "closed", "fixation", "video", "report", "maths"}


def parts(order):
    return {part.name: part for part in maker.plan(order).parts}


def test_a_part_depends_on_the_seed_alone(data, tmp_path):
    name = next(name for name in parts(Order()) if name.startswith("test/"))
    parts(Order(without=("images",)))[name].write(tmp_path / "again")
    parts(Order(seed=1))[name].write(tmp_path / "other")
    whole, again, other = (
        (folder / f"{name}.pkl").read_bytes() for folder in (data, tmp_path / "again", tmp_path / "other")
    )
    assert whole == again != other


def test_a_test_recording_that_was_stopped_half_way_is_made_anew(data, tmp_path):
    name = "sub081"
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / f".{name}.raw").write_bytes(b"half of it")
    parts(Order())[f"test/{name}"].write(tmp_path)
    assert [path.name for path in (tmp_path / "test").iterdir()] == [f"{name}.pkl"]
    assert (tmp_path / "test" / f"{name}.pkl").read_bytes() == (data / "test" / f"{name}.pkl").read_bytes()


def test_the_seed_lies_with_the_truth(data):
    made = tomllib.loads((data / "test" / "made.toml").read_text())
    assert made == {"track": TRACK, "size": "tiny", "seed": 0}
    assert sorted(path.name for path in data.iterdir()) == ["test", "train"]
    assert all(path.suffix == ".pkl" for path in (data / "train").iterdir())


def test_the_sample_tells_the_bytes_of_a_data_set(data, tmp_path):
    plan = maker.plan(Order())
    plan.sample.write(tmp_path)
    sample = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) / plan.sample.weight
    whole = sum(path.stat().st_size for path in data.rglob("*.pkl")) / sum(part.weight for part in plan.parts)
    assert sample == pytest.approx(whole, rel=0.03)
