"""Where a second camera stands to the first: from boards that both saw at the same time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.metrics.transforms import Pose, Sight
from palestra.studio.calibrate import charts
from palestra.studio.calibrate.boards import Board, Found, board_of
from palestra.studio.calibrate.camera import camera_file, check_fit, check_name, fit_camera, pose_of, projected
from palestra.studio.calibrate.camera import draw as draw_camera
from palestra.studio.calibrate.files import CameraFile, read_camera, write_camera
from palestra.studio.calibrate.pictures import picture_pairs
from palestra.studio.calibrate.report import Report, poor
from palestra.studio.calibrate.robust import rms
from palestra.studio.calibrate.turns import angle_deg, matrix_of
from palestra.studio.calibrate.views import LEAST_VIEWS, SameSize, Views, check_tilts, refuse_few, refuse_unseen
from palestra.studio.capture.source import Image
from palestra.text import say, say_count

Floats = NDArray[np.float64]

MOST_RMS_PX = 1.5
NEAR_DEG, NEAR_M = 2.0, 0.02  # how far pairs may differ in where they put the second camera, whatever their spread
TIMES_MEDIAN = 3.0
MOST_TIMES = 6.0  # of these: pairs that differ by more never agree
LEAST_CORNERS = 6
SHARE_PX = 0.5


@dataclass(frozen=True)
class StereoFit:
    """From the first camera's frame to the second's: p2 = R·p1 + t."""

    rotation: Floats
    translation: Floats
    names: list[str]
    kept: NDArray[np.bool_]  # pairs
    at: list[Floats]  # corners in the second camera's pictures
    residuals: list[Floats]  # less where the first camera's views put them

    @property
    def rms_px(self) -> float:
        lengths = [np.linalg.norm(one, axis=1) for one, kept in zip(self.residuals, self.kept, strict=True) if kept]
        return rms(np.concatenate(lengths))


def find_pairs(first: Path, second: Path, board: Board) -> tuple[Views, Views]:
    """The corners that both cameras see, in each pair of pictures."""
    if board.looks_alike:
        raise PalestraError(
            say("A chessboard of {wide} × {high} inner corners looks the same upside down, so that two cameras "
                "may take one corner for another. Use one with an odd and an even number (9x6), or a ChArUco board.",
                wide=board.columns, high=board.rows)
        )  # fmt: skip
    names, unseen = list[str](), list[str]()
    found: tuple[list[Found], list[Found]] = ([], [])
    sizes, tried = (SameSize(first), SameSize(second)), list[Image]()
    for pair in picture_pairs(first, second):
        for size, one in zip(sizes, pair, strict=True):
            size.check(one)
        both = [board.find(one.image) for one in pair]
        common = _common(both[0], both[1])
        if common is None:
            unseen.append(pair[0].name)
            tried = (tried + [one.image for one in pair])[:4]
            continue
        names.append(pair[0].name)
        for each, corners in zip(found, common, strict=True):
            each.append(corners)
    if not names:
        refuse_unseen(second, board, unseen, tried)
    if len(names) < LEAST_VIEWS:
        refuse_few(second, len(names), len(names) + len(unseen))
    views = [Views(board, names, each, size.size, unseen) for each, size in zip(found, sizes, strict=True)]
    return views[0], views[1]


def _common(one: Found | None, other: Found | None) -> tuple[Found, Found] | None:
    if one is None or other is None:
        return None
    ids, here, there = np.intersect1d(one.ids, other.ids, return_indices=True)
    if len(ids) < LEAST_CORNERS:
        return None
    return Found(ids, one.corners[here]), Found(ids, other.corners[there])


def fit_stereo(place: Path, views: tuple[Views, Views], cameras: tuple[CameraFile, CameraFile]) -> StereoFit:
    """Fit to the pairs that agree with each other. Boards that moved between two pictures do not."""
    (one, other), (first, second) = views, cameras
    boards = [
        [pose_of(each.points(i), each.found[i], camera.matrix, camera.lens) for i in range(len(each.found))]
        for each, camera in zip(views, cameras, strict=True)
    ]
    check_tilts(place, [matrix_of(turn) for turn, _ in boards[0]])
    kept = _agreeing([_between(a, b) for a, b in zip(*boards, strict=True)])
    while True:
        if kept.sum() < LEAST_VIEWS:
            raise PalestraError(
                say("{place}: only {kept} of {count} pairs agree on where the second camera stands, at least {least} "
                    "are needed. Hold the board still for each pair, and trigger both cameras at the same time.",
                    place=place, kept=int(kept.sum()), count=len(kept), least=LEAST_VIEWS)
            )  # fmt: skip
        rotation, translation, errors = _fitted(one, other, kept, first, second)
        limit = max(TIMES_MEDIAN * float(np.median(errors)), SHARE_PX)
        if (errors <= limit).all():
            break
        kept[np.flatnonzero(kept)[errors > limit]] = False
    residuals = []
    for i, (turn, shift) in enumerate(boards[0]):
        there = one.points(i) @ matrix_of(turn).T + shift
        seen = projected(there @ rotation.T + translation, np.zeros(3), np.zeros(3), second.matrix, second.lens)
        residuals.append(other.found[i].corners - seen)
    return StereoFit(rotation, translation, one.names, kept, [found.corners for found in other.found], residuals)


Placed = tuple[Floats, Floats]


def _between(one: Placed, other: Placed) -> Placed:
    """From the first camera to the second, by one board."""
    turn = matrix_of(other[0]) @ matrix_of(one[0]).T
    return turn, other[1] - turn @ one[1]


def _agreeing(poses: Sequence[Placed]) -> NDArray[np.bool_]:
    """Those that are near the one that is nearest to all others."""
    turns = np.array([[angle_deg(a @ b.T) for b, _ in poses] for a, _ in poses])
    shifts = np.array([[float(np.linalg.norm(a - b)) for _, b in poses] for _, a in poses])
    off = turns / NEAR_DEG + shifts / NEAR_M
    middle = int(np.argmin(np.median(off, axis=1)))
    limit = min(max(2.0, TIMES_MEDIAN * float(np.median(off[middle]))), MOST_TIMES)
    return np.asarray(off[middle] <= limit)


def _fitted(
    one: Views, other: Views, kept: NDArray[np.bool_], first: CameraFile, second: CameraFile
) -> tuple[Floats, Floats, Floats]:
    which = np.flatnonzero(kept).tolist()
    found = cv2.stereoCalibrateExtended(
        [one.points(i).astype(np.float32) for i in which],
        [one.found[i].corners.astype(np.float32) for i in which],
        [other.found[i].corners.astype(np.float32) for i in which],
        first.matrix, first.lens, second.matrix, second.lens, one.size, np.eye(3), np.zeros(3),
        flags=cv2.CALIB_FIX_INTRINSIC,
    )  # fmt: skip
    rotation, translation, errors = np.asarray(found[5], float), np.ravel(found[6]), np.asarray(found[-1], float)
    return rotation, np.asarray(translation, float), errors.max(axis=1)


def calibrate_stereo(
    first: Path,
    second: Path,
    board: str,
    out: Path,
    cameras: tuple[Path | None, Path | None] = (None, None),
    names: tuple[str, str] = ("rgb_vga", "rgb_hd"),
) -> Report:
    """Where the second camera stands. Cameras that are not known yet are calibrated with the same pictures."""
    views = find_pairs(first, second, board_of(board))
    known = []
    for place, each, file, name in zip((first, second), views, cameras, names, strict=True):
        known.append(_camera(place, each, file, name, out))
    one, other = known
    fit = fit_stereo(second, views, (one, other))
    picture = draw(fit, other, out / f"{one.name}-{other.name}.png")
    if fit.rms_px > MOST_RMS_PX:
        raise poor(
            picture,
            say("Corners that the first camera places are off by {rms:.2f} px in the second one (root mean square), at "
                "most {most} px is good enough.", rms=fit.rms_px, most=MOST_RMS_PX),
            say("Calibrate each camera on its own first, hold the board still, and trigger both at the same time."),
        )  # fmt: skip
    to_second: Pose[Sight, Sight] = Pose(fit.rotation, fit.translation)
    second_pose = to_second.back().then(one.pose)
    report = Report()
    report.measured("pairs", int(fit.kept.sum()))
    report.measured("pairs left out", int((~fit.kept).sum()))
    report.measured("misfit in the second camera, rms", fit.rms_px, "px")
    report.measured("between the cameras", 1e3 * float(np.linalg.norm(fit.translation)), "mm")
    report.measured("turn between the cameras", angle_deg(fit.rotation), "deg")
    if unseen := len(views[0].unseen):
        report.told.append(
            say_count("In {count} pair not both pictures show the board.",
                      "In {count} pairs not both pictures show the board.", unseen)
        )  # fmt: skip
    report.files = [*write_camera(out, one), *write_camera(out, other.placed(second_pose)), picture]
    return report


def _camera(place: Path, views: Views, file: Path | None, name: str, out: Path) -> CameraFile:
    if file is not None:
        camera = read_camera(file)
        if (camera.width, camera.height) != views.size:
            raise PalestraError(
                say("{file} is of pictures of {known}, those in {place} have {size}. Calibrate the camera at the "
                    "size that you record with.", file=file, known=f"{camera.width}×{camera.height}", place=place,
                    size=f"{views.size[0]}×{views.size[1]}")
            )  # fmt: skip
        return camera
    check_name(name)
    fit = fit_camera(place, views)
    check_fit(fit, draw_camera(fit, name, out / f"{name}.png"))
    return camera_file(fit, name)


def draw(fit: StereoFit, second: CameraFile, file: Path) -> Path:
    title = say("Second camera {name}: {count} pairs, off by {rms:.2f} px", name=second.name,
                count=int(fit.kept.sum()), rms=fit.rms_px)  # fmt: skip
    figure, (where, around, each) = charts.sheet(title, 3)
    mask = np.repeat(fit.kept, [len(one) for one in fit.at])
    at, off = np.concatenate(fit.at), np.concatenate(fit.residuals)
    charts.arrows(where, at, off, mask, (second.width, second.height), "px")
    charts.cloud(around, off, mask, say("x (px)"), say("y (px)"), say("where the first puts them"))
    per_pair = np.array([rms(np.linalg.norm(one, axis=1)) for one in fit.residuals])
    charts.bars(each, fit.names, per_pair, fit.kept, say("pairs"), say("off by (px, rms)"))
    return charts.save(figure, file)
