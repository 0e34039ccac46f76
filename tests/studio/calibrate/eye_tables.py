"""Drawn tables of gaze: an eye tracker that is off for each person and pattern, and eyes that look at points."""

from pathlib import Path

import numpy as np

from palestra.metrics.angles import to_angles, to_vectors

OFFSETS = {("ada", "saccades"): (2.0, -1.0), ("ada", "pursuit"): (1.2, -0.4), ("ben", "saccades"): (-1.5, 2.5)}  # deg
FRAMES = 200
POINTS = np.stack(np.meshgrid([-15.0, 0, 15], [-10.0, 0, 10]), axis=-1).reshape(-1, 2)  # yaw, pitch
SAMPLES = 40


def tracked(file: Path, seed: int = 0, wrong: float = 0.1) -> Path:
    """Each frame: cornea, target, gaze with noise of 0.6°; a tenth of the frames glance elsewhere."""
    rng = np.random.default_rng(seed)
    names = [f"{what}_{axis}" for what in ("cornea", "target", "gaze") for axis in "xyz"]
    lines = [",".join(["person", "pattern", "sequence", *names])]
    for (person, pattern), off in OFFSETS.items():
        cornea = np.array([0.03, 0.0, 0.0])
        yaw, pitch = np.repeat(rng.uniform(-15, 15, (2, FRAMES // 20)), 20, axis=1)
        target = cornea + to_vectors(yaw, pitch)
        aim_yaw, aim_pitch = yaw + off[0], pitch + off[1]
        gaze = to_vectors(aim_yaw + rng.normal(0, 0.6, FRAMES), aim_pitch + rng.normal(0, 0.6, FRAMES))
        for start in np.flatnonzero(rng.random(FRAMES) < wrong / 8):  # glances last for eight frames
            gaze[start : start + 8] = to_vectors(*rng.uniform(-30, 30, 2))
        for t, g in zip(target, gaze, strict=True):
            lines.append(",".join([person, pattern, "1", *(repr(float(x)) for x in (*cornea, *t, *g))]))
    file.write_text("\n".join(lines) + "\n")
    return file


def features(yaw: np.ndarray, pitch: np.ndarray) -> np.ndarray:
    """What an eye's picture shows: nearly, and not quite, proportional to its angles."""
    a, b = np.radians(yaw + 4), np.radians(pitch - 6)
    return np.stack([60 * np.sin(a) + 5 * a * b, 55 * np.sin(b) + 8 * a * a], axis=1) + [320, 200]


def looked(file: Path, seed: int = 0, wrong: float = 0.1, points: np.ndarray = POINTS) -> Path:
    rng = np.random.default_rng(seed)
    lines = ["person,x,y,yaw_deg,pitch_deg"]
    for person in ("ada", "ben"):
        for yaw, pitch in points.tolist():
            seen = features(*(np.array([yaw, pitch])[:, None] + rng.normal(0, 0.4, (2, SAMPLES))))
            bad = rng.random(SAMPLES) < wrong
            seen[bad] += rng.uniform(-30, 30, (int(bad.sum()), 2))
            lines += [f"{person},{x!r},{y!r},{yaw!r},{pitch!r}" for x, y in seen.tolist()]
    file.write_text("\n".join(lines) + "\n")
    return file


def angles_of(vectors: np.ndarray) -> np.ndarray:
    return np.stack(to_angles(vectors), axis=1)
