"""Scores a near-eye submission. Needs numpy alone.  Usage: python score.py answers.csv [data]"""

import csv
import math
import sys
import tomllib
from pathlib import Path

import numpy as np


def read_points(file, *leading):
    """{(person, group, frame): (x, y)} from a CSV; `leading` stands for columns that the file does not have."""
    with open(file, newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines, skipinitialspace=True))
    points = {}
    for row in rows:
        key = tuple(leading) + tuple(row[name].strip() for name in ("person", "group", "frame") if name in row)
        if key in points:
            sys.exit(f"{file}: {'/'.join(key)} is there twice")
        points[key] = (float(row["x"]), float(row["y"]))
    return points


def read_truth(data):
    """The true points of all test frames, and the keys of the calibration frames."""
    truth, calibration = {}, set()
    for file in sorted((data / "truth").glob("*/*.csv")):
        person, group = file.parent.name, file.stem
        truth.update(read_points(file, person, group))
        calibration.update(read_points(data / "test" / person / group / "calibration.csv", person, group))
    return truth, calibration


def angles_deg(a, b):
    """Angles between the rows of two arrays. atan2, because arccos loses small angles."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=1), np.sum(a * b, axis=1)))


def at_percent(ascending, percent):
    """The value at position ceil(percent · n / 100)."""
    return ascending[math.ceil(percent * len(ascending) / 100) - 1]


def main():
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(f"{__doc__}\nThere is no submission to score: {' '.join(sys.argv[1:]) or 'none was named'}")
    data = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "data"
    distance = tomllib.loads((data / "data.toml").read_text())["plane_distance"]
    truth, calibration = read_truth(data)
    answers = read_points(sys.argv[1])
    missing = truth.keys() - answers.keys()
    if missing:
        sys.exit(f"{len(missing)} frames have no row, among them {'/'.join(sorted(missing)[0])}")
    keys = [key for key in truth if key not in calibration]
    true, answer = (np.array([(*points[key], distance) for key in keys]) for points in (truth, answers))
    errors = np.sort(angles_deg(answer, true))
    p50, p95 = at_percent(errors, 50), at_percent(errors, 95)
    print(f"frames {len(errors)}")
    print(f"p50_deg {p50:.6f}\np95_deg {p95:.6f}\nmean_deg {errors.mean():.6f}")
    print(f"pe_deg {(p50 + p95) / 2:.6f}")


if __name__ == "__main__":
    main()
