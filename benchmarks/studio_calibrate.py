"""How well calibrations find what is known: each figure beside what is asked for, and beside the naive method.

python -m benchmarks.studio_calibrate [--seeds 10]

All is drawn: boards with blur, noise and a lens that bends; depth with 2 mm of noise and 10 % of wrong points; eyes
with glances elsewhere. The naive methods have the same data and leave nothing out. Exit code 0 if all that is asked
is met.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from palestra.metrics.angles import angles_deg
from palestra.studio.calibrate.boards import board_of
from palestra.studio.calibrate.camera import fit_camera
from palestra.studio.calibrate.disparity import fit_depth
from palestra.studio.calibrate.files import CameraFile
from palestra.studio.calibrate.gaze import fit_gaze
from palestra.studio.calibrate.mirror import fit_mirror
from palestra.studio.calibrate.offset import corrected, offset_of, smooth, unit
from palestra.studio.calibrate.pictures import pictures
from palestra.studio.calibrate.screen import fit_screen
from palestra.studio.calibrate.stereo import find_pairs, fit_stereo
from palestra.studio.calibrate.tables import read_table
from palestra.studio.calibrate.turns import angle_deg, matrix_of
from palestra.studio.calibrate.views import find_views
from tests.studio.calibrate import board_pictures, depth_scene, eye_tables, mirror_scene

CHARUCO = "charuco:8x6:30:22"
ASKED_MM, ASKED_DEG = 1.0, 0.2
Row = tuple[str, str, float, float]  # what, unit, ours, naive


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.studio_calibrate")
    words.add_argument("--seeds", type=int, default=10)
    seeds = range(words.parse_args().seeds)
    parts: list[tuple[Callable[[int], list[Row]], dict[str, float]]] = [
        (screen, {"screen, worst corner": ASKED_MM, "screen, turn": ASKED_DEG}),
        (camera, {}),
        (stereo, {}),
        (depth, {}),
        (offset, {}),
        (gaze, {}),
    ]
    print("| what | asked | median | worst | naive, median |")
    print("|---|---|---|---|---|")
    met = True
    for part, asked in parts:
        runs = [part(seed) for seed in (seeds if part in (screen, offset, gaze) else seeds[:3])]
        for index, (what, unit_of, _, _) in enumerate(runs[0]):
            ours, naive = np.array([run[index][2:] for run in runs]).T
            wanted = f"{asked[what]:g} {unit_of}" if what in asked else "–"
            met &= what not in asked or float(ours.max()) <= asked[what]
            cells = [
                what,
                wanted,
                *(f"{value:.3g} {unit_of}" for value in (np.median(ours), ours.max(), np.median(naive))),
            ]
            print(f"| {' | '.join(cells)} |", flush=True)
    sys.exit(0 if met else 1)


def screen(seed: int) -> list[Row]:
    """8 mirrors, 30 targets in each: 2 mm of depth noise, 10 % of targets and of markers' pixels wrong."""
    scene = mirror_scene.draw(seed)
    found = fit_screen(scene.seen, [fit_mirror(name, points) for name, points in scene.markers.items()])
    rotation, translation, sizes = mirror_scene.naive_screen(scene)
    true = scene.points(mirror_scene.CORNERS)
    naive = (mirror_scene.CORNERS * sizes) @ rotation[:, :2].T + translation
    ours = found.points(mirror_scene.CORNERS)
    off = [1e3 * float(np.linalg.norm(one - true, axis=1).max()) for one in (ours, naive)]
    turned = [angle_deg(one @ scene.rotation.T) for one in (found.rotation, rotation)]
    rotation, translation, sizes = mirror_scene.report_screen(scene)
    stepwise = (mirror_scene.CORNERS * sizes) @ rotation[:, :2].T + translation
    apart = 1e3 * float(np.linalg.norm(stepwise - true, axis=1).max())
    return [
        ("screen, worst corner", "mm", off[0], off[1]),
        ("the same; in the last column, one step after the other, wrong points out", "mm", off[0], apart),
        ("screen, turn", "°", turned[0], turned[1]),
        ("the same; in the last column, as above", "°", turned[0], angle_deg(rotation @ scene.rotation.T)),
    ]


def camera(seed: int) -> list[Row]:
    """15 views, of which two are of a board that bends; naive: OpenCV's calibration of all views as they are."""
    board, lens = board_of(CHARUCO), board_pictures.Lens()
    with tempfile.TemporaryDirectory() as place:
        folder = board_pictures.write(Path(place) / "p", board, lens, board_pictures.poses(15, seed))
        for name in ("03.png", "08.png"):
            bend(folder / name)
        views = find_views(folder, pictures(folder), board)
    fit = fit_camera(folder, views)
    points = [views.points(i).astype(np.float32) for i in range(len(views.found))]
    corners = [one.corners.astype(np.float32) for one in views.found]
    _, matrix, _, _, _ = cv2.calibrateCamera(points, corners, views.size, np.eye(3), np.zeros(5))
    off = [100 * abs(one[0, 0] / lens.focal - 1) for one in (fit.matrix, np.asarray(matrix))]
    middle = [float(np.linalg.norm(one[:2, 2] - lens.centre)) for one in (fit.matrix, np.asarray(matrix))]
    return [("camera, focal length", "%", off[0], off[1]), ("camera, centre", "px", middle[0], middle[1])]


def bend(file: Path) -> None:
    image = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
    v, u = np.indices(image.shape, np.float32)
    cv2.imwrite(str(file), cv2.remap(image, u + 8 * np.sin(v / 25), v + 6 * np.sin(u / 30), cv2.INTER_LINEAR))


def stereo(seed: int) -> list[Row]:
    """12 pairs, of which one is of a board that moved; naive: the mean of where each pair puts the camera."""
    board, one = board_of(CHARUCO), board_pictures.Lens()
    other = board_pictures.Lens((800, 600), 640, (396, 303), (-0.08, 0.02, 0, 0, 0))
    turn, shift = matrix_of(np.radians([2.0, -9.0, 1.5])), np.array([-0.10, 0.01, 0.02])
    held = board_pictures.poses(12, seed, near_m=0.5, far_m=0.7)
    second = [(turn @ a, turn @ b + shift) for a, b in held]
    second[2] = (second[2][0] @ matrix_of(np.radians([7.0, 0, 0])), second[2][1] + [0.03, 0, 0.03])
    cameras = [CameraFile("c", *lens.size, lens.matrix.tolist(), list(lens.bend)) for lens in (one, other)]
    with tempfile.TemporaryDirectory() as place:
        folders = [
            board_pictures.write(Path(place) / name, board, lens, places)
            for name, lens, places in (("a", one, held), ("b", other, second))
        ]
        views = find_pairs(folders[0], folders[1], board)
    fit = fit_stereo(folders[1], views, (cameras[0], cameras[1]))
    shifts = []
    for i in range(len(views[0].found)):
        placed = []
        for view, lens in zip(views, cameras, strict=True):
            _, a, b = cv2.solvePnP(view.points(i), view.found[i].corners, lens.matrix, lens.lens)
            placed.append((matrix_of(np.ravel(a)), np.ravel(b)))
        (r1, t1), (r2, t2) = placed
        shifts.append(t2 - r2 @ r1.T @ t1)
    off = [1e3 * float(np.linalg.norm(found - shift)) for found in (fit.translation, np.mean(shifts, axis=0))]
    return [("second camera, place", "mm", off[0], off[1])]


def depth(seed: int) -> list[Row]:
    """12 walls from 0.6 to 2 m, 10 % of pixels wrong; told below 1.3 m. Naive: one line for all pixels."""
    walls = depth_scene.draw(seed)
    near = walls.true_m < 1.3
    both = (fit_depth(walls.disparities, walls.depths_m).depth_m(walls.disparities), depth_scene.naive_depth(walls))
    off = [1e3 * float(np.median(np.abs(one - walls.true_m)[near])) for one in both]
    return [("depth below 1.3 m, median", "mm", off[0], off[1])]


def offset(seed: int) -> list[Row]:
    """Frames with 0.6° of noise, and glances elsewhere in a tenth; naive: the plain mean, no filter."""
    with tempfile.TemporaryDirectory() as place:
        names = [f"{what}_{axis}" for what in ("cornea", "target", "gaze") for axis in "xyz"]
        table = read_table(eye_tables.tracked(Path(place) / "t.csv", seed), names, ("person", "pattern"))
    whose = list(zip(table.texts["person"], table.texts["pattern"], strict=True))
    aim = unit(table.numbers(*names[3:6]) - table.numbers(*names[:3]))
    gaze = table.numbers(*names[6:])
    smoothed = smooth(gaze, ["".join(one) for one in whose])
    ours, naive = [], []
    for group in dict.fromkeys(whose):
        rows = np.array([one == group for one in whose])
        vector, kept = offset_of(smoothed[rows], aim[rows])
        ours.append(angles_deg(corrected(smoothed[rows], vector), aim[rows])[kept])
        plain = (gaze[rows] - aim[rows]).mean(axis=0)
        naive.append(angles_deg(corrected(gaze[rows], plain), aim[rows])[kept])
    means = [float(np.concatenate(one).mean()) for one in (ours, naive)]
    return [("gaze less its offset, mean", "°", means[0], means[1])]


def gaze(seed: int) -> list[Row]:
    """9 points, 0.4° of noise, blinks in a tenth of the frames; told on 200 others. Naive: a plane through all."""
    with tempfile.TemporaryDirectory() as place:
        table = read_table(
            eye_tables.looked(Path(place) / "l.csv", seed), ("x", "y", "yaw_deg", "pitch_deg"), ("person",)
        )
    mine = np.array(table.texts["person"]) == "ada"
    seen, points = table.numbers("x", "y")[mine], table.numbers("yaw_deg", "pitch_deg")[mine]
    angles = np.random.default_rng(seed + 1000).uniform([-14, -9], [14, 9], (200, 2))
    new = eye_tables.features(*angles.T)
    terms = np.linalg.lstsq(np.column_stack([seen, np.ones(len(seen))]), points, rcond=None)[0]
    naive = np.column_stack([new, np.ones(len(new))]) @ terms
    both = (fit_gaze("ada", seen, points).gaze.angles(new), naive)
    off = [float(np.median(np.linalg.norm(one - angles, axis=1))) for one in both]
    return [("gaze from 9 points, median", "°", off[0], off[1])]


if __name__ == "__main__":
    main()
