"""The tables of docs/eye.md and docs/annotate.md: what was published, what solutions come to here, how fast they are.

    python -m train.tables [--only gaze forecast segmentation near-eye hard conditions speed small annotate framings]

Each table is printed and put into the page, between two marks that name it. Answers to the test split were made where
the GPU was and lie in docs/predictions; here they are scored, as `palestra score` does. Scores are written on the model
cards too.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

from palestra import console
from train.tables_page import page_of, placed

Section = Callable[[Path, str], dict[str, str]]  # where data is made, its size → name of a table → its Markdown


def sections() -> dict[str, Section]:
    from train import (
        tables_annotate,
        tables_conditions,
        tables_forecast,
        tables_framings,
        tables_gaze,
        tables_hard,
        tables_near_eye,
        tables_segmentation,
        tables_small,
        tables_speed,
    )

    return {
        "gaze": tables_gaze.tables,
        "forecast": tables_forecast.tables,
        "segmentation": tables_segmentation.tables,
        "near-eye": tables_near_eye.tables,
        "hard": tables_hard.tables,
        "conditions": tables_conditions.tables,
        "speed": tables_speed.tables,
        "small": tables_small.tables,
        "annotate": tables_annotate.tables,
        "framings": tables_framings.tables,
    }


def main() -> None:
    known = sections()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(known), default=list(known))
    parser.add_argument("--work", type=Path, default=Path("build/tables"), help="where data sets are made, and kept")
    options = parser.parse_args()
    for name in options.only:
        for table, text in known[name](options.work, "paper").items():
            console.say(f"\n{table}\n{text}")
            page = page_of(table)
            page.write_text(placed(page.read_text(encoding="utf-8"), table, text), encoding="utf-8")


if __name__ == "__main__":
    main()
