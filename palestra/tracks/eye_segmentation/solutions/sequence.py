"""A sequence's masks from all its frames and its few labels together: what no frame tells alone.

The network (train/segmentation_palestra.py) tells of each frame where the eye is open, and where iris and pupil are.
Within a sequence the face, the headset and the eyeball stay the same, so that
- the rows of the lids in all frames lie close to few shapes, which are learnt from the frames themselves;
- the edges of iris and pupil are nearly ellipses whose shape depends on where the eye looks, and on little else;
- what the network gets wrong at a lash line or a soft limbus it gets wrong in every frame: the labels tell how much.
Each step is used in a sequence only if it does no harm to labels that it did not see.
"""

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.tracks.eye_segmentation.solutions.edges import (
    HEIGHT,
    WIDTH,
    Rim,
    draw_disc,
    field_of,
    fit_waves,
    lid_rows,
    rim_around,
    rim_of,
)
from palestra.tracks.eye_segmentation.solutions.shapes import few_shapes

Array = NDArray[Any]
BIGGER = 2  # a mask's pixel is half as wide as the network's
IRIS_REACH, PUPIL_REACH = 80, 44  # pixels from the middle in which an edge is looked for
DOUBT_LABELS = 1.0  # how many labels' worth one doubts that the network is wrong in the same way in all frames
DISC_DOUBT, LID_DOUBT = 0.4, 0.1  # that this depends on where the eye looks, and on how the lids stand
SEEN = 0.25  # of a rim, else the network's own edge is kept
KNOWN = 0.15  # of a rim in a label
FREE = np.array([0, 0, 0, 0.02, 0.02])  # trust in a circle where only a part of a rim is seen


@dataclass(frozen=True)
class Steps:
    """What is done beyond the network's own answer."""

    discs: bool = True
    lids: bool = True
    labels: bool = True  # whether these are corrected by what labels tell
    choose: bool = True  # by labels that are left out, else everything is done


ALL = Steps()


def agreed(logits: Array, given: Array, masks: Array, wanted: Array, steps: Steps = ALL) -> Array:
    """Masks (w, 400, 640) of the wanted frames of a sequence, from logits (n, 3, 200, 320) of all.

    `given` are the frames that have a label, `masks` (m, 400, 640) the labels.
    """
    sequence = _Sequence(logits, given, masks, steps)
    return (
        np.stack([sequence.mask(int(frame)) for frame in wanted]) if len(wanted) else np.zeros((0, 400, 640), np.uint8)
    )


class _Sequence:
    """Everything that is known of one sequence."""

    def __init__(self, logits: Array, given: Array, masks: Array, steps: Steps) -> None:
        self.logits, self.masks = logits, masks
        self.given = [int(frame) for frame in given]
        self.discs = [
            _Disc(logits[:, 0], logits[:, part], reach) if steps.discs else None
            for part, reach in ((1, IRIS_REACH), (2, PUPIL_REACH))
        ]
        self.lids = _Lids(logits[:, 0]) if steps.lids else None
        if steps.labels:
            self._learn_from_labels()
        if steps.choose and self.given:
            self._choose()

    def _learn_from_labels(self) -> None:
        opens = [field_of(mask, 1) for mask in self.masks]
        for part, disc in enumerate(self.discs):
            if disc:
                fields = [field_of(mask, part + 2) for mask in self.masks]
                disc.learn(self.given, fields, opens)
        if self.lids:
            self.lids.learn(self.given, opens)

    def mask(self, frame: int, without: int | None = None) -> Array:
        """The mask of a frame, from all labels or all but that of one frame."""
        is_open = self._open(frame, without)
        iris, pupil = (self._disc(part, frame, without) for part in range(2))
        return np.asarray(is_open * (1 + iris * (1 + 1 * pupil)), np.uint8)

    def _open(self, frame: int, without: int | None) -> Array:
        found = self.lids.inside(frame, without) if self.lids else None
        return _enlarged(self.logits[frame, 0]) if found is None else found

    def _disc(self, part: int, frame: int, without: int | None) -> Array:
        disc = self.discs[part]
        found = disc.inside(frame, without) if disc else None
        return _enlarged(self.logits[frame, part + 1]) if found is None else found

    def _choose(self) -> None:
        """Leave out steps that make the given labels worse, each label being left out in its turn."""
        if self.lids and self._harm(self.lids, 0) > 0:
            self.lids = None
        self.discs = [None if disc and self._harm(disc, part + 1) > 0 else disc for part, disc in enumerate(self.discs)]

    def _harm(self, step: "_Disc | _Lids", part: int) -> int:
        """How many more pixels of the labels a step gets wrong than the network alone."""
        more = 0
        for frame, mask in zip(self.given, self.masks, strict=True):
            inside = step.inside(frame, without=frame)
            if inside is None:
                continue
            known = mask >= min(part, 1)  # iris and pupil only where the eye is open
            true = (mask > part)[known]
            more += int((inside[known] != true).sum()) - int((_enlarged(self.logits[frame, part])[known] != true).sum())
        return more


def _enlarged(field: Array) -> Array:
    size = BIGGER * WIDTH, BIGGER * HEIGHT
    return np.asarray(cv2.resize(field, size, interpolation=cv2.INTER_LINEAR) > 0)


class _Disc:
    """Iris or pupil through a sequence."""

    def __init__(self, opens: Array, fields: Array, reach: int) -> None:
        self._reach = reach
        self._rims = [rim_of(field, is_open, reach) for field, is_open in zip(fields, opens, strict=True)]
        self._shape = _Shape.of([rim for rim in self._rims if rim and rim.share >= SEEN])
        self._waves = [self._shape.waves(rim) if rim and rim.share >= SEEN else None for rim in self._rims]
        self._off: dict[int, Array] = {}

    def learn(self, given: list[int], fields: list[Array], opens: list[Array]) -> None:
        """How far each label's edge is from what was found there."""
        for frame, field, is_open in zip(given, fields, opens, strict=True):
            rim, waves = self._rims[frame], self._waves[frame]
            if rim is None or waves is None:
                continue
            true = rim_around(8 * field, 8 * is_open, (rim.x, rim.y), self._reach)
            if true.share >= KNOWN:
                # Where the label shows the rim, it is fitted; elsewhere nothing is known, and nothing changes.
                self._off[frame] = (
                    fit_waves(Rim(true.x, true.y, true.radius, true.seen), waves, np.full(5, 0.3)) - waves
                )

    def inside(self, frame: int, without: int | None) -> Array | None:
        rim, waves = self._rims[frame], self._waves[frame]
        if rim is None or waves is None:
            return None
        known = [at for at in self._off if at != without]
        if known:
            off = np.array([self._off[at] for at in known])
            usual = np.median(off, axis=0)
            usual = usual + _sloped(
                np.array([self._place(at) for at in known]), off - usual, self._place(frame), DISC_DOUBT
            )
            waves = waves + usual * len(known) / (len(known) + DOUBT_LABELS)
        return draw_disc((rim.x, rim.y), waves, BIGGER)

    def _place(self, frame: int) -> Array:
        rim = self._rims[frame]
        assert rim is not None  # it has waves
        return np.array([1.0, (rim.x - WIDTH / 2) / 30, (rim.y - HEIGHT / 2) / 30])


@dataclass(frozen=True)
class _Shape:
    """How a disc's radius and ellipse depend on where it is."""

    middle: Array  # (2,)
    weights: Array  # (6, 3) of the radius and both parts of the second wave
    trust: Array  # (3,) 1 / px²

    @classmethod
    def of(cls, rims: list[Rim]) -> "_Shape":
        middle = np.array([WIDTH / 2, HEIGHT / 2])
        if len(rims) < 12:
            return cls(middle, np.zeros((6, 3)), np.zeros(3))
        alone = np.array([fit_waves(rim, np.zeros(5), FREE)[[0, 3, 4]] for rim in rims])
        seen = np.array([rim.share for rim in rims])
        where = _terms(np.array([[rim.x, rim.y] for rim in rims]) - middle)
        weights = np.zeros((6, 3))
        trusted = seen**2
        for _ in range(3):  # the few that are far off count less each time
            heavy = where * trusted[:, None]
            weights = np.linalg.solve(heavy.T @ where + np.diag([1e-3, 0.3, 0.3, 1, 1, 1]), heavy.T @ alone)
            off = alone - where @ weights
            spread = 1.48 * np.median(np.abs(off), axis=0) + 0.05
            trusted = seen**2 / (1 + ((off / (3 * spread)) ** 2).max(axis=1))
        return cls(middle, weights, 0.05 / spread**2)

    def waves(self, rim: Rim) -> Array:
        usual, trust = np.zeros(5), np.zeros(5)
        usual[[0, 3, 4]] = _terms(np.array([[rim.x, rim.y]]) - self.middle)[0] @ self.weights
        trust[[0, 3, 4]] = self.trust
        return fit_waves(rim, usual, trust)


def _terms(places: Array) -> Array:
    x, y = places.T / 50
    return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], 1)


class _Lids:
    """Upper and lower lid through a sequence."""

    def __init__(self, opens: Array) -> None:
        self._found = np.array([lid_rows(field) for field in opens])  # (n, 2, 320)
        self._rows = few_shapes(self._found.reshape(len(opens), -1)).reshape(self._found.shape)
        self._off: dict[int, Array] = {}

    def learn(self, given: list[int], opens: list[Array]) -> None:
        for frame, field in zip(given, opens, strict=True):
            self._off[frame] = lid_rows(field) - self._rows[frame]

    def inside(self, frame: int, without: int | None) -> Array | None:
        rows = self._rows[frame]
        there = np.isfinite(self._found[frame, 0])
        if there.sum() < 16:
            return None
        known = [at for at in self._off if at != without]
        if known:
            off = np.array([self._off[at] for at in known])
            usual = _usual(off)
            stands = np.array([self._stand(at) for at in known])
            middle = stands.mean(axis=0)
            rest = np.nan_to_num(off - usual).reshape(len(known), -1)
            more = _sloped(stands - middle, rest, self._stand(frame) - middle, LID_DOUBT).reshape(usual.shape)
            rows = rows + usual + _along(more, 6.0)
        return _between(rows, there)

    def _stand(self, frame: int) -> Array:
        """How far the eye is open, and how high the upper lid is."""
        upper, lower = self._rows[frame]
        there = np.isfinite(upper) & np.isfinite(lower)
        return np.array([np.mean((lower - upper)[there]), np.mean(upper[there])]) / 30 if there.any() else np.zeros(2)


def _sloped(places: Array, off: Array, place: Array, doubt: float) -> Array:
    """What lines through places (m, q) and how far off one is there (m, k) tell for another place; doubted, flat."""
    slope = np.linalg.solve(places.T @ places + doubt * np.eye(len(place)), places.T @ off)
    return np.asarray(place @ slope)


def _along(rows: Array, spread_px: float) -> Array:
    """Smoothed along the lids."""
    return np.asarray(cv2.GaussianBlur(rows, (0, 0), sigmaX=spread_px, sigmaY=1e-3, borderType=cv2.BORDER_REPLICATE))


def _usual(off: Array) -> Array:
    """How far labels are from what was found, by lid and column: the middle one, less where few are known."""
    count = np.isfinite(off).sum(0)
    filled = np.where(count > 0, off, 0.0)
    middle = np.nan_to_num(np.nanmedian(filled, axis=0)) * count / (count + DOUBT_LABELS)
    return _along(middle, 3.0)


def _between(rows: Array, there: Array) -> Array:
    """Whether each pixel of a mask is between the lids."""
    columns = np.flatnonzero(there)
    wide = (np.arange(BIGGER * WIDTH) + 0.5) / BIGGER - 0.5
    upper, lower = ((np.interp(wide, columns, line[columns]) + 0.5) * BIGGER - 0.5 for line in rows)
    within = (wide >= columns[0] - 0.3) & (wide <= columns[-1] + 0.3)
    down = np.arange(BIGGER * HEIGHT)[:, None]
    return np.asarray((down >= upper) & (down <= lower) & within)
