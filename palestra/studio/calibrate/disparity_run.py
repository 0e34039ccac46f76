"""`palestra studio calibrate depth`: disparities of a flat board whose place the colour camera knows."""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.metrics.transforms import Pose, Sight, World
from palestra.studio.calibrate import charts
from palestra.studio.calibrate.boards import Board, Found, board_of
from palestra.studio.calibrate.camera import pose_of
from palestra.studio.calibrate.disparity import LEVELS, NO_RETURN, DepthFit, fit_depth
from palestra.studio.calibrate.files import CameraFile, depth_sections, read_camera, write_camera
from palestra.studio.calibrate.pictures import picture_pairs
from palestra.studio.calibrate.report import Report, poor
from palestra.studio.calibrate.turns import matrix_of
from palestra.studio.calibrate.views import SameSize, refuse_few, refuse_unseen
from palestra.studio.capture.source import Image
from palestra.text import say

Floats = NDArray[np.float64]

LEAST_VIEWS = 6
LEAST_RANGE = 1.5  # the furthest board to the nearest
MOST_RMS = 1.5  # steps of disparity
LEAST_PIXELS = 500
LEAST_COVERED = 0.5  # of the pixels
MARGIN = 0.5  # squares of the board beyond its outer corners


def calibrate_depth(
    disparities: Path, colours: Path, board: str, out: Path, colour: Path, depth: Path, wall: bool = False
) -> Report:
    """A depth camera's model, from pairs of disparity and colour pictures of a board."""
    shown, cameras = board_of(board), (read_camera(colour), read_camera(depth))
    d, z = find_planes(disparities, colours, shown, cameras, wall)
    nearest, furthest = (float(np.nanquantile(z, q)) for q in (0.01, 0.99))
    if furthest < LEAST_RANGE * nearest:
        raise PalestraError(
            say("{place}: the board was always at about the same distance ({near:.2f} to {far:.2f} m), which does not "
                "tell how depth goes on. Show it from 0.6 m to 2 m.", place=disparities, near=nearest, far=furthest)
        )  # fmt: skip
    fit = fit_depth(d, z)
    picture = draw(fit, z, out / "depth.png")
    part = float(np.isfinite(z).any(axis=0).mean())
    if fit.rms_steps > MOST_RMS or fit.k[1] >= 0:
        raise poor(
            picture,
            say("Disparities are off by {rms:.1f} steps (root mean square), at most {most} is good enough.",
                rms=fit.rms_steps, most=MOST_RMS),
            say("Calibrate the pair first (`palestra studio calibrate stereo`), and use a board that does not bend."),
        )  # fmt: skip
    report = Report()
    report.measured("views", len(d))
    report.measured("misfit, rms", fit.rms_steps, "steps")
    report.measured("misfit without the pixels' own share, rms", fit.plain_rms, "steps")
    for metres in (0.8, 1.2):
        report.measured(f"depth of one step at {metres} m", 1e3 * abs(fit.k[1]) * metres**2, "mm")
    report.measured(
        "pixels left out", 100 * float((np.isfinite(fit.residuals) & ~fit.kept).sum() / np.isfinite(z).sum()), "%"
    )
    report.measured("pixels covered", 100 * part, "%")
    if part < LEAST_COVERED:
        report.told.append(
            say("The board was shown in {part:.0%} of the pixels; the others have no correction of their own. Hang "
                "it on a flat wall and say --wall, or show it everywhere.", part=part)
        )  # fmt: skip
    report.files = [*write_camera(out, cameras[1], depth_sections(fit.k, fit.alpha, fit.beta)), picture]
    return report


def find_planes(
    disparities: Path, colours: Path, board: Board, cameras: tuple[CameraFile, CameraFile], wall: bool
) -> tuple[NDArray[np.uint16], Floats]:
    """Disparities, and the depth that each pixel has where the board (or the wall that it hangs on) is."""
    seen, depths, unseen, tried = [], [], list[str](), list[Image]()
    sizes = SameSize(disparities), SameSize(colours)
    colour, depth = cameras
    rays = _rays(depth)
    for disparity, picture in picture_pairs(disparities, colours):
        for size, one in zip(sizes, (disparity, picture), strict=True):
            size.check(one)
        _check(disparities, disparity.name, disparity.image, picture.image, cameras)
        found = board.find(picture.image)
        if found is None:
            unseen.append(picture.name)
            tried = (tried + [picture.image])[:4]
            continue
        to_depth = colour.pose.then(depth.pose.back())
        depths.append(_expected(board, found, colour, depth, to_depth, rays, wall))
        seen.append(disparity.image)
    if not seen:
        refuse_unseen(colours, board, unseen, tried)
    if len(seen) < LEAST_VIEWS:
        refuse_few(colours, len(seen), len(seen) + len(unseen))
    d, z = np.array(seen, np.uint16), np.array(depths)
    usable = (np.isfinite(z) & ~np.isin(d, NO_RETURN)).sum(axis=(1, 2))
    if (usable < LEAST_PIXELS).all():
        raise PalestraError(
            say("{place}: there is no depth where the board is. The colour camera puts it elsewhere: calibrate the "
                "pair with `palestra studio calibrate stereo`, and show the board 0.6 to 2 m away.", place=disparities)
        )  # fmt: skip
    return d, z


def _expected(
    board: Board, found: Found, colour: CameraFile, depth: CameraFile, to_depth: Pose[Sight, Sight], rays: Floats,
    wall: bool,
) -> Floats:  # fmt: skip
    turn, shift = pose_of(board.points[found.ids], found, colour.matrix, colour.lens)
    on_board: Pose[World, Sight] = Pose(matrix_of(turn), shift)
    placed = on_board.then(to_depth)
    normal = placed.rotation[:, 2]
    m = normal / (normal @ placed.translation)
    with np.errstate(divide="ignore"):
        z = 1 / (rays @ m)
    if not wall:
        low, high = board.points[0, :2], board.points[-1, :2]
        edge = MARGIN * board.square_mm / 1000
        x0, y0, x1, y1 = *(low - edge), *(high + edge)
        corners = placed(World(np.array([[x0, y0, 0], [x1, y0, 0], [x1, y1, 0], [x0, y1, 0]])))
        outline, _ = cv2.projectPoints(corners, np.zeros(3), np.zeros(3), depth.matrix, depth.lens)
        inside = np.zeros(z.shape, np.uint8)
        cv2.fillConvexPoly(inside, np.rint(outline).astype(np.int32).reshape(-1, 2), 1)
        z = np.where(inside > 0, z, np.nan)
    return np.asarray(np.where(z > 0, z, np.nan), float)


def _rays(camera: CameraFile) -> Floats:
    """(height, width, 3): where the pixels look."""
    v, u = np.indices((camera.height, camera.width), np.float64)
    flat = cv2.undistortPoints(np.stack([u, v], axis=-1).reshape(-1, 1, 2), camera.matrix, camera.lens)
    return np.concatenate([flat.reshape(*u.shape, 2), np.ones((*u.shape, 1))], axis=-1)


def _check(place: Path, name: str, disparity: Image, picture: Image, cameras: tuple[CameraFile, CameraFile]) -> None:
    if disparity.dtype != np.uint16 or disparity.ndim != 2 or int(disparity.max()) >= LEVELS:
        raise PalestraError(
            say("{place}: {name!r} is no picture of disparities; expected 16 bits for each pixel, of which the Kinect "
                "uses 11 (0 to 2047). Depth in millimetres needs no calibration of disparities.",
                place=place, name=name)
        )  # fmt: skip
    for image, camera in zip((picture, disparity), cameras, strict=True):
        if image.shape[:2] != (camera.height, camera.width):
            raise PalestraError(
                say("{name!r} has {size}, its camera {camera} was calibrated with {known}.", name=name,
                    size=f"{image.shape[1]}×{image.shape[0]}", camera=camera.name,
                    known=f"{camera.width}×{camera.height}")
            )  # fmt: skip


def draw(fit: DepthFit, depths_m: Floats, file: Path) -> Path:
    title = say("Disparity to depth: {count} views, off by {rms:.2f} steps ({plain:.2f} without the pixels' own share)",
                count=len(depths_m), rms=fit.rms_steps, plain=fit.plain_rms)  # fmt: skip
    figure, (by_depth, spread, own) = charts.sheet(title, 3)
    step = max(int(fit.kept.sum()) // charts.MOST_ARROWS, 1)
    z, off = depths_m[fit.kept][::step], fit.residuals[fit.kept][::step]
    by_depth.plot(z, 1e3 * abs(fit.k[1]) * z**2 * off, ".", color=charts.FITS, markersize=2, alpha=0.4)
    charts.named(by_depth, say("off by, at each depth"), say("depth (m)"), say("off by (mm)"))
    by_depth.axhline(0, color=charts.QUIET, linewidth=0.6)
    charts.histogram(spread, fit.residuals[fit.kept], say("of all pixels"), say("off by (steps)"))
    most = float(np.percentile(np.abs(fit.beta), 99)) or 1.0
    shown = own.imshow(fit.beta, cmap="RdBu", vmin=-most, vmax=most)
    own.figure.colorbar(shown, ax=own, shrink=0.8)
    charts.named(own, say("beta: the pixels' own share (steps)"), say("x ({unit})", unit="px"),
                 say("y ({unit})", unit="px"))  # fmt: skip
    return charts.save(figure, file)
