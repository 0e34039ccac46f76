"""Lines of the table on conditions and framings: what is drawn for them, and what counts as wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from palestra.eyes.reader.ellipses import Ellipse  # noqa: E402
from train import tables_conditions as table  # noqa: E402

LINES = {line.title: line for line in table.LINES}


@pytest.fixture(scope="module")
def plain():
    return list(table.shots(LINES["as drawn"], 2, 1))


@pytest.mark.parametrize("title", ["uneven light", "mascara"])
def test_a_condition_changes_pictures_and_neither_masks_nor_where_pupils_are(plain, title):
    for before, after in zip(plain, table.shots(LINES[title], 2, 1), strict=True):
        assert (before.image != after.image).mean() > 0.001 and before.pupil == after.pupil
        np.testing.assert_array_equal(before.mask, after.mask)


@pytest.mark.parametrize(
    ("title", "iris"), [(table.PORTRAIT, (0.35, 0.75)), (table.CLOSE, (0.45, 1.0)), (table.TINY, (0.08, 0.2))]
)
def test_framings_have_irises_of_their_sizes(title, iris):
    for shot in table.shots(LINES[title], 2, 1):
        assert shot.image.shape == shot.mask.shape
        assert iris[0] < shot.iris_px / shot.image.shape[1] < iris[1]


@pytest.mark.parametrize("title", table.FRAMINGS)
def test_a_framed_pupil_is_where_its_mask_is(title):
    for shot in table.shots(LINES[title], 2, 1):
        rows, columns = np.nonzero(shot.mask == table.PUPIL)
        assert shot.pupil and len(rows)
        assert np.hypot(columns.mean() - shot.pupil[0], rows.mean() - shot.pupil[1]) < 0.1 * shot.iris_px


def test_a_sure_pupil_is_wrong_where_it_is_off_or_where_none_shows(plain):
    shot = plain[0]
    x, y = shot.pupil
    near, far = (SimpleNamespace(pupil=Ellipse(x + off * shot.iris_px, y, 30, 30, 0)) for off in (0.04, 0.06))
    assert not table.is_wrong(shot, near) and table.is_wrong(shot, far)
    assert table.is_wrong(table.replace(shot, pupil=None), near)
