"""Who took part: people.csv, the same in every data set of ours."""

from pathlib import Path

import polars as pl

from palestra.errors import refuse
from palestra.text import say

COLUMNS = {
    "person": pl.String,
    "sex": pl.String,
    "age": pl.Int64,
    "ethnicity": pl.String,
    "glasses": pl.Boolean,
    "makeup": pl.Boolean,
    "eye_colour": pl.String,
}


def read_people_file(file: Path) -> pl.DataFrame:
    """The people in a people.csv; a column that it does not have is null throughout."""
    try:
        people = pl.read_csv(file, schema_overrides=COLUMNS)
    except pl.exceptions.PolarsError as error:
        refuse(
            str(file), str(error).splitlines()[0], say("a CSV with the columns {columns}", columns=",".join(COLUMNS))
        )
    if "person" not in people.columns:
        refuse(say("{file}, line 1", file=file), ",".join(people.columns)[:80], say("a column person"))
    if people["person"].is_duplicated().any():
        double = people.filter(people["person"].is_duplicated())["person"][0]
        refuse(say("{file}, person {double}", file=file, double=double), say("more than one row"), say("one row"))
    absent = [pl.lit(None, kind).alias(name) for name, kind in COLUMNS.items() if name not in people.columns]
    return people.with_columns(absent).select(list(COLUMNS))


def with_people(sequences: Path, people: Path) -> pl.DataFrame | None:
    """The sequences of a data set, each with its person, where the data set tells."""
    if not sequences.is_file():
        return None
    try:
        table = pl.read_csv(sequences, schema_overrides={"sequence": pl.String, "person": pl.String})
    except pl.exceptions.PolarsError as error:
        refuse(str(sequences), str(error).splitlines()[0], say("a CSV with the columns sequence,person"))
    if not {"sequence", "person"} <= set(table.columns):
        refuse(
            say("{sequences}, line 1", sequences=sequences),
            ",".join(table.columns)[:80],
            say("the columns sequence and person"),
        )
    if not people.is_file():
        return table
    return table.join(read_people_file(people), on="person", how="left", maintain_order="left")
