"""Where an eye looks, from where its pupil is in the picture and five frames that tell how this eye differs.

While a headset is not moved, the place of the pupil tells the gaze to a few tenths of a degree, but for how this eye
sits before this camera. That is a shift of the picture and a little bending, as usual in the training groups: what is
usual, and how far eyes differ from it, is measured there, and five frames then tell what is likely of a new one. In
statistics: a linear mixed model, fitted by expectation and maximisation, and its posterior given five frames.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]

ROUNDS = 12  # of fitting what is usual and how far eyes differ
AGAIN = 6  # times a few frames are gone through
BENDING = 6  # of the terms in which eyes differ: a shift, slopes and what is quadratic
AXES = slice(0, BENDING), slice(BENDING, 2 * BENDING)  # of a covariance of both axes
SHRINKING = 4.0  # eyes' worth of trust that the terms in which eyes differ have nothing to do with each other
TAILS = 4.0  # degrees of freedom of Student's distribution: a misread frame must not count in full
FEW = 3  # frames that can be read, without which nothing is told of an eye
POWERS = 10  # of a place that terms begin with
PENALTY = 10.0  # in frames, on what else than the place tells the point
AT_FIRST = 1e-4  # a variance; points count in distances of their plane
LEAST = 1e-6


@dataclass(frozen=True)
class Frames:
    """Frames of eyes: where the pupil is, what else there is to see, and what tells how clearly."""

    places: Array  # (n, 2)
    extras: Array  # (n, k)
    looks: Array  # (n, m)

    def __getitem__(self, which: Index | NDArray[np.bool_]) -> "Frames":
        return Frames(self.places[which], self.extras[which], self.looks[which])


@dataclass(frozen=True)
class Spread:
    """Values by how far they usually are from their middle."""

    middle: Array
    scale: Array

    @classmethod
    def of(cls, values: Array) -> "Spread":
        return cls(values.mean(axis=0), values.std(axis=0) + 1e-9)

    def __call__(self, values: Array) -> Array:
        return np.asarray((values - self.middle) / self.scale)


@dataclass(frozen=True)
class Doubt:
    """How far off a frame may be, by how it looks: a line for the logarithm of the squared error."""

    spread: Spread
    weights: Array

    def __call__(self, looks: Array) -> Array:
        """Variances (n,)."""
        line = np.clip(self.spread(looks), -3, 3) @ self.weights[1:] + self.weights[0]
        return np.asarray(np.exp(np.clip(line, np.log(LEAST), 0)))


@dataclass(frozen=True)
class Anybody:
    """Where an eye looks of which nothing is known but what frames of others tell."""

    places: Spread  # the middle is where the pupil is of who looks straight ahead, more or less
    extras: Spread
    weights: Array  # (terms, 2)
    doubt: Doubt

    def __call__(self, frames: Frames) -> tuple[Array, Array]:
        """Points (n, 2) and their variances (n, 2)."""
        points = self.terms(frames, self.places.middle) @ self.weights
        return points, np.repeat(self.doubt(frames.looks)[:, None], 2, axis=1)

    def terms(self, frames: Frames, home: Array) -> Array:
        """A constant, the place against its home up to the third power, and the extras."""
        x, y = ((frames.places - home) / self.places.scale).T
        powers = [np.ones_like(x), x, y, x * x, x * y, y * y, x**3, x * x * y, x * y * y, y**3]
        return np.hstack([np.stack(powers, axis=1), np.clip(self.extras(frames.extras), -5, 5)])


@dataclass(frozen=True)
class Usual(Anybody):
    """What eyes have in common that each has a home of its own, for left eyes and for right ones in a mirror."""

    differing: Array  # (2 BENDING, 2 BENDING) covariance of how eyes differ from it


@dataclass(frozen=True)
class Own:
    """What is known of one eye behind one headset as it sits."""

    usual: Usual
    home: Array
    shift: Array  # (BENDING, 2), most likely
    doubt: Array  # (2 BENDING, 2 BENDING) covariance of that

    def __call__(self, frames: Frames) -> tuple[Array, Array]:
        """Points (n, 2) and their variances (n, 2)."""
        terms = self.usual.terms(frames, self.home)
        bent = terms[:, :BENDING]
        doubt = [np.einsum("ni,ij,nj->n", bent, self.doubt[axis, axis], bent) for axis in AXES]
        points = terms @ self.usual.weights + bent @ self.shift
        return points, np.stack(doubt, axis=1) + self.usual.doubt(frames.looks)[:, None]


def fit_anybody(frames: Frames, points: Array) -> Anybody:
    """From training frames of anybody and their points."""
    blank = Anybody(Spread.of(frames.places), Spread.of(frames.extras), np.zeros((0, 2)), _even(frames))
    terms = blank.terms(frames, blank.places.middle)
    weights = _ridge(terms, points)
    return replace(blank, weights=weights, doubt=fit_doubt(frames.looks, points - terms @ weights))


def fit_usual(frames: Frames, points: Array, eyes: Index) -> Usual:
    """From training frames, their points and which eye behind which sitting headset (0, 1, …) each is of."""
    members = [np.flatnonzero(eyes == eye) for eye in range(eyes.max() + 1)]
    homes = np.array([frames.places[mine].mean(axis=0) for mine in members])
    within = Spread.of(frames.places - homes[eyes])
    none = np.zeros((2 * BENDING, 2 * BENDING))
    usual = Usual(within, Spread.of(frames.extras), np.zeros((0, 2)), _even(frames), none)
    for _ in range(ROUNDS):
        terms = usual.terms(frames, homes[eyes])
        usual = replace(usual, weights=_ridge(terms, points))
        off = points - terms @ usual.weights
        homes = homes - _moved(usual, np.array([off[mine].mean(axis=0) for mine in members]))
    return _with_differences(usual, frames, points, members)


def _with_differences(usual: Usual, frames: Frames, points: Array, members: list[Index]) -> Usual:
    """Expectation and maximisation: how each eye differs, then how far eyes differ and what they have in common."""
    homes = np.zeros_like(points)
    for mine in members:
        homes[mine] = home_of(usual, frames[mine], points[mine])
    terms = usual.terms(frames, homes)
    bent = terms[:, :BENDING]
    differing = np.eye(2 * BENDING) * float(np.var(points - terms @ usual.weights))
    for _ in range(ROUNDS):
        off, trust = points - terms @ usual.weights, 1 / usual.doubt(frames.looks)
        second, expected = np.zeros_like(differing), np.zeros_like(points)
        for mine in members:
            shift, rest = _posterior(bent[mine], off[mine], trust[mine], differing)
            second += np.outer(_flat(shift), _flat(shift)) + rest
            expected[mine] = bent[mine] @ shift
        differing = second / len(members)
        share = SHRINKING / (len(members) + SHRINKING)
        differing = (1 - share) * differing + share * np.diag(np.diag(differing))
        weights = _ridge(terms, points - expected, trust / trust.mean())
        doubt = fit_doubt(frames.looks, points - expected - terms @ weights)
        usual = replace(usual, weights=weights, doubt=doubt, differing=differing)
    return usual


def fit_own(usual: Usual, frames: Frames, points: Array) -> Own | None:
    """An eye by a few frames; None where too few of them could be read."""
    if len(points) < FEW:
        return None
    home = home_of(usual, frames, points)
    terms, variance = usual.terms(frames, home), usual.doubt(frames.looks)
    bent, off, trust = terms[:, :BENDING], points - terms @ usual.weights, 1 / variance
    for _ in range(AGAIN):
        shift, doubt = _posterior(bent, off, trust, usual.differing)
        left = ((off - bent @ shift) ** 2).mean(axis=1) / variance
        trust = (TAILS + 1) / (TAILS + left) / variance
    return Own(usual, home, shift, doubt)


def home_of(usual: Usual, frames: Frames, points: Array) -> Array:
    """Where the pupil of this eye would be if it looked straight ahead, by what is usual."""
    home = frames.places.mean(axis=0)
    for _ in range(AGAIN):
        off = points - usual.terms(frames, home) @ usual.weights
        home = home - _moved(usual, np.median(off, axis=0))
    return np.asarray(home)


def fit_doubt(looks: Array, off: Array) -> Doubt:
    """From what was left unexplained, per axis, of training frames."""
    squared, spread = (off**2).mean(axis=1), Spread.of(looks)
    design = np.hstack([np.ones((len(looks), 1)), np.clip(spread(looks), -3, 3)])
    weights = np.linalg.lstsq(design, np.log(squared + LEAST), rcond=None)[0]
    # A line through logarithms is too low for what they are the logarithms of; without the wildest, that is.
    ratio = squared / np.exp(design @ weights)
    weights[0] += np.log(np.mean(np.minimum(ratio, np.quantile(ratio, 0.97))))
    return Doubt(spread, weights)


def _even(frames: Frames) -> Doubt:
    kinds = frames.looks.shape[1]
    return Doubt(Spread(np.zeros(kinds), np.ones(kinds)), np.append(np.log(AT_FIRST), np.zeros(kinds)))


def _posterior(bent: Array, off: Array, trust: Array, differing: Array) -> tuple[Array, Array]:
    """How an eye differs, (BENDING, 2) and its covariance, by what was left unexplained of some frames of it."""
    inner = np.kron(np.eye(2), bent.T @ (trust[:, None] * bent))
    covariance = np.linalg.inv(np.linalg.inv(differing + 1e-12 * np.eye(len(differing))) + inner)
    shift = covariance @ _flat(bent.T @ (trust[:, None] * off))
    return shift.reshape(2, BENDING).T, covariance


def _flat(shift: Array) -> Array:
    return np.asarray(shift.T.ravel())


def _moved(usual: Usual, off: Array) -> Array:
    """How far homes (…, 2) are off where points are off by so much."""
    return np.asarray(off @ np.linalg.inv(usual.weights[1:3]) * usual.places.scale)


def _ridge(terms: Array, values: Array, trust: Array | None = None) -> Array:
    weighed = terms if trust is None else trust[:, None] * terms
    pull = np.full(terms.shape[1], PENALTY)
    pull[:POWERS] = 1e-3 * PENALTY
    pull[0] = 0
    return np.asarray(np.linalg.solve(weighed.T @ terms + np.diag(pull), weighed.T @ values))
