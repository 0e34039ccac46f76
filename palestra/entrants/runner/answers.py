"""What a contestant's object returned, as an answer or in words, without asking it for anything."""

from typing import Any

import numpy as np

from palestra.entrants import LONGEST_TEXT

WHOLE = frozenset({np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64})
BROKEN = frozenset({np.float16, np.float32, np.float64})
MOST_VALUES = 64  # in one answer


def told(value: Any) -> dict[str, Any]:
    """A number, text or boolean as it is, several as a list, anything else in words. Whether it is one that is wanted,
    others judge."""
    kind = type(value)
    many = kind in (list, tuple) or (kind is np.ndarray and value.ndim == 1)
    if many and len(value) > MOST_VALUES:
        return {"returned": ["no answer", f"a list of {len(value):,}"]}
    items = list(value) if many else [value]
    letters = sum(len(item) for item in items if _is_text(item))
    if letters > LONGEST_TEXT:
        return {"returned": ["too long", f"{letters:,}"]}
    if not all(map(_is_value, items)):
        return {"returned": ["no answer", _described(value)]}
    answer = [_plain(item) for item in items]
    return {"answer": answer if many else answer[0]}


def _is_value(value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return bool(-(1 << 63) <= value < 1 << 63)
    if _is_text(value):
        return _is_unicode(value)
    return kind in (float, bool, np.bool_) or kind in WHOLE or kind in BROKEN


def _is_text(value: Any) -> bool:
    return type(value) in (str, np.str_)


def _is_unicode(text: str) -> bool:
    """Whether it can be sent: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: Any) -> int | float | str | bool:
    kind = type(value)
    if kind in WHOLE:
        return int(value)
    if kind in BROKEN:
        return float(value)
    if kind is np.str_:
        return str(value)
    plain: int | float | str | bool = bool(value) if kind is np.bool_ else value
    return plain


def _described(value: Any) -> str:
    """What a value is, without asking it."""
    kind = type(value)
    if kind is np.ndarray:
        return f"an array of {value.dtype} with the shape {value.shape}"
    if _is_text(value):
        return "a text that is not Unicode"
    return "a number without end" if kind is int else kind.__name__[:40]
