"""Scores a segmentation submission. Needs numpy alone.  Usage: python score.py answers.json [data]"""

import base64
import io
import json
import sys
from pathlib import Path

import numpy as np

CLASSES = ("background", "sclera", "iris", "pupil")
SHAPE = (400, 640)


def encode(mask):
    """A mask as the challenge takes it: run lengths of its .npy file, in base64."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(mask, np.uint8))
    data = np.frombuffer(file.getvalue(), np.uint8)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(data)) + 1])
    lengths = np.diff(np.concatenate([starts, [len(data)]]))
    whole, rest = np.divmod(lengths - 1, 255)  # runs longer than 255 are split; the last piece is 1 to 255 long
    counts = np.full(int((whole + 1).sum()), 255, np.uint8)
    counts[np.cumsum(whole + 1) - 1] = rest + 1
    values = np.repeat(data[starts], whole + 1)
    return base64.b64encode(np.column_stack([counts, values]).tobytes()).decode()


def decode(text):
    """The mask in a submission."""
    pairs = np.frombuffer(base64.b64decode(text, validate=True), np.uint8).reshape(-1, 2)
    data = np.repeat(pairs[:, 1], pairs[:, 0]).tobytes()
    mask = np.load(io.BytesIO(data), allow_pickle=False)
    if mask.shape != SHAPE or mask.max() >= len(CLASSES):
        sys.exit(f"a mask has the shape {mask.shape} and labels up to {mask.max()}; expected {SHAPE} and at most 3")
    return mask


def main():
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(f"{__doc__}\nThere is no submission to score: {' '.join(sys.argv[1:]) or 'none was named'}")
    data = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "data"
    answers = json.loads(Path(sys.argv[1]).read_text())
    release = data / "openEDS2020-SparseSegmentation"
    labelled = {name.replace("label_", "") for name in (release / "labels.txt").read_text().split()}
    frames = {name.replace(".png", ".npy") for name in (release / "images.txt").read_text().split()}
    missing = sorted(frames - labelled - answers.keys())
    if missing:
        sys.exit(f"{len(missing)} masks are missing, among them {missing[0]}")
    confusion = np.zeros((4, 4), int)
    for file in sorted((data / "truth").glob("S_*/*.npy")):
        truth, answer = np.load(file), decode(answers[f"{file.parent.name}/{file.name}"])
        confusion += np.bincount(4 * truth.ravel() + answer.ravel(), minlength=16).reshape(4, 4)
    both, true, found = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    iou = both / np.maximum(true + found - both, 1)
    for name, value in zip(CLASSES, iou):
        print(f"iou_{name} {value:.6f}")
    print(f"miou {iou[true > 0].mean():.6f}")


if __name__ == "__main__":
    main()
