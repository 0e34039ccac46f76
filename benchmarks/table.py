"""What the table costs: its physics, its cameras, the same pick in pybullet; and how soon a referee's mark is seen.

python -m benchmarks.table [--quick] [--only NAME ...]
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from palestra.tracks.tabletop.simulator import arm
from palestra.tracks.tabletop.simulator.case_generator import draw_case
from palestra.tracks.tabletop.simulator.engine import mujoco
from palestra.tracks.tabletop.simulator.objects import Scene, Thing
from palestra.tracks.tabletop.simulator.table import PERIOD_S, SUBSTEPS, Table, settle
from palestra.tracks.tabletop.solutions.motions import Arm, choose_grasp

EDGE, PLACE = 0.04, (0.05, 0.12)
LIFTED_M = 0.05


@dataclass(frozen=True)
class Counts:
    rounds: int = 3
    periods: int = 1200  # a minute of the table's time
    looks: int = 200
    marks: int = 300


QUICK = Counts(1, 60, 5, 10)


def main() -> None:
    claims: dict[str, Callable[[Counts], None]] = {
        "physics": physics, "cameras": cameras, "bullet": bullet, "marks": marks,
    }  # fmt: skip
    words = argparse.ArgumentParser(prog="python -m benchmarks.table")
    words.add_argument("--quick", action="store_true", help="tiny counts: that it works, and no numbers to believe")
    words.add_argument("--only", nargs="*", choices=claims, default=list(claims))
    given = words.parse_args()
    for name in given.only:
        print(f"\n{name}: {claims[name].__doc__}")
        claims[name](QUICK if given.quick else Counts())


def physics(counts: Counts) -> None:
    """A case of the longest kind, while the arm picks: our steps beside MuJoCo's own rate on the same model."""
    scene = draw_case(0, True, "long", 1).scene
    actions = _pick(scene, scene.things[0].id, counts.periods)
    ours, bare = [], []
    for _ in range(counts.rounds):
        table = Table(scene)
        started = time.perf_counter()
        for action in actions:
            table.step(action)
        ours.append(len(actions) * SUBSTEPS / (time.perf_counter() - started))
        table.reset()
        started = time.perf_counter()
        mujoco.mj_step(table.model, table.data, nstep=len(actions) * SUBSTEPS)
        bare.append(len(actions) * SUBSTEPS / (time.perf_counter() - started))
        table.close()
    _say("steps a second, on one core", f"{np.median(ours):,.0f}", "at least 20,000", np.median(ours) >= 20_000)
    print(f"   MuJoCo alone, the arm at rest: {np.median(bare):,.0f}; ratio {np.median(ours) / np.median(bare):.2f}×")


def cameras(counts: Counts) -> None:
    """The closed loop: three cameras, colour and depth at 256 × 256, then a period of the physics."""
    scene = draw_case(0, True, "long", 1).scene
    actions = _pick(scene, scene.things[0].id, counts.looks)
    table = Table(scene)
    table.observe()
    started = time.perf_counter()
    for action in actions:
        table.observe()
        table.step(action)
    seconds = time.perf_counter() - started
    table.close()
    ratio = len(actions) * PERIOD_S / seconds
    print(f"   {1000 * seconds / len(actions):.1f} ms a period of {1000 * PERIOD_S:.0f} ms")
    _say("of real time", f"{ratio:.1f}×", "at least 2×", ratio >= 2)


def bullet(counts: Counts) -> None:
    """The same pick, the same joint angles and the same time step in MuJoCo and in pybullet."""
    try:
        from benchmarks import table_bullet
    except ImportError:
        print("   pybullet is not installed: `pip install pybullet`, and run again.")
        return
    scene = settle(Scene((Thing("block", "block", "red", (EDGE,), PLACE),), arm.HOME))
    actions = _pick(scene, "block", 0)
    took, theirs = [], []
    for _ in range(counts.rounds):
        table = Table(scene)
        started = time.perf_counter()
        for action in actions:
            table.step(action)
        took.append(time.perf_counter() - started)
        height = float(table.pose_of("block")[2, 3]) + EDGE / 2
        table.close()
        seconds, their_height = table_bullet.pick(actions, EDGE, PLACE, SUBSTEPS)
        theirs.append(seconds)
    ours_s, theirs_s = float(np.median(took)), float(np.median(theirs))
    simulated_s = len(actions) * PERIOD_S
    print(f"   MuJoCo here: {simulated_s / ours_s:.0f}× real time, the block is {_where(height)}")
    print(f"   pybullet:    {simulated_s / theirs_s:.0f}× real time, the block is {_where(their_height)}")
    print(f"   ratio: {theirs_s / ours_s:.2f}× as fast as pybullet")


def marks(counts: Counts) -> None:
    """A referee marks a sub-goal on a served match; the hall's screen and the head referee's page are told of it."""
    from benchmarks import table_marks

    found = table_marks.measure(counts.marks)
    bare_ms = float(np.median(found.bare_ms))
    print(f"   a bare round trip on loopback, as many bytes: {bare_ms:.2f} ms")
    for screen, took in found.seen_ms.items():
        median, p95, worst = (float(np.percentile(took, share)) for share in (50, 95, 100))
        times = f"median {median:.1f} ms, p95 {p95:.1f} ms, worst {worst:.1f} ms"
        print(f"   {screen}: {times}; {median / bare_ms:.0f} bare round trips")
        _say(f"{len(took)} marks on {screen}", f"{p95:.1f} ms (p95)", "under 100 ms", p95 < 100)


def _where(height: float) -> str:
    return f"{'lifted' if height > LIFTED_M else 'NOT lifted'} ({100 * height:.1f} cm)"


def _pick(scene: Scene, thing: str, least: int) -> list[NDArray[np.float64]]:
    """Actions that take a thing and lift it, then hold it, for so many periods at least."""
    table = Table(scene)
    what = next(each for each in scene.things if each.id == thing)
    moves = Arm(table.target)
    actions = list(moves.take(choose_grasp(what, table.pose_of(thing), [])))
    table.close()
    return [*actions, *(actions[-1] for _ in range(least - len(actions)))]


def _say(what: str, found: str, asked: str, met: bool) -> None:
    print(f"   {what}: {found}   (asked: {asked}; {'met' if met else 'NOT met'})")


if __name__ == "__main__":
    main()
