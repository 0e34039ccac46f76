"""Exact order statistics, without interpolation: the value at position ceil(p·n) of the ascending values.

The share p is exact: 0.95 means 95/100, so that of 20 values P95 is the 19th, whatever 0.95·20 is in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palestra.parallel import usable_cores

Floats = NDArray[np.float64]
Share = float | str | Decimal | Fraction

CHUNK_VALUES = 65_536  # half a megabyte: each chunk is looked at several times while it is in the cache
BLOCK_VALUES = 1 << 20  # what a thread takes at a time
DIRECT_VALUES = 200_000  # up to here np.partition is as fast as anything
DIRECT_SHARES = 8  # beyond this many positions, too
SAMPLE_VALUES = 65_536
SAMPLE_SIGMAS = 4.0  # a bracket misses its position once in some ten thousand times; then np.partition finds it
GATHERED_WEIGHTS = 1 << 20


def at_shares(values: ArrayLike, shares: Sequence[Share]) -> Floats:
    """The value at each share (0 < p ≤ 1) of the ascending values; NaN among the values is refused."""
    flat = np.asarray(values, dtype=np.float64).reshape(-1)
    if not len(flat):
        raise ValueError("expected at least one value, found none")
    positions = [position(share, len(flat)) for share in shares]
    if len(flat) <= DIRECT_VALUES or len(set(positions)) > DIRECT_SHARES:
        return _partitioned(flat, positions)
    return _bracketed(flat, positions)


def weighted_at_shares(values: ArrayLike, unit_of: ArrayLike, weights: ArrayLike, shares: Sequence[Share]) -> Floats:
    """at_shares of every resample at once, (R, shares): row i counts weights[r, unit_of[i]] times in resample r.

    `weights` (R, U) are whole numbers. NaN for a resample that draws no row.
    """
    blocks = _sorted_blocks(np.asarray(values, dtype=np.float64), np.asarray(unit_of), np.asarray(weights, np.float64))
    columns = [blocks.at(_positions(share, blocks.cumulative[:, -1])) for share in shares]
    return np.stack(columns, axis=1) if columns else np.empty((len(blocks.weights), 0))


def position(share: Share, count: int) -> int:
    """ceil(share·count), exact: the 1-based position among `count` ascending values."""
    exact = _exact(share)
    return -(-exact.numerator * count // exact.denominator)


def _exact(share: Share) -> Fraction:
    exact = Fraction(str(share))  # the decimal that was written, not its nearest binary number
    if not 0 < exact <= 1:
        raise ValueError(f"expected a share above 0 and at most 1, found {share}")
    return exact


def _partitioned(values: Floats, positions: Sequence[int]) -> Floats:
    if np.isnan(values).any():
        raise ValueError("expected numbers, found NaN among the values")
    indices = np.array(positions, dtype=np.intp) - 1
    if not len(indices):
        return np.empty(0)
    found: Floats = np.partition(values, np.unique(indices))[indices]
    return found


@dataclass(slots=True)
class _Bracket:
    """Two values that very likely enclose the one at `position`, and what a pass over all values finds."""

    position: int
    low: float
    high: float
    below: int = 0  # how many values are below `low`
    inside: int = 0  # how many are from `low` to `high`
    kept: list[Floats] = field(default_factory=list)  # those, unless low == high says what they are

    def look_at(self, chunk: Floats, at_least: NDArray[np.bool_], at_most: NDArray[np.bool_]) -> None:
        np.greater_equal(chunk, self.low, out=at_least)
        np.less_equal(chunk, self.high, out=at_most)
        not_below, not_above = int(np.count_nonzero(at_least)), int(np.count_nonzero(at_most))
        inside = not_below + not_above - len(chunk)  # each number is at least one of the two; NaN is neither
        np.logical_and(at_least, at_most, out=at_least)
        if np.count_nonzero(at_least) != inside:
            raise ValueError("expected numbers, found NaN among the values")
        self.below += len(chunk) - not_below
        self.inside += inside
        if inside and self.low < self.high:
            self.kept.append(chunk.compress(at_least))

    def add(self, other: _Bracket) -> None:
        """What was found in other values for the same bracket."""
        self.below += other.below
        self.inside += other.inside
        self.kept += other.kept

    def value(self, values: Floats) -> float:
        if not self.below < self.position <= self.below + self.inside:
            return float(_partitioned(values, [self.position])[0])
        if self.low == self.high:
            return self.low
        return float(_partitioned(np.concatenate(self.kept), [self.position - self.below])[0])


def _bracketed(values: Floats, positions: Sequence[int]) -> Floats:
    """One pass: a sorted sample brackets each position, and only the values inside a bracket are kept and ordered."""
    drawn = np.random.default_rng(0).integers(len(values), size=SAMPLE_VALUES)  # random, so no period can mislead it
    sample = values[drawn]
    brackets = [_bracket(sample, place, len(values)) for place in dict.fromkeys(positions)]
    blocks = (values[start : start + BLOCK_VALUES] for start in range(0, len(values), BLOCK_VALUES))
    with ThreadPoolExecutor(usable_cores()) as pool:
        for found in pool.map(lambda block: _looked_at(block, brackets), blocks):
            for bracket, part in zip(brackets, found, strict=True):
                bracket.add(part)
    known = {bracket.position: bracket.value(values) for bracket in brackets}
    return np.array([known[place] for place in positions])


def _looked_at(block: Floats, brackets: Sequence[_Bracket]) -> list[_Bracket]:
    """What a block of the values has of each bracket."""
    found = [_Bracket(one.position, one.low, one.high) for one in brackets]
    at_least, at_most = np.empty(CHUNK_VALUES, dtype=bool), np.empty(CHUNK_VALUES, dtype=bool)
    for start in range(0, len(block), CHUNK_VALUES):
        chunk = block[start : start + CHUNK_VALUES]
        for bracket in found:
            bracket.look_at(chunk, at_least[: len(chunk)], at_most[: len(chunk)])
    return found


def _bracket(sample: Floats, place: int, count: int) -> _Bracket:
    share = place / count
    centre, spread = share * len(sample), SAMPLE_SIGMAS * math.sqrt(len(sample) * share * (1 - share)) + 2
    first, last = max(0, math.floor(centre - spread)), min(len(sample) - 1, math.ceil(centre + spread))
    ends = _partitioned(sample, [first + 1, last + 1])
    # At the ends of the sample the values go on beyond it.
    low = float(ends[0]) if first > 0 else -math.inf
    high = float(ends[1]) if last < len(sample) - 1 else math.inf
    return _Bracket(place, low, high)


@dataclass(frozen=True, slots=True)
class _SortedBlocks:
    """Sorted rows cut into blocks: cumulative weights find the block, the rows in it find the value."""

    values: Floats  # ascending
    units: NDArray[np.intp]  # (blocks, rows of a block); U where the last block is filled up
    weights: Floats  # (R, U + 1); the last column, of the filling, is 0
    cumulative: Floats  # (R, blocks): weight up to the end of each block

    def at(self, positions: Floats) -> Floats:
        """The value at each resample's position."""
        step = max(1, GATHERED_WEIGHTS // self.units.shape[1])
        starts = range(0, len(positions), step)
        parts = [self._at(slice(start, start + step), positions[start : start + step]) for start in starts]
        return np.concatenate(parts) if parts else np.empty(0)

    def _at(self, resamples: slice, positions: Floats) -> Floats:
        cumulative, weights = self.cumulative[resamples], self.weights[resamples]
        empty = positions == 0
        resample = np.arange(len(positions))
        block = np.count_nonzero(cumulative < positions[:, None], axis=1)
        before = np.where(block > 0, cumulative[resample, block - 1], 0.0)
        inside = np.cumsum(weights[resample[:, None], self.units[block]], axis=1)
        row = np.count_nonzero(inside < (positions - before)[:, None], axis=1)
        place = np.where(empty, 0, block * self.units.shape[1] + row)
        return np.where(empty, np.nan, self.values[place])


def _sorted_blocks(values: Floats, unit_of: NDArray[np.generic], weights: Floats) -> _SortedBlocks:
    if values.ndim != 1 or not len(values) or unit_of.shape != values.shape or np.isnan(values).any():
        raise ValueError(f"expected rows of numbers, each with its unit, found {values.shape} and {unit_of.shape}")
    if weights.ndim != 2 or (weights < 0).any() or (weights != np.floor(weights)).any():
        raise ValueError("expected weights of shape (resamples, units) that are whole numbers, 0 or more")
    units = weights.shape[1]
    if unit_of.min() < 0 or unit_of.max() >= units:
        raise ValueError(f"expected units from 0 to {units - 1}, found {unit_of.min()} to {unit_of.max()}")
    order = np.argsort(values)
    rows = math.isqrt(len(values) - 1) + 1  # as many blocks as rows in a block: both searches cost the same
    blocks = -(-len(values) // rows)
    filled = np.full(blocks * rows, units, dtype=np.intp)
    filled[: len(values)] = unit_of[order]
    cell = np.repeat(np.arange(blocks), rows) * (units + 1) + filled
    counts = np.bincount(cell, minlength=blocks * (units + 1)).reshape(blocks, units + 1)
    padded = np.pad(weights, ((0, 0), (0, 1)))
    # Whole numbers far below 2**53: the sums are exact in float64, and the product runs in BLAS.
    cumulative = padded @ np.cumsum(counts, axis=0, dtype=np.float64).T
    return _SortedBlocks(values[order], filled.reshape(blocks, rows), padded, cumulative)


def _positions(share: Share, totals: Floats) -> Floats:
    exact = _exact(share)
    # Python's integers: a share with many decimals times a large total would overflow int64.
    return np.array([-(-exact.numerator * int(total) // exact.denominator) for total in totals], dtype=np.float64)
