"""Lids as smooth curves: what leaks beyond them is cut, and whole eyes stay whole."""

import cv2
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.eyes.reader.lid_curves import lids_of, within_lids

COLUMNS = np.arange(400)


def eye(upper=90.0, lower=60.0, skew=0.0):
    """An eye from column 20 to 380 between two lids, with an iris that both of them cover a little."""
    place = np.linspace(-1, 1, 361)
    top = 150 - upper * (1 - place**2) * (1 + skew * place)
    bottom = 150 + lower * (1 - place**2) * (1 - skew * place)
    rows = np.arange(300)[:, None]
    mask = np.zeros((300, 400), np.uint8)
    mask[:, 20:381] = (rows >= top) & (rows <= bottom)
    for number, radius in ((2, 75), (3, 28)):
        disc = cv2.circle(np.zeros_like(mask), (200, 140), radius, 1, -1)
        mask[(disc > 0) & (mask > 0)] = number
    return mask


@given(st.floats(30, 110), st.floats(25, 90), st.floats(-0.35, 0.35))
@settings(max_examples=40, deadline=None)
def test_an_eye_between_smooth_lids_loses_nothing(upper, lower, skew):
    mask = eye(upper, lower, skew)
    kept = within_lids(mask, lids_of(mask))
    assert (kept != mask).sum() < 0.002 * (mask > 0).sum()


@given(st.integers(120, 280), st.integers(14, 40), st.integers(20, 45), st.booleans())
@settings(max_examples=60, deadline=None)
def test_sclera_that_leaks_through_a_lid_between_the_corners_is_cut_off(x, wide, high, below):
    whole = eye()
    column = np.flatnonzero(whole[:, x])
    blot = cv2.ellipse(np.zeros_like(whole), (x, int(column[-1 if below else 0])), (wide, high), 0, 0, 360, 1, -1)
    leaking = np.where((whole == 0) & (blot > 0), 1, whole).astype(np.uint8)
    beyond = (leaking == 1) & (whole == 0)
    kept = within_lids(leaking, lids_of(leaking))
    assert (kept[beyond] == 1).sum() < 0.55 * beyond.sum()
    assert (kept[whole > 0] == whole[whole > 0]).mean() > 0.99


def test_iris_and_pupil_are_never_cut():
    mask = eye()
    mask[:30, 190:210] = 2
    assert (within_lids(mask, lids_of(mask))[mask >= 2] >= 2).all()


def test_what_the_picture_cuts_off_ends_at_no_lid():
    whole = eye(upper=140)
    cut = whole[60:]
    lids = lids_of(cut)
    assert lids is not None and lids.upper.min() < -20
    assert (within_lids(cut, lids) == cut).mean() > 0.999


def test_too_little_of_an_eye_has_no_lids():
    assert lids_of(np.zeros((100, 100), np.uint8)) is None
    speck = np.zeros((100, 100), np.uint8)
    speck[50:60, 50:60] = 1
    assert lids_of(speck) is None and within_lids(speck, None) is speck
