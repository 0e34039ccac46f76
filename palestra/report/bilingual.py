"""Reports in both languages: a page is made with every text in English and Chinese, and read in one of them.

A text that differs stands in the page as `<span class="en">…</span><span class="zh">…</span>`, in figures as `tspan`s
of the same kind. So numbers, figures and pictures are there once, and whoever serves or writes a page picks a language.
"""

import html
import re
from collections.abc import Mapping
from functools import partial

from markupsafe import Markup, escape

from palestra.i18n import PHRASES, SENTENCES, Phrasebook
from palestra.records import Text, Track
from palestra.text import Words

CODES = {"en": "en", "zh": "zh-CN"}
_PAIR = re.compile(r'<(t?span) class="en">([^<]*)</\1><\1 class="zh">([^<]*)</\1>')
_WORDS = re.compile(r"(<text\b[^>]*>)([^<]*)(</text>)")
_BETWEEN = re.compile(r"(?<=\.) (?=[A-Z\d†])")  # two sentences
_LETTERS = re.compile(r"[A-Za-z]")


def book_of(track: Track | None = None) -> Phrasebook:
    """What is known in Chinese: what the track brings, then what all reports share."""
    own: dict[str, str] = {}
    if track:
        titles = [(track.title, track.title_zh), *((metric.title, metric.title_zh) for metric in track.metrics)]
        own = {**{english: chinese for english, chinese in titles if chinese}, **track.display.chinese}
    # The track's come first, in what they say and in their order.
    return Phrasebook({**own, **SENTENCES, **own}, {**own, **PHRASES, **own})


def in_both(text: Text, book: Phrasebook) -> Words:
    if isinstance(text, Words):
        return text
    return Words(text, _in_chinese(text, book) if _LETTERS.search(text) else text)


def _in_chinese(text: str, book: Phrasebook) -> str:
    """Each of its sentences, where all of them are known; else the text as a whole."""
    parts = _BETWEEN.split(text)
    said = [book.sentence(part) for part in parts]
    known = all(chinese != part for chinese, part in zip(said, parts, strict=True))
    return "".join(said) if known else book.sentence(text)


def marked(text: Text, book: Phrasebook) -> Markup:
    """A text for a page, escaped; in both languages where they differ."""
    return _pair(in_both(text, book), "span")


def marked_figure(svg: str, book: Phrasebook, words: Mapping[str, str]) -> str:
    """A figure with its words in both languages; `words` has the Chinese of what is in no book."""
    return _WORDS.sub(partial(_marked_words, book, words), svg)


def _marked_words(book: Phrasebook, words: Mapping[str, str], found: re.Match[str]) -> str:
    text = html.unescape(found[2])
    said = Words(text, words[text]) if text in words else in_both(text, book)
    return f"{found[1]}{_pair(said, 'tspan')}{found[3]}"


def _pair(text: Words, element: str) -> Markup:
    if text.en == text.zh:
        return escape(text.en)
    return Markup(
        f'<{element} class="en">{escape(text.en)}</{element}><{element} class="zh">{escape(text.zh)}</{element}>'
    )


def only(page: str, language: str) -> str:
    """A page in one language."""
    chosen = 3 if language == "zh" else 2
    page = page.replace('<html lang="en">', f'<html lang="{CODES[language]}">', 1)
    return _PAIR.sub(lambda found: found[chosen], page)
