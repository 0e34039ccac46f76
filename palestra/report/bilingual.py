"""Reports in both languages: a page is made with every text in English and Chinese, and read in one of them.

A text that differs stands in the page as `<span class="en">…</span><span class="zh">…</span>`, in figures as `tspan`s
of the same kind. So numbers, figures and pictures are there once, and whoever serves or writes a page picks a language.
"""

import html
import re
from collections.abc import Mapping
from functools import partial

from markupsafe import Markup, escape

from palestra.text import Text, Words, words_of

CODES = {"en": "en", "zh": "zh-CN"}
_PAIR = re.compile(r'<(t?span) class="en">([^<]*)</\1><\1 class="zh">([^<]*)</\1>')
_WORDS = re.compile(r"(<text\b[^>]*>)([^<]*)(</text>)")


def marked(text: Text) -> Markup:
    """A text for a page, escaped; in both languages where they differ."""
    return _pair(words_of(text), "span")


def marked_figure(svg: str, chinese: Mapping[str, str]) -> str:
    """A figure with its words in both languages: `chinese` has that of what is drawn, word for word."""
    return _WORDS.sub(partial(_marked_words, chinese), svg)


def _marked_words(chinese: Mapping[str, str], found: re.Match[str]) -> str:
    text = html.unescape(found[2])
    return f"{found[1]}{_pair(Words(text, chinese.get(text, text)), 'tspan')}{found[3]}"


def _pair(text: Words, element: str) -> Markup:
    english, chinese = text.in_language("en"), text.in_language("zh")
    if english == chinese:
        return escape(english)
    return Markup(
        f'<{element} class="en">{escape(english)}</{element}><{element} class="zh">{escape(chinese)}</{element}>'
    )


def only(page: str, language: str) -> str:
    """A page in one language."""
    chosen = 3 if language == "zh" else 2
    page = page.replace('<html lang="en">', f'<html lang="{CODES[language]}">', 1)
    return _PAIR.sub(lambda found: found[chosen], page)
