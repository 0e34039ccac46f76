"""Plays on your own machine against the organiser's: images in, result out. Needs Palestra, numpy and OpenCV.

python client.py ws://host:port TOKEN
"""

import os
import sys
from pathlib import Path

from palestra.client import play

BUNDLE = Path(__file__).resolve().parent / "bundle"
sys.path.insert(0, str(BUNDLE))
os.chdir(BUNDLE)  # the program opens its model from there
from Algorithm.MyAlgorithm import MyAlgorithm  # noqa: E402

PROGRAM = MyAlgorithm()


def answer(trial):
    """A trial's data are its arrays, `left` and `right`; an answer is [x, y]. trial.deadline_s says how long it may take."""
    PROGRAM.get_data(trial.data["left"], trial.data["right"])
    return PROGRAM.algorithm()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    play(sys.argv[1], sys.argv[2], answer)
