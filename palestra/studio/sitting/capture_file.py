"""captures/capture.toml of a data set: who is still to come, what they are shown, and what records them."""

import json
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from palestra.errors import PalestraError
from palestra.records import CAPTURE_FILE, CAPTURES
from palestra.studio.present.plans.stimuli import Emotion, Stimuli
from palestra.studio.present.plans.stimulus_file import read_stimuli
from palestra.text import say

STIMULI = "stimuli.toml"  # beside it
PORT = 8750  # of the page, where none was named
PERSON = r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}"
Person = Annotated[str, msgspec.Meta(pattern=f"^{PERSON}$")]


class CaptureFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file says."""

    people: Annotated[list[Person], msgspec.Meta(min_length=1, max_length=100)]
    sources: dict[str, str]  # by what they record: left = "camera:0"
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = PORT
    triggers: str = ""  # the channel of the signal that has them; empty where the presenter gives them
    films: str = ""  # the folder of the films that are shown
    language: Literal["en", "zh"] = "en"  # of the page

    def specs(self) -> list[str]:
        """As `palestra studio capture` takes them."""
        return [f"{name}={what}" for name, what in self.sources.items()]


def read_capture_file(data: Path) -> CaptureFile:
    file = data / CAPTURES / CAPTURE_FILE
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), CaptureFile)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise PalestraError(
            say("{file}: {error}. `palestra studio prepare` writes such a file.", file=file, error=error)
        ) from None


def write_capture_file(data: Path, one: CaptureFile) -> None:
    folder = data / CAPTURES
    folder.mkdir(parents=True)
    values: dict[str, Any] = msgspec.to_builtins(one)
    sources = values.pop("sources")
    lines = ["# Who is still to come is shown stimuli.toml, and recorded by these sources while they are played."]
    lines += [f"{name} = {_toml(value)}" for name, value in values.items() if value != ""]
    lines += ["", "[sources]", *(f"{name} = {_toml(what)}" for name, what in sources.items())]
    (folder / CAPTURE_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _toml(value: Any) -> str:
    """Texts, whole numbers and lists of texts are written as in JSON."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def stimuli_of(data: Path, number: int) -> Stimuli:
    """What the person with this number, from 0, is shown: the same kind of thing, drawn anew for each."""
    shown = read_stimuli(data / CAPTURES / STIMULI)
    films = read_capture_file(data).films
    blocks = tuple(
        msgspec.structs.replace(block, videos=films) if films and isinstance(block, Emotion) else block
        for block in shown.blocks
    )
    return msgspec.structs.replace(shown, seed=shown.seed + number, blocks=blocks)
