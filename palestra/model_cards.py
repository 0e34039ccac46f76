"""What solutions learnt beforehand: weights in the package, each with a card that says what it is and where from.

    session("eye_reader").run(None, {"pictures": …})      a network, ready to run on one core
    arrays("emotion_linear")                              a file of numpy arrays

The card NAME.toml lies beside the weights. Those of large networks are not shipped: whoever runs what `make` of the
card says has them, and then they are used.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from palestra.errors import PalestraError, UnknownName
from palestra.records import Solution
from palestra.text import say

if TYPE_CHECKING:
    import onnxruntime
    from numpy.typing import NDArray

_PACKAGE = Path(__file__).parent
FOLDERS = (*sorted(_PACKAGE.glob("tracks/*/weights")), _PACKAGE / "eyes" / "reader" / "weights")  # beside their users
MOST_BYTES = 100_000_000  # of weights that a user names
SHOWN = 12  # letters of a digest that a person compares


@dataclass(frozen=True)
class Card:
    """Of one file of weights."""

    solution: str  # or several, "entropy, evidence"
    track: str
    script: str  # what made them, "python -m train.x"
    seed: int
    data: str
    parameters: int  # with those of its forecaster, where that has a card of its own
    trained: str  # on what and for how long at most, in words
    make: str  # "make train-NAME", which brings them from nothing
    shipped: bool = True  # with the package
    sha256: str = ""  # of the file; empty as long as nobody trained it
    bytes: int = 0
    file: str = ""  # beside the card; NAME.onnx where it says nothing
    commit: str = ""  # of the script, where it is known
    train_s: float = 0.0  # of the last run, compiling included and drawing the data set not
    epochs: int = 0  # whole ones, where its script counts them
    device: str = ""  # that it was trained on
    predictions: str = ""  # sha256 of what it answered to the test split, in docs/predictions
    checked: Mapping[str, float] = field(default_factory=dict)  # on whom its training was watched: validation people
    scores: Mapping[str, float] = field(default_factory=dict)  # metric → value on the test split


@lru_cache
def card(name: str) -> Card:
    """What is known of the weights `name`."""
    return _read_card(_file(name))


def _read_card(file: Path) -> Card:
    try:
        return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Card)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise PalestraError(
            say(
                "{name}: this is no model card: {error}. Bring back the one of the release.",
                name=file.name,
                error=error,
            )
        ) from None


def names() -> list[str]:
    """Of all cards."""
    return sorted(file.stem for folder in FOLDERS for file in folder.glob("*.toml"))


def _file(name: str) -> Path:
    """The card itself."""
    for folder in FOLDERS:
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    raise UnknownName(say("model card"), name, names())


def path(name: str) -> Path:
    """Where the weights lie, or would."""
    return _file(name).with_name(card(name).file or f"{name}.onnx")


def is_there(name: str) -> bool:
    """Whether the weights are shipped, or were trained by the user."""
    return path(name).is_file()


def how_to_get(name: str) -> str | None:
    """The command that brings the weights, where they are not here."""
    return None if is_there(name) else card(name).make


def arrays(name: str) -> dict[str, NDArray[Any]]:
    """What a file of numpy arrays holds."""
    import numpy as np

    with np.load(BytesIO(weights(name)), allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def weights(name: str) -> bytes:
    """The file as it is on its card."""
    known, file = card(name), path(name)
    if not file.is_file():
        missing = known.shipped and known.sha256
        why = (
            say("is missing from this installation")
            if missing
            else say("({solution}) is not shipped", solution=known.solution)
        )
        raise PalestraError(
            say(
                "{name} {why}. To get it, run `{make}` in the repository: with torch, that takes "
                "minutes on a GPU and hours without.",
                name=file.name,
                why=why,
                make=known.make,
            )
        )
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if known.sha256 and found != known.sha256:
        raise PalestraError(
            say(
                "{name} was changed: found sha256 {found}…, expected {sha256}… as on its "
                "card. Bring back the file of the release, or run `{make}`, which also writes the "
                "card.",
                name=file.name,
                found=found[:SHOWN],
                sha256=known.sha256[:SHOWN],
                make=known.make,
            )
        )
    return content


@lru_cache
def session(name: str) -> onnxruntime.InferenceSession:
    """The network `name`, loaded once per process, on one thread: others need theirs."""
    return _session(weights(name), path(name).name, card(name).make)


def _session(content: bytes, name: str, make: str) -> onnxruntime.InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors share nothing more
        raise PalestraError(
            say(
                "{name} cannot be run by onnxruntime {version}: {error}. Run `{make}` to make it anew.",
                name=name,
                version=onnxruntime.__version__,
                error=error,
                make=make,
            )
        ) from error


# ── Weights of the user's own: NAME.onnx somewhere, with the card NAME.toml that was written with it beside it. ───────


def card_of(file: Path) -> Card:
    """The card beside weights that are not in the package."""
    beside = file.with_suffix(".toml")
    if not beside.is_file():
        raise PalestraError(
            say(
                "{file} has no card: expected {card} beside it, as `palestra adapt` writes it.",
                file=file,
                card=beside.name,
            )
        )
    return _read_card(beside)


def weights_at(file: Path) -> bytes:
    """Weights that are not in the package, as they are on the card beside them."""
    if not file.is_file():
        raise PalestraError(say("{file}: there is no such file. Name weights that `palestra adapt` wrote.", file=file))
    known = card_of(file)
    size = file.stat().st_size
    content = file.read_bytes() if size <= MOST_BYTES else b""
    found = hashlib.sha256(content).hexdigest()
    if found != known.sha256:
        raise PalestraError(
            say(
                "{file} was changed: found sha256 {found}…, expected {sha256}… as on its card. Adapt again.",
                file=file,
                found=found[:SHOWN],
                sha256=known.sha256[:SHOWN],
            )
        )
    return content


@lru_cache
def session_at(file: Path) -> onnxruntime.InferenceSession:
    """The network in a file outside the package, once its card was checked."""
    return _session(weights_at(file), file.name, card_of(file).make)


def write_weights(file: Path, content: bytes, known: Card) -> None:
    """Weights outside the package with their card; the card last, so that half a pair is refused."""
    digest = hashlib.sha256(content).hexdigest()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.with_suffix(".toml").unlink(missing_ok=True)
    file.write_bytes(content)
    fresh = replace(known, sha256=digest, bytes=len(content), shipped=False)
    file.with_suffix(".toml").write_text(_text(fresh), encoding="utf-8")


def stamp(name: str, **changes: object) -> Card:
    """Write a card anew: size and digest of the weights, where they are there, and whatever else is to change."""
    if is_there(name):
        content = path(name).read_bytes()
        changes |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    fresh = msgspec.convert(asdict(card(name)) | changes, Card)
    _file(name).write_text(_text(fresh), encoding="utf-8")
    card.cache_clear()
    session.cache_clear()
    return card(name)


def _text(known: Card) -> str:
    """As TOML; what nobody knows is left out, and tables come last."""
    values = {key: value for key, value in asdict(known).items() if value or key in ("sha256", "seed", "shipped")}
    if known.shipped:
        del values["shipped"]
    tables = {key: values.pop(key) for key in ("checked", "scores") if key in values}
    # What JSON writes for a string or a number is the same in TOML.
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    for key, table in tables.items():
        lines += ["", f"[{key}]", *(f"{metric} = {value!r}" for metric, value in table.items())]
    return "\n".join(lines) + "\n"


def weights_digest(solution: Solution) -> str:
    """Of what it learnt beforehand, if anything: other weights give other answers from the same code."""
    if solution.weights is None or not is_ready(solution):
        return ""
    return hashlib.sha256(path(Path(solution.weights).stem).read_bytes()).hexdigest()


def is_ready(solution: Solution) -> bool:
    """Whether it can answer here: some weights are too large to be shipped, and come with their training."""
    return solution.weights is None or is_there(Path(solution.weights).stem)
