"""The hidden Markov model of the code: where in it the LEDs are, in each second of a video.

A state is a place in the code, a fraction of a step wide. From one block of frames to the next, the state moves on
through the code as fast as the LEDs step; it may be a little ahead of that, or behind, as clocks differ and frames get
lost, and nothing else is possible. What a block's frames say of each state is summed before, so that ten minutes are
some hundred moves of a few hundred states.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PER_STEP = 4  # states
BLOCK_S = 1.0
AHEAD = {0: -0.2, 1: -2.5, -1: -2.5, 2: -4.5, -2: -4.5}  # states: log-probability
CHUNK = 4096  # frames at once


@dataclass(frozen=True)
class Phase:
    """Where in the code each block is, beside a clock that steps evenly."""

    at_s: Floats  # the middle of each block
    ahead: Floats  # steps, whole rounds unwrapped


def block_scores(codes: Floats, at_s: Floats, rate: float, edges: NDArray[np.int64]) -> Floats:
    """Log-likelihood of each state for the frames of each block; a state is where the code is at time 0."""
    states = codes.shape[1] * PER_STEP
    place = np.arange(states)
    found = np.zeros((len(edges), states))
    block = np.searchsorted(edges, np.arange(len(codes)), side="right") - 1
    for start in range(0, len(codes), CHUNK):
        part = slice(start, start + CHUNK)
        moved = np.floor(rate * at_s[part] * PER_STEP + 0.5).astype(np.int64)
        code = ((place[None, :] + moved[:, None]) // PER_STEP) % codes.shape[1]
        scores = np.take_along_axis(codes[part], code, axis=1)
        first, own = block[part][0], block[part]
        begins = np.flatnonzero(np.diff(own, prepend=-1))
        found[first : first + len(begins)] += np.add.reduceat(scores, begins, axis=0)
    return found


def code_phase(codes: Floats, at_s: Floats, rate: float) -> Phase:
    """The most likely way through the code (Viterbi)."""
    edges = _edges(at_s)
    scores = block_scores(codes, at_s, rate, edges)
    best, came = scores[0], []
    moves = np.array(list(AHEAD))
    costs = np.array(list(AHEAD.values()))[:, None]
    for row in scores[1:]:
        ways = np.stack([np.roll(best, move) for move in moves]) + costs
        chosen = np.argmax(ways, axis=0)
        came.append(moves[chosen])
        best = np.take_along_axis(ways, chosen[None, :], axis=0)[0] + row
    state = int(np.argmax(best))
    ahead = [state]
    for move in reversed(came):
        ahead.append(ahead[-1] - int(move[ahead[-1] % len(best)]))
    middle = np.add.reduceat(at_s, edges) / np.diff(np.append(edges, len(at_s)))
    return Phase(middle, (np.array(ahead[::-1]) + 0.5) / PER_STEP)


def _edges(at_s: Floats) -> NDArray[np.int64]:
    """The first frame of each block."""
    number = np.floor((at_s - at_s[0]) / BLOCK_S)
    return np.flatnonzero(np.diff(number, prepend=-1)).astype(np.int64)
