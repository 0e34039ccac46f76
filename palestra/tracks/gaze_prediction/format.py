"""OpenEDS 2020 gaze prediction on disk, as the release has it, and the challenge's submission file.

openEDS2020-GazePrediction/{train,validation,test}/sequences/<seq>/<frame>.png
openEDS2020-GazePrediction/{train,validation}/labels/<seq>.txt    lines 000,x,y,z; unit vectors; no header
truth/labels/<seq>.txt              the test labels (the public release keeps them in test/labels instead)
truth/sequences.csv                 sequence,split,person,eye,pattern (optional)
truth/people.csv                    person,sex,age,ethnicity,glasses,makeup,eye_colour (optional)
truth/frames.parquet                per frame: movement, target and its status, cornea, point of gaze (optional)
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import Refused, clip, refuse
from palestra.formats import folder, folders_in, read_numbers, read_vectors, with_people, write_vectors
from palestra.formats import most_bytes as most_vector_bytes
from palestra.records import Plausible
from palestra.text import say

RELEASE = "openEDS2020-GazePrediction"
SPLITS = ("train", "validation", "test")
RATE_HZ = 100
GIVEN = 50  # frames of a test sequence that a contestant gets
STEPS = tuple(range(1, 6))  # frames ahead that are asked for
FRAMES = tuple(str(GIVEN - 1 + step) for step in STEPS)  # "50" … "54", the keys of a submission
VECTOR = ("x", "y", "z")
FURTHEST_DEG = 60  # from straight ahead that an answer may lie; eyes turn by some 50


def release(data: Path) -> Path:
    """The release's own folder, whether one names it or the folder around it."""
    return data if (data / "test" / "sequences").is_dir() else folder(data / RELEASE)


def hidden(data: Path, name: str) -> Path:
    """A file or folder of the truth, beside the release's folder."""
    return release(data).absolute().parent / "truth" / name


def read_sequences(data: Path, split: str = "test") -> list[str]:
    """The names of a split's sequences."""
    names = sorted(path.name for path in folders_in(release(data) / split / "sequences"))
    if not names:
        refuse(
            str(release(data) / split / "sequences"), say("no sequences"), say("one folder of pictures per sequence")
        )
    return names


def read_labels(data: Path, split: str, sequences: Sequence[str] | None = None) -> pl.DataFrame:
    """A split's labels, or those of some sequences: sequence, frame (number), x, y, z."""
    root = _test_labels(data) if split == "test" else release(data) / split / "labels"
    if root is None:
        refuse(str(hidden(data, "labels")), say("no such folder"), say("the test labels, here or in test/labels"))
    if sequences is None:
        files = [(path.stem, path) for path in sorted(folder(root).glob("[!.]*.txt"))]
    else:
        files = [(name, root / f"{name}.txt") for name in sequences]
    if not files:
        refuse(str(root), say("no labels"), say("one <sequence>.txt per sequence"))
    table = read_numbers(files, ("sequence",), "frame", VECTOR, header=False)
    frames = table["frame"].str.strip_chars().cast(pl.Int64, strict=False)
    if frames.null_count():
        wrong = table.filter(frames.is_null())
        refuse(
            say("{value}.txt", value=root / wrong["sequence"][0]),
            say("the frame {clip}", clip=clip(wrong["frame"][0])),
            say("a number such as 000"),
        )
    return table.with_columns(frames)


def has_test_labels(data: Path) -> bool:
    return _test_labels(data) is not None


def _test_labels(data: Path) -> Path | None:
    places = (hidden(data, "labels"), release(data) / "test" / "labels")
    return next((place for place in places if place.is_dir()), None)


def read_metadata(data: Path) -> pl.DataFrame | None:
    """Who and what each sequence shows, where the data set tells."""
    return with_people(hidden(data, "sequences.csv"), hidden(data, "people.csv"))


def read_frames(data: Path) -> pl.DataFrame | None:
    """What each frame shows, where the data set tells."""
    file = hidden(data, "frames.parquet")
    return pl.read_parquet(file) if file.is_file() else None


def write_labels(vectors: NDArray[np.float64], file: Path) -> None:
    """Labels of one sequence: `000,x,y,z`, one line per frame."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{frame:03d},{x!r},{y!r},{z!r}" for frame, (x, y, z) in enumerate(vectors.tolist()))
    file.write_text("\n".join(lines) + "\n")


def read_submission(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    """A contestant's JSON: {"<seq>": {"50": [x, y, z], …, "54": [x, y, z]}}."""
    sequences = trials["sequence"].unique(maintain_order=True).to_list()
    try:
        return _with_trials(read_vectors(file, sequences, FRAMES))
    except Refused as refusal:
        raise refusal.keeping(_with_trials) from None


def most_bytes(trials: pl.DataFrame) -> int:
    """Of a contestant's JSON."""
    return most_vector_bytes(trials["sequence"].n_unique(), len(FRAMES))


def write_submission(answers: pl.DataFrame, file: Path) -> None:
    """Write answers (trial, x, y, z) as a contestant would."""
    keys = answers["trial"].str.split_exact("/", 1).struct.rename_fields(["sequence", "step"]).struct.unnest()
    write_vectors(keys.hstack(answers.select(VECTOR)), file)


def _is_ahead(rows: pl.DataFrame) -> pl.Series:
    """Whether an eye could look that way: no further from straight ahead (z) than FURTHEST_DEG."""
    size = pl.sum_horizontal(pl.col(name) ** 2 for name in VECTOR).sqrt()
    return rows.select((pl.col("z") >= size * math.cos(math.radians(FURTHEST_DEG))).alias("holds"))["holds"]


IN_SIGHT = Plausible(
    _is_ahead,
    say("a direction within {degrees}° of straight ahead (z), which is as far as eyes turn", degrees=FURTHEST_DEG),
)


def _with_trials(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(trial=pl.col("sequence") + "/" + pl.col("step"), x="x", y="y", z="z")


def image_file(data: Path, split: str, sequence: str, frame: int) -> Path:
    return release(data) / split / "sequences" / sequence / f"{frame:03d}.png"
