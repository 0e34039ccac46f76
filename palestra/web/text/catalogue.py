"""Every word on a page, in the languages that pages are shown in: words/en.toml, words/zh.toml."""

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from palestra.errors import PalestraError, UnknownName

LANGUAGES = ("en", "zh")
FOLDER = Path(__file__).with_name("words")


@lru_cache
def words(language: str) -> Mapping[str, str]:
    """All words of a language by their keys: `board.rank`."""
    if language not in LANGUAGES:
        raise UnknownName("language of the pages", language, LANGUAGES)
    with (FOLDER / f"{language}.toml").open("rb") as file:
        return dict(_flat(tomllib.load(file), ""))


def say(language: str, key: str, **values: object) -> str:
    """The words for a key, with its {placeholders} filled in."""
    known = words(language)
    if key not in known:
        # A slip of ours, and no fault of whoever asks: so it is none of our errors in words.
        raise LookupError(str(UnknownName(f"word in {language}.toml", key, known)))
    try:
        return known[key].format(**values) if values or "{" in known[key] else known[key]
    except (KeyError, IndexError) as error:
        raise LookupError(f"{language}.toml: {key} needs {error}, which the page does not give it") from None


def say_count(language: str, key: str, count: int, **values: object) -> str:
    """The words for so many: `key.one` or `key.many`, both with {count}."""
    number = "one" if count == 1 else "many"
    return say(language, f"{key}.{number}", count=f"{count:,}", **values)


def _flat(table: Mapping[str, Any], before: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in table.items():
        key = f"{before}{name}"
        if isinstance(value, str):
            pairs.append((key, value))
        elif isinstance(value, dict):
            pairs += _flat(value, f"{key}.")
        else:
            raise PalestraError(f"{key}: found {type(value).__name__}, expected words in quotes.")
    return pairs
