"""Entrants by name: a reference solution, a bundle, or a program on another machine. Each is opened as a line."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from palestra.entrants import agent_server, bundle
from palestra.entrants.agent_server import AgentLine
from palestra.entrants.bundle import Bundle
from palestra.entrants.listener import RUN_OVER, Listening, TeamLine
from palestra.entrants.lsl import LslLine
from palestra.entrants.oracle import PrivilegedLine
from palestra.entrants.policy_server import Dialled
from palestra.entrants.program import Program
from palestra.errors import PalestraError, Refused, UnknownName
from palestra.records import Reply, Signal, Solution, Tick
from palestra.sandbox import backends
from palestra.sandbox.sandbox import Backend, Limits

SOCKETS = ("ws://", "wss://")
HOST = "none: it runs in the host, and may see the world itself"
Ask = Callable[[Tick, float], tuple[list[Reply], float]]


Spoken = Program | Dialled | TeamLine | LslLine | AgentLine | PrivilegedLine


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
    if word.startswith((*SOCKETS, *agent_server.ADDRESSES)):
        return word.partition("://")[2]
    return Path(word).name.removesuffix(".gz").removesuffix(".tar").removesuffix(".zip") or word


@dataclass
class Entry:
    """One who takes part in a run."""

    name: str
    what: str  # the digest of its bundle, or how it is reached
    sandbox: str | None
    line: Spoken
    ask: Ask | None = None  # for virtual time, where it can be had

    @property
    def plays_with(self) -> str:
        """What it is at this moment; a team on another machine says itself which version it plays."""
        declared = self.line.version if isinstance(self.line, TeamLine) else ""
        return f"{self.what}, version {declared}" if declared else self.what

    @property
    def deaths(self) -> list[str]:
        """Why its program, or the connection to it, ended; each time."""
        return [] if isinstance(self.line, LslLine) else [why for why in self.line.deaths if why != RUN_OVER]

    @property
    def output(self) -> str:
        """What it printed."""
        return self.line.output if isinstance(self.line, Program | Dialled | AgentLine) else ""


def open_entry(one: Called, solutions: dict[str, Solution], terms: Terms, stack: ExitStack) -> Entry:
    """Start a program, or dial one. The stack ends it."""
    if one.what.startswith((*SOCKETS, *agent_server.ADDRESSES)):
        return _dial(one, terms, stack)
    backend = backends.choose(terms.trusted)
    found = solutions.get(one.what)
    if found and found.knows:
        line = PrivilegedLine(one.name, found.knows)
        return Entry(one.name, found.knows, HOST, line, line.ask)
    if found and found.plays:
        return start(one.name, stack.enter_context(bundle.written(found.plays)), backend, terms, stack)
    path = Path(one.what)
    if not path.exists():
        known = [name for name, solution in solutions.items() if solution.plays or solution.knows]
        known += [str(other) for other in path.parent.iterdir()] if "/" in one.what and path.parent.is_dir() else []
        raise UnknownName("entrant (a solution, a bundle's folder, .zip or .tar.gz, or ws://…)", one.what, known)
    try:
        unpacked = stack.enter_context(bundle.unpacked(path, backend))
    except Refused as refusal:
        raise PalestraError(f"{path} is no bundle: {refusal}.{_hint(path)}") from None
    return start(one.name, unpacked, backend, terms, stack)


def _hint(path: Path) -> str:
    if path.suffix == ".py":
        return f" Name the folder that holds {bundle.PROGRAM}."
    return f" Did you mean {path / 'bundle'}?" if (path / "bundle" / bundle.PROGRAM).is_file() else ""


def start(name: str, bundle: Bundle, backend: Backend, terms: Terms, stack: ExitStack) -> Entry:
    """Start a bundle's program."""
    program = Program(name, bundle, backend, terms.limits, terms.patience_s)
    stack.callback(program.close)
    return Entry(name, bundle.digest, str(backend), program, program.ask)


def _dial(one: Called, terms: Terms, stack: ExitStack) -> Entry:
    kind = AgentLine if one.what.startswith(agent_server.ADDRESSES) else Dialled
    line = kind(one.name, one.what, terms.patience_s)
    stack.callback(line.close)
    return Entry(one.name, one.what, None, line, line.ask)


def listen(address: str, teams: Sequence[str], track: str, terms: Terms, stack: ExitStack) -> list[Entry]:
    """A line for each team, which is to dial in; they are told by the token that its line has."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise PalestraError(f"--listen {address}: found no host and port, expected HOST:PORT as 127.0.0.1:8765.")
    listening = Listening(host.strip("[]"), int(port), track)
    stack.callback(listening.close)
    lines = [listening.line(team, patience_s=terms.patience_s) for team in teams]
    for line in lines:
        stack.callback(line.close)
    where = f"ws://{host}:{listening.port}"
    return [Entry(line.name, where, None, line, line.ask) for line in lines]


def publish(signal: Signal, terms: Terms, stack: ExitStack) -> Entry:
    """An entrant of the lab streaming layer."""
    line = LslLine("lsl", signal, patience_s=terms.patience_s)
    stack.callback(line.close)
    return Entry(line.name, f"LSL, {signal.name}", None, line)
