"""A recording with its calibration, looked at before anything is tracked: sizes that fit, and depth that is metres."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from palestra.errors import PalestraError
from palestra.metrics.transforms import Camera
from palestra.studio.track.calibration_file import Calibrated, calibration_of, read_calibration
from palestra.studio.track.depth_units import NO_RETURN, DepthUnit
from palestra.studio.track.frames import Frames, Pair
from palestra.studio.track.rig import Rig
from palestra.text import say

UNITS = {"mm": 0.001, "0.1mm": 0.0001}  # metres to a step
DISPARITY = "disparity"
LOOKED_AT = 5  # frames
NEAREST_M, FARTHEST_M = 0.25, 8.0  # of the middle of all depths
NO_RETURN_SHARE = 0.003


@dataclass(frozen=True)
class SetUp:
    """What is tracked, and by which cameras."""

    frames: Frames
    rig: Rig
    calibrations: dict[str, Path]  # the files, by EYEDIAP's names of the cameras


def set_up(recording: Path, calibration: Path | None, unit: str, source: str = "") -> SetUp:
    folder = calibration or recording
    frames = Frames(recording, source)
    colour, depth = (_required(folder, which) for which in ("rgb_vga", "depth"))
    hd_file = calibration_of(folder, "rgb_hd")
    hd = None if hd_file is None else read_calibration(hd_file)
    found = list(frames.chosen(np.linspace(0, frames.count - 1, LOOKED_AT).astype(int).tolist()))
    for pair in found:
        _require_size(pair.colour.shape, colour, pair)
        _require_size(pair.depth.shape, depth, pair)
    rig = Rig(colour.camera, depth.camera, _unit(unit, depth), None if hd is None else hd.camera)
    _require_metres(recording, found, rig, unit)
    files = {"rgb_vga": colour.file, "depth": depth.file, **({} if hd is None else {"rgb_hd": hd.file})}
    return SetUp(frames, rig, files)


def _required(folder: Path, which: str) -> Calibrated:
    file = calibration_of(folder, which)
    if file is None:
        raise PalestraError(
            say("{folder}: there is no {which}_calibration.txt. Name the folder that has it by --calibration; where "
                "depth was brought to the colour camera's view, both files are the same.", folder=folder, which=which)
        )  # fmt: skip
    return read_calibration(file)


def _unit(unit: str, depth: Calibrated) -> DepthUnit:
    if unit != DISPARITY:
        return DepthUnit(UNITS[unit])
    if depth.disparities is None:
        raise PalestraError(
            say("{file} does not say what disparities mean: expected the sections [k_coefficients], [alpha] and "
                "[beta].", file=depth.file)
        )  # fmt: skip
    return DepthUnit(disparities=depth.disparities)


def _require_size(shape: tuple[int, ...], by: Calibrated, pair: Pair) -> None:
    camera: Camera = by.camera
    if shape[:2] != (camera.height, camera.width):
        raise PalestraError(
            say("Frame {number} has {width} × {height} pixels, and {file} is of a camera of {width2} × {height2}. "
                "Calibrate at the size that is recorded.", number=pair.number, width=shape[1], height=shape[0],
                file=by.file, width2=camera.width, height2=camera.height)
        )  # fmt: skip


def _require_metres(recording: Path, pairs: list[Pair], rig: Rig, unit: str) -> None:
    whole = slice(None), slice(None)
    far = np.concatenate([rig.unit.metres(pair.depth, whole).ravel() for pair in pairs])
    known = far[far > 0]
    if len(known) < 0.01 * len(far):
        raise PalestraError(
            say("{recording}: the depth pictures hold no depth: {share:.1%} of their numbers say anything.",
                recording=recording, share=len(known) / len(far))
        )  # fmt: skip
    raw = np.concatenate([pair.depth.ravel() for pair in pairs])
    if unit != DISPARITY and raw.max() == NO_RETURN and (raw == NO_RETURN).mean() > NO_RETURN_SHARE:
        raise PalestraError(
            say("{recording}: the depths end at 2,047, as a Kinect's disparities do. Say --unit disparity.",
                recording=recording)
        )  # fmt: skip
    middle = float(np.median(known))
    if not NEAREST_M <= middle <= FARTHEST_M:
        fits = [
            name for name, step in UNITS.items() if NEAREST_M <= float(np.median(raw[raw > 0])) * step <= FARTHEST_M
        ]
        hint = say("Say --unit {unit}.", unit=fits[0]) if fits else say("Units that are known: mm, 0.1mm, disparity.")
        raise PalestraError(
            say("{recording}: taken as {unit}, the middle of all depths is {metres:.3g} m, expected {low:g} to "
                "{high:g} m. {hint}", recording=recording, unit=unit, metres=middle, low=NEAREST_M, high=FARTHEST_M,
                hint=hint)
        )  # fmt: skip
