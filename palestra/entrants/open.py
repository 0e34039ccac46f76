"""Entrants by name: a reference solution, a bundle, or a program on another machine. Each is opened as a line."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from palestra.entrants import bundle
from palestra.entrants.bundle import Bundle
from palestra.entrants.program import Program
from palestra.errors import PalestraError, Refused, UnknownName
from palestra.records import Reply, Signal, Solution, Tick
from palestra.sandbox import backends
from palestra.sandbox.launch import Backend, Limits
from palestra.text import Text, say

SOCKETS, AGENTS = ("ws://", "wss://"), ("http://",)  # addresses of policy servers, and of agent servers
HOST = "none: it runs in the host, and may see the world itself"
Ask = Callable[[Tick, float], tuple[list[Reply], float]]


class EntrantLine(Protocol):
    """What all ways to reach an entrant have in common. Each is imported when an entrant is reached in that way."""

    name: str

    @property
    def version(self) -> str:
        """What a team on another machine says that it plays with; empty for others."""

    @property
    def deaths(self) -> list[Text]:
        """Why the program, or the connection to it, ended; each time."""

    @property
    def output(self) -> str:
        """What the program printed."""

    def require_ready(self, within_s: float) -> None: ...

    def post(self, tick: Tick) -> None: ...

    def replies(self) -> Iterable[Reply]: ...

    def dead(self) -> Text: ...

    def fileno(self) -> int: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Called:
    """An entrant as it was named on the command line: NAME=WHAT, or WHAT alone."""

    name: str
    what: str


@dataclass(frozen=True)
class Terms:
    """What programs get."""

    limits: Limits
    patience_s: float | None  # for one answer, where the rules have no deadline
    trusted: bool = False  # whether limits alone are enough
    private: bool = True  # whether who is dialled may be on this machine or its own network


def called(words: list[str]) -> list[Called]:
    """Names for all entrants, each its own."""
    found: list[Called] = []
    for word in words:
        name, equals, what = word.partition("=")
        if not equals or not name or "/" in name:
            name, what = _name_of(word), word
        taken = {one.name for one in found}
        number = 2
        chosen = name
        while chosen in taken:
            chosen, number = f"{name}-{number}", number + 1
        found.append(Called(chosen, what))
    return found


def _name_of(word: str) -> str:
    if word.startswith((*SOCKETS, *AGENTS)):
        return word.partition("://")[2]
    return Path(word).name.removesuffix(".gz").removesuffix(".tar").removesuffix(".zip") or word


@dataclass
class Entry:
    """One who takes part in a run."""

    name: str
    what: str  # the digest of its bundle, or how it is reached
    sandbox: str | None
    line: EntrantLine
    ask: Ask | None = None  # for virtual time, where it can be had
    sit: Callable[[Any], None] | None = None  # shows it the world itself, where it may see that
    program: Program | None = None  # that runs on this machine beside others
    trusted: bool = False  # that program
    dial_in: str = ""  # the command by which a team dials in, where it is to
    folder: Path | None = None  # where its bundle is unpacked, and runs

    @property
    def plays_with(self) -> str:
        """What it is at this moment; a team on another machine says itself which version it plays."""
        return f"{self.what}, version {self.line.version}" if self.line.version else self.what

    @property
    def deaths(self) -> list[Text]:
        """Why its program, or the connection to it, ended; each time."""
        return self.line.deaths

    @property
    def output(self) -> str:
        """What it printed."""
        return self.line.output


def open_entry(one: Called, solutions: dict[str, Solution], terms: Terms, stack: ExitStack) -> Entry:
    """Start a program, or dial one. The stack ends it."""
    if one.what.startswith((*SOCKETS, *AGENTS)):
        return _dial(one, terms, stack)
    backend = backends.choose(terms.trusted)
    found = solutions.get(one.what)
    if found and found.knows:
        return _privileged(one.name, found.knows)
    if found and found.plays:
        return start(one.name, stack.enter_context(bundle.written(found.plays)), backend, terms, stack)
    path = Path(one.what)
    if not path.exists():
        known = [name for name, solution in solutions.items() if solution.plays or solution.knows]
        known += [str(other) for other in path.parent.iterdir()] if "/" in one.what and path.parent.is_dir() else []
        raise UnknownName(say("entrant (a solution, a bundle's folder, .zip or .tar.gz, or ws://…)"), one.what, known)
    try:
        unpacked = stack.enter_context(bundle.unpacked(path, backend))
    except Refused as refusal:
        raise PalestraError(
            say("{path} is no bundle: {refusal}.{hint}", path=path, refusal=refusal, hint=_hint(path))
        ) from None
    return start(one.name, unpacked, backend, terms, stack)


def _hint(path: Path) -> str:
    if path.suffix == ".py":
        return f" Name the folder that holds {bundle.PROGRAM}."
    return f" Did you mean {path / 'bundle'}?" if (path / "bundle" / bundle.PROGRAM).is_file() else ""


def start(name: str, bundle: Bundle, backend: Backend, terms: Terms, stack: ExitStack) -> Entry:
    """Start a bundle's program."""
    program = Program(name, bundle, backend, terms.limits, terms.patience_s)
    stack.callback(program.close)
    return Entry(
        name,
        bundle.digest,
        str(backend),
        program,
        program.ask,
        program=program,
        trusted=terms.trusted,
        folder=bundle.folder,
    )


def _privileged(name: str, place: str) -> Entry:
    from palestra.entrants.oracle import PrivilegedLine

    line = PrivilegedLine(name, place)
    return Entry(name, place, HOST, line, line.ask, line.sit)


def _dial(one: Called, terms: Terms, stack: ExitStack) -> Entry:
    from palestra.entrants.http_agent import AgentLine
    from palestra.entrants.policy_server import Dialled

    kind = AgentLine if one.what.startswith(AGENTS) else Dialled
    line = kind(one.name, one.what, terms.patience_s, private=terms.private)
    stack.callback(line.close)
    return Entry(one.name, one.what, None, line, line.ask)


def listen(address: str, teams: Sequence[str], track: str, terms: Terms, stack: ExitStack) -> list[Entry]:
    """A line for each team, which is to dial in; they are told by the token that its line has."""
    from palestra.entrants.dial_in_listener import Listening

    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise PalestraError(
            say("--listen {address}: found no host and port, expected HOST:PORT as 127.0.0.1:8765.", address=address)
        )
    listening = Listening(host.strip("[]"), int(port), track)
    stack.callback(listening.close)
    lines = [listening.line(team, patience_s=terms.patience_s) for team in teams]
    for line in lines:
        stack.callback(line.close)
    where = f"ws://{host}:{listening.port}"
    command = "python -m palestra.client {} {} PROGRAM"
    return [Entry(line.name, where, None, line, line.ask, dial_in=command.format(where, line.token)) for line in lines]


def publish(signal: Signal, terms: Terms, stack: ExitStack) -> Entry:
    """An entrant of the lab streaming layer."""
    from palestra.entrants.lsl import LslLine

    line = LslLine("lsl", signal, patience_s=terms.patience_s)
    stack.callback(line.close)
    return Entry(line.name, f"LSL, {signal.name}", None, line)
