"""Predictions for EYEDIAP's frames, as files: lines of sight or points on the screen.

A CSV `experiment,session,frame,eye,ox,oy,oz,vx,vy,vz` (world, metres) or `experiment,session,frame,sx,sy` (pixels); or
a folder `<experiment>/<session>.txt` in the style of the data set's own tracking files, as its Example/ has results:
one header line, then `frame;` and the origin and direction of the left and of the right line of sight.
"""

from pathlib import Path

import polars as pl

from palestra.errors import Faults, Refused, clip, refuse
from palestra.formats import read_bytes, read_table, write_bytes, write_table
from palestra.text import say
from palestra.tracks.remote_gaze.eyediap.measures import EYES, ORIGIN, POINT, RAYS, SIGHT

KEY = ("experiment", "session", "frame")
LINE = dict.fromkeys((*ORIGIN, *SIGHT), pl.Float64)
HEADER = "frame;" + ";".join(f"{eye} {axis}" for eye in EYES for axis in (*ORIGIN, *SIGHT))
FARTHEST_M = 1e4  # a line of sight begins in the room
FIRST_BYTES = 4096
LINE_BYTES = 400


def read_answers(path: Path, trials: pl.DataFrame) -> pl.DataFrame:
    """The answers in a file or folder, with a column for every number that an answer may have.

    Where the head was not tracked nothing is evaluated, as everybody can see: such a frame needs no answer.
    """
    try:
        found = _read(path, trials)
    except Refused as refusal:
        if refusal.usable is None:
            raise
        found = _for_all(refusal.usable, trials)
        if found.filter(trials["tracked"]).select(_is_whole().not_().any()).item():
            raise
    return _for_all(found, trials)


def _for_all(answers: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    return trials.select("trial").join(answers, on="trial", how="left", maintain_order="left")


def _is_whole() -> pl.Expr:
    """Whether an answer has the lines of both eyes, or a point."""
    return pl.all_horizontal(pl.col(RAYS).is_not_null()) | pl.all_horizontal(pl.col(POINT).is_not_null())


def _read(path: Path, trials: pl.DataFrame) -> pl.DataFrame:
    if path.is_dir():
        return _read_folder(path, trials)
    if "eye" in _header(path):
        return _read_lines(path, trials)
    points = dict.fromkeys(POINT, pl.Float64)
    try:
        return _whole(read_table(path, key=KEY, columns=points, expected=trials))
    except Refused as refusal:
        raise refusal.keeping(_whole) from None


def write_answers(answers: pl.DataFrame, file: Path) -> None:
    """Write answers as a contestant would: lines where there are any, else points; a folder where no file is named."""
    if not file.suffix:
        write_example(answers, file)
        return
    keyed = answers.with_columns(_parts(answers))
    if answers["left_ox"].is_null().all() and not answers["sx"].is_null().all():
        write_table(keyed.select(*KEY, *POINT).drop_nulls(), file)
        return
    eyes = [
        keyed.select(*KEY, pl.lit(eye).alias("eye"), *(pl.col(f"{eye}_{axis}").alias(axis) for axis in LINE))
        .drop_nulls().with_row_index(" row")
        for eye in EYES
    ]  # fmt: skip
    write_table(pl.concat(eyes).sort(" row", maintain_order=True).drop(" row"), file)


def write_example(answers: pl.DataFrame, folder: Path) -> None:
    """The same as a folder with a file for each session, as the data set's own Example/ has them."""
    keyed = answers.with_columns(_parts(answers)).select(*KEY, *RAYS).drop_nulls()
    for (experiment, session), rows in keyed.partition_by("experiment", "session", as_dict=True).items():
        text = rows.select("frame", *RAYS).write_csv(include_header=False, separator=";", line_terminator="\n")
        (folder / str(experiment)).mkdir(parents=True, exist_ok=True)
        write_bytes(folder / str(experiment) / f"{session}.txt", f"{HEADER}\n{text}".encode())


def _parts(answers: pl.DataFrame) -> list[pl.Series]:
    """Experiment, session and frame, of which a trial's name is made."""
    parts = answers["trial"].str.split_exact("/", 2).struct.rename_fields(list(KEY)).struct.unnest()
    return parts.get_columns()


def _header(file: Path) -> list[str]:
    if not file.is_file():
        refuse(str(file), say("no such file"), say("a CSV file of predictions, or a folder of them"))
    with file.open("rb") as opened:
        first = opened.read(FIRST_BYTES).split(b"\n")[0]
    return [name.strip() for name in first.decode("utf-8-sig", "replace").split(",")]


def _read_lines(file: Path, trials: pl.DataFrame) -> pl.DataFrame:
    """Two rows for each trial, one for each eye."""
    asked = pl.concat(trials.select("trial", *KEY, eye=pl.lit(eye)).with_row_index(" row") for eye in EYES)
    asked = asked.sort(" row", maintain_order=True).drop(" row")
    asked = asked.with_columns(pl.concat_str("trial", "eye", separator="/").alias("trial"))
    try:
        return _side_by_side(read_table(file, (*KEY, "eye"), LINE, asked, FARTHEST_M), trials)
    except Refused as refusal:
        raise refusal.keeping(lambda usable: _side_by_side(usable, trials)) from None


def _side_by_side(lines: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """One row for each trial, both eyes in it; what one of them lacks is null."""
    split = lines.with_columns(
        pl.col("trial").str.replace(r"/(left|right)$", "").alias("of"),
        pl.col("trial").str.extract(r"/(left|right)$").alias("eye"),
    )
    found = trials.select("trial")
    for eye in EYES:
        one = split.filter(pl.col("eye") == eye)
        named = one.select(pl.col("of").alias("trial"), *(pl.col(axis).alias(f"{eye}_{axis}") for axis in LINE))
        found = found.join(named, on="trial", how="left", maintain_order="left")
    return _whole(found.filter(~pl.all_horizontal(pl.col(RAYS).is_null())))


def _whole(answers: pl.DataFrame) -> pl.DataFrame:
    lacking = [pl.lit(None, pl.Float64).alias(name) for name in (*RAYS, *POINT) if name not in answers.columns]
    return answers.with_columns(lacking).select("trial", *RAYS, *POINT)


def _read_folder(folder: Path, trials: pl.DataFrame) -> pl.DataFrame:
    """A file for each experiment and session, every frame of which is a trial or refused."""
    faults, parts = Faults(), []
    asked = trials.partition_by("experiment", "session", as_dict=True, maintain_order=True)
    for (experiment, session), rows in asked.items():
        file = folder / str(experiment) / f"{session}.txt"
        if not file.is_file():
            faults.gap(
                str(file), say("no such file"), say("predictions for {height} frames", height=rows.height), rows.height
            )
            continue
        parts.append(_read_example(file, rows, faults))
    for file in sorted(folder.rglob("*")):
        name = (file.parent.name, file.stem)
        if file.is_file() and not file.name.startswith(".") and (file.suffix != ".txt" or name not in asked):
            faults.add(
                str(file.relative_to(folder)), say("a file of predictions"), say("one that the protocol asks for")
            )
    whole = _whole(pl.concat(parts) if parts else trials.select("trial").clear())
    faults.finish(usable=whole)
    return whole


def _read_example(file: Path, rows: pl.DataFrame, faults: Faults) -> pl.DataFrame:
    text = read_bytes(file, (rows.height + 2) * LINE_BYTES)
    schema = {"frame": pl.String, **dict.fromkeys(RAYS, pl.Float64)}
    try:
        table = pl.read_csv(text, separator=";", schema=schema, has_header=False, skip_lines=1)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        refuse(
            str(file),
            say("no table ({splitlines})", splitlines=str(error).splitlines()[0]),
            say("a header and lines of {number} fields", number=len(schema)),
        )
    table = table.with_columns(pl.col("frame").str.strip_chars())
    for frame in table.filter(pl.col("frame").is_duplicated())["frame"].unique(maintain_order=True):
        faults.add(
            say("{file}, frame {frame}", file=file, frame=clip(frame)), say("more than one line"), say("one line")
        )
    for frame in table.join(rows, on="frame", how="anti")["frame"]:
        faults.add(
            say("{file}, frame {frame}", file=file, frame=clip(frame)),
            say("a prediction"),
            say("no prediction: the protocol does not ask for it"),
        )
    usable = table.filter(pl.all_horizontal(pl.col(RAYS).is_between(-FARTHEST_M, FARTHEST_M)))
    for frame in rows.join(usable, on="frame", how="anti")["frame"]:
        faults.gap(
            say("{file}, frame {frame}", file=file, frame=frame),
            say("no prediction that can be used"),
            say("twelve numbers"),
        )
    return rows.select("trial", "frame").join(usable, on="frame", maintain_order="left").drop("frame")
