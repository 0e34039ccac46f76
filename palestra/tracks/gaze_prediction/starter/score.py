"""Scores a gaze-prediction submission. Needs numpy alone.  Usage: python score.py answers.json [data]"""

import json
import math
import sys
from pathlib import Path

import numpy as np

FRAMES = [str(frame) for frame in range(50, 55)]


def read_truth(data):
    """{sequence: (5, 3) true vectors}"""
    truth = {}
    for file in sorted((data / "truth" / "labels").glob("*.txt")):
        lines = (line.split(",") for line in file.read_text().splitlines())
        vectors = {str(int(frame)): [float(number) for number in numbers] for frame, *numbers in lines}
        truth[file.stem] = [vectors[frame] for frame in FRAMES]
    return truth


def angles_deg(a, b):
    """Angles between vectors in the last axis. atan2, because arccos loses small angles."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1)))


def at_percent(values, percent):
    """The value at position ceil(percent · n / 100) of the ascending values."""
    return np.sort(values)[math.ceil(percent * len(values) / 100) - 1]


def main():
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(f"{__doc__}\nThere is no submission to score: {' '.join(sys.argv[1:]) or 'none was named'}")
    truth = read_truth(Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "data")
    answers = json.loads(Path(sys.argv[1]).read_text())
    missing = [f"{name}/{frame}" for name in truth for frame in FRAMES if frame not in answers.get(name, {})]
    if missing:
        sys.exit(f"{len(missing)} vectors are missing, among them {missing[0]}")
    given = np.array([[answers[name][frame] for frame in FRAMES] for name in truth], float)
    if not np.isfinite(given).all() or not np.linalg.norm(given, axis=-1).all():
        sys.exit("a vector is zero, or not a number")
    errors = angles_deg(given, np.array(list(truth.values())))  # (sequences, 5)
    table = [[step.mean(), *(at_percent(step, percent) for percent in (50, 75, 95))] for step in errors.T]
    print("step   PE_t    p50    p75    p95")
    for number, row in enumerate(table, 1):
        print(f"{number:4d} " + " ".join(f"{value:6.3f}" for value in row))
    for name, value in zip(("p50_deg", "p75_deg", "p95_deg"), np.mean(table, axis=0)[1:]):
        print(f"{name} {value:.6f}")
    print(f"pe_deg {np.mean(table, axis=0)[0]:.6f}")


if __name__ == "__main__":
    main()
