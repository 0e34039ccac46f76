"""Is a submission a copy of another team's? A small fingerprint of each is kept, and two of them are compared.

A fingerprint has the answers to up to 2,000 trials, the same ones for everybody: numbers as they are, of anything else
a hash. Two answers are the same when their numbers differ by less than a hundredth of how far answers spread, so noise
that changes no score hides no copy. Answers that say nothing do not count: a submission's most common one (a
template's constant, everybody's first guess), and those that are in a submission all teams know, as a baseline's.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.records import Track
from palestra.scoring import ABOUT, score

SAMPLE = 2000  # trials
TOLERANCE = 0.01  # of the spread, which is from the 10th to the 90th percentile
FEWEST = 20  # answers that count; a share of fewer says nothing
SUSPICIOUS = 0.5  # of the way from what is usual between teams to all the same
FEW_VALUES = 64  # different answers: labels, on which good programs agree without having met
USUAL_OF_LABELS = 0.9  # what two good programs may share of them, where too few teams are there to tell
PAIRS = 10  # of teams, from which on it can be told

Marks = NDArray[np.uint64]
Numbers = NDArray[np.float32]


class Fingerprint(msgspec.Struct, frozen=True):
    """What is kept of a submission's answers."""

    digest: str  # of all of them
    trials: bytes  # a hash of each sampled trial's name, ascending, uint64
    marks: bytes  # of each of them, a hash of what is no fraction, uint64; empty where all is
    numbers: bytes  # of each of them, the fractions, float32
    columns: int  # with fractions
    few_values: bool = False  # whether answers are labels, or their like


class Copy(msgspec.Struct, frozen=True):
    """A submission that another one is too much like."""

    of: str
    share: float
    exact: bool  # all answers are the same, not just those that were compared


def encode(fingerprint: Fingerprint) -> bytes:
    return msgspec.msgpack.encode(fingerprint)


def decode(data: bytes) -> Fingerprint:
    return msgspec.msgpack.decode(data, type=Fingerprint)


def fingerprint(track: Track, answers: pl.DataFrame) -> Fingerprint:
    """Of answers as they were read or heard; trials without one are left out."""
    answers = answers.drop(name for name in ABOUT if name in answers.columns)
    columns = [name for name in answers.columns if name != "trial"]
    given = answers.filter(~pl.all_horizontal(pl.col(name).is_null() for name in columns))
    names = np.array([_hash(name) for name in given["trial"]], np.uint64)
    order = np.argsort(names, kind="stable")[:SAMPLE]
    sample = _plain(track, given[order])
    values = sample.drop("trial")
    fractions = [name for name, kind in values.schema.items() if kind.is_float()]
    others = values.drop(fractions)
    marks = np.array([_hash(repr(row)) for row in others.rows()] if others.width else [], np.uint64)
    return Fingerprint(
        score.digest(track, answers),
        names[order].tobytes(),
        marks.tobytes(),
        values.select(fractions).to_numpy().astype(np.float32).tobytes(),
        len(fractions),
        not fractions and values.n_unique() <= min(FEW_VALUES, values.height / 4),
    )


def compare(a: Fingerprint, b: Fingerprint, known: Sequence[Fingerprint] = ()) -> float:
    """The share of trials with the same answer, of those that count; 0 where too few do.

    One does not count where either submission gives its own most common answer, or one that a known submission gives.
    """
    if a.columns != b.columns:
        return 0.0
    trials, at_a, at_b = np.intersect1d(_trials(a), _trials(b), return_indices=True)
    usual_a, usual_b = _usual(a), _usual(b)
    # The smaller spread: nobody can make others look like himself by answering wildly.
    near = TOLERANCE * np.fmin(_spread(a, ~usual_a), _spread(b, ~usual_b))
    counts = ~(usual_a[at_a] | usual_b[at_b])
    for other in known:
        _, at, at_other = np.intersect1d(trials, _trials(other), return_indices=True)
        counts[at] &= ~(_same(a, at_a[at], other, at_other, near) | _same(b, at_b[at], other, at_other, near))
    if counts.sum() < FEWEST:
        return 0.0
    return float(_same(a, at_a[counts], b, at_b[counts], near).mean())


def baseline(a: Fingerprint, b: Fingerprint, usual: Sequence[float]) -> float:
    """What two teams that never met may share: the median over pairs of teams, once there are enough of them."""
    if len(usual) >= PAIRS:
        return float(median(usual))
    return USUAL_OF_LABELS if a.few_values and b.few_values else 0.0


def suspicious(share: float, baseline: float) -> bool:
    """Whether somebody should look: more than half of the way from what is usual to all answers the same."""
    return share > 0 and share >= baseline + SUSPICIOUS * (1 - baseline)


def find_copies(mine: Fingerprint, others: Mapping[str, Fingerprint], known: Sequence[Fingerprint] = ()) -> list[Copy]:
    """Which of other teams' submissions this one is too much like, the likest first. One of each team is enough."""
    shares = {name: compare(mine, other, known) for name, other in others.items()}
    usual = list(shares.values())
    found = [
        Copy(name, share, mine.digest == others[name].digest)
        for name, share in shares.items()
        if suspicious(share, baseline(mine, others[name], usual))
    ]
    return sorted(found, key=lambda copy: (-copy.share, copy.of))


def _plain(track: Track, sample: pl.DataFrame) -> pl.DataFrame:
    """Answers without references. Masks are written as we write them first: how a team packed them is no difference."""
    if track.content is None:
        return sample
    if track.writes is None or track.files is None or sample.is_empty():
        return track.content(sample)
    with tempfile.TemporaryDirectory(prefix="palestra-") as folder:
        file = Path(folder, f"sample{track.suffix}")
        track.writes(sample, file)
        return track.content(track.files.read(file, sample.select("trial")))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _trials(one: Fingerprint) -> Marks:
    return np.frombuffer(one.trials, np.uint64)


def _marks(one: Fingerprint) -> Marks:
    return np.frombuffer(one.marks or bytes(len(one.trials)), np.uint64)


def _numbers(one: Fingerprint) -> Numbers:
    """One row per sampled trial."""
    return np.frombuffer(one.numbers, np.float32).reshape(len(one.trials) // 8, one.columns)


def _spread(one: Fingerprint, counts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """How far the answers that count lie apart in each column, whatever a few of them say."""
    numbers = _numbers(one)[counts].astype(np.float64)
    if not numbers.size:
        return np.zeros(one.columns)
    low, high = np.percentile(np.nan_to_num(numbers), (10, 90), axis=0)
    return np.asarray(high - low)


def _usual(one: Fingerprint) -> NDArray[np.bool_]:
    """Which trials have the submission's most common answer. None has, if no answer comes twice."""
    answers = np.column_stack((_marks(one), _numbers(one).view(np.uint32).astype(np.uint64)))
    _, which, counts = np.unique(answers, axis=0, return_inverse=True, return_counts=True)
    if counts.max(initial=1) == 1:
        return np.zeros(len(answers), np.bool_)
    return np.asarray(which.ravel() == counts.argmax())


def _same(
    a: Fingerprint, at_a: NDArray[np.int64], b: Fingerprint, at_b: NDArray[np.int64], near: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which of these trials have the same answer in both, within what is near in each column."""
    found_a, found_b = _numbers(a)[at_a], _numbers(b)[at_b]
    close = (np.abs(found_a - found_b) <= near) | (np.isnan(found_a) & np.isnan(found_b))
    return np.asarray(close.all(axis=1) & (_marks(a)[at_a] == _marks(b)[at_b]))
