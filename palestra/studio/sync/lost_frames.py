"""Frames that are missing without a trace: a hidden Markov model of how many were lost before each frame.

A camera or a program that loses frames may write the rest as if nothing had happened: all later times are then too
early. The LEDs do not wait, so that they seem to jump ahead by a frame. The state is how many frames are missing so
far; it stays, or grows by a few, or seldom shrinks, where a frame was written twice.
"""

import numpy as np
from numpy.typing import NDArray

from palestra.studio.sync.code_phase import Phase

Floats = NDArray[np.float64]
MOVES = {0: 0.0, 1: -7.0, 2: -8.0, 3: -8.5, 4: -9.0, -1: -9.0}  # frames lost before a frame: log-probability
CHUNK = 4096
PARTS = 12  # of a frame
ABOUT = 5  # frames to both sides of where a block seems to be
SLOWER, FASTER = -0.015, 0.004  # of the rate: lost frames make LEDs look faster, never slower
FINE = 0.2  # frames from a clock to the next one that is tried, at the end of the recording


def lost_before(
    codes: Floats, place: Floats, per_frame: float, span: tuple[int, int]
) -> tuple[NDArray[np.int64], float]:
    """How many frames are missing before each frame (Viterbi), and the log-likelihood of that.

    `place` is where the code would be in each frame if none were missing, `per_frame` how far it moves in a frame.
    """
    count = span[1] - span[0] + 1
    scores = _scores(codes, place[:, None] + per_frame * np.arange(span[0], span[1] + 1)[None, :])
    moves = np.array(list(MOVES))
    margin = int(np.abs(moves).max())
    costs = np.array(list(MOVES.values()))[:, None]
    sources = np.arange(count)[None, :] + margin - moves[:, None]
    padded = np.full(count + 2 * margin, -np.inf)
    inner, columns = slice(margin, margin + count), np.arange(count)
    padded[inner] = scores[0]
    came = np.zeros(scores.shape, np.int8)
    for number in range(1, len(scores)):
        ways = padded[sources]
        ways += costs
        chosen = ways.argmax(axis=0)
        came[number] = chosen
        padded[inner] = ways[chosen, columns] + scores[number]
    state = int(np.argmax(padded[inner]))
    lost = np.zeros(len(scores), np.int64)
    for number in range(len(scores) - 1, -1, -1):
        lost[number] = state
        state -= int(moves[came[number, state]])
    return lost + span[0], float(padded.max())


def clock_beside_losses(codes: Floats, at_s: Floats, rate: float, phase: Phase, period_s: float) -> tuple[float, float]:
    """The LEDs' place at time 0, up to whole frames, and their rate, whatever was lost.

    What is lost is whole frames: the place within a frame goes on evenly. So each block's likelihoods are folded to one
    frame, and the clock is the line, wrapped around a frame, that goes through the highest of them.
    """
    per_frame = rate * period_s
    edges = np.searchsorted(at_s, phase.at_s[:-1] + np.diff(phase.at_s) / 2)
    edges = np.unique(np.concatenate([[0], edges]))
    block = np.searchsorted(edges, np.arange(len(at_s)), side="right") - 1
    seen = np.rint(phase.ahead / per_frame)[block]
    folded = np.full((len(edges), PARTS), -np.inf)
    for part in range(PARTS):
        for whole in range(-ABOUT, ABOUT + 1):
            place = rate * at_s + (seen + whole + part / PARTS) * per_frame
            scores = _scores(codes, place[:, None])[:, 0]
            folded[:, part] = np.logaddexp(folded[:, part], np.add.reduceat(scores, edges))
    length_s = float(at_s[-1] - at_s[0])
    middle_s = np.add.reduceat(at_s, edges) / np.diff(np.append(edges, len(at_s)))
    steepest = np.polyfit(phase.at_s, phase.ahead, 1)[0]
    slopes = np.arange(steepest + SLOWER * rate, steepest + FASTER * rate, FINE * per_frame / length_s)
    rows, parts = np.arange(len(edges))[:, None], np.arange(PARTS)[None, :]
    best = (-np.inf, 0.0, 0)
    for slope in slopes:
        turned = np.rint(PARTS * slope * middle_s / per_frame).astype(np.int64)
        total = folded[rows, (turned[:, None] + parts) % PARTS].sum(axis=0)
        part = int(np.argmax(total))
        if total[part] > best[0]:
            best = float(total[part]), float(slope), part
    return best[2] / PARTS * per_frame, rate + best[1]


def _scores(codes: Floats, place: Floats) -> Floats:
    found = np.empty(place.shape)
    for start in range(0, len(codes), CHUNK):
        part = slice(start, start + CHUNK)
        code = np.floor(place[part]).astype(np.int64) % codes.shape[1]
        found[part] = np.take_along_axis(codes[part], code, axis=1)
    return found
