from functools import cache

import numpy as np
import polars as pl
import pytest

from palestra import registry
from palestra.contest.workers.copies import (
    FEWEST,
    SAMPLE,
    TOLERANCE,
    Fingerprint,
    baseline,
    compare,
    decode,
    encode,
    find_copies,
    fingerprint,
    suspicious,
)
from palestra.model_cards import is_ready
from palestra.scoring.submission import collect
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask, png_bytes

FILE_TRACKS = ["eye-segmentation-v1", "gaze-prediction-v1", "near-eye-gaze-v1"]
rng = np.random.default_rng(7)


def ready(track_id):
    """Names of solutions whose weights are here."""
    return [one.name for one in registry.solutions(track_id) if one.solves and is_ready(one)]


@pytest.fixture(scope="module")
def answered(tiny, solved):
    """Answers of a reference solution, read as a submission is."""

    @cache
    def get(track_id, name):
        track = registry.track(track_id)
        return collect(track, solved(track_id, name), track.trials(tiny(track_id)))

    return get


def noised(answers, share, seed=1):
    """Answers with noise in every number, of so large a share of how far they spread."""
    noise, columns = np.random.default_rng(seed), [name for name, kind in answers.schema.items() if kind.is_float()]
    spread = {name: answers[name].quantile(0.9) - answers[name].quantile(0.1) for name in columns}
    moved = {name: pl.Series(noise.uniform(-1, 1, answers.height)) * spread[name] * share for name in columns}
    return answers.with_columns(**{name: answers[name] + moved[name] for name in columns})


def points(count=400, seed=1):
    """Answers of a near-eye track."""
    found = np.random.default_rng(seed).normal(0, 100, (count, 2))
    return pl.DataFrame({"trial": [f"p/{i}" for i in range(count)], "x": found[:, 0], "y": found[:, 1]})


def labels(values):
    return pl.DataFrame({"trial": [f"p/{i}" for i in range(len(values))], "label": values})


NEAR_EYE = registry.track("near-eye-gaze-v1")
EEG = registry.track("emotion-eeg-v1")


def is_copy(a, b, known=()):
    return bool(find_copies(a, {"b": b}, known))


@pytest.mark.parametrize("track_id", FILE_TRACKS)
def test_an_exact_copy_is_found(track_id, answered):
    track, name = registry.track(track_id), ready(track_id)[0]
    answers = answered(track_id, name)
    mine, theirs = fingerprint(track, answers), fingerprint(track, answers.clone())
    (found,) = find_copies(mine, {"theirs": theirs})
    assert (found.of, found.share, found.exact) == ("theirs", 1.0, True)


@pytest.mark.parametrize("track_id", ["gaze-prediction-v1", "near-eye-gaze-v1"])
def test_a_copy_with_noise_below_the_tolerance_is_found_and_not_called_exact(track_id, answered):
    track, name = registry.track(track_id), ready(track_id)[-1]
    answers = answered(track_id, name)
    theirs = fingerprint(track, noised(answers, TOLERANCE / 3))
    (found,) = find_copies(fingerprint(track, answers), {"theirs": theirs})
    assert found.share > 0.95 and not found.exact


@pytest.mark.parametrize("track_id", ["gaze-prediction-v1", "near-eye-gaze-v1"])
def test_answers_that_differ_by_more_than_the_tolerance_are_others(track_id, answered):
    track, name = registry.track(track_id), ready(track_id)[-1]
    answers = answered(track_id, name)
    assert not is_copy(fingerprint(track, answers), fingerprint(track, noised(answers, 0.1)))


def test_different_solutions_are_no_copies(answered):
    track = registry.track("gaze-prediction-v1")
    hold, line = (fingerprint(track, answered(track.id, name)) for name in ("hold-last", "linear"))
    assert not is_copy(hold, line) and not is_copy(line, hold)
    assert compare(hold, hold) == compare(line, line) == 1.0  # there was something to compare


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_two_templates_are_no_copies_of_each_other(track_id, tiny):
    track = registry.track(track_id)
    blank = fingerprint(track, track.blank(track.trials(tiny(track_id))))
    assert compare(blank, blank) == 0.0
    assert not is_copy(blank, blank)


def test_a_copy_that_fills_the_rest_with_a_constant_is_found():
    theirs = points()
    mine = theirs.with_columns(x=pl.when(pl.int_range(pl.len()) < 240).then(0.0).otherwise("x"))
    mine = mine.with_columns(y=pl.when(pl.col("x") == 0).then(0.0).otherwise("y"))
    assert compare(fingerprint(NEAR_EYE, mine), fingerprint(NEAR_EYE, theirs)) == 1.0


def test_two_that_fill_most_with_the_same_constant_and_answer_the_rest_themselves_are_no_copies():
    filled = pl.when(pl.int_range(pl.len()) < 300).then(0.0)
    a, b = (points(seed=seed).with_columns(x=filled.otherwise("x"), y=filled.otherwise("y")) for seed in (1, 2))
    assert not is_copy(fingerprint(NEAR_EYE, a), fingerprint(NEAR_EYE, b))


def test_half_a_copy_is_found_and_a_quarter_is_not():
    theirs, own = points(), points(seed=2)
    for share, found in ((0.6, True), (0.25, False)):
        copied = pl.int_range(pl.len()) < share * theirs.height
        mine = own.with_columns(
            **{name: pl.when(copied).then(theirs[name]).otherwise(pl.col(name)) for name in ("x", "y")}
        )
        assert is_copy(fingerprint(NEAR_EYE, mine), fingerprint(NEAR_EYE, theirs)) is found


def test_what_everybody_knows_does_not_count():
    """Two teams hand in the organiser's baseline: that is no secret that one has from the other."""
    public = fingerprint(NEAR_EYE, points())
    a, b = (fingerprint(NEAR_EYE, noised(points(), TOLERANCE / 5, seed)) for seed in (1, 2))
    assert is_copy(a, b)
    assert not is_copy(a, b, known=[public])


def test_order_gaps_and_remarks_do_not_matter():
    answers = points()
    shuffled = answers.sample(fraction=1, shuffle=True, seed=3)
    gaps = answers.with_columns(
        x=pl.when(pl.int_range(pl.len()) % 5 > 0).then("x"), y=pl.when(pl.int_range(pl.len()) % 5 > 0).then("y")
    )
    heard = answers.with_columns(latency_s=pl.lit(0.5), note=pl.lit(""))
    first = fingerprint(NEAR_EYE, answers)
    for other in (shuffled, gaps, gaps.filter(pl.col("x").is_not_null()), heard):
        assert compare(first, fingerprint(NEAR_EYE, other)) == 1.0
    assert fingerprint(NEAR_EYE, heard).digest == first.digest


def test_nobody_makes_others_look_like_copies_by_answering_wildly():
    honest, wild = points(), points(seed=2).with_columns(pl.col("x", "y") * 1e9)
    assert compare(fingerprint(NEAR_EYE, honest), fingerprint(NEAR_EYE, wild)) < 0.05


def test_comparing_is_the_same_both_ways():
    public = fingerprint(NEAR_EYE, points(seed=5))
    a, b = fingerprint(NEAR_EYE, points()), fingerprint(NEAR_EYE, noised(points(), 0.01))
    assert compare(a, b) == compare(b, a) and compare(a, b, [public]) == compare(b, a, [public])


def test_few_answers_say_nothing():
    few = fingerprint(NEAR_EYE, points(FEWEST - 1))
    enough = fingerprint(NEAR_EYE, points(FEWEST))
    assert compare(few, few) == 0.0 and compare(enough, enough) == 1.0
    nothing = fingerprint(NEAR_EYE, points().clear())
    assert compare(nothing, nothing) == compare(nothing, enough) == 0.0


def test_a_fingerprint_is_small_and_comes_back_from_bytes():
    one = fingerprint(NEAR_EYE, points(50_000))
    assert len(encode(one)) < 40_000 and len(one.trials) == 8 * SAMPLE
    assert decode(encode(one)) == one


def test_everybody_is_compared_on_the_same_trials():
    a, b = fingerprint(NEAR_EYE, points(50_000)), fingerprint(NEAR_EYE, points(50_000, seed=2))
    assert a.trials == b.trials


def test_good_programs_agree_on_labels_without_being_copies():
    """85 % right each, and wrong on their own: they agree on about 73 %."""
    truth = rng.integers(0, 9, 3000)

    def team():
        return np.where(rng.random(3000) < 0.85, truth, rng.integers(0, 9, 3000))

    a, b, *others = (fingerprint(EEG, labels(team())) for _ in range(14))
    assert a.few_values and compare(a, b) > 0.6
    assert not is_copy(a, b)
    assert not find_copies(a, {str(i): other for i, other in enumerate([b, *others])})
    (found,) = find_copies(a, {"a": a, **{str(i): other for i, other in enumerate([b, *others])}})
    assert found.of == "a"


def test_the_usual_share_is_the_median_over_enough_pairs():
    fine = Fingerprint("", b"", b"", b"", 2)
    label = Fingerprint("", b"", b"", b"", 0, True)
    assert baseline(fine, fine, [0.9] * 9) == 0.0
    assert baseline(label, label, [0.1] * 9) == 0.9
    assert baseline(label, fine, []) == 0.0
    assert baseline(label, label, [*[0.3] * 9, 1.0]) == 0.3


@pytest.mark.parametrize(
    ("share", "usual", "outcome"),
    [(0.0, 0.0, False), (0.49, 0.0, False), (0.5, 0.0, True), (0.85, 0.8, False), (0.9, 0.8, True), (1.0, 0.99, True)],
)
def test_suspicion_begins_half_way_from_what_is_usual(share, usual, outcome):
    assert suspicious(share, usual) is outcome


def test_masks_are_the_same_however_they_were_packed(answered, tmp_path, tiny):
    track = registry.track("eye-segmentation-v1")
    answers = answered(track.id, "threshold")
    for trial, file, key in answers.rows():
        place = tmp_path / "masks" / trial.replace(".npy", ".png")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(png_bytes(openeds.open_mask(file, key)))
    again = collect(track, tmp_path / "masks", track.trials(tiny(track.id)))
    mine, theirs = fingerprint(track, answers), fingerprint(track, again)
    assert mine.digest != theirs.digest
    (found,) = find_copies(mine, {"theirs": theirs})
    assert found.share == 1.0


def test_other_masks_are_no_copies(answered):
    track = registry.track("eye-segmentation-v1")
    answers = answered(track.id, "threshold")

    def shifted(file, key):
        return encode_mask(np.roll(openeds.open_mask(file, key), 1, axis=1))

    moved = answers.with_columns(
        mask_file=pl.lit(openeds.INLINE),
        mask_key=pl.Series([shifted(file, key) for _, file, key in answers.rows()]),
    )
    assert not is_copy(fingerprint(track, answers), fingerprint(track, moved))
