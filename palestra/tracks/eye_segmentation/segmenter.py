"""Masks of an eye from pictures of any size, of any device: `segment`.

    from palestra.tracks.eye_segmentation import segment
    masks = segment(pictures)                   # of one eye before one camera → (n, height, width), 0 … 3
    masks = segment(pictures, labels={4: mask})  # with what is known of some of them

The network and what a sequence adds to it are those of the solution `palestra`. A sequence of pictures as wide for
their height as the track's is seen whole, as by that solution. All others, and a single picture, are seen through one
window, which holds the eye of all frames as large as the network knows eyes.
"""

from collections.abc import Mapping, Sequence

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from palestra.errors import PalestraError
from palestra.eyes.reader.image_input import SHAPE as HIGH_OF_WIDE
from palestra.eyes.reader.image_input import Grey, Window, cut, grey, handy, laid_back, window_around
from palestra.eyes.reader.network import Seen
from palestra.eyes.reader.search import find
from palestra.eyes.reader.settings import USUAL
from palestra.text import say
from palestra.tracks.eye_segmentation.format import CLASSES, SHAPE, Mask
from palestra.tracks.eye_segmentation.solutions.palestra import BATCH, logits_of
from palestra.tracks.eye_segmentation.solutions.sequence import agreed

LEAST_PX = (24, 40)  # height and width of a picture
LOOKED_AT = 16  # frames in which the eye is looked for: it stays where it is
EYE_OF_WINDOW = 0.7  # the width and height that an eye takes of the track's own pictures
Levels = NDArray[np.float32]  # (3, height, width): where the eye is open, of this the iris, of this the pupil


def segment(pictures: Sequence[ArrayLike], labels: Mapping[int, ArrayLike] | None = None) -> NDArray[np.uint8]:
    """Masks (n, height, width) of 0 background, 1 sclera, 2 iris and 3 pupil for the frames of one sequence.

    Pictures are as OpenCV reads them, of any depth and number of channels, all of one size. A single picture is a
    sequence of one; more frames of the same eye make every mask better. `labels` are masks that are known, by the
    number of their frame: they correct the others and are handed back as they are.
    """
    shape, known = _checked(pictures, labels or {})
    high, wide = _copy(pictures[0]).shape
    copy = high, wide
    window = _window(pictures, copy)
    logits = np.concatenate([_heard(pictures[at : at + BATCH], window) for at in range(0, len(pictures), BATCH)])
    given = np.array(sorted(known), int)
    inside = np.array([_into(known[frame], copy, window) for frame in given], np.uint8).reshape(-1, *SHAPE)
    wanted = np.setdiff1d(np.arange(len(pictures)), given)
    masks = np.empty((len(pictures), *shape), np.uint8)
    for frame in given:
        masks[frame] = known[frame]
    for frame, mask in zip(wanted, agreed(logits, given, inside, wanted), strict=True):
        masks[frame] = _back(mask, window, copy, shape)
    return masks


def _checked(pictures: Sequence[ArrayLike], labels: Mapping[int, ArrayLike]) -> tuple[tuple[int, int], dict[int, Mask]]:
    """The pictures' height and width, and the labels as masks."""
    shapes = {np.shape(picture)[:2] for picture in pictures}
    if len(shapes) != 1:
        raise PalestraError(
            say("Pictures of one sequence must be of one size; found {sizes}.", sizes=sorted(shapes) or say("none"))
        )
    (shape,) = shapes
    if len(shape) != 2 or shape[0] < LEAST_PX[0] or shape[1] < LEAST_PX[1]:
        raise PalestraError(
            say(
                "Pictures have the shape {shape}; expected (height, width) or (height, width, channels), of at least "
                "{high} × {wide} pixels.",
                shape=shape,
                high=LEAST_PX[0],
                wide=LEAST_PX[1],
            )
        )
    known = {}
    for frame, label in labels.items():
        mask = np.asarray(label)
        if not 0 <= frame < len(pictures):
            raise PalestraError(
                say("There is a label of frame {frame}; frames are 0 to {last}.", frame=frame, last=len(pictures) - 1)
            )
        if mask.shape != shape or mask.dtype.kind not in "iub" or not np.isin(mask, range(len(CLASSES))).all():
            raise PalestraError(
                say(
                    "The label of frame {frame} is no mask of its picture: expected {shape} whole numbers, "
                    "0 background, 1 sclera, 2 iris, 3 pupil.",
                    frame=frame,
                    shape=shape,
                )
            )
        known[frame] = mask.astype(np.uint8)
    return (shape[0], shape[1]), known


def _window(pictures: Sequence[ArrayLike], copy: tuple[int, int]) -> Window:
    """The part of all copies of that size that the network is shown."""
    holding = max(copy[1], round(copy[0] / HIGH_OF_WIDE))
    whole = window_around(copy[1] / 2, copy[0] / 2, holding, smeared=True)
    if copy[0] * SHAPE[1] == copy[1] * SHAPE[0] and len(pictures) > 1:
        return whole
    some = np.unique(np.linspace(0, len(pictures) - 1, LOOKED_AT).round().astype(int))
    found = [find(_copy(pictures[at]), USUAL)[0] for at in some]
    boxes = [_box(seen) for seen in found if seen and seen.middle()]
    if not boxes:
        return whole
    left, top = np.percentile([box[:2] for box in boxes], 10, axis=0)
    right, bottom = np.percentile([box[2:] for box in boxes], 90, axis=0)
    wide = max(right - left, (bottom - top) / HIGH_OF_WIDE) / EYE_OF_WINDOW
    return window_around((left + right) / 2, (top + bottom) / 2, wide, smeared=True)


def _box(seen: Seen) -> tuple[float, float, float, float]:
    """Of the eye in its picture: left, top, right, bottom."""
    eye, window = seen.eye, seen.window
    rows, columns = np.flatnonzero(eye.any(axis=1)), np.flatnonzero(eye.any(axis=0))
    across = window.width / eye.shape[1]
    left, right = (window.left + across * edge for edge in (columns[0], columns[-1] + 1))
    top, bottom = (window.top + across * edge for edge in (rows[0], rows[-1] + 1))
    return left, top, right, bottom


def _heard(pictures: Sequence[ArrayLike], window: Window) -> NDArray[np.float32]:
    """The network's logits for some frames."""
    return logits_of(np.stack([cut(_copy(picture), window) for picture in pictures]))


def _copy(picture: ArrayLike) -> Grey:
    return handy(grey(np.asarray(picture)))[0]


def _into(mask: Mask, copy: tuple[int, int], window: Window) -> Mask:
    """A label as the window shows it, (400, 640)."""
    return _classes(np.stack([cut(part, window, SHAPE) for part in _resized(_levels(mask), copy)]))


def _back(mask: Mask, window: Window, copy: tuple[int, int], shape: tuple[int, int]) -> Mask:
    """What was found in the window, as a mask of the picture."""
    seen = _resized(_levels(mask), (window.height, window.width))
    return _classes(_resized(laid_back(seen, window, copy), shape))


def _levels(mask: Mask) -> Levels:
    return np.stack([mask >= level for level in range(1, len(CLASSES))]).astype(np.float32)


def _classes(levels: Levels) -> Mask:
    return np.asarray((levels > 0.5).sum(axis=0), np.uint8)


def _resized(levels: Levels, shape: tuple[int, ...]) -> Levels:
    how = cv2.INTER_AREA if shape[1] < levels.shape[2] else cv2.INTER_LINEAR
    return np.stack([cv2.resize(part, (shape[1], shape[0]), interpolation=how) for part in levels])
