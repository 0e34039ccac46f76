"""Commands about data sets: make one, look at it, make a starter kit around it."""

from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.options import DataOption, LanguageOption, TrackArgument, data_of, order_of, reading, require_outputs
from palestra.text import duration

GUESSABLE = 1 << 64  # seeds below it can be tried out


def make(
    track: TrackArgument,
    folder: Annotated[Path, typer.Argument(help="The folder to write: new, empty, or an unfinished run to resume.")],
    size: Annotated[str, typer.Option(help="tiny, small or paper.")] = "tiny",
    seed: Annotated[
        str, typer.Option(help="Random seed: a number (the same seed gives the same bytes) or `random`.")
    ] = "0",
    without: Annotated[list[str] | None, typer.Option(help="Leave out images or video; may be repeated.")] = None,
    report: Annotated[Path | None, typer.Option(help="Also write a report about the data set (HTML).")] = None,
    language: LanguageOption = "en",
    pack: Annotated[
        Path | None, typer.Option(help="Also pack what contestants get, without the ground truth (zip).")
    ] = None,
) -> None:
    """Write synthetic data in the track's real on-disk format."""
    from palestra import console, registry
    from palestra.datasets import make as making
    from palestra.datasets import redact
    from palestra.text import human_bytes

    require_outputs(None, {".html": report, ".zip": pack})
    chosen = registry.track(track)
    order = order_of(size, _seed(seed, folder), tuple(without or ()))
    making.require_folder(chosen, order, folder)
    plan = making.plan(chosen, order)
    cost = making.estimate(plan)
    about = f"{chosen.id}, {size}: about {human_bytes(cost.bytes)}, about {duration(cost.seconds)}"
    console.say(f"{about}, into {folder}")
    making.require_room(folder, cost.bytes * (making.left(plan, folder) + bool(pack)))
    with console.progress("making", sum(part.weight for part in plan.parts)) as advance:
        making.run(chosen, order, plan, folder, advance)
    hidden = [f"{name}/" for name in chosen.dataset.hidden if (folder / name).is_dir()]
    hidden += ["the truth in some of its files"] if chosen.dataset.in_part else []
    console.say(f"{folder} is ready. A contestant gets all of it but {' and '.join(hidden)}.")
    if report:
        from palestra.report import write_data_page

        write_data_page(chosen, folder, report, language)
        console.say(f"Its page: {report}")
    if pack:
        with console.progress("packing", len(redact.shown(chosen, folder))) as advance:
            redact.pack(chosen, folder, pack, advance)
        console.say(f"For contestants: {pack}")
        if order.seed < GUESSABLE:
            console.say("Its seed can be guessed, and the truth made from it: use --seed random for a contest.")


def _seed(text: str, folder: Path) -> int:
    """A seed as it was given, or one that nobody guesses; a stopped run goes on with its own."""
    if text == "random":
        import secrets

        from palestra.datasets import make as making

        begun = making.unfinished(folder)
        return begun.seed if begun else secrets.randbits(128)
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is neither a whole number from 0 on nor `random`.", param_hint="--seed")
    return int(text)


def view(
    track: TrackArgument,
    what: Annotated[
        str,
        typer.Argument(
            help="`data` for the data set's report, `sheet` for a contact sheet, or the id of a trial or sequence."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The file to write: .html for `data`, .mp4 for a sequence, .png otherwise.")
    ],
    data: DataOption = None,
    language: LanguageOption = "en",
) -> None:
    """Show a data set: report, contact sheet, one trial, or a film. Trials are shown with their ground truth."""
    from palestra import console, registry
    from palestra.datasets import draw

    film = what != "data" and out.suffix.lower() == ".mp4"
    require_outputs(None, {".html" if what == "data" else ".mp4" if film else ".png": out})
    chosen = registry.track(track)
    folder = data_of(chosen, data, False)
    with reading(chosen, folder):
        draw(chosen, what, folder, out, language)
    console.say(f"{out} is written.")


def starter(
    track: TrackArgument,
    folder: Annotated[Path, typer.Argument(help="The folder to write the kit to: new or empty.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Practice data for the kit, ground truth included; by default tiny synthetic data."),
    ] = None,
) -> None:
    """Write a starter kit for contestants.

    It has data, a template submission, a stand-alone scorer and a first solution to change.
    """
    from palestra import console, registry
    from palestra.datasets import is_there, write_kit

    chosen = registry.track(track)
    if data is None and chosen.dataset.make and not is_there(chosen):
        console.say(f"Making the tiny data set of {chosen.id}, once …")
    practice = data_of(chosen, data, True)
    with reading(chosen, practice):
        write_kit(chosen, folder, practice)
    console.say(f"{folder} is ready: begin with {folder / 'README.md'}.")
