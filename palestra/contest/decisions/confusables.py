"""Names that look alike though they are spelled with other letters: Cyrillic а for Latin a, 1 for l, rn for m.

The letters are those of Unicode (UTS #39, confusables.txt), in a file beside this one: of each letter, the letters that
it looks like. The file is made anew from the package `confusable-homoglyphs`:

    python -m palestra.contest.decisions.confusables
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path

FILE = Path(__file__).with_name("confusables.txt")
HEAD = """\
# Of each letter, the letters that it looks like. Made from Unicode's confusables.txt (UTS #39), as the package
# confusable-homoglyphs {version} has it. Data: Copyright Unicode, Inc., under https://www.unicode.org/license.txt
"""
# Letters with nothing to see, which printable text may have.
UNSEEN = dict.fromkeys(
    [0x34F, 0x17B4, 0x17B5, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
)
WRITTEN_WITH_MARKS = ("LATIN", "GREEK", "CYRILLIC", "DIGIT")


def look_alike(one: str, other: str, marks: bool = True) -> bool:
    """Whether people may take two names for the same. Without `marks`, accents do not tell them apart either."""
    return not skeletons(one, marks).isdisjoint(skeletons(other, marks))


@lru_cache(maxsize=100_000)
def skeletons(name: str, marks: bool = True) -> frozenset[str]:
    """What a name looks like, as it is written and in small letters: a capital may look like another letter than the
    small one does."""
    wide = unicodedata.normalize("NFKC", name).translate(UNSEEN)
    return frozenset(_skeleton(text, marks) for text in (wide, wide.casefold()))


def _skeleton(text: str, marks: bool) -> str:
    """Blanks are left out: nobody tells two names apart by them."""
    letters = unicodedata.normalize("NFD", text).translate(_letters())
    plain = letters if marks else _without_marks(letters)
    return "".join(unicodedata.normalize("NFC", plain).casefold().split())


def _without_marks(text: str) -> str:
    """Accents of letters that are read without them too; in other scripts they are vowels."""
    kept, bare = [], False
    for letter in unicodedata.normalize("NFD", text):
        if unicodedata.category(letter) not in ("Mn", "Me"):
            bare = unicodedata.name(letter, "").startswith(WRITTEN_WITH_MARKS)
        elif bare:
            continue
        kept.append(letter)
    return "".join(kept)


@cache
def _letters() -> dict[int, str]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if not line.startswith("#"))
    return {ord(letter): looks for letter, looks in pairs}


def mapped(alike: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, str]:
    """Of each letter what it looks like, from the package's lists of what looks like what: there, whatever looks like
    several others is what those look like."""
    found = {}
    for raw, others in alike.items():
        letter, looks = raw.strip("\u200e"), others[0]["c"].strip("\u200e")
        ends = len(others) > 1 or (len(alike[others[0]["c"]]) == len(looks) == 1 and letter < looks)
        compatible = unicodedata.normalize("NFKC", letter) != letter  # those are made plain before
        if not (ends or compatible or len(letter) != 1 or letter.isspace() or not looks.isprintable()):
            found[letter] = looks
    return dict(sorted(found.items()))


def main() -> None:
    import json
    from importlib.metadata import files, version

    name = "confusable-homoglyphs"
    (source,) = (file for file in files(name) or () if file.name == "confusables.json")
    lines = (f"{letter}\t{looks}\n" for letter, looks in mapped(json.loads(source.read_text("utf-8"))).items())
    FILE.write_text(HEAD.format(version=version(name)) + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
