"""Blocks of report pages as they read in English, to compare them with."""

import dataclasses
from typing import Any

from palestra.text import Words


def english(told: Any) -> Any:
    """Texts, and whatever holds some, in English alone."""
    if isinstance(told, Words):
        return told.in_language("en")
    if isinstance(told, list | tuple):
        return type(told)(map(english, told))
    if dataclasses.is_dataclass(told) and not isinstance(told, type):
        fields = dataclasses.fields(told)
        return dataclasses.replace(told, **{one.name: english(getattr(told, one.name)) for one in fields})
    return told
