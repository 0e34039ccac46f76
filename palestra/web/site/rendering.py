"""Makes pages: templates, a language, and what the page is given."""

from collections.abc import Sequence
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from unicodedata import east_asian_width

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from palestra.text import LANGUAGES, Message, Words, said, said_count
from palestra.web.models import BoardRow, Column, ScreenTeam
from palestra.web.site.refusal import FRESH
from palestra.web.text import CHOICES, Scale, numbers, scale_of, sparkline, whisker

STATIC = Path(__file__).parents[1] / "static"
SHORT = 10  # letters of a digest that are shown
EM_STEPS = (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 22, 24, 28, 32, 36, 40, 48, 56, 64, 80)
NARROW = frozenset(" .,:;!|'()[]-°Iijlfrt")
CODES, OTHERS = {"en": "en", "zh": "zh-CN"}, {"en": "中文", "zh": "English"}  # of a page; the language to go to
STRANGERS = ("team", "person", "next", "label", "reason")  # placeholders that hold what a stranger wrote


def render(template: str, language: str, **views: object) -> str:
    """A page or a part of one. Pages need `frame` and `page`; see models/public.py."""
    return _environment(language).get_template(template).render(**views)


@lru_cache
def _environment(language: str) -> Environment:
    pages = Environment(loader=PackageLoader("palestra.web", "templates"), autoescape=True, undefined=StrictUndefined,
                        trim_blocks=True, lstrip_blocks=True, auto_reload=False)  # fmt: skip
    pages.globals |= {
        "language": language, "languages": LANGUAGES, "language_code": CODES[language],
        "other_language": OTHERS[language], "say": partial(_say, language), "say_as": partial(_say_as, language),
        "say_count": partial(said_count, language), "choice": partial(_choice, language),
        "static": static, "once": partial(token_urlsafe, 12), "sparkline": sparkline, "whisker": whisker,
        "refusal": FRESH,
    }  # fmt: skip
    pages.filters |= {
        "told": partial(_told, language), "heading": partial(_heading, language),
        "kind": partial(_known, language, "file_kind"),
        "job": partial(_known, language, "job"), "event": partial(_known, language, "event"),
        "number": numbers.number, "interval": numbers.interval, "size": numbers.size, "share": numbers.share,
        "milliseconds": numbers.milliseconds, "duration": partial(numbers.duration, language),
        "countdown": partial(numbers.countdown, language), "clock": _clock,
        "quota": partial(numbers.quota, language), "brackets": brackets, "scale": _scale,
        "letters": _letters, "ems": _ems, "short": _short,
        "when": partial(_when, language, False), "moment": partial(_when, language, True),
        "day": partial(_day, language), "local_input": _local_input, "paragraphs": _paragraphs,
    }  # fmt: skip
    for name in ("when", "moment", "day", "local_input", "clock"):
        pages.filters[name] = pass_context(pages.filters[name])
    return pages


@lru_cache
def static(name: str) -> str:
    """The address of a file that pages load; it changes with the file, so that browsers may keep it for ever."""
    return f"/static/{name}?v={sha256((STATIC / name).read_bytes()).hexdigest()[:SHORT]}"


def brackets(rows: Sequence[BoardRow | ScreenTeam]) -> list[str]:
    """Where each row of a board stands in the bracket of its band: start, middle, end, alone, or none.

    A baseline between two teams of one band lies within its bracket.
    """
    bands = [row.band for row in rows]
    for i, row in enumerate(rows):
        if row.rank is None:
            before = next((band for band in reversed(bands[:i]) if band is not None), None)
            after = next((other.band for other in rows[i + 1 :] if other.rank is not None), None)
            bands[i] = before if before == after else None
    return [_bracket(bands, i) for i in range(len(bands))]


def _bracket(bands: Sequence[int | None], i: int) -> str:
    if bands[i] is None:
        return "none"
    above = i > 0 and bands[i - 1] == bands[i]
    below = i + 1 < len(bands) and bands[i + 1] == bands[i]
    return {(False, True): "start", (True, True): "middle", (True, False): "end", (False, False): "alone"}[above, below]


def _scale(rows: Sequence[BoardRow], column: Column) -> Scale | None:
    """The scale of a board's whiskers: of the ranked teams, and of all where none is ranked."""
    ranked = [row for row in rows if row.rank is not None] or rows
    return scale_of([row.metrics[0] for row in ranked if row.metrics], column.better)


def _say(language: str, text: str | Message, /, **values: object) -> str:
    """A text, in which a stranger's name keeps its own direction of writing to itself."""
    apart = {name: f"\u2068{value}\u2069" if name in STRANGERS else value for name, value in values.items()}
    return said(language, text, **apart)


def _say_as(language: str, context: str, text: str, /, **values: object) -> str:
    return _say(language, Message(text, context), **values)


def _choice(language: str, kind: str, name: str | int, /, **values: object) -> str:
    """The text of a known thing: `choice("submission_state", "queued")`."""
    return _say(language, CHOICES[kind][str(name)], **values)


def _known(language: str, kind: str, name: str) -> str:
    """What is called so, where it is a known thing; else its name."""
    return _choice(language, kind, name) if name in CHOICES[kind] else name


def _told(language: str, text: Words) -> str:
    return text.in_language(language)


def _heading(language: str, column: Column) -> str:
    """A column's title: in our words where the number is a known one, else as the track calls it."""
    if column.name in CHOICES["metric"]:
        return _choice(language, "metric", column.name)
    return column.title.in_language(language) or column.name


def _letters(text: str) -> int:
    """How much room a text takes: letters of Chinese are twice as wide."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _ems(text: str) -> int:
    """How wide a text is by the height of its bold letters: a little more than in most fonts; a step of screen.css."""
    width = sum(map(_em, text))
    return next((step for step in EM_STEPS if step >= width), EM_STEPS[-1])


def _em(letter: str) -> float:
    if east_asian_width(letter) in "WF":
        return 1.03
    if letter in NARROW:
        return 0.42
    return 0.69 if letter.isdigit() or (letter.islower() and letter not in "mw") else 0.85


def _short(digest: str) -> str:
    return digest[:SHORT]


def _paragraphs(text: str) -> Markup:
    """Plain text, a paragraph for each block between empty lines."""
    blocks = [block.strip() for block in text.replace("\r\n", "\n").split("\n\n") if block.strip()]
    return Markup("\n").join(Markup("<p>{}</p>").format(block) for block in blocks)


def _zone(context: Context) -> str:
    return str(context["frame"].zone)


def _when(language: str, compact: bool, context: Context, ms: int | None) -> Markup:
    return numbers.time_tag(language, ms, _zone(context), compact)


def _day(language: str, context: Context, ms: int) -> str:
    return numbers.day(language, ms, _zone(context))


def _clock(context: Context, ms: int) -> str:
    """The time of day to the second, in the contest's zone, as a page's script goes on to show it."""
    return f"{numbers.local(ms, _zone(context)):%H:%M:%S}"


def _local_input(context: Context, ms: int | None) -> str:
    """A time as a field of a form has it, in the contest's zone."""
    return "" if ms is None else f"{numbers.local(ms, _zone(context)):%Y-%m-%d %H:%M}"
