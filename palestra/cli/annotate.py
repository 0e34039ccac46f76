"""The command that reads somebody's own pictures of eyes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from palestra.cli.options import JsonOption, WordsOption
from palestra.text import printable

if TYPE_CHECKING:
    from palestra.annotation import jobs as found
    from palestra.annotation import orientation as which_way
    from palestra.eyes.reader.settings import Settings


def annotate(
    folder: Annotated[Path, typer.Argument(help="Pictures and videos of one eye each, also in folders below it.")],
    out: Annotated[Path | None, typer.Option(help="The folder to write; FOLDER-annotated by default.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Annotate again what is annotated already.")] = False,
    every: Annotated[int, typer.Option(min=1, help="Of videos, read every so many frames.")] = 1,
    orientation: Annotated[
        Literal["auto", "upright", "upside-down"],
        typer.Option(help="Which way up the pictures are; by default each folder's pictures vote."),
    ] = "auto",
    labels: Annotated[
        Path | None, typer.Option(help="A few masks or pupil points of your own: what is read is corrected by them.")
    ] = None,
    points: Annotated[
        Path | None, typer.Option(help="CSV of pictures with known gaze (file, yaw, pitch or x, y, distance).")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights that `palestra adapt` wrote for this device.")] = None,
    language: WordsOption = "en",
    json: JsonOption = False,
) -> None:
    """Find sclera, iris, pupil and gaze in pictures of eyes. Unreliable results are flagged."""
    from palestra import console
    from palestra.annotation import gaze_points, jobs, run, table
    from palestra.eyes.reader.settings import Settings

    target = out or jobs.out_for(folder)
    todo = jobs.jobs_of(folder, target, every, weights)
    known = gaze_points.read_points(points, todo) if points else None
    settings = Settings(weights=weights)
    if labels:
        settings = _corrected(todo, labels, target, orientation, settings)
    with console.progress("reading", len(todo)) as advance:
        rows = run.annotate(todo, target, run.How(again, language, orientation, settings), advance)
    if known:
        rows, found = gaze_points.calibrate(rows, known)
        table.write_rows(target / table.TABLE, rows)
        console.say(
            f"Gaze calibrated on {found.used} of {found.points} points by {found.features}: {found.left_out_deg:.1f}° "
            f"off at left-out points (a constant offset: {found.constant_deg:.1f}°, as read: {found.before_deg:.1f}°)."
        )
    if json:
        console.show_json([table.values(row) for row in rows])
    _tell(rows, target / jobs.SHEET)


def _corrected(
    todo: "Sequence[found.Job]", labels: Path, target: Path, orientation: "which_way.Orientation", settings: "Settings"
) -> "Settings":
    """With what a few labels teach, where that helps."""
    from palestra import console
    from palestra.annotation import correct
    from palestra.annotation import labels as given_labels
    from palestra.annotation import orientation as which_way

    given = given_labels.read_labels(labels, todo, target)
    turned = which_way.is_upside_down(todo, orientation, settings)
    found = correct.learn_correction(given, replace(settings, upside_down=turned))
    count = f"{len(given)} label{'s' if len(given) > 1 else ''}"
    if found.correction is None:
        console.say(f"{count}: reading the labelled pictures gets no better by what they teach; read as without them.")
        return settings
    told = "; ".join(
        f"{name} {before:.3f} → {after:.3f}"
        for name, before, after in (
            ("mIoU", found.before.miou, found.after.miou),
            ("pupil off, of the width", found.before.pupil_off, found.after.pupil_off),
        )
        if before is not None and after is not None
    )
    console.say(f"{count}: corrected. Labelled pictures, each read by what others teach: {told}.")
    return replace(settings, correction=found.correction)


def adapt(
    folder: Annotated[Path, typer.Argument(help="Pictures and videos of one device, also in folders below it.")],
    labels: Annotated[
        Path | None,
        typer.Option(help="Masks of your own of some of them, called as `palestra annotate` calls its masks."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The weights to write; FOLDER-reader.onnx by default.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Of videos, use every so many frames.")] = 30,
    orientation: Annotated[
        Literal["auto", "upright", "upside-down"],
        typer.Option(help="Which way up the pictures are; by default they vote."),
    ] = "auto",
    language: Annotated[Literal["en", "zh"], typer.Option(help="Language of words in the picture.")] = "en",
    json: JsonOption = False,
) -> None:
    """Fit the eye reader to one device in minutes, from a few masks and the device's other pictures."""
    from palestra import console
    from palestra.annotation import adapt as device
    from palestra.annotation import jobs
    from palestra.annotation import labels as given_labels
    from palestra.report import words_drawn_in

    device.require_torch()
    target = out or folder.resolve().with_name(f"{folder.resolve().name}-reader.onnx")
    device.require_out(target)
    todo = jobs.pictures_of(folder, every)
    given = given_labels.read_labels(labels, todo, jobs.out_for(folder)) if labels else []
    with console.progress("adapting", device.steps_of(given)) as advance, words_drawn_in(language):
        found = device.adapt(todo, given, target, orientation, advance)
    if json:
        console.show_json(found.values(target))
    console.say(f"Learnt from {found.labelled} masks and {found.others} pictures that were read for sure.")
    if found.before and found.after:
        console.say(f"On {found.held_out} held-out labels: {found.before} → {found.after}; see {found.picture}.")
    if not found.kept:
        console.say("That is no better than before: no weights were written.")
        raise typer.Exit(1)
    console.say(f"Wrote {target} and its card. To use it: palestra annotate {folder} --weights {target}")


def _tell(rows: Sequence[Mapping[str, str]], sheet: Path) -> None:
    from palestra import console

    sure = sum(row["sure"] == "true" for row in rows)
    count = f"{len(rows)} picture{'s' if len(rows) > 1 else ''}"
    console.say(f"{count}, {sure} of them read for sure. Look at {sheet} first.")
    each = (
        f"{name} {sum(row[f'{name}_sure'] == 'true' for row in rows)}" for name in ("mask", "pupil", "iris", "gaze")
    )
    console.say(f"  sure of: {', '.join(each)}")
    for why, times in Counter(row["why"] for row in rows if row["why"]).most_common():
        console.say(f"  {times} × {printable(why)}")
    if turned := sum(row["upside_down"] == "true" for row in rows):
        console.say(f"  {turned} were read upside down, as their folders voted; --orientation says otherwise.")
