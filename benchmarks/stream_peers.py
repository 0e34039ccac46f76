"""Ways to give a program packets and to hear what it decides, ours among them. Each is timed in processes of its own,
so that nobody's threads are in anybody's way.

    ours-fast   Program, stream.run and Recorder in virtual time, as `palestra play --pace fast` has them
    ours-wall   the same on the host's clock, where a rule without a deadline waits for each answer
    ours-ask    what is said between us and the program alone
    bare        a Unix socket between two plain Python processes: the limit
    bare-each   the same where every packet is replied to, as virtual time must, which charges what each one took
    lsl, grpc   the lab streaming layer, and gRPC with unary calls that carry bytes
"""

import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.stream_bare import ending, in_child, ping, ponging
from palestra.entrants import bundle
from palestra.entrants.program import Program
from palestra.live import stream
from palestra.live.recording import Head, Recorder, Who
from palestra.live.stream import Clock, Decision, FastLine, Line, VirtualClock
from palestra.live.wall_clock import WallClock
from palestra.records import Tick
from palestra.sandbox import backends

CHANNELS, SAMPLES, RATE_HZ = 33, 50, 250
PACKET_S = SAMPLES / RATE_HZ
DEADLINE_S = 0.5
PATIENCE_S = 60.0  # for anything that is waited for
TRIVIAL = """
class MyAlgorithm:
    def get_data(self, packet):
        pass

    def algorithm(self):
        return 4
"""
LSL_CONFIG = """
[ports]
BasePort = {port}
MulticastPort = {beside}
IPv6 = disable
[multicast]
ResolveScope = machine
[lab]
KnownPeers = {{127.0.0.1}}
SessionID = {session}
[log]
level = -3
"""
LSL_KINDS = {"float32": "float32", "float64": "double64"}
Times = list[float]  # seconds that each decision took
Timed = Callable[[int], Times]  # takes so many decisions


@dataclass(frozen=True)
class Case:
    """What a decision is about."""

    packets: int  # of it
    dtype: str

    @property
    def packet(self) -> NDArray[Any]:
        values = np.random.default_rng(0).normal(0, 20, (CHANNELS, SAMPLES))
        return values.astype(self.dtype)


@dataclass(frozen=True)
class Taken:
    """What a decision took, in µs; of several rounds, the median one's."""

    each_us: float  # all of a round, by the decisions in it
    median_us: float
    p99_us: float


def compare(names: Sequence[str], case: Case, rounds: int, decisions: int, told: Callable[[str], None]) -> list[Taken]:
    """Time them all; they take turns, after a round that does not count."""
    with ExitStack() as stack:
        peers = [stack.enter_context(_peer(name, case)) for name in names]
        times: list[list[Times]] = [[] for _ in names]
        for one in range(rounds + 1):
            told(f"round {one} of {rounds}: {', '.join(names)}")
            for peer, taken in zip(peers, times, strict=True):
                seconds = peer(decisions if one else max(decisions // 10, 1))
                if one:
                    taken.append(seconds)
    return [_taken(taken) for taken in times]


def _taken(rounds: Sequence[Times]) -> Taken:
    def middle(number: Callable[[Times], Any]) -> float:
        return statistics.median(float(number(seconds)) for seconds in rounds) * 1e6

    return Taken(middle(np.mean), middle(np.median), middle(partial(np.percentile, q=99)))


@contextmanager
def _peer(name: str, case: Case) -> Iterator[Timed]:
    """One of them, in its own processes."""
    with ending(in_child(serve, name, case.packets, case.dtype, stdin=PIPE, stdout=PIPE)) as process:
        assert process.stdin and process.stdout
        ears, mouth = process.stdout, process.stdin

        def timed(decisions: int) -> Times:
            print(decisions, file=mouth, flush=True)
            line = ears.readline()
            if not line:
                sys.exit(f"{name} ended with the code {process.wait()}; what it said stands above.")
            times: Times = json.loads(line)
            return times

        try:
            yield timed
        finally:
            mouth.close()  # then it ends by itself, and what it started with it
            process.wait(PATIENCE_S)


def serve(name: str, packets: str, dtype: str) -> None:
    """Time as many decisions as each line asks for."""
    with WAYS[name](Case(int(packets), dtype)) as timed:
        for line in sys.stdin:
            print(json.dumps(timed(int(line))), flush=True)


def _one_by_one(decide: Callable[[], object]) -> Timed:
    def timed(decisions: int) -> Times:
        marks = [time.perf_counter()]
        for _ in range(decisions):
            decide()
            marks.append(time.perf_counter())
        return np.diff(marks).tolist()

    return timed


# --- ours


@contextmanager
def program() -> Iterator[Program]:
    """A contestant's program that does nothing, in its sandbox."""
    backend = backends.choose()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_bundle(folder)
        made = Program("ours", stack.enter_context(bundle.unpacked(folder, backend)), backend)
        stack.callback(made.close)
        made.require_ready()
        yield made
        if made.deaths:
            sys.exit(f"The program ended in between: {made.deaths[0]}")


def write_bundle(folder: Path) -> None:
    file = folder / bundle.PROGRAM
    file.parent.mkdir(parents=True)
    file.write_text(TRIVIAL)


def _ticks(case: Case, decisions: int, every_s: float, deadline_s: float | None) -> Iterator[Tick]:
    packet, last = {"packet": case.packet}, case.packets - 1
    for i in range(decisions * case.packets):
        about = {"person": 1, "start": SAMPLES * i, "last": False}
        asked = i % case.packets == last
        trial = f"sub081/{i // case.packets + 1:05d}" if asked else None
        yield Tick(i * every_s, packet, trial, deadline_s if asked else None, about)


@contextmanager
def _ours_fast(case: Case) -> Iterator[Timed]:
    with program() as made:

        def timed(decisions: int) -> Times:
            clock = VirtualClock()
            line = FastLine("ours", lambda tick: made.ask(tick, PATIENCE_S), clock, made.dead)
            return _played(_ticks(case, decisions, PACKET_S, DEADLINE_S), line, clock)

        yield timed


@contextmanager
def _ours_wall(case: Case) -> Iterator[Timed]:
    with program() as made:
        yield lambda decisions: _played(_ticks(case, decisions, 0.0, None), made, WallClock())


@contextmanager
def _ours_ask(case: Case) -> Iterator[Timed]:
    with program() as made:

        def decide() -> None:
            for tick in ticks:
                made.ask(tick, PATIENCE_S)

        ticks = list(_ticks(case, 1, PACKET_S, DEADLINE_S))
        yield _one_by_one(decide)


class _Stopwatch:
    """The log of a run, which also keeps when decisions were closed."""

    def __init__(self, recorder: Recorder) -> None:
        self.sent, self.strayed = recorder.sent, recorder.strayed
        self._record = recorder.decided
        self.marks = [time.perf_counter()]

    def decided(self, decision: Decision) -> None:
        self._record(decision)
        self.marks.append(time.perf_counter())


def _played(ticks: Iterator[Tick], line: Line, clock: Clock) -> Times:
    who = Who("ours", "", None, "ours.rec")
    head = Head("emotion-eeg-v1", {}, "", "", 0, [who], ["sub081"], 0, "", "")
    with tempfile.TemporaryDirectory() as folder, closing(Recorder(Path(folder) / "run", head)) as recorder:
        log = _Stopwatch(recorder)
        stream.run(ticks, [line], clock, log)
        return np.diff(log.marks).tolist()


# --- the limit


@contextmanager
def _bare(case: Case) -> Iterator[Timed]:
    packet = memoryview(case.packet.tobytes())
    with ponging(packet.nbytes, case.packets) as sock:
        yield _one_by_one(lambda: ping(sock, packet, case.packets))


@contextmanager
def _bare_each(case: Case) -> Iterator[Timed]:
    packet = memoryview(case.packet.tobytes())
    with ponging(packet.nbytes, 1) as sock:

        def decide() -> None:
            for _ in range(case.packets):
                ping(sock, packet, 1)

        yield _one_by_one(decide)


# --- the lab streaming layer, as fast as it can be used: chunks as arrays, and threads that wait for what comes


@contextmanager
def _lsl(case: Case) -> Iterator[Timed]:
    with tempfile.TemporaryDirectory() as folder:
        _keep_lsl_on_this_machine(Path(folder))
        import pylsl

        name = uuid.uuid4().hex
        samples = _outlet(f"{name}-samples", "EEG", CHANNELS, RATE_HZ, LSL_KINDS[case.dtype])
        with ending(in_child(answer_lsl, name, case.packets, case.dtype)):
            answers = _inlet(f"{name}-answers")
            if not samples.wait_for_consumers(PATIENCE_S):
                sys.exit("LSL: nobody takes the samples.")
            chunk = np.ascontiguousarray(case.packet.T)

            def decide() -> None:
                for _ in range(case.packets):
                    samples.push_chunk(chunk, pylsl.local_clock())
                if answers.pull_sample(PATIENCE_S)[0] != ["4"]:
                    sys.exit("LSL: no answer came.")

            yield _one_by_one(decide)


def answer_lsl(name: str, packets: str, dtype: str) -> None:
    """Take a decision's samples, and answer on a stream of markers."""
    import pylsl

    answers = _outlet(f"{name}-answers", "Markers", 1, pylsl.IRREGULAR_RATE, "string")
    samples = _inlet(f"{name}-samples")
    chunk = np.empty((int(packets) * SAMPLES, CHANNELS), dtype)
    while True:  # until it is ended, or the stream does
        _, stamps = samples.pull_chunk(PATIENCE_S, len(chunk), dest_obj=chunk)
        if len(stamps) == len(chunk):
            answers.push_sample(["4"])


def _keep_lsl_on_this_machine(folder: Path) -> None:
    chosen = uuid.uuid4()
    port = 20_000 + chosen.int % 5_000 * 2  # below the ports that the system gives out
    file = folder / "lsl_api.cfg"
    file.write_text(LSL_CONFIG.format(port=port, beside=port - 1, session=chosen.hex))
    os.environ["LSLAPICFG"] = str(file)  # read once, when the library is loaded


def _outlet(name: str, kind: str, channels: int, rate_hz: float, values: str) -> Any:
    import pylsl

    return pylsl.StreamOutlet(pylsl.StreamInfo(name, kind, channels, rate_hz, values, name))


def _inlet(name: str) -> Any:
    import pylsl

    found = pylsl.resolve_byprop("name", name, timeout=PATIENCE_S)
    if not found:
        sys.exit(f"LSL: there is no stream {name}.")
    opened = pylsl.StreamInlet(found[0], recover=False)
    opened.open_stream(PATIENCE_S)
    return opened


# --- gRPC


@contextmanager
def _grpc(case: Case) -> Iterator[Timed]:
    import grpc

    packet = case.packet.tobytes()
    with ending(in_child(answer_grpc, stdin=PIPE, stdout=PIPE)) as process:
        assert process.stdout
        with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
            take = channel.unary_unary("/packets/take")
            yield _one_by_one(lambda: [take(packet, timeout=PATIENCE_S) for _ in range(case.packets)])


def answer_grpc() -> None:
    """Reply to every call, and tell the port; ends with whoever started it."""
    import grpc

    server = grpc.server(ThreadPoolExecutor(1))
    take = grpc.unary_unary_rpc_method_handler(lambda packet, context: b"4")
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("packets", {"take": take}),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None)


WAYS: dict[str, Callable[[Case], AbstractContextManager[Timed]]] = {
    "ours-fast": _ours_fast,
    "ours-wall": _ours_wall,
    "ours-ask": _ours_ask,
    "bare": _bare,
    "bare-each": _bare_each,
    "lsl": _lsl,
    "grpc": _grpc,
}
