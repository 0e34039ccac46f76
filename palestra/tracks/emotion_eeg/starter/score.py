"""Scores the bundle, or decisions in a CSV (trial,label). Needs numpy alone, and what the bundle needs.

    python score.py                     plays data/test to the bundle in a plain loop, in this process: debug it here
    python score.py --out answers.csv   the same, and keeps its decisions
    python score.py answers.csv         scores what was kept

There is no sandbox and no clock here: how long an answer takes, `palestra play` tells.
"""

import argparse
import csv
import os
import sys
import traceback
from pathlib import Path

import numpy as np

import recordings

HERE = Path(__file__).resolve().parent


def decide(data, bundle):
    """{trial: label} of one program that hears all people in turn; what is no label is None."""
    sys.path.insert(0, str(bundle.resolve()))
    os.chdir(bundle)  # a program opens its files from there
    from Algorithm.MyAlgorithm import MyAlgorithm

    program, answers = MyAlgorithm(), {}
    for file in recordings.people(data / "test").values():
        for packet, number, _ in recordings.play(recordings.read(file)):
            answer = ask(program, packet, due=number > 0)
            if number:
                answers[f"{file.stem}/{number:05d}"] = answer
    return answers


def ask(program, packet, due):
    """The program's label. An error, or anything but a whole number from 0 to 8, costs this second."""
    try:
        program.get_data(packet)
        answer = program.algorithm() if due else None
    except Exception:
        traceback.print_exc()
        return None
    whole = isinstance(answer, (int, np.integer)) and not isinstance(answer, (bool, np.bool_)) and 0 <= answer <= 8
    if due and not whole:
        print(f"returned {answer!r}, expected a whole number from 0 to 8", file=sys.stderr)
    return int(answer) if whole else None


def accuracy(data, answers):
    """Mean over people of the mean over all films of the share of right seconds; a film without any counts 0."""
    of_people = {}
    for file in recordings.people(data / "test").values():
        right = {}
        for _, number, film in recordings.play(recordings.read(file)):
            if film is not None:
                answer = answers.get(f"{file.stem}/{number:05d}")
                right.setdefault(film, []).append(answer == recordings.LABELS[film])
        of_people[file.stem] = sum(np.mean(seconds) for seconds in right.values()) / len(recordings.LABELS)
    return of_people


def read_answers(file):
    with open(file, newline="") as lines:
        return {row["trial"]: int(row["label"]) if row["label"] else None for row in csv.DictReader(lines)}


def write_answers(answers, file):
    with open(file, "w", newline="") as lines:
        csv.writer(lines).writerows([("trial", "label"), *answers.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answers", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, default=HERE / "data")
    parser.add_argument("--bundle", type=Path, default=HERE / "bundle")
    parser.add_argument("--out", type=Path)
    words = parser.parse_args()
    data, out = words.data.resolve(), words.out and words.out.resolve()
    answers = read_answers(words.answers) if words.answers else decide(data, words.bundle)
    if out:
        write_answers(answers, out)
    of_people = accuracy(data, answers)
    for person, share in of_people.items():
        print(f"{person} {share:.6f}")
    print(f"accuracy {np.mean(list(of_people.values())):.12f}")


if __name__ == "__main__":
    main()
