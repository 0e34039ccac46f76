"""Whether one entrant can starve another: a bystander in real time beside a hog of 60 busy processes, and beside one
that does nothing.

make bench        (or: python -m benchmarks.starving [--runs 20] [--seconds 8] [--beside 2])

Each process of the hog is the leader of a session of its own, which on most hosts would give it an equal part of the
processors for itself. The bystander computes for 20 ms over each decision, which has a deadline of 500 ms.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.stream_bare import be_busy, ending, in_child
from benchmarks.stream_runs import TRACK, write_sitting
from palestra.live.recording import Recording
from palestra.sandbox import backends

BYSTANDER = """
import time

class MyAlgorithm:
    def get_data(self, packet):
        pass

    def algorithm(self):
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        return 4
"""
HOG = """
import os

for _ in range(60):
    if os.fork() == 0:
        os.setsid()
        while True:
            pass

class MyAlgorithm:
    def get_data(self, packet):
        pass

    def algorithm(self):
        return 4
"""
IDLE = "class MyAlgorithm:\n    def get_data(self, packet): pass\n    def algorithm(self): return 4\n"
MOST_MISSING_RUNS = 2  # of 20, and these must be INVALID
AT = (50, 99, 100)  # percentiles


@dataclass(frozen=True)
class Ran:
    """What became of the bystander in one run."""

    decisions: int
    missed: int
    waited: Sequence[float]  # by decision, as a share of its deadline
    late_ms: float  # of the host, at worst
    valid: bool
    reasons: Sequence[str]


def main() -> None:
    words = argparse.ArgumentParser(prog="python -m benchmarks.starving")
    words.add_argument("--runs", type=int, default=20, help="of each kind (20)")
    words.add_argument("--seconds", type=float, default=8, help="that each takes (8)")
    words.add_argument("--beside", type=int, default=0, help="busy processes that are part of no run (0)")
    asked = words.parse_args()
    print(f"sandbox: {backends.choose()}; {len(os.sched_getaffinity(0))} cores, {asked.beside} busy processes beside")
    with tempfile.TemporaryDirectory(prefix="palestra-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        for bundle, text in {"bystander": BYSTANDER, "hog": HOG, "idle": IDLE}.items():
            file = folder / bundle / "Algorithm" / "MyAlgorithm.py"
            file.parent.mkdir(parents=True)
            file.write_text(text)
        write_sitting(folder / "data", asked.seconds)
        for _ in range(asked.beside):
            stack.enter_context(ending(in_child(be_busy)))
        for beside in ("hog", "idle"):
            _tell(beside, [_run(folder, beside, number) for number in range(asked.runs)])


def _run(folder: Path, beside: str, number: int) -> Ran:
    home = folder / f"{beside}-{number}"
    words = ["play", TRACK, f"bystander={folder}/bystander", f"{beside}={folder / beside}", "--data", folder / "data"]
    command = [sys.executable, "-c", "from palestra.cli.app import main; main()", *map(str, words)]
    played = subprocess.run([*command, "--run", str(home), "--json"], capture_output=True, text=True)
    if not (home / "end.json").is_file():  # it exits with 1 as well where a result does not count
        sys.exit(f"palestra play did not come to its end:\n{played.stderr[-2000:]}")
    result = next(one for one in json.loads(played.stdout) if one["entrant"] == "bystander")
    decisions = [one.decision for one in Recording(home).decisions("bystander")]
    ran = Ran(
        len(decisions),
        sum(one.answered_s is None for one in decisions),
        [one.wait.waited_s / one.deadline_s for one in decisions if one.wait and one.deadline_s],
        max(1000 * one.host_late_s for one in decisions),
        result["valid"],
        result["invalid_because"],
    )
    print(
        f"  [{beside} {number + 1}] load {os.getloadavg()[0]:.1f}: missed {ran.missed} of {ran.decisions}, waited at "
        f"most {max(ran.waited, default=0):.0%} of a deadline, host late at most {ran.late_ms:.1f} ms"
        f"{'; '.join(['', *ran.reasons])}",
        file=sys.stderr,
        flush=True,
    )
    return ran


def _tell(beside: str, runs: Sequence[Ran]) -> None:
    whole = sum(ran.missed == 0 for ran in runs)
    silent = sum(ran.missed > 0 and ran.valid for ran in runs)
    waited = np.concatenate([ran.waited for ran in runs]) if any(ran.waited for ran in runs) else np.zeros(1)
    shares = ", ".join(f"p{at} {share:.0%}" for at, share in zip(AT, np.percentile(waited, AT), strict=True))
    print(f"\nbeside {beside}: {whole} of {len(runs)} runs without a miss; {silent} with a miss and VALID")
    print(f"{sum(not ran.valid for ran in runs)} runs INVALID; waited {shares} of a deadline")
    if beside == "idle":
        _verdict("no run without a hog INVALID", all(ran.valid for ran in runs))
    else:
        most = MOST_MISSING_RUNS * len(runs) // 20
        _verdict(f"at most {most} runs with a miss, and these INVALID", len(runs) - whole <= most and not silent)


def _verdict(asked: str, met: bool) -> None:
    print(f"asked: {asked}: {'PASS' if met else 'FALLS SHORT'}", flush=True)


if __name__ == "__main__":
    main()
