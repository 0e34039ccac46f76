"""OpenEDS 2020 sparse segmentation on disk, as the release has it, and the challenge's submission files.

    openEDS2020-SparseSegmentation/participant/S_<k>/<n>.png          frames at 5 Hz
    openEDS2020-SparseSegmentation/participant/S_<k>/label_<n>.npy    the few given labels, uint8 (400, 640)
    openEDS2020-SparseSegmentation/{images,labels}.txt              their names, S_<k>/<file> (else folders are listed)
    truth/S_<k>/<n>.npy                                               hidden labels
    truth/sequences.csv, truth/people.csv                             who each sequence shows (optional)

The later public release keeps the hidden labels in one pickle, test_GT/test_sampleName_GT.pkl; that is read as well.
A mask is referred to by its file and a key in it, and opened when it is needed: a whole submission is gigabytes.
"""

import mmap
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import Faults, clip, refuse
from palestra.formats import (
    Members,
    folder,
    open_members,
    read_pickle,
    regular_file,
    replacing,
    scan_strings,
    with_people,
)
from palestra.text import say
from palestra.tracks.eye_segmentation.masks import decode_mask, encode_mask, read_npy_mask, read_png_mask

RELEASE = "openEDS2020-SparseSegmentation"
PICKLE = "test_sampleName_GT.pkl"
RATE_HZ = 5
CLASSES = ("background", "sclera", "iris", "pupil")
SHAPE = (400, 640)
INLINE = ""  # stands for a file where the key is the mask itself, as the challenge encodes it
MASK_BYTES = 1_100_000  # of one mask in any form: a wide integer .npy in run-length code and base64 is the largest
Mask = NDArray[np.uint8]


def release(data: Path) -> Path:
    """The release's own folder, whether one names it or the folder around it."""
    return data if (data / "participant").is_dir() else folder(data / RELEASE)


def hidden(data: Path, name: str) -> Path:
    """A file or folder of the truth, beside the release's folder."""
    return release(data).absolute().parent / "truth" / name


def read_frames(data: Path) -> pl.DataFrame:
    """Every frame: sequence, frame, labelled (whether its label is given)."""
    root = release(data)
    images = _names(root, "images.txt", "*.png", "")
    labels = _names(root, "labels.txt", "label_*.npy", "label_")
    if not images:
        refuse(str(root), say("no pictures"), say("participant/S_<k>/<n>.png"))
    given = set(labels)
    return pl.DataFrame(
        {
            "sequence": [sequence for sequence, _ in images],
            "frame": [frame for _, frame in images],
            "labelled": [name in given for name in images],
        }
    )


def read_label(data: Path, sequence: str, frame: int) -> Mask:
    """A label that contestants are given."""
    file = release(data) / "participant" / sequence / f"label_{frame}.npy"
    return read_npy_mask(regular_file(file, MASK_BYTES * 4).read_bytes(), str(file))


def read_hidden(data: Path) -> pl.DataFrame:
    """The hidden labels: trial, and where each mask is."""
    release_pickle = next(
        (
            file
            for file in (release(data) / "test_GT" / PICKLE, hidden(data, PICKLE), release(data) / PICKLE)
            if file.is_file()
        ),
        None,
    )
    if release_pickle:
        names = sorted(_masks_in(release_pickle))
        return _references(str(release_pickle), zip(names, names, strict=True))
    root = folder(hidden(data, ""))
    files = sorted(root.glob("S_*/[0-9]*.npy"), key=lambda file: (_number(file.parent.name), _number(file.stem)))
    if not files:
        refuse(str(root), say("no hidden labels"), say("truth/S_<k>/<n>.npy, or the release's test_GT"))
    return _references(str(root), ((f"{file.parent.name}/{file.name}",) * 2 for file in files))


def read_metadata(data: Path) -> pl.DataFrame | None:
    """Who and what each sequence shows, where the data set tells."""
    return with_people(hidden(data, "sequences.csv"), hidden(data, "people.csv"))


def read_submission(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    """A contestant's masks: the challenge's JSON, or a folder or zip of S_<k>/<n>.png or .npy."""
    if file.suffix.lower() in (".tar", ".gz", ".tgz", ".7z", ".rar"):
        # Masks are opened in the order of the trials, and these can only be unpacked from the front.
        refuse(
            file.name, say("a {suffix} archive", suffix=file.suffix), say("the challenge's JSON, a folder, or a .zip")
        )
    if file.suffix.lower() == ".zip" and file.is_file() and not _begins(file, b"PK"):
        refuse(file.name, say("a file that is no zip"), say("a zip, as its name says"))
    if _is_archive(file):
        found = _members_of(file, trials)
    else:
        ranges = scan_strings(file, most_bytes(trials), max_keys=2 * trials.height + 1000)
        parts = zip(ranges["key"].to_list(), ranges["start"].to_list(), ranges["stop"].to_list(), strict=True)
        found = _references(str(file), ((key, f"{start}:{stop}:{key}") for key, start, stop in parts))
    return _matched(file, found, trials)


def most_bytes(trials: pl.DataFrame) -> int:
    """Of the challenge's JSON."""
    return trials.height * MASK_BYTES


def write_submission(answers: Iterable[tuple[str, str, str]], file: Path) -> None:
    """Write answers (trial, mask_file, mask_key) as the challenge's JSON, one mask at a time."""
    with replacing(file) as fresh, fresh.open("w") as out:
        out.write("{")
        for number, (trial, place, key) in enumerate(answers):
            text = key if place == INLINE else encode_mask(open_mask(place, key))
            out.write(f'{"," if number else ""}\n"{trial}": "{text}"')
        out.write("\n}\n")


def open_mask(file: str, key: str) -> Mask:
    """The mask that a reference stands for. It may not be writable."""
    if file == INLINE:
        return decode_mask(key.encode(), "a mask in memory", SHAPE)
    source = _opened(file, _stamp(file))
    return source.decode(key, source.read(key))


def stored_bytes(file: str, key: str) -> bytes:
    """The bytes behind a reference, as they are stored: what a digest of masks is made of."""
    return key.encode() if file == INLINE else _opened(file, _stamp(file)).read(key)


def image_file(data: Path, sequence: str, frame: int) -> Path:
    return release(data) / "participant" / sequence / f"{frame}.png"


def _names(root: Path, index: str, pattern: str, prefix: str) -> list[tuple[str, int]]:
    """Frames by sequence and number, from the index or else from the folders."""
    listed = root / index
    if listed.is_file():
        lines = [line.strip() for line in listed.read_text("utf-8").splitlines() if line.strip()]
        found = [_named(listed, line, prefix) for line in lines]
    else:
        files = folder(root / "participant").glob(f"S_*/{pattern}")
        found = [(file.parent.name, int(file.stem.removeprefix(prefix))) for file in files if _is_frame(file, prefix)]
    return sorted(found, key=lambda name: (_number(name[0]), name[1]))


def _named(listed: Path, line: str, prefix: str) -> tuple[str, int]:
    match = re.search(rf"(S_\d+)/{prefix}(\d+)\.\w+$", line)
    if match is None:
        refuse(str(listed), repr(line[:60]), say("names like S_0/{prefix}12", prefix=prefix))
    return match[1], int(match[2])


def _is_frame(file: Path, prefix: str) -> bool:
    return file.stem.removeprefix(prefix).isdecimal()


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1


def _references(file: str, pairs: Iterable[tuple[str, str]]) -> pl.DataFrame:
    names, keys = zip(*pairs, strict=True) if (pairs := list(pairs)) else ((), ())
    table = {"trial": names, "mask_file": [file] * len(names), "mask_key": keys}
    return pl.DataFrame(table, schema=dict.fromkeys(table, pl.String))


def _members_of(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    with _open(file, 2 * trials.height + 1000, 2 * trials.height * MASK_BYTES) as members:
        names = list(members)
    other = [name for name in names if not name.lower().endswith((".png", ".npy"))]
    if other:
        refuse(f"{file.name}, {clip(other[0])}", say("a file that is no mask"), say("S_<k>/<n>.png or S_<k>/<n>.npy"))
    # The last folder and the name count: whoever packs a folder gets its own name in front.
    return _references(str(file), ((f"{'/'.join(name.split('/')[-2:])[:-4]}.npy", name) for name in names))


def _open(file: Path, most: int, most_bytes: int) -> Members:
    return open_members(file, most, MASK_BYTES * 2, most_bytes, strip_top=False)


def _matched(file: Path, found: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """References in the order of the trials; what is double, unknown or missing is a fault."""
    faults = Faults()
    for trial in found.filter(pl.col("trial").is_duplicated())["trial"].unique(maintain_order=True):
        faults.add(f"{file.name}, {clip(trial)}", say("more than one mask"), say("one mask"))
    known = set(trials["trial"])
    for trial in found["trial"]:
        if trial not in known:
            faults.add(
                f"{file.name}, {clip(trial)}",
                say("a mask"),
                say("no mask: this is not an unlabelled frame of the data"),
            )
    given = set(found["trial"])
    for trial in trials["trial"]:
        if trial not in given:
            faults.gap(f"{file.name}, {trial}", say("no mask"), say("a mask for every unlabelled frame"))
    answers = trials.select("trial").join(found, on="trial", how="inner", maintain_order="left")
    faults.finish(usable=answers)
    return answers


def _is_archive(file: Path) -> bool:
    return file.is_dir() or file.suffix.lower() == ".zip"


def _begins(file: Path, mark: bytes) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(mark)) == mark


def _stamp(path: str | Path) -> tuple[int, int]:
    """Tells a replaced file from the one that was opened before."""
    status = os.stat(path)  # noqa: PTH116 - once per mask: pathlib takes ten times as long
    return status.st_mtime_ns, status.st_size


@dataclass(frozen=True)
class _Source:
    """An opened file or folder of masks: how the stored bytes of a key are read, and how they are decoded."""

    read: Callable[[str], bytes]
    decode: Callable[[str, bytes], Mask]


@lru_cache(maxsize=4)
def _opened(file: str, stamp: tuple[int, int]) -> _Source:
    path = Path(file)
    if path.name == PICKLE:
        masks = _masks_in(path)
        return _Source(lambda key: masks[key].tobytes(), lambda key, data: masks[key])
    if _is_archive(path):
        members = _open(path, 10_000_000, 1 << 60)  # its sizes were checked when it was read first
        return _Source(members.read, partial(_decode_file, path.name))
    data = _mapped(path)
    return _Source(partial(_part, data), partial(_decode_text, path.name))


def _part(data: mmap.mmap, key: str) -> bytes:
    start, stop, _ = key.split(":", 2)
    return data[int(start) : int(stop)]


def _decode_text(name: str, key: str, data: bytes) -> Mask:
    return decode_mask(data, f"{name}, {key.split(':', 2)[2]}", SHAPE)


def _decode_file(name: str, key: str, data: bytes) -> Mask:
    read = read_png_mask if key.lower().endswith(".png") else read_npy_mask
    return read(data, f"{name}, {key}", SHAPE)


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _masks_in(file: Path) -> dict[str, Mask]:
    return _masks_of(file, _stamp(file))


@lru_cache(maxsize=1)
def _masks_of(file: Path, stamp: tuple[int, int]) -> dict[str, Mask]:
    found = read_pickle(file, 4_000_000_000)
    if not isinstance(found, dict) or not all(isinstance(key, str) and _is_mask(found[key]) for key in found):
        refuse(str(file), say("another object"), say('a dict of "S_<k>/<n>.npy" to masks of 400 × 640'))
    return {key: mask.astype(np.uint8) for key, mask in found.items()}


def _is_mask(found: object) -> bool:
    return isinstance(found, np.ndarray) and found.shape == SHAPE and found.dtype.kind in "uib" and found.max() <= 3
