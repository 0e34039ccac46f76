"""A drawn set-up for the mirror method: a screen that faces the person, a camera below it, mirrors held before both."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palestra.studio.calibrate.mirror import fit_mirror, reflect
from palestra.studio.calibrate.screen import Seen
from palestra.studio.calibrate.turns import matrix_of

Floats = NDArray[np.float64]

FOCAL_PX = 525.0
SIZE_PX = np.array([1340, 740])
CORNERS = np.array([[0, 0], [1340, 0], [0, 740], [1340, 740]], float)


@dataclass(frozen=True)
class Scene:
    """What was measured, and what is true."""

    seen: Seen
    markers: dict[str, Floats]
    rotation: Floats
    translation: Floats
    metres_per_pixel: Floats

    def points(self, pixels: Floats) -> Floats:
        return (pixels * self.metres_per_pixel) @ self.rotation[:, :2].T + self.translation

    def write(self, folder: Path) -> Path:
        """As the tables that `palestra studio calibrate screen` reads."""
        folder.mkdir(parents=True, exist_ok=True)
        names = list(self.markers)
        rows = [
            f"{names[i]},{','.join(map(repr, [*s, *p]))}"
            for i, s, p in zip(self.seen.mirror, self.seen.pixels.tolist(), self.seen.points.tolist(), strict=True)
        ]
        (folder / "targets.csv").write_text("\n".join(["mirror,sx,sy,x,y,z", *rows]) + "\n")
        rows = [f"{name},{','.join(map(repr, p))}" for name in names for p in self.markers[name].tolist()]
        (folder / "markers.csv").write_text("\n".join(["mirror,x,y,z", *rows]) + "\n")
        return folder


def draw(
    seed: int,
    mirrors: int = 8,
    noise_m: float = 0.002,
    wrong: float = 0.1,
    pixel_noise: float = 0.2,
    bulge_m: float = 0.0,
    per_marker: int = 400,
) -> Scene:
    """Depths with noise, a share of targets and of markers' pixels that are grossly wrong, mirrors that may bulge."""
    rng = np.random.default_rng(seed)
    facing = np.array([[-1.0, 0, 0], [0, 1, 0], [0, 0, -1]])  # x is right for the person: left for the camera
    rotation = matrix_of(np.radians(rng.uniform(-8, 8, 3))) @ facing
    translation = np.array([0.26, -0.40, -0.05]) + rng.normal(0, 0.02, 3)
    sizes = np.array([0.531, 0.299]) / SIZE_PX
    grid = np.stack(np.meshgrid(np.linspace(40, 1300, 6), np.linspace(40, 700, 5)), axis=-1).reshape(-1, 2)
    real = (grid * sizes) @ rotation[:, :2].T + translation
    seen, clouds = [], {}
    for index in range(mirrors):
        m, markers = _mirror(rng, real.mean(axis=0), bulge_m, per_marker)
        clouds[f"m{index + 1}"] = _spoilt(rng, _noisy(rng, markers, noise_m, 0.0), wrong, in_depth=True)
        seen.append(_spoilt(rng, _noisy(rng, reflect(m, real), noise_m, pixel_noise / FOCAL_PX), wrong))
    numbers = np.repeat(np.arange(mirrors), len(grid))
    all_seen = Seen(numbers, np.tile(grid, (mirrors, 1)), np.concatenate(seen))
    return Scene(all_seen, clouds, rotation, translation, sizes)


def _mirror(rng: np.random.Generator, middle: Floats, bulge_m: float, per_marker: int) -> tuple[Floats, Floats]:
    """A mirror that shows the screen to the camera, and points on the markers at its corners and sides."""
    centre = np.array([0, -0.02, 0.8]) + rng.normal(0, 0.05, 3)
    to_camera, to_screen = -centre / np.linalg.norm(centre), (middle - centre) / np.linalg.norm(middle - centre)
    normal = matrix_of(np.radians(rng.normal(0, 5, 3))) @ (to_camera + to_screen)
    normal /= np.linalg.norm(normal)
    x = np.cross([0.0, 1, 0], normal)
    x /= np.linalg.norm(x)
    signs = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1], [0, -1], [0, 1], [-1, 0], [1, 0]])
    flat = (signs[:, None] * [0.2, 0.15] + rng.uniform(-0.02, 0.02, (len(signs), per_marker, 2))).reshape(-1, 2)
    points = centre + flat @ np.stack([x, np.cross(normal, x)])
    points = points + bulge_m * ((flat[:, :1] / 0.2) ** 2) * normal
    return normal / (normal @ centre), points


def _noisy(rng: np.random.Generator, points: Floats, noise_m: float, ray_noise: float) -> Floats:
    rays = points / points[:, 2:]
    rays[:, :2] += rng.normal(0, 1, (len(points), 2)) * ray_noise
    return rays * (points[:, 2:] + rng.normal(0, noise_m, (len(points), 1)))


def _spoilt(rng: np.random.Generator, points: Floats, share: float, in_depth: bool = False) -> Floats:
    """A share of the points is somewhere else; those of a marker's pixels, which are known, in depth alone."""
    bad = rng.random(len(points)) < share
    off = rng.uniform(-0.3, 0.3, (int(bad.sum()), 3))
    points[bad] += points[bad] / points[bad, 2:] * off[:, 2:] if in_depth else off
    return points


def naive_screen(scene: Scene) -> tuple[Floats, Floats, Floats]:
    """The naive way: planes by least squares through all markers, nothing left out, the linear system as it is."""
    real = np.empty_like(scene.seen.points)
    for index, points in enumerate(scene.markers.values()):
        middle = points.mean(axis=0)
        normal = np.linalg.svd(points - middle, full_matrices=False)[2][2]
        real[scene.seen.mirror == index] = reflect(
            normal / (normal @ middle), scene.seen.points[scene.seen.mirror == index]
        )
    return _solved(scene.seen.pixels, real)


def report_screen(scene: Scene) -> tuple[Floats, Floats, Floats]:
    """As EYEDIAP's report has it, wrong points out at each step: first the planes, then the screen by them."""
    planes = np.array([fit_mirror(name, points).m for name, points in scene.markers.items()])
    real = np.array([reflect(planes[i], point) for i, point in zip(scene.seen.mirror, scene.seen.points, strict=True)])
    true = scene.points(scene.seen.pixels)
    right = np.linalg.norm(real - true, axis=1) < 0.03  # it is told which these are
    return _solved(scene.seen.pixels[right], real[right])


def _solved(pixels: Floats, real: Floats) -> tuple[Floats, Floats, Floats]:
    rows = np.column_stack([pixels, np.ones(len(real))])
    found = np.linalg.lstsq(rows, real, rcond=None)[0]
    sizes = np.linalg.norm(found[:2], axis=1)
    x = found[0] / sizes[0]
    z = np.cross(x, found[1])
    z /= np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1), found[2], sizes
