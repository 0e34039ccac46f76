"""A camera's intrinsics from views of a board: views and corners that do not fit are left out."""

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.calibrate import charts
from palestra.studio.calibrate.boards import Found, board_of
from palestra.studio.calibrate.files import CameraFile, write_camera
from palestra.studio.calibrate.pictures import pictures
from palestra.studio.calibrate.report import Report, poor
from palestra.studio.calibrate.robust import inliers, rms, scale
from palestra.studio.calibrate.turns import matrix_of
from palestra.studio.calibrate.views import (
    LEAST_COVERED,
    LEAST_VIEWS,
    Views,
    check_tilts,
    covered,
    find_views,
    refuse_few,
    refuse_one_angle,
)
from palestra.text import say, say_count

Floats = NDArray[np.float64]

MOST_RMS_PX = 1.0
MOST_FOCAL_SD = 0.02  # of the focal length
TIMES_MEDIAN = 2.5  # a view so much worse than the middle one is left out
LEAST_PX = 0.3  # what is no further off stays in anyway
LEAST_CORNERS = 6  # of a view
ROUNDS = 3
FLAGS = cv2.CALIB_FIX_K3  # a third term of distortion is not known well from so few pictures


@dataclass(frozen=True)
class CameraFit:
    """A camera, and what it leaves over."""

    views: Views  # all that the board was found in
    matrix: Floats
    lens: Floats
    focal_sd: float  # standard error of the focal length, relative to it
    angle_deg: float
    rotations: list[Floats]  # of the views that were kept
    kept: list[int]
    residuals: list[Floats]  # of all views, in pixels
    corners_in: list[NDArray[np.bool_]]

    @property
    def rms_px(self) -> float:
        lengths = [np.linalg.norm(self.residuals[i][self.corners_in[i]], axis=1) for i in self.kept]
        return rms(np.concatenate(lengths))


def fit_camera(place: Path, views: Views) -> CameraFit:
    """Fit, leave out what does not fit, and fit again."""
    kept = list(range(len(views.found)))
    inside = [np.ones(len(one.ids), bool) for one in views.found]
    for _ in range(ROUNDS):
        matrix, lens, turns, _ = _fitted(place, views, kept, inside)
        residuals = _residuals(views, matrix, lens, dict(zip(kept, turns, strict=True)), inside)
        lengths = [np.linalg.norm(one, axis=1) for one in residuals]
        each = np.array([scale(one, 2) for one in lengths])
        limit = max(TIMES_MEDIAN * float(np.median(each)), LEAST_PX)
        now = [i for i in range(len(each)) if each[i] <= limit]
        all_lengths = np.concatenate([lengths[i] for i in now]) if now else np.zeros(0)
        fits = np.split(inliers(all_lengths, 2, LEAST_PX), np.cumsum([len(lengths[i]) for i in now])[:-1])
        fresh = [np.ones(len(one.ids), bool) for one in views.found]
        for i, mask in zip(now, fits, strict=False):
            fresh[i] = mask
        now = [i for i in now if fresh[i].sum() >= LEAST_CORNERS]
        if now == kept and all((a == b).all() for a, b in zip(fresh, inside, strict=True)):
            break
        kept, inside = now, fresh
        if len(kept) < LEAST_VIEWS:
            refuse_few(place, len(kept), len(views.found) + len(views.unseen))
    matrix, lens, turns, focal_sd = _fitted(place, views, kept, inside)
    rotations = [matrix_of(turn) for turn, _ in turns]
    angle = check_tilts(place, rotations)
    residuals = _residuals(views, matrix, lens, dict(zip(kept, turns, strict=True)), inside)
    return CameraFit(views, matrix, lens, focal_sd, angle, rotations, kept, residuals, inside)


Turns = list[tuple[Floats, Floats]]  # how the board is turned and where it is, in each view


def _fitted(
    place: Path, views: Views, kept: list[int], inside: list[NDArray[np.bool_]]
) -> tuple[Floats, Floats, Turns, float]:
    points = [views.points(i)[inside[i]].astype(np.float32) for i in kept]
    corners = [views.found[i].corners[inside[i]].astype(np.float32) for i in kept]
    try:
        _, found, bend, turns, shifts, errors, _, _ = cv2.calibrateCameraExtended(
            points, corners, views.size, np.eye(3), np.zeros(5), flags=FLAGS
        )
    except cv2.error:  # it starts from homographies, which tell nothing when all are alike
        refuse_one_angle(place, 0.0)
    matrix, lens = np.asarray(found, float), np.asarray(bend, float).ravel()[:5]
    if not (np.isfinite(matrix).all() and matrix[0, 0] > 0 and matrix[1, 1] > 0):
        refuse_one_angle(place, 0.0)
    focal = np.array([matrix[0, 0], matrix[1, 1]])
    sd = float((np.asarray(errors, float).ravel()[:2] / focal).max())
    return matrix, lens, [(np.ravel(a), np.ravel(b)) for a, b in zip(turns, shifts, strict=True)], sd


def _residuals(
    views: Views, matrix: Floats, lens: Floats, turns: dict[int, tuple[Floats, Floats]], inside: list[NDArray[np.bool_]]
) -> list[Floats]:
    """Of every view; where one was left out, of the pose that suits it best."""
    out = []
    for i, found in enumerate(views.found):
        turn, shift = turns.get(i) or pose_of(views.points(i)[inside[i]], Found(found.ids[inside[i]],
                                              found.corners[inside[i]]), matrix, lens)  # fmt: skip
        out.append(found.corners - projected(views.points(i), turn, shift, matrix, lens))
    return out


def pose_of(points: Floats, found: Found, matrix: Floats, lens: Floats) -> tuple[Floats, Floats]:
    """Where the board is before a camera."""
    _, turn, shift = cv2.solvePnP(points, found.corners, matrix, lens)
    return np.ravel(turn), np.ravel(shift)


def projected(points: Floats, turn: Floats, shift: Floats, matrix: Floats, lens: Floats) -> Floats:
    """(n, 2) pixels."""
    return np.asarray(cv2.projectPoints(points, turn, shift, matrix, lens)[0], float).reshape(-1, 2)


def calibrate_camera(place: Path, board: str, out: Path, name: str = "rgb_vga") -> Report:
    """A camera's intrinsics, from a folder of pictures or a source of a recording."""
    check_name(name)
    fit = fit_camera(place, find_views(place, pictures(place), board_of(board)))
    picture = draw(fit, name, out / f"{name}.png")
    check_fit(fit, picture)
    report = Report()
    tell(report, fit)
    report.files = [*write_camera(out, camera_file(fit, name)), picture]
    return report


def camera_file(fit: CameraFit, name: str) -> CameraFile:
    wide, high = fit.views.size
    return CameraFile(
        name, wide, high, fit.matrix.tolist(), fit.lens.tolist(), rms_px=fit.rms_px, views=len(fit.kept)
    )  # fmt: skip


def check_name(name: str) -> None:
    if not (name.replace("_", "").replace("-", "").isalnum() and name.isascii() and len(name) <= 40):
        raise PalestraError(
            say("{name!r} names a file; expected letters, digits, - and _, such as rgb_vga.", name=name)
        )  # fmt: skip


def check_fit(fit: CameraFit, picture: Path) -> None:
    if fit.rms_px > MOST_RMS_PX:
        raise poor(
            picture,
            say("The corners are off by {rms:.2f} px (root mean square), at most {most} px is good enough.",
                rms=fit.rms_px, most=MOST_RMS_PX),
            say("Glue the board to something flat and stiff, hold it still, and take sharp pictures."),
        )  # fmt: skip
    part = covered(fit.views.without(set(range(len(fit.views.found))) - set(fit.kept)))
    if part < LEAST_COVERED:
        raise poor(
            picture,
            say("The board was shown in {part:.0%} of the picture, at least {least:.0%} is needed.", part=part,
                least=LEAST_COVERED),
            say("Show it in the corners and at the sides, too: lenses distort there."),
        )  # fmt: skip
    if fit.focal_sd > MOST_FOCAL_SD:
        raise poor(
            picture,
            say("The focal length is known only to {sd:.1%}, at most {most:.0%} is good enough.", sd=fit.focal_sd,
                most=MOST_FOCAL_SD),
            say("Take more views nearby, and tilt the board by 30° to 45°."),
        )  # fmt: skip


def tell(report: Report, fit: CameraFit) -> None:
    """What a person wants to know of a camera."""
    report.measured("views", len(fit.kept))
    report.measured("views left out", len(fit.views.found) - len(fit.kept))
    report.measured("misfit, rms", fit.rms_px, "px")
    report.measured("focal length x", fit.matrix[0, 0], "px")
    report.measured("focal length y", fit.matrix[1, 1], "px")
    report.measured("focal length, standard error", 100 * fit.focal_sd, "%")
    report.measured("centre x", fit.matrix[0, 2], "px")
    report.measured("centre y", fit.matrix[1, 2], "px")
    report.measured("widest angle between views", fit.angle_deg, "deg")
    if unseen := len(fit.views.unseen):
        report.told.append(
            say_count("In {count} picture the board was not found.", "In {count} pictures the board was not found.",
                      unseen)
        )  # fmt: skip
    if float(np.abs(lens_bend_px(fit)).max()) > 1.0:
        report.told.append(
            say("The lens bends by up to {bend:.1f} px. EYEDIAP's files have no place for that: straighten pictures "
                "before you record them into a data set (cv2.undistort, with the numbers of the .json).",
                bend=float(np.abs(lens_bend_px(fit)).max()))
        )  # fmt: skip


def lens_bend_px(fit: CameraFit) -> Floats:
    """How far the lens moves the pixels of the picture's border."""
    wide, high = fit.views.size
    edge = np.array([[x, y] for x in (0, wide / 2, wide) for y in (0, high / 2, high)], float)
    rays = np.column_stack([edge, np.ones(len(edge))]) @ np.linalg.inv(fit.matrix).T
    return np.asarray(projected(rays, np.zeros(3), np.zeros(3), fit.matrix, fit.lens) - edge)


def draw(fit: CameraFit, name: str, file: Path) -> Path:
    title = say("Camera {name}: corners of {count} views, off by {rms:.2f} px", name=name, count=len(fit.kept),
                rms=fit.rms_px)  # fmt: skip
    figure, (where, around, each) = charts.sheet(title, 3)
    in_view = np.zeros(len(fit.residuals), bool)
    in_view[fit.kept] = True
    mask = np.concatenate([inside & used for inside, used in zip(fit.corners_in, in_view, strict=True)])
    at, off = np.concatenate([one.corners for one in fit.views.found]), np.concatenate(fit.residuals)
    charts.arrows(where, at, off, mask, fit.views.size, "px")
    charts.cloud(around, off, mask, say("x (px)"), say("y (px)"), say("residuals of corners"))
    per_view = np.array([rms(np.linalg.norm(one, axis=1)) for one in fit.residuals])
    charts.bars(each, fit.views.names, per_view, in_view, say("views"), say("off by (px, rms)"))
    return charts.save(figure, file)
