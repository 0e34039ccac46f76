"""`palestra studio calibrate screen`: from a folder of what was measured to the data set's screen file."""

from pathlib import Path

import numpy as np

from palestra.errors import PalestraError
from palestra.studio.calibrate import charts
from palestra.studio.calibrate.files import read_camera, write_screen
from palestra.studio.calibrate.mirror import SAG_M, SURE, Mirror, fit_mirror
from palestra.studio.calibrate.report import Report, poor
from palestra.studio.calibrate.robust import scale
from palestra.studio.calibrate.screen import Screen, Seen, fit_screen, misfit_m
from palestra.studio.calibrate.screen_pictures import find_targets
from palestra.studio.calibrate.tables import read_table
from palestra.text import Text, say

PICTURE = "screen.png"
COLOUR = "255,0,255"
TARGETS, MARKERS = "targets.csv", "markers.csv"
MOST_PLACE_M, MOST_TURN_DEG = 0.002, 0.5  # standard errors
MOST_MISFIT_M = 0.010  # of the targets that fit


def calibrate_screen(folder: Path, out: Path, camera: Path | None = None, colour: str = COLOUR) -> Report:
    """The screen before a depth camera. The folder has tables of points, or pictures with a table of what was shown."""
    if (folder / MARKERS).exists():
        seen, points = read_points(folder)
        told: list[Text] = []
    elif camera is None:
        raise PalestraError(
            say("{folder} has no {file}, so its pictures are looked at, which takes the colour camera: --camera "
                "CAMERA.json, as `palestra studio calibrate camera` wrote it.", folder=folder, file=MARKERS)
        )  # fmt: skip
    else:
        seen, points, told = find_targets(folder, read_camera(camera), colour)
    mirrors = [fit_mirror(name, cloud) for name, cloud in points.items()]
    screen = fit_screen(seen, mirrors)
    picture = draw(screen, seen, list(points), mirrors, out / PICTURE)
    _check(screen, picture)
    report = _report(screen, seen, mirrors)
    report.told += told
    report.files = [write_screen(out, screen.rotation, screen.translation, screen.metres_per_pixel), picture]
    return report


def read_points(folder: Path) -> tuple[Seen, dict[str, np.ndarray]]:
    """What was measured already: targets.csv (mirror, sx, sy, x, y, z) and markers.csv (mirror, x, y, z)."""
    targets = read_table(folder / TARGETS, ("sx", "sy", "x", "y", "z"), ("mirror",))
    markers = read_table(folder / MARKERS, ("x", "y", "z"), ("mirror",))
    names = sorted(set(targets.texts["mirror"]))
    if strange := sorted(set(names) - set(markers.texts["mirror"])):
        raise PalestraError(
            say("{file} has no points of the mirror {name!r}, in which {targets} has targets.",
                file=MARKERS, name=strange[0], targets=TARGETS)
        )  # fmt: skip
    points = targets.numbers("x", "y", "z")
    if not (points[:, 2] > 0).all():
        raise PalestraError(say("{file}: z is not above 0 somewhere; expected metres before the camera.", file=TARGETS))
    which = np.array(markers.texts["mirror"])
    clouds = {name: markers.numbers("x", "y", "z")[which == name] for name in names}
    index = np.array([names.index(name) for name in targets.texts["mirror"]])
    return Seen(index, targets.numbers("sx", "sy"), points), clouds


def _check(screen: Screen, picture: Path) -> None:
    misfit = misfit_m(screen)
    if misfit > MOST_MISFIT_M:
        raise poor(
            picture,
            say("The targets are off by {misfit:.1f} mm (root mean square), at most {most:.0f} mm is good enough.",
                misfit=1e3 * misfit, most=1e3 * MOST_MISFIT_M),
            say("Hold the mirror nearer to the camera, make the targets larger, and keep sunlight out."),
        )  # fmt: skip
    if screen.place_sd_m > MOST_PLACE_M or screen.turn_sd_deg > MOST_TURN_DEG:
        raise poor(
            picture,
            say("The screen is known only to {place:.1f} mm and {turn:.2f}° (standard errors), at most {most_place:.0f}"
                " mm and {most_turn}° is good enough.", place=1e3 * screen.place_sd_m, turn=screen.turn_sd_deg,
                most_place=1e3 * MOST_PLACE_M, most_turn=MOST_TURN_DEG),
            say("Hold the mirror in more places (8 are good), tilted differently, and show more targets in each."),
        )  # fmt: skip


def _report(screen: Screen, seen: Seen, mirrors: list[Mirror]) -> Report:
    report = Report()
    report.measured("mirrors", len(mirrors))
    report.measured("targets", len(seen.pixels))
    report.measured("targets left out", int((~screen.kept).sum()))
    report.measured("misfit, rms", 1e3 * misfit_m(screen), "mm")
    report.measured("place, standard error", 1e3 * screen.place_sd_m, "mm")
    report.measured("turn, standard error", screen.turn_sd_deg, "deg")
    report.measured("pixel width", 1e3 * screen.metres_per_pixel[0], "mm")
    report.measured("pixel height", 1e3 * screen.metres_per_pixel[1], "mm")
    report.measured("noise of one depth", 1e3 * max(one.sigma_m for one in mirrors), "mm")
    report.measured("largest bulge of a mirror", 1e3 * max(one.sag_m for one in mirrors), "mm")
    if len(mirrors) < 3:
        report.told.append(
            say("With fewer than 3 positions of the mirror an error of its plane goes into the screen as it is, and "
                "nothing here sees it. Hold it in 6 to 8.")
        )  # fmt: skip
    if any(SURE * one.sag_sd_m > SAG_M for one in mirrors):
        report.told.append(
            say("Where its markers are they do not tell whether the mirror is flat. Put some in the middle of its "
                "sides, too.")
        )  # fmt: skip
    return report


def draw(screen: Screen, seen: Seen, names: list[str], mirrors: list[Mirror], file: Path) -> Path:
    title = say("Screen by the mirror method: {kept} of {count} targets fit, off by {misfit:.1f} mm",
                kept=int(screen.kept.sum()), count=len(seen.pixels), misfit=1e3 * misfit_m(screen))  # fmt: skip
    figure, (on_screen, side, planes) = charts.sheet(title, 3)
    charts.cloud(on_screen, 1e3 * screen.off[:, :2], screen.kept, say("along the screen's x (mm)"),
                 say("along its y (mm)"), say("targets, after reflection"))  # fmt: skip
    depth = 1e3 * screen.off[:, 2]
    charts.cloud(side, np.column_stack([1e3 * screen.off[:, 0], depth]), screen.kept, say("along the screen's x (mm)"),
                 say("off its surface (mm)"), say("the same from above"))  # fmt: skip
    spread = np.array([1e3 * scale(np.abs(one.residuals), 1) for one in mirrors])
    left = [f"{name} ({(~one.kept).mean():.0%})" for name, one in zip(names, mirrors, strict=True)]
    charts.bars(planes, left, spread, np.ones(len(left), bool), say("mirrors (share left out)"),
                say("depth noise (mm)"))  # fmt: skip
    return charts.save(figure, file)
