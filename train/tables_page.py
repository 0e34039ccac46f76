"""Tables as Markdown, and their places in pages."""

import re
from collections.abc import Sequence
from pathlib import Path

PAGES = [Path("docs/eye.md"), Path("docs/annotate.md")]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the first column is of words, the others of numbers."""
    rules = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rules, *rows))


def placed(page: str, name: str, table: str) -> str:
    """The page with a table between its marks."""
    marks = f"<!-- table: {name} -->", "<!-- end -->"
    pattern = re.compile(re.escape(marks[0]) + r"\n.*?" + re.escape(marks[1]), re.DOTALL)
    fresh, found = pattern.subn(lambda _: f"{marks[0]}\n{table}\n{marks[1]}", page)
    if found != 1:
        raise SystemExit(f"found {found} places for the table {name}, expected one: {marks[0]} … {marks[1]}")
    return fresh


def page_of(name: str) -> Path:
    """The page that has this table's marks; else the first one, which then says what is missing."""
    has = [page for page in PAGES if f"<!-- table: {name} -->" in page.read_text(encoding="utf-8")]
    return (has or PAGES)[0]
