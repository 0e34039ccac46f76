"""Live runs against peers and against the machine's own limits, in one run: what a decision costs, a whole test set,
memory, and punctuality.

make bench        (or: python -m benchmarks.stream [--quick] [--only 1 4] [--soak SECONDS])

It wants a machine with nothing else to do. Whether something asked is met is said, and not by the exit code: most of
these are times of the whole machine.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import stream_runs as runs
from benchmarks.stream_bare import EVERY_S
from benchmarks.stream_peers import Case, Taken, compare, write_bundle
from palestra.live import wall_clock
from palestra.sandbox import backends

NAMES = {
    "bare": "bare Unix socket (limit)",
    "bare-each": "bare socket, every packet replied to",
    "ours-fast": "ours, whole harness, --pace fast",
    "ours-wall": "ours, whole harness, --pace real, no deadline",
    "ours-ask": "ours, Program.ask alone",
    "lsl": "LSL",
    "grpc": "gRPC, unary calls",
}
# The most that a decision may cost, in times of a bare socket: by its packets, and how it is played.
TIMES_BARE = {(1, "ours-fast"): 2.5, (1, "ours-wall"): 4.0, (5, "ours-fast"): 3.0, (5, "ours-wall"): 4.0}
PAPER_PACKETS, PAPER_S = 486_000, 15  # 18 people × 1.5 h in packets of 0.2 s, and how long they may take
TIMES_MEMORY = 1.1  # for nine times the length: what counts as constant
LATE_MS = 5.0
BUSY = 2


@dataclass(frozen=True)
class Counts:
    """How much is measured."""

    rounds: int = 5
    decisions: int = 2000  # in a round
    size: str = "paper"  # of the person who is made
    people: int = 18
    data: Path | None = None  # to be played in that person's place
    short_s: float = 600
    long_s: float = 5400
    late_s: float = 60
    soak_s: float = 600


QUICK = Counts(rounds=2, decisions=50, size="tiny", people=2, short_s=300, long_s=900, late_s=6, soak_s=6)


def main() -> None:
    counts, only = _asked()
    print(f"sandbox: {backends.choose()}")
    if counts.size == QUICK.size:
        print("tiny counts: this shows that everything runs, and its numbers mean nothing")
    claims = [round_trips, test_set, memory, lateness, soak]
    with tempfile.TemporaryDirectory(prefix="palestra-bench-") as name:
        folder = Path(name)
        write_bundle(folder / "trivial")
        for number, claim in enumerate(claims, start=1):
            if number in only:
                claim(counts, folder)


def _asked() -> tuple[Counts, list[int]]:
    words = argparse.ArgumentParser(prog="python -m benchmarks.stream")
    words.add_argument("--quick", action="store_true", help="tiny counts: that it works, and no numbers to believe")
    words.add_argument("--only", type=int, nargs="+", default=range(1, 6), help="which of the tables, from 1 to 5")
    words.add_argument("--soak", type=float, metavar="SECONDS", help="of the soak (600)")
    words.add_argument("--late", type=float, metavar="SECONDS", help="of each run that lateness is measured in (60)")
    words.add_argument("--people", type=int, help="of the test set (18)")
    words.add_argument("--data", type=Path, help="a data set to play instead of one made person under many names")
    given = words.parse_args()
    usual = QUICK if given.quick else Counts()
    counts = Counts(
        usual.rounds, usual.decisions, usual.size, given.people or usual.people, given.data,
        usual.short_s, usual.long_s, given.late or usual.late_s, given.soak or usual.soak_s,
    )  # fmt: skip
    return counts, list(given.only)


def round_trips(counts: Counts, folder: Path) -> None:
    """What a decision costs, from its first packet to its answer on disk."""
    print(
        f"\n1. A decision, in packets of 33×50 float32: µs, the median of {counts.rounds} rounds of "
        f"{counts.decisions:,} decisions; 'each' is all of a round by its decisions.\n"
        "   The harness is the stream, a program in its sandbox that does nothing, and the recording."
    )
    for packets in (5, 1):
        names = [name for name in NAMES if packets > 1 or name != "bare-each"]
        told = f"{packets} packet{'s' * (packets > 1)}, one reply"
        found = compare(names, Case(packets, "float32"), counts.rounds, counts.decisions, _progress(told))
        taken = dict(zip(names, found, strict=True))
        bare, lsl = taken["bare"], taken["lsl"]
        print()
        _print_table(
            [told, "each", "median", "p99", "each × bare", "median × bare", "each × LSL", "median × LSL"],
            [_round_trip(NAMES[name], one, bare, lsl) for name, one in taken.items()],
        )
        for name in ("ours-fast", "ours-wall"):
            times, share = taken[name].each_us / bare.each_us, taken[name].each_us / lsl.each_us
            most = TIMES_BARE[packets, name]
            _verdict(f"at most {most:g}× the bare socket ({NAMES[name]})", f"{times:.1f}×", times <= most)
            _verdict(f"below LSL ({NAMES[name]})", f"{share:.2f}×", share < 1)


def _round_trip(name: str, taken: Taken, bare: Taken, lsl: Taken) -> list[str]:
    times = [f"{number:.0f}" for number in (taken.each_us, taken.median_us, taken.p99_us)]
    against = [(taken.each_us / peer.each_us, taken.median_us / peer.median_us) for peer in (bare, lsl)]
    return [name, *times, *(f"{ratio:.2f}" for pair in against for ratio in pair)]


def test_set(counts: Counts, folder: Path) -> None:
    """The whole of a test set, as fast as it goes."""
    data = counts.data or folder / "people"
    if not counts.data:
        _progress("test set")("making a person")
        runs.link_people(data, counts.size, counts.people)
    packets, case = runs.packets_of(data), Case(1, runs.dtype_of(data))
    names, told = ["bare", "lsl", "grpc"], _progress("test set")
    few = max(counts.decisions // 2, 1)
    before = compare(names, case, counts.rounds, few, told)
    told("playing")
    run = runs.play(folder / "trivial", data, "fast", folder / "test-set")
    after = compare(names, case, counts.rounds, few, told)
    each_us = {name: (a.each_us + b.each_us) / 2 for name, a, b in zip(names, before, after, strict=True)}
    each_us = {"ours": run.wall_s / packets * 1e6, **each_us}
    origin = "as it was given" if counts.data else f"one made person under {counts.people} names (links to one file)"
    print(
        f"\n2. A whole test set by `palestra play --pace fast`: {packets:,} packets of 33×50 {case.dtype}, {origin}.\n"
        "   Time is of the whole command, with start, recording and scoring. The file is in the page cache.\n"
        "   The peers send one packet out of memory, with a reply to each; their times are scaled from "
        f"{2 * counts.rounds * few:,} packets.\n"
    )
    titles = {"ours": "ours, the whole command", **NAMES}
    _print_table(
        ["", "seconds", "µs per packet", "× bare", "× LSL"],
        [
            [titles[name], f"{us * packets / 1e6:.1f}", f"{us:.0f}", f"{us / each_us['bare']:.1f}",
             f"{us / each_us['lsl']:.2f}"]
            for name, us in each_us.items()
        ],
    )  # fmt: skip
    decisions = run.recording.head.decisions
    print(f"{decisions:,} decisions, {run.missed} missed; the runner held {run.peak_mb:.0f} MB at most")
    scaled_s = each_us["ours"] * PAPER_PACKETS / 1e6
    _verdict(f"{PAPER_PACKETS:,} packets at this rate in at most {PAPER_S} s", f"{scaled_s:.1f} s", scaled_s <= PAPER_S)


def memory(counts: Counts, folder: Path) -> None:
    """The most that the runner holds, for a short recording and for a long one."""
    held_mb = {}
    for name, seconds in (("short", counts.short_s), ("long", counts.long_s)):
        _progress("memory")(f"a recording of {seconds / 60:g} min")
        file = runs.write_sitting(folder / name, seconds)
        held_mb[seconds] = runs.play(folder / "trivial", folder / name, "fast", folder / f"played-{name}").peak_mb
    size_mb, loaded_mb = file.stat().st_size / 1e6, runs.unpickled_mb(file)
    first_mb = held_mb[counts.short_s]
    print(f"\n3. The most memory that `palestra play` holds; the longer recording has {size_mb:.0f} MB on disk.\n")
    rows = [[f"ours, {seconds / 60:g} min", f"{mb:.0f}", f"{mb / first_mb:.2f}"] for seconds, mb in held_mb.items()]
    loaded = ["pickle.load of the longer one, and nothing else", f"{loaded_mb:.0f}", f"{loaded_mb / first_mb:.2f}"]
    _print_table(["", "MB", "× the shorter"], [*rows, loaded])
    ratio = held_mb[counts.long_s] / first_mb
    _verdict(f"constant in the length: at most {TIMES_MEMORY}×", f"{ratio:.2f}×", ratio <= TIMES_MEMORY)


def lateness(counts: Counts, folder: Path) -> None:
    """How late ticks go out, with other work on the machine and without."""
    print(
        f"\n4. How late ticks go out in `palestra play --pace real`, every {EVERY_S} s for {counts.late_s:g} s (ms).\n"
        f"   The runner takes the priority {wall_clock.NICE} where it may; the loops run beside it."
    )
    for busy, told in ((BUSY, f"with {BUSY} busy processes"), (0, "idle")):
        _late_table(told, counts.late_s, busy, folder)


def soak(counts: Counts, folder: Path) -> None:
    """Whether lateness adds up."""
    print(f"\n5. A soak of {counts.soak_s / 60:g} min in real time (ms).")
    ticks_ms = _late_table("soak, idle", counts.soak_s, 0, folder)
    part = max(len(ticks_ms) // 10, 1)
    drift_ms = float(np.median(ticks_ms[-part:]) - np.median(ticks_ms[:part]))
    print(f"the last tenth is {drift_ms:+.3f} ms later than the first")
    _verdict(f"no drift: the last tick less than {LATE_MS:g} ms late", f"{ticks_ms[-1]:.2f} ms", ticks_ms[-1] < LATE_MS)


def _late_table(told: str, seconds: float, busy: int, folder: Path) -> runs.Late:
    _progress("lateness")(f"{told}, {seconds:g} s")
    run, raised_ms, plain_ms = runs.punctuality(folder / "trivial", seconds, busy, folder / told.replace(" ", "-"))
    ticks_ms = run.ticks_ms
    rows = {
        "ours, ticks": ticks_ms,
        "ours, decisions": run.decisions_ms,
        "a loop around time.sleep, as raised (limit)": raised_ms,
        "a loop around time.sleep, not raised": plain_ms,
    }
    limit_ms = float(np.percentile(raised_ms, 99))
    print()
    _print_table(
        [told, "p50", "p99", "max", "last", "p99 × limit"], [_late_row(name, ms, limit_ms) for name, ms in rows.items()]
    )
    decisions = run.recording.head.decisions
    print(f"{decisions} decisions, {run.missed} missed; the run counts: {'yes' if run.valid else 'no'}")
    p99_ms = float(np.percentile(ticks_ms, 99))
    _verdict(f"p99 of the ticks under {LATE_MS:g} ms ({told})", f"{p99_ms:.2f} ms", p99_ms < LATE_MS)
    return ticks_ms


def _late_row(name: str, late_ms: runs.Late, limit_ms: float) -> list[str]:
    p50, p99 = np.percentile(late_ms, [50, 99])
    numbers = [f"{number:.2f}" for number in (p50, p99, late_ms.max(), late_ms[-1])]
    return [name, *numbers, f"{p99 / limit_ms:.1f}"]


def _print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for first, *others in (head, *rows):
        numbers = (f"{text:>{width + 2}}" for text, width in zip(others, widths[1:], strict=True))
        print(f"{first:<{widths[0]}}{''.join(numbers)}")


def _verdict(asked: str, found: str, met: bool) -> None:
    print(f"asked: {asked}: {found}, {'PASS' if met else 'FALLS SHORT'}", flush=True)


def _progress(claim: str) -> Callable[[str], None]:
    return lambda what: print(f"  [{claim}] {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
