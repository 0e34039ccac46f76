"""What a contestant's object returned, as an answer or in words, without asking it for anything."""

from typing import Any

import numpy as np

WHOLE = frozenset({np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64})
BROKEN = frozenset({np.float16, np.float32, np.float64})
MOST_NUMBERS = 64  # in one answer


def told(value: Any) -> dict[str, Any]:
    """A number as it is, several as a list, anything else in words. Whether it is one that is wanted, others judge."""
    kind = type(value)
    if kind is np.ndarray and value.ndim == 1 and value.size <= MOST_NUMBERS and value.dtype.kind in "iuf":
        return {"answer": [_number(item) for item in value]}
    if kind in (list, tuple) and len(value) <= MOST_NUMBERS and all(_is_number(item) for item in value):
        return {"answer": [_number(item) for item in value]}
    if _is_number(value):
        return {"answer": _number(value)}
    return {"returned": ["not a number", _described(value)]}


def _is_number(value: Any) -> bool:
    kind = type(value)
    if kind is int:
        return bool(-(1 << 63) <= value < 1 << 63)
    return kind is float or kind in WHOLE or kind in BROKEN


def _number(value: Any) -> int | float:
    return int(value) if type(value) is int or type(value) in WHOLE else float(value)


def _described(value: Any) -> str:
    """What a value is, without asking it."""
    kind = type(value)
    if kind is np.ndarray:
        return f"an array of {value.dtype} with the shape {value.shape}"
    return "a number without end" if kind is int else kind.__name__[:40]
