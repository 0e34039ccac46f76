"""A bundle for verification in near-eye-gaze-v1: everybody looks at the middle of the group's calibration points.

python predict.py DATA OUT
"""

import csv
import sys
from pathlib import Path
from statistics import mean


def main(data: Path, out: Path) -> None:
    with out.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "group", "frame", "x", "y"])
        for group in sorted((data / "test").glob("*/*")):
            x, y = middle(group / "calibration.csv")
            for picture in sorted((group / "left").glob("*.png")):
                rows.writerow([group.parent.name, group.name, picture.stem, x, y])


def middle(calibration: Path) -> tuple[float, float]:
    with calibration.open(newline="") as file:
        points = list(csv.DictReader(file))
    return mean(float(point["x"]) for point in points), mean(float(point["y"]) for point in points)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
