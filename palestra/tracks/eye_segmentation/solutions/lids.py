"""Thresholds and ellipses under a benchmark protocol: what lids and irises are like is learnt from other sequences."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.eyes.pupil import find_pupil, read_grey
from palestra.records import Material
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask
from palestra.tracks.eye_segmentation.solutions.threshold import Mask, drawn, learn, less_a_rim

USUAL_IRIS_PX = 185.0
OPEN_SHARE = 0.3  # of the training's frames in which the eye is open where pupils are looked for
HEIGHT, WIDTH = openeds.SHAPE


class Lids:
    """How often the eye is open at each place: of the picture, and around the pupil."""

    def fit(self, training: Material) -> None:
        in_picture, around = np.zeros((HEIGHT, WIDTH)), np.zeros((2 * HEIGHT, 2 * WIDTH))
        counts, irises = np.zeros_like(around), []
        places = training.rows.select("truth_file", "truth_key").rows()
        for place in places:
            known = learn(openeds.open_mask(*place))
            in_picture += known.region
            if np.isfinite(known.iris_px):  # else the eye is shut, and nobody knows where it looks
                window = _around(known.x, known.y)
                around[window] += known.region
                counts[window] += 1
                irises.append(known.iris_px)
        self._open = less_a_rim(in_picture / max(len(places), 1) >= OPEN_SHARE)
        self._lids = around / np.maximum(counts, 1)
        self._iris_px = float(np.median(irises)) if irises else USUAL_IRIS_PX

    def predict(self, test: Material) -> pl.DataFrame:
        frames = test.rows.select("sequence", "frame").rows()
        masks = [self._segment(read_grey(openeds.image_file(test.data, *frame))) for frame in frames]
        codes = pl.Series([encode_mask(mask) for mask in masks], dtype=pl.String)
        return test.rows.select("trial", mask_file=pl.lit(openeds.INLINE), mask_key=codes)

    def _segment(self, image: Mask) -> Mask:
        pupil = find_pupil(image, self._open)
        region: NDArray[np.bool_] = self._lids[_around(pupil.x, pupil.y)] >= 0.5
        return drawn(pupil, region.astype(np.uint8), self._iris_px)


def _around(x: float, y: float) -> tuple[slice, slice]:
    """Where a picture lies on one of twice its size, in whose middle the pupil is."""
    top, left = (size - min(max(round(at), 0), size) for size, at in ((HEIGHT, y), (WIDTH, x)))
    return slice(top, top + HEIGHT), slice(left, left + WIDTH)
