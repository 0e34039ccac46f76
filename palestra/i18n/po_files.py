"""Keeps the catalogues in step with the code: Babel extracts what `say` and its kin say in Python and in templates.

    make texts        # adds what is new, drops what is gone, compiles; then fill in what it lists

A catalogue is a PO file for people and translation tools, and the MO file beside it that gettext reads. The house has
one, and each challenge's folder its own, so that it goes with the folder. Babel comes with the extra `dev`.
"""

import ast
import sys
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from babel.messages import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

PACKAGE = Path(__file__).parents[1]
TRACKS = PACKAGE / "tracks"
# Which arguments hold the text: its plural, and the context ("c") where one is given.
KEYWORDS: dict[str, Any] = {
    "say": (1,), "say_count": (1, 2), "say_as": ((1, "c"), 2), "said": (2,), "said_count": (2, 3),
    "message": {1: (1,), 2: (1, (2, "c"))},
}  # fmt: skip


HEADER = b"""# The Chinese of what Palestra says. `make texts` keeps it in step with the code.
msgid ""
msgstr ""
"Language: zh_CN\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"

"""
MADE = datetime(2026, 1, 1, tzinfo=UTC)  # Babel wants a day; the same one, so that a file changes when its texts do


def folders() -> list[Path]:
    """What has a catalogue: the house, and each challenge that says something."""
    return [PACKAGE / "i18n", *sorted(file.parent for file in TRACKS.glob("*/__init__.py"))]


def extracted(folder: Path) -> Catalog:
    """What is said in a challenge's folder, or anywhere else in the package."""
    found = _empty()
    for file in _files(folder):
        name = file.relative_to(PACKAGE).as_posix()
        for text, context in _messages(file):
            found.add(text, locations=[(name, 0)], context=context)
    return found


def _messages(file: Path) -> Iterator[tuple[Any, str | None]]:
    method: Any = _called_in_python if file.suffix == ".py" else "jinja2"
    for _, text, _, context in extract_from_file(method, str(file), keywords=KEYWORDS, options={"silent": "false"}):
        yield text, context


def _called_in_python(
    file: BinaryIO, keywords: Collection[str], comment_tags: Collection[str], options: object
) -> Iterator[tuple[int, str, tuple[str | None, ...], list[str]]]:
    """Babel's own reader takes `console.say(…)`, which prints, for `say(…)`."""
    for node in ast.walk(ast.parse(file.read())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in keywords:
            yield node.lineno, node.func.id, tuple(map(_literal, node.args)), []


def _literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _files(folder: Path) -> list[Path]:
    of_track = folder.parent == TRACKS
    found = [*(folder if of_track else PACKAGE).rglob("*.py"), *(folder if of_track else PACKAGE).rglob("*.html")]
    return sorted(file for file in found if "starter" not in str(file.parent)
                  and file != PACKAGE / "text.py" and (of_track or TRACKS not in file.parents))  # fmt: skip


def known(folder: Path) -> Catalog:
    file = folder / "zh.po"
    if not file.is_file():
        return _empty()
    with file.open("rb") as lines:
        return read_po(lines, locale="zh_CN")


def updated(folder: Path) -> Catalog:
    """What is said, with the Chinese that is known."""
    now, before = extracted(folder), known(folder)
    for one in now:
        if one.id and (old := before.get(one.id, one.context)):
            one.string = old.string
    return now


def untranslated(catalogue: Catalog) -> list[str]:
    return [str(one.id) for one in catalogue if one.id and not (one.string and all(one.string))]


def as_po(catalogue: Catalog) -> bytes:
    """Without dates, so that a file changes when its texts do."""
    written = BytesIO(HEADER)
    written.seek(0, SEEK_END)
    write_po(written, catalogue, width=0, sort_output=True, include_lineno=False, omit_header=True)
    return written.getvalue()


def as_mo(catalogue: Catalog) -> bytes:
    written = BytesIO()
    write_mo(written, catalogue)
    return written.getvalue()


def _empty() -> Catalog:
    return Catalog(locale="zh_CN", creation_date=MADE, revision_date=MADE)


def main() -> int:
    left = 0
    for folder in folders():
        catalogue = updated(folder)
        if not len(catalogue):
            continue
        (folder / "zh.po").write_bytes(as_po(catalogue))
        (folder / "zh.mo").write_bytes(as_mo(catalogue))
        missing = untranslated(catalogue)
        left += len(missing)
        place = (folder / "zh.po").relative_to(PACKAGE.parent)
        print(f"{place}: {len(catalogue)} texts" + "".join(f"\n  without Chinese: {text}" for text in missing))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
