"""Fits the bundle's linear map on data/train.  Usage: python train.py [data]"""

import csv
import sys
from pathlib import Path

import cv2
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "bundle"))
from Algorithm.MyAlgorithm import FIRST_GUESS, MODEL, features  # noqa: E402

DATA = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "data"
PULL = 10.0  # towards the first guess, in frames: a few people tell little of everybody

inputs, points = [], []
for labels in sorted((DATA / "train").glob("*/*/labels.csv")):
    with open(labels, newline="") as lines:
        for row in csv.DictReader(lines):
            files = (labels.parent / eye / f"{row['frame']}.png" for eye in ("left", "right"))
            inputs.append(features(*(cv2.imread(str(file), cv2.IMREAD_GRAYSCALE) for file in files)))
            points.append((float(row["x"]), float(row["y"])))
if not inputs:
    sys.exit(f"{DATA / 'train'} has no <person>/<group>/labels.csv")
inputs, points = np.array(inputs), np.array(points)
weights = FIRST_GUESS
for _ in range(20):
    off = np.linalg.norm(points - inputs @ weights, axis=1)
    trust = 1 / (1 + (off / np.median(off)) ** 2)[:, None]  # a frame whose pupil was misread counts little
    inner = inputs.T @ (trust * inputs) + PULL * trust.mean() * np.eye(inputs.shape[1])
    weights = FIRST_GUESS + np.linalg.solve(inner, inputs.T @ (trust * (points - inputs @ FIRST_GUESS)))
np.savez(HERE / "bundle" / MODEL, weights=weights)
print(f"{len(points)} frames; bundle/{MODEL} is written")
