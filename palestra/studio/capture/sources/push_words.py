"""The page that pushes a camera's frames, with its words in both languages: the browser's own decides."""

from functools import cache
from pathlib import Path

import msgspec

from palestra.text import Text, say, words_of

PAGE = Path(__file__).with_name("push_page.html")
PLACE = "{/* in each language, put in by the server */}"


@cache
def page() -> bytes:
    """The page as it is served."""
    told = {name: words_of(text) for name, text in _texts().items()}
    each = {
        "en": {name: words.en for name, words in told.items()},
        "zh": {name: words.zh for name, words in told.items()},
    }
    text = PAGE.read_text(encoding="utf-8")
    assert PLACE in text
    return text.replace(PLACE, msgspec.json.encode(each).decode()).encode()


def _texts() -> dict[str, Text]:
    """What is in braces, the page fills in."""
    return {
        "title": say("Camera for the recording"),
        "camera": say("Camera"),
        "kind": say("Pictures are sent as"),
        "png": say("PNG (lossless, larger)"),
        "begin": say("Start"),
        "stop": say("Stop"),
        "ready": say("Nothing is sent yet."),
        "wait": say("Comparing clocks …"),
        "sends": say(
            "Sent {sent}, left out {left}; the recording has {kept}.", sent="{sent}", left="{left}", kept="{kept}"
        ),
        "lost": say("The connection was lost. It is tried again …"),
        "replaced": say("Another device took this place."),
        "refused": say("The camera cannot be used: {why}", why="{why}"),
    }
