"""Looks at what each program of a real-time run gets of the processors, decision by decision."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from palestra.entrants import Program
from palestra.live.stream import Decision
from palestra.live.waiting import Wait
from palestra.sandbox.launch import free_cores

STAT = Path("/proc/stat")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
IDLE_COLUMNS = slice(3, 5)  # idle, and idle while waiting for a disk


@dataclass(frozen=True)
class _Look:
    """All counters at one moment."""

    at_s: float
    idle_s: float
    own_s: float  # used by ourselves
    programs: Mapping[str, tuple[float, float]]  # used, waited


class ProcessorWatch:
    """Knows what happened since the decision before. Whoever runs on another machine is not looked at."""

    def __init__(self, programs: Mapping[str, Program]) -> None:
        self._programs = programs
        self._cores = free_cores() or sorted(os.sched_getaffinity(0))
        self._newest = self._look()
        self._since: dict[str, tuple[_Look, int]] = {}  # by trial, with how many have not decided

    def sent(self, trial: str) -> None:
        """A decision is asked: it is counted from the one before, over which an entrant may still have been busy."""
        self._since[trial] = (self._newest, len(self._programs))
        self._newest = self._look()

    def decided(self, decision: Decision) -> Decision:
        """The decision with what its entrant got, and after a miss what the others did."""
        program, (since, left) = self._programs.get(decision.entrant), self._since.get(decision.trial, (None, 0))
        if program is None or since is None:
            return decision
        self._since[decision.trial] = (since, left - 1)
        if left <= 1:
            del self._since[decision.trial]
        missed = decision.answered_s is None and decision.deadline_s is not None
        return msgspec.structs.replace(decision, wait=self._wait(decision.entrant, since, missed))

    def _wait(self, name: str, since: _Look, missed: bool) -> Wait:
        if not missed:
            used_s, waited_s = _grown(self._programs[name].processor_times(), since.programs[name])
            return Wait(time.monotonic() - since.at_s, waited_s, used_s)
        now = self._look()
        grown = {one: _grown(now.programs[one], since.programs[one]) for one in now.programs}
        (used_s, waited_s), window_s = grown.pop(name), now.at_s - since.at_s
        others, idle_s = {one: used for one, (used, _) in grown.items()}, now.idle_s - since.idle_s
        ours_s = now.own_s - since.own_s + used_s + sum(others.values())
        outside_s = max(len(self._cores) * window_s - idle_s - ours_s, 0.0)
        return Wait(window_s, waited_s, used_s, len(self._cores), idle_s, outside_s, others)

    def _look(self) -> _Look:
        programs = {name: program.processor_times() for name, program in self._programs.items()}
        return _Look(time.monotonic(), _idle_s(self._cores), time.process_time(), programs)


def _grown(now: tuple[float, float], before: tuple[float, float]) -> tuple[float, float]:
    """A program that was started again counts from 0."""
    return max(now[0] - before[0], 0.0), max(now[1] - before[1], 0.0)


def _idle_s(cores: list[int]) -> float:
    """How long these cores have stood idle, in all."""
    names, idle = {f"cpu{core}" for core in cores}, 0
    for line in STAT.read_text().splitlines()[1:]:
        name, *counts = line.split()
        if not name.startswith("cpu"):
            break
        if name in names:
            idle += sum(map(int, counts[IDLE_COLUMNS]))
    return idle * TICK_S
