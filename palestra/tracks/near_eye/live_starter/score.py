"""Scores the bundle, or points in a CSV (tester,point,x,y). A CSV needs numpy alone, the bundle what it needs.

    python score.py                     shows data/test to the bundle in a plain loop, in this process: debug it here
    python score.py --out answers.csv   the same, and keeps its answers
    python score.py answers.csv         scores what was kept

There is no sandbox and no clock here: how long an answer takes, `palestra play` tells.
"""

import argparse
import csv
import math
import os
import sys
import tomllib
import traceback
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
NO_ANSWER_DEG = 180.0


def read_points(file, *leading):
    """{(tester, point): (x, y)} from a CSV; `leading` stands for columns that the file does not have."""
    with open(file, newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines, skipinitialspace=True))
    return {
        (*leading, *(row[name].strip() for name in ("tester", "point") if name in row)): (float(row["x"]), float(row["y"]))
        for row in rows
    }


def read_truth(data):
    files = sorted((data / "truth").glob("*.csv"))
    return {key: point for file in files for key, point in read_points(file, file.stem).items()}


def answer_all(data, bundle, keys):
    """What one program answers to all testers in turn; who raises an error, or returns no point, has no answer."""
    import cv2

    sys.path.insert(0, str(bundle.resolve()))
    os.chdir(bundle)  # a program opens its files from there
    from Algorithm.MyAlgorithm import MyAlgorithm

    program, answers = MyAlgorithm(), {}
    for tester, point in keys:
        files = (data / "test" / tester / eye / f"{point}.png" for eye in ("left", "right"))
        try:
            program.get_data(*(cv2.imread(str(file), cv2.IMREAD_GRAYSCALE) for file in files))
            answers[tester, point] = two_numbers(program.algorithm())
        except Exception:
            traceback.print_exc()
    return answers


def two_numbers(answer):
    kinds = (int, float, np.integer, np.floating)
    if isinstance(answer, (list, tuple, np.ndarray)) and len(answer) == 2:
        if all(isinstance(value, kinds) and type(value) is not bool and math.isfinite(value) for value in answer):
            return float(answer[0]), float(answer[1])
    raise ValueError(f"returned {answer!r}, expected two finite numbers [x, y]")


def write_answers(answers, file):
    with open(file, "w", newline="") as lines:
        csv.writer(lines).writerows([("tester", "point", "x", "y"), *((*key, *answers[key]) for key in answers)])


def angle_deg(a, b):
    """atan2, because arccos loses small angles."""
    return math.degrees(math.atan2(np.linalg.norm(np.cross(a, b)), np.dot(a, b)))


def at_percent(ascending, percent):
    """The value at position ceil(percent · n / 100)."""
    return ascending[math.ceil(percent * len(ascending) / 100) - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--bundle", type=Path, default=HERE / "bundle")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    data, out = words.data.resolve(), words.out and words.out.resolve()
    distance = tomllib.loads((data / "data.toml").read_text())["plane_distance"]
    truth = read_truth(data)
    answers = read_points(words.answers) if words.answers else answer_all(data, words.bundle, truth)
    if out:
        write_answers(answers, out)
    errors = [
        angle_deg((*truth[key], distance), (*answers[key], distance)) if key in answers else NO_ANSWER_DEG for key in truth
    ]
    p50, p95 = at_percent(sorted(errors), 50), at_percent(sorted(errors), 95)
    print(f"points {len(errors)}\nmisses {len(truth.keys() - answers.keys())}")
    print(f"p50_deg {p50:.12f}\np95_deg {p95:.12f}\nmean_deg {np.mean(errors):.12f}")
    print(f"pe_deg {(p50 + p95) / 2:.12f}")


if __name__ == "__main__":
    main()
