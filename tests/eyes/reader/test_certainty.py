"""How certain a reading is: never more for what is worse, and true on people that it was not fitted to."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra import model_cards
from palestra.eyes.reader import certainty
from palestra.eyes.reader.certainty import FEATURES, FILE, GAZE, IGNORED, QUANTITIES, SURE, certainty_of, reasons
from palestra.eyes.reader.checks import Check

KNOWN = json.loads(FILE.read_text())
SHARES = st.lists(st.floats(0, 1), min_size=len(FEATURES), max_size=len(FEATURES))


def checks(shares):
    return [Check(name, name, share, 0.0, 1.0) for name, share in zip(FEATURES, shares, strict=True)]


@given(SHARES, st.integers(0, len(FEATURES) - 1), st.floats(0, 1), st.sampled_from(QUANTITIES))
def test_what_is_worse_is_never_more_certain(shares, which, lower, quantity):
    worse = [min(share, lower) if at == which else share for at, share in enumerate(shares)]
    assert certainty_of(quantity, checks(worse)) <= certainty_of(quantity, checks(shares)) + 1e-9


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_what_all_speaks_for_is_sure_and_what_any_check_rules_out_is_not(quantity):
    whole = [1.0] * len(FEATURES)
    assert certainty_of(quantity, checks(whole)) >= SURE
    for at, name in enumerate(FEATURES):
        told = certainty_of(quantity, checks([0.0 if at == other else 1.0 for other in range(len(FEATURES))]))
        assert (told < 0.5) == (name not in IGNORED[quantity])


def test_a_gaze_that_is_uncertain_says_nothing_about_the_rest():
    poor = checks([0.0 if "gaze" in name else 1.0 for name in FEATURES])
    assert [certainty_of(name, poor) >= SURE for name in QUANTITIES] == [True, True, True, False]
    assert reasons(GAZE, poor) == ("gaze uncertain",)


def test_reasons_are_what_is_below_its_middle_or_else_the_weakest():
    some = checks([0.4 if name == "focus" else 0.6 if name == "step" else 1.0 for name in FEATURES])
    assert reasons("pupil", some) == ("focus",)
    assert reasons("pupil", checks([0.6 if name == "step" else 1.0 for name in FEATURES])) == ("step",)


def test_curves_are_of_the_network_that_is_shipped():
    """Whoever ships another network runs train/certainty.py again."""
    assert KNOWN["weights_sha256"] == model_cards.card("eye_reader").sha256


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_certainties_were_true_of_strangers(quantity):
    checked = KNOWN["checked"][quantity]
    assert checked["readings"] >= 200
    assert checked["expected_calibration_error"] < 0.08
    assert checked["right_among_sure"] >= SURE
    assert checked["far_off_among_sure"] <= (0 if quantity in ("mask", "pupil") else 0.01 * checked["readings"])


def test_the_fit_finds_out_how_often_something_is_right():
    fit = pytest.importorskip("train.certainty")
    rng = np.random.default_rng(3)
    shares = rng.uniform(0.2, 1, (4000, len(FEATURES)))
    true = 1 / (1 + np.exp(-(6 * shares[:, FEATURES.index("clear")] - 3.5)))
    hits = rng.random(4000) < true
    found = fit.fitted("pupil", shares[:2000], hits[:2000])
    curve = certainty.Curve(found["weights"], found["bias"], tuple(found["raw"]), tuple(found["told"]))
    told = np.array([curve.certainty(dict(zip(FEATURES, row, strict=True))) for row in shares[2000:]])
    assert np.abs(told - true[2000:]).mean() < 0.06
    assert fit.expected_error(told, hits[2000:]) < 0.05
    assert fit.expected_error(np.full(2000, 0.9), hits[2000:]) > 0.2
