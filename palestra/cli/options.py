"""What several commands share: their arguments, and what they look at before they begin."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from palestra.errors import PalestraError, Refused
from palestra.text import say

if TYPE_CHECKING:
    from palestra.records import Order, Track

TrackArgument = Annotated[str, typer.Argument(help="The id of a track; `palestra tracks` lists them.")]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="The data set's folder; by default a tiny synthetic one, made once and cached."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SetOption = Annotated[list[str], typer.Option("--set", help="NAME=VALUE, a setting of the track; may be repeated.")]
LanguageOption = Annotated[
    Literal["en", "zh"], typer.Option("--language", help="Language of the report and of words in pictures.")
]
WordsOption = Annotated[
    Literal["en", "zh"],
    typer.Option("--language", help="Language of words in pictures; finished pictures change only with --again."),
]
ProtocolOption = Annotated[
    str | None, typer.Option("--protocol", help="A benchmark protocol; `palestra bench TRACK --list` names them.")
]


def order_of(size: str, seed: int, without: tuple[str, ...]) -> "Order":
    from palestra.errors import UnknownName
    from palestra.records import SIZES, Order

    if size not in SIZES:
        raise typer.BadParameter(str(UnknownName(say("size"), size, SIZES)), param_hint="--size")
    for name in without:
        if name not in ("images", "video"):
            raise typer.BadParameter(str(UnknownName(say("part"), name, ["images", "video"])), param_hint="--without")
    return Order(size, seed, without)  # type: ignore[arg-type]


@contextmanager
def reading(track: "Track", folder: Path) -> Iterator[None]:
    """What is wrong with a data set is not the contestant's fault, and is told apart from it."""
    try:
        yield
    except Refused as refusal:
        inside = folder / "data"
        hint = f" Did you mean {inside}?" if inside.is_dir() else ""
        if not (folder / track.dataset.hidden[0]).is_dir():
            hint += f" (There is no {track.dataset.hidden[0]}/: whoever has no truth can `check` and not `score`.)"
        raise PalestraError(
            say(
                "{folder} cannot be used as data of {id}: {refusal}.{hint}",
                folder=folder,
                id=track.id,
                refusal=refusal,
                hint=hint,
            )
        ) from None


def require_outputs(source: Path | None, files: dict[str, Path | None]) -> None:
    """Refuse before the work where its outcome could not be written, or would take the place of what it comes from."""
    for suffix, file in files.items():
        if file is None:
            continue
        parent = file.absolute().parent
        if not parent.is_dir():
            raise PalestraError(say("{file}: there is no folder {parent}. Make it first.", file=file, parent=parent))
        if file.is_dir():
            raise PalestraError(say("{file}: a folder has this name. Name a file.", file=file))
        if source and file.absolute() == source.absolute():
            raise PalestraError(say("{file}: this is the submission itself. Name another file.", file=file))
        if file.suffix.lower() != suffix:
            raise PalestraError(
                say("{file}: this is written as {suffix}; name a file that ends in it.", file=file, suffix=suffix)
            )


def pairs(settings: list[str]) -> dict[str, str]:
    pairs = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise typer.BadParameter(f"{text!r} is not NAME=VALUE.")
        pairs[name.strip()] = value.strip()
    return pairs


def with_protocol(settings: list[str], protocol: str | None) -> dict[str, str]:
    """Settings, among which a protocol is one."""
    return {**pairs(settings), **({"protocol": protocol} if protocol else {})}


def data_of(track: "Track", data: Path | None, quiet: bool) -> Path:
    if data is not None:
        from palestra.datasets import NOTES
        from palestra.formats import folder

        if (data / NOTES).is_file():
            raise PalestraError(
                say("{data} is not whole: `palestra make` was stopped there. Call it again to finish it.", data=data)
            )
        return folder(data)
    from palestra import console
    from palestra.datasets import is_there, tiny_data

    if not quiet and not is_there(track):
        console.say(f"Making the tiny data set of {track.id}, once …")
    made = tiny_data(track)
    if not quiet:
        console.say(f"No --data: using the tiny synthetic data set in {made}")
    return made
