"""Runs a recording from its beginning to its end: by the time that was asked for, or until somebody stops it."""

from collections.abc import Sequence
from pathlib import Path

from palestra.executors import held
from palestra.studio.capture.capture import Capture
from palestra.studio.capture.layout import Head
from palestra.studio.capture.lines import DRAWN_EVERY_S, shown
from palestra.studio.capture.source import now_ns
from palestra.studio.capture.specs import sources_of
from palestra.studio.capture.writer import How
from palestra.text import Text


def record(specs: Sequence[str], out: Path, seconds: float | None, how: How) -> Head:
    """Record until the time is over, all sources have ended, or Ctrl-C; each is a good end."""
    sources = sources_of(specs)
    with shown() as screen:

        def hear(name: str, text: Text) -> None:
            screen.say(f"{name}: {text}" if name else str(text))

        capture = Capture(out, sources, how, hear)
        try:
            with held():
                capture.start()
            until_ns = None if seconds is None else now_ns() + int(seconds * 1e9)
            while not capture.is_over and (until_ns is None or now_ns() < until_ns):
                left_s = DRAWN_EVERY_S if until_ns is None else min(DRAWN_EVERY_S, (until_ns - now_ns()) / 1e9)
                capture.wait(left_s)
                screen.show(capture.states())
        except KeyboardInterrupt:
            if not capture.lines:
                raise
        with held():
            head = capture.finish()
        screen.show(capture.states())
    return head
