"""What msgspec has against what was sent. It speaks English alone, in few forms, which are known here."""

import re

from palestra.text import Message, Words, message, say

_FORMS: dict[str, Message] = {
    r"Object missing required field `(?P<name>[^`]+)`": message("Object missing required field `{name}`"),
    r"Object contains unknown field `(?P<name>[^`]+)`": message("Object contains unknown field `{name}`"),
    r"Expected `(?P<kind>[^`]+)`, got `(?P<other>[^`]+)`": message("Expected `{kind}`, got `{other}`"),
    r"Expected `(?P<kind>[^`]+)` of length (?P<limit>[<>=]+ ?\d+)": message("Expected `{kind}` of length {limit}"),
    r"Expected `(?P<kind>[^`]+)` (?P<limit>[<>=]+ ?[\d.]+)": message("Expected `{kind}` {limit}"),
    r"Invalid enum value (?P<value>.+)": message("Invalid enum value {value}"),
}


def validation_told(text: str) -> Words:
    """In both languages; what it says otherwise stays as it is."""
    said, at, path = text.partition(" - at `")
    fault = _fault(said)
    return say("{fault} - at `{path}`", fault=fault, path=path.removesuffix("`")) if at else fault


def _fault(text: str) -> Words:
    for form, known in _FORMS.items():
        if found := re.fullmatch(form, text):
            return say(known, **found.groupdict())
    return Words.same(text)
