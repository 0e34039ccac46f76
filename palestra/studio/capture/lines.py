"""What a command shows of a recording while it goes on: a line for each source."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from palestra.studio.capture.line import State
from palestra.studio.capture.source import now_ns
from palestra.text import human_bytes, printable

DRAWN_EVERY_S, TOLD_EVERY_S = 0.5, 10.0  # on a terminal, and where nobody watches
RATE_OVER_S = 5.0


class Shown(Protocol):
    """Where lines are shown."""

    def show(self, states: list[State]) -> None: ...

    def say(self, text: str) -> None: ...


class _Rates:
    """How many frames came in a second, of late."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[int, int]]] = {}

    def of(self, state: State) -> float:
        seen = self._seen.setdefault(state.name, deque())
        seen.append((now_ns(), state.count))
        while len(seen) > 2 and seen[-1][0] - seen[0][0] > RATE_OVER_S * 1e9:
            seen.popleft()
        (then_ns, before), (at_ns, count) = seen[0], seen[-1]
        return (count - before) / max((at_ns - then_ns) / 1e9, 1e-3)


class _OnTerminal:
    def __init__(self, live: Live) -> None:
        self._live, self._rates = live, _Rates()

    def show(self, states: list[State]) -> None:
        self._live.update(Text("\n".join(line_of(state, self._rates.of(state)) for state in states)), refresh=True)

    def say(self, text: str) -> None:
        self._live.console.print(Text(printable(text)))


class _InLog:
    def __init__(self) -> None:
        self._rates, self._told_ns = _Rates(), now_ns()

    def show(self, states: list[State]) -> None:
        lines = [line_of(state, self._rates.of(state)) for state in states]
        if now_ns() - self._told_ns >= TOLD_EVERY_S * 1e9:
            self._told_ns = now_ns()
            for line in lines:
                self.say(line)

    def say(self, text: str) -> None:
        typer.echo(printable(text), err=True)


def line_of(state: State, rate_hz: float) -> str:
    """How one source stands, in one line."""
    over = "  (ended)" if state.is_over else ""
    return (
        f"{state.name:<14} {state.count:>9,} kept  {rate_hz:>8.1f}/s  {state.dropped:>7,} dropped  "
        f"{state.waiting:>4} waiting  {state.delay_ms:>8.1f} ms  {human_bytes(state.bytes):>9}{over}"
    )


@contextmanager
def shown() -> Iterator[Shown]:
    """Lines that are drawn anew on a terminal; elsewhere they are told now and then."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _InLog()
        return
    with Live(console=console, auto_refresh=False) as live:
        yield _OnTerminal(live)
