"""The brain: its head, rhythms and faults, what films do to it, and its numbers beside those of real EEG."""

from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import signal

from palestra.tracks.emotion_eeg.simulator import (
    BANDS_HZ,
    CHANNELS,
    ELECTRODES,
    EMOTIONS,
    REGIONS,
    Brain,
    Difficulty,
    Segment,
    draw_brain,
    emotion_patterns,
    film_pattern,
    forward,
    listen,
    place,
    refer,
    stream,
)
from palestra.tracks.emotion_eeg.statistics import (
    LABELS,
    SECONDS,
    Row,
    entropies,
    format_statistics,
    measure,
    short_sitting,
    statistics,
    usual_recipe,
)

ROW = {name: i for i, name in enumerate(CHANNELS)}
REST = [Segment(0, 40, "rest")]


@pytest.fixture(scope="module")
def people() -> list[Brain]:
    rng = np.random.default_rng(0)
    return [draw_brain(rng) for _ in range(4)]


@pytest.fixture(scope="module")
def resting(people) -> list[np.ndarray]:
    return [listen(brain, REST, np.random.default_rng(i)) for i, brain in enumerate(people)]


@pytest.fixture(scope="module")
def table() -> dict[str, Row]:
    return {row.quantity: row for row in statistics(np.random.default_rng(0), people=6, seconds=80)}


def spectra(eeg_uv):
    return signal.welch(eeg_uv, 250, nperseg=1000)


def power_in(eeg_uv, low_hz, high_hz):
    wave_hz, power = spectra(eeg_uv)
    return power[:, (wave_hz >= low_hz) & (wave_hz < high_hz)].sum(axis=1)


def test_a_recording_has_32_channels_in_microvolts(resting):
    assert len(CHANNELS) == 32 and resting[0].shape == (32, 40 * 250) and resting[0].dtype == np.float32
    for eeg_uv in resting:
        moving = np.median(eeg_uv.std(axis=1))
        assert np.isfinite(eeg_uv).all() and 5 < moving < 200


def test_the_same_generator_gives_the_same_person_and_recording(people):
    again = draw_brain(np.random.default_rng(0))
    assert np.array_equal(again.background, people[0].background) and again.alpha_hz == people[0].alpha_hz
    first, second, other = (listen(people[0], [Segment(0, 3)], np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert np.array_equal(first, second) and not np.array_equal(first, other)


@pytest.mark.parametrize("block_s", [0.2, 3.3, 500.0])
def test_the_size_of_a_block_changes_nothing(people, block_s):
    segments = [Segment(0, 4, "rest"), Segment(4, 9.5, "video", 3, 0)]
    whole = listen(people[1], segments, np.random.default_rng(2))
    blocks = list(stream(people[1], segments, np.random.default_rng(2), block_s=block_s))
    assert {block.shape[0] for block in blocks} == {32}
    assert len({block.shape[1] for block in blocks[:-1]}) <= 1
    assert np.allclose(np.concatenate(blocks, axis=1), whole, rtol=1e-5, atol=1e-3)


def test_another_rate_gives_the_same_spectrum(people):
    # Electrodes and eyes draw other events at another rate; the background must not care.
    slow, fast = (listen(people[0], REST, np.random.default_rng(1), rate_hz) for rate_hz in (250, 500))
    assert fast.shape[1] == 2 * slow.shape[1]
    wave_hz, power = signal.welch(fast, 500, nperseg=2000)
    beta = power[:, (wave_hz >= 14) & (wave_hz < 30)].sum(axis=1)
    assert np.median(beta / power_in(slow, 14, 30)) == pytest.approx(1, abs=0.25)


@pytest.mark.parametrize(
    ("segments", "rate_hz"),
    [
        ([], 250),
        ([Segment(-1, 3)], 250),
        ([Segment(2, 2)], 250),
        ([Segment(0, 3)], 100),
        ([Segment(0, 3, "video", 1, 9)], 250),
    ],
)
def test_a_sitting_that_cannot_be_is_refused(people, segments, rate_hz):
    with pytest.raises(ValueError):
        stream(people[0], segments, np.random.default_rng(0), rate_hz)


def test_records_cannot_be_changed(people):
    with pytest.raises(FrozenInstanceError):
        people[0].slope = 0.0
    with pytest.raises(FrozenInstanceError):
        Difficulty().shared = 1.0


def test_electrodes_lie_where_their_names_say():
    at = dict(zip(CHANNELS, ELECTRODES, strict=False))
    assert np.allclose(np.linalg.norm(ELECTRODES, axis=1), 1)
    assert np.allclose(place(0, 0), at["Cz"]) and at["Fp1"][1] > 0.9 and at["Oz"][1] < -0.9
    for left, right in [("F3", "F4"), ("T7", "T8"), ("P7", "P8"), ("O1", "O2"), ("A1", "A2"), ("FC5", "FC6")]:
        assert at[left][0] < 0 and np.allclose(at[left] * (-1, 1, 1), at[right])


def test_a_source_is_strongest_at_the_electrode_above_it_and_fades_smoothly():
    outward = ELECTRODES[:-1]
    gains = forward(0.7 * outward, outward)
    assert (gains[:-1].argmax(axis=0) == np.arange(32)).mean() > 0.9
    apart = np.linalg.norm(ELECTRODES - ELECTRODES[ROW["Oz"]], axis=1)
    line = [gains[ROW[name], ROW["Oz"]] for name in ("Oz", "Pz", "Cz")]
    assert all(near > far for near, far in pairwise(line)) and abs(line[-1]) < 0.2
    assert np.corrcoef(apart, gains[:, ROW["Oz"]])[0, 1] < -0.8


def test_what_all_electrodes_share_is_not_in_the_recording_and_neighbours_of_the_reference_are_quiet(resting):
    potential = np.random.default_rng(0).standard_normal((33, 50))
    common = np.random.default_rng(1).standard_normal(50)
    assert np.allclose(refer(potential + common), refer(potential))
    assert np.allclose(refer(potential), potential[:32] - potential[32])
    power = np.mean([power_in(eeg_uv, 2, 8) for eeg_uv in resting], axis=0)
    near = power[[ROW[name] for name in ("CP1", "CP2", "Cz", "Pz")]]
    assert near.max() < np.median(power)


def test_spectra_fall_as_the_person_s_do_and_alpha_stands_where_the_person_has_it(people, resting):
    for brain, eeg_uv in zip(people, resting, strict=True):
        found = measure(eeg_uv)
        assert -1.8 <= brain.slope <= -1.4 and 8.5 <= brain.alpha_hz <= 11
        assert np.median(found["slope 2–40 Hz without alpha"]) == pytest.approx(brain.slope, abs=0.35)
        posterior = [ROW[name] for name in ("O1", "O2", "Oz", "PO3", "PO4")]
        assert np.nanmedian(found["alpha peak, Hz"][posterior]) == pytest.approx(brain.alpha_hz, abs=0.6)


def test_alpha_is_posterior_waxes_and_wanes_and_gives_way_to_a_film(people):
    segments = [Segment(0, 40, "closed"), Segment(40, 80, "rest"), Segment(80, 120, "video")]
    closed, rest, film = [], [], []
    for i, brain in enumerate(people):
        parts = np.split(listen(brain, segments, np.random.default_rng(i)), 3, axis=1)
        for kept, part in zip((closed, rest, film), parts, strict=True):
            kept.append(power_in(part, brain.alpha_hz - 1, brain.alpha_hz + 1))
    behind, ahead = ([ROW[name] for name in names] for names in (("O1", "O2", "Oz"), ("Fp1", "Fp2", "F3", "F4")))
    assert np.mean(rest, axis=0)[behind].mean() > 2 * np.mean(rest, axis=0)[ahead].mean()
    assert np.mean(closed, axis=0)[behind].mean() > 1.4 * np.mean(rest, axis=0)[behind].mean()
    assert np.mean(rest, axis=0)[behind].mean() > 1.4 * np.mean(film, axis=0)[behind].mean()
    narrow = signal.butter(2, (brain.alpha_hz - 1.5, brain.alpha_hz + 1.5), "bandpass", fs=250, output="sos")
    envelope = np.abs(signal.hilbert(signal.sosfiltfilt(narrow, parts[1][ROW["Oz"]])))
    assert np.percentile(envelope, 95) > 4 * np.percentile(envelope, 10)


def quiet(brain: Brain, **changes) -> Brain:
    """The same person with nothing but what is asked for."""
    nothing = dict.fromkeys(
        ("background", "rhythms", "eyes", "muscles", "hum_uv", "noise_uv", "drift_uv", "offset_uv", "pops_per_min")
    )
    silent = {name: np.zeros_like(getattr(brain, name)) for name in nothing}
    return replace(brain, **{**silent, **changes})


def test_blinks_are_frontal_brief_and_as_frequent_as_the_person_s(people):
    brain = quiet(people[0], eyes=people[0].eyes * (1, 0, 0), blinks_per_min=15.0)
    eeg_uv = listen(brain, [Segment(0, 240, "rest")], np.random.default_rng(0))
    size = np.ptp(eeg_uv, axis=1)
    assert set(np.argsort(size)[-2:]) == {ROW["Fp1"], ROW["Fp2"]}
    assert (
        80 < size[ROW["Fp1"]] < 700
        and size[ROW["Fz"]] < 0.6 * size[ROW["Fp1"]]
        and size[ROW["Oz"]] < 0.1 * size[ROW["Fp1"]]
    )
    peaks, found = signal.find_peaks(eeg_uv[ROW["Fp1"]], height=size[ROW["Fp1"]] / 5, distance=60, width=1)
    assert 4 * 15 * 0.6 < len(peaks) < 4 * 15 * 1.8
    assert 0.05 < np.median(found["widths"]) / 250 < 0.3
    closed = listen(brain, [Segment(0, 60, "closed")], np.random.default_rng(0))
    assert np.ptp(closed, axis=1).max() < 10


def test_a_look_aside_moves_the_two_sides_of_the_face_apart(people):
    brain = quiet(people[0], eyes=people[0].eyes * (0, 1, 0))
    eeg_uv = listen(brain, [Segment(0, 60, "video")], np.random.default_rng(0))
    left, right = eeg_uv[ROW["F7"]], eeg_uv[ROW["F8"]]
    assert np.corrcoef(left, right)[0, 1] < -0.9 and 10 < left.std() < 80
    assert np.abs(eeg_uv[ROW["Oz"]]).max() < np.abs(left).max() / 5


def test_muscle_is_temporal_and_fast(people):
    brain = quiet(people[0], muscles=people[0].muscles, bursts_per_min=10.0)
    eeg_uv = listen(brain, [Segment(0, 60)], np.random.default_rng(0))
    assert power_in(eeg_uv, 20, 100)[ROW["T7"]] > 8 * power_in(eeg_uv, 20, 100)[ROW["C3"]]
    assert power_in(eeg_uv, 20, 100)[ROW["T7"]] > 8 * power_in(eeg_uv, 1, 15)[ROW["T7"]]


def test_the_mains_hum_and_electrodes_drift_and_pop(people, resting):
    wave_hz, power = spectra(resting[0])
    beside = (np.abs(wave_hz - 50) > 2) & (np.abs(wave_hz - 50) < 6)
    at = np.argmin(np.abs(wave_hz - 50))
    assert np.median(power[:, at] / np.median(power[:, beside], axis=1)) > 5
    assert np.median(power_in(resting[0], 0.25, 0.75)) > np.median(power_in(resting[0], 1.5, 2.0))
    pops = np.where(np.arange(33) == ROW["P3"], 6.0, 0.0)
    popped = listen(quiet(people[0], pops_per_min=pops), [Segment(0, 60)], np.random.default_rng(3))
    jumps = np.abs(np.diff(popped, axis=1)).max(axis=1)
    assert jumps[ROW["P3"]] > 20 and np.delete(jumps, ROW["P3"]).max() < 5


def test_emotions_differ_and_share_no_offset():
    patterns = emotion_patterns()
    assert patterns.shape == (len(EMOTIONS), len(REGIONS), len(BANDS_HZ))
    assert np.allclose(patterns.mean(axis=0), 0) and np.isclose((patterns**2).mean(), 1)
    flat = np.corrcoef(patterns.reshape(9, -1)) - np.eye(9)
    assert flat.max() < 0.75
    alpha = list(BANDS_HZ).index("alpha")
    tilt = patterns[:, REGIONS.index("F4"), alpha] - patterns[:, REGIONS.index("F3"), alpha]
    assert tilt[5:].mean() > tilt[:4].mean()  # pleasant films turn the left side of the forehead on


def test_what_belongs_to_a_video_says_nothing_of_its_emotion():
    films = np.array([film_pattern(video).ravel() for video in range(1, 29)])
    assert np.array_equal(films[4], film_pattern(5).ravel())
    alike = np.corrcoef(films)
    same = np.equal.outer(LABELS, LABELS) & ~np.eye(28, dtype=bool)
    assert abs(alike[same].mean() - alike[~same & ~np.eye(28, dtype=bool)].mean()) < 0.06
    patterns = emotion_patterns()[list(LABELS)].reshape(28, -1)
    matched = [np.corrcoef(film, pattern)[0, 1] for film, pattern in zip(films, patterns, strict=True)]
    assert abs(np.mean(matched)) < 0.08


def test_a_feeling_builds_up_and_shows_in_nothing_but_the_rhythms(people):
    strong = draw_brain(np.random.default_rng(0), Difficulty(shared=2, own=0, film=0, moment=0, wander=0, build_s=6))
    felt, neutral = ([Segment(0, 30, "video", 1, emotion)] for emotion in (0, 4))
    differs = listen(strong, felt, np.random.default_rng(1)) - listen(strong, neutral, np.random.default_rng(1))
    early, late = differs[:, :250].std(), differs[:, -2500:].std()
    assert late > 1.8 * early > 0
    without = replace(strong, rhythms=np.zeros_like(strong.rhythms))
    assert np.array_equal(*(listen(without, which, np.random.default_rng(1)) for which in (felt, neutral)))
    nothing = Difficulty(shared=0, own=0, film=0)
    numb = draw_brain(np.random.default_rng(0), nothing)
    assert np.array_equal(*(listen(numb, which, np.random.default_rng(1)) for which in (felt, neutral)))


def test_people_feel_alike_in_part_only(people):
    flat = np.corrcoef([brain.reactions.ravel() for brain in people])
    alike = flat[np.triu_indices(len(people), 1)]
    assert (alike > 0.1).all() and (alike < 0.6).all()


def test_the_materials_are_those_of_the_contest():
    assert len(LABELS) == len(SECONDS) == 28 and sum(SECONDS) / 28 == pytest.approx(67, abs=3)
    assert np.bincount(LABELS).tolist() == [3, 3, 3, 3, 4, 3, 3, 3, 3]
    sitting = short_sitting(np.random.default_rng(0), 5)
    videos = [segment for segment in sitting if segment.video is not None]
    assert sorted(segment.video for segment in videos) == list(range(1, 29))
    assert all(segment.emotion == LABELS[segment.video - 1] for segment in videos)
    assert all(a.stop_s == b.start_s for a, b in pairwise(sitting))


def test_entropy_is_half_the_log_of_the_variance():
    noise = np.random.default_rng(0).standard_normal((32, 2500)).astype(np.float32)
    once, twice = entropies(noise), entropies(2 * noise)
    assert once.shape == (10, 150) and np.allclose(twice - once, np.log(2), atol=1e-5)


def test_emotions_show_across_people_but_weakly():
    found = usual_recipe(np.random.default_rng(0), people=9, video_s=8)
    assert found.people == 9 and found.seconds == 28 * 6
    assert found.causal < 0.25 and 0.15 < found.published < 0.45 and found.causal < found.published


def test_the_difficulty_sets_how_much_is_found():
    easy, nothing = Difficulty(shared=0.8, own=0, moment=0, build_s=1), Difficulty(shared=0, own=0, film=0)
    plain = usual_recipe(np.random.default_rng(0), people=3, difficulty=easy, video_s=6)
    assert plain.published > 0.4 and plain.causal > 0.25
    chance = usual_recipe(np.random.default_rng(0), people=3, difficulty=nothing, video_s=6)
    assert chance.published == pytest.approx(1 / 9, abs=0.06) and chance.causal == pytest.approx(1 / 9, abs=0.06)


@pytest.mark.parametrize(
    ("quantity", "factor"),
    [("rms 1–40 Hz, µV", 1.6), ("peak to peak in 1 s, µV", 1.6), ("alpha peak, Hz", 1.15)],
)
def test_sizes_are_within_a_factor_of_a_lab_cap_s(table, quantity, factor):
    row = table[quantity]
    assert all(real / factor < ours < real * factor for real, ours in zip(row.lab, row.ours, strict=True)), row


@pytest.mark.parametrize(
    "quantity",
    ["kurtosis", "share of power: delta", "share of power: theta", "share of power: alpha", "share of power: beta"]
    + ["share of power: gamma", "slope 2–40 Hz without alpha", "correlation between channels"],
)
def test_medians_stand_between_those_of_the_two_real_recordings_or_near(table, quantity):
    row = table[quantity]
    low, high = sorted((row.lab[1], row.consumer[1]))
    room = 0.25 * max(abs(low), abs(high))
    assert low - room < row.ours[1] < high + room, row


def test_nearly_all_channels_show_alpha_and_the_table_has_every_line(table):
    assert table["channels with an alpha peak"].ours[0] > 0.9
    text = format_statistics(list(table.values()))
    assert len(text.splitlines()) == len(table) + 1 == 13 and "correlation between channels" in text
