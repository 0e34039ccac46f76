"""A first program to change: the pupil as a dark disc, against the LEDs' reflections, and a linear map to the display.

The class and its two methods keep their names. Paths are relative to the bundle's folder.
"""

from pathlib import Path

import cv2
import numpy as np

MODEL = Path("Algorithm/model.npz")  # train.py writes it
DISPLAY = np.array([364.0, 268.0])  # mm from its middle to its sides: nobody looks beyond
# Without it, each eye gives x and y (mm on the display; x to the right, y up, as the person sees them) out of these:
EYE = [[0.0, 0.0], [0.0, 0.0], [-140.0, 0.0], [0.0, -25.0]]
FIRST_GUESS = np.array([[0.0, 0.0], *EYE, *EYE])


def dark_disc(image):
    """Centre of the smooth dark disc that is lighter on all sides but perhaps one. Change me: it is coarse, 4 px wide."""
    small = cv2.resize(image, (160, 100), interpolation=cv2.INTER_AREA)
    small = cv2.morphologyEx(small, cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)).astype(np.float32)  # removes glints
    small = np.log(small + 4)
    small -= cv2.GaussianBlur(small, (0, 0), 30)  # as if light fell evenly
    inside = cv2.blur(small, (11, 11))
    uneven = np.sqrt(np.maximum(cv2.blur(small * small, (11, 11)) - inside * inside, 0))  # lashes are, pupils are not
    beside = cv2.blur(small, (5, 5))
    sides = np.sort([np.roll(beside, shift, axis) for axis in (0, 1) for shift in (-12, 12)], axis=0)
    worth = (sides[1] - inside - 2.5 * uneven)[14:-14, 14:-14]
    _, _, _, (x, y) = cv2.minMaxLoc(worth)
    return 4 * (x + 14) + 2, 4 * (y + 14) + 2


def eye_features(image):
    """Where the pupil is, and where it is against the LEDs' reflections.

    The reflections move along when the headset sits differently, so the second tells the gaze and not the fit. Change
    me: there are reflections elsewhere, too, and the pupil's shape tells more.
    """
    x, y = dark_disc(image)
    left, top = max(x - 80, 0), max(y - 80, 0)
    near = image[top : top + 160, left : left + 160]
    small_and_bright = cv2.morphologyEx(near, cv2.MORPH_TOPHAT, np.ones((11, 11), np.uint8)) >= 80
    rows, columns = np.nonzero(small_and_bright)
    place = [(x - 320) / 100, (y - 200) / 100]
    if len(rows) < 20:  # no pupil is without them
        return [0.0, 0.0, 0.0, 0.0]
    return [*place, (x - left - np.median(columns)) / 30, (y - top - np.median(rows)) / 30]


def features(left, right):
    return np.array([1.0, *eye_features(left), *eye_features(right)])


class MyAlgorithm:
    """Lives through all testers, one after the other."""

    def __init__(self):
        self.weights = np.load(MODEL)["weights"] if MODEL.exists() else FIRST_GUESS
        self.point = np.zeros(2)

    def get_data(self, left, right):
        """Both eyes, 400 × 640 grey levels (uint8)."""
        self.point = np.clip(features(left, right) @ self.weights, -DISPLAY, DISPLAY)

    def algorithm(self):
        """Where the person looks: [x, y] on the display."""
        return self.point.tolist()
