"""Fit how certain each quantity of `palestra annotate` is, and look whether that is true of other strangers.

    nice python -m train.certainty [--work build/certainty] [--pictures 1200]

Pictures of drawn strangers are read, and each quantity is right or not, as RIGHT says. A logistic function of the
checks, in which no check may speak for what is worse, is brought to frequencies by isotonic regression. Other strangers
tell how far off the certainties are: the reliability diagram of docs/annotate.md. Readings are kept in --work until
the network, the reading code or the pictures change.
"""

import argparse
import hashlib
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from palestra import console, model_cards
from palestra.eyes.reader import certainty
from palestra.eyes.reader.certainty import FEATURES, IGNORED, QUANTITIES, SURE, hinged, shares_of
from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.network import NAME
from palestra.eyes.reader.read_eye import Reading, estimate
from palestra.eyes.reader.settings import Settings
from palestra.metrics.angles import to_vectors
from palestra.parallel import workers
from train.eye_pictures import Drawn, picture

LEARNT, TRIED = 5, 6  # first numbers of strangers: to fit on, and to look at
LEAST_MIOU = 0.8
PUPIL_OFF, PUPIL_LONGER = 0.04, 0.15  # of the iris's width, its middle; of itself, its long axis
IRIS_OFF, IRIS_LONGER = 0.05, 0.10
LEAST_PX = 1.5  # nobody asks for less, however small the picture is
MOST_AXIS_DEG = 12.0
GROSS = 3.0  # times what a quantity may be off, where it is not only inexact but wrong
BINS = 10
FIGURE = Path("docs/images/annotate-certainty.svg")
Floats = NDArray[np.float64]
# Of a reading: mIoU, how far off in units of what is allowed pupil and iris are, and the axis in degrees.
MEASURES = ("miou", "pupil", "iris", "axis_deg")


def measured(reading: Reading, truth: Drawn) -> list[float]:
    """What is not there, or should not be, is as wrong as can be."""
    if truth.mask is None or truth.pupil is None or truth.iris is None or reading.pupil is None or reading.iris is None:
        return [0.0, np.inf, np.inf, 180.0]
    wide = truth.iris.long
    return [
        miou(reading.mask, truth.mask),
        _off(reading.pupil, truth.pupil, PUPIL_OFF * wide, PUPIL_LONGER),
        _off(reading.iris, truth.iris, IRIS_OFF * wide, IRIS_LONGER),
        axis_off_deg(reading, truth),
    ]


def right(measures: Floats) -> NDArray[np.bool_]:
    """(n, quantities) of (n, measures)."""
    overlap, pupil, iris, axis = measures.T
    return np.stack([overlap >= LEAST_MIOU, pupil <= 1, iris <= 1, axis <= MOST_AXIS_DEG], axis=1)


def gross(measures: Floats) -> NDArray[np.bool_]:
    """Not only beyond what is allowed, but far beyond."""
    overlap, pupil, iris, axis = measures.T
    return np.stack([overlap < 0.5, pupil > GROSS, iris > GROSS, axis > GROSS * MOST_AXIS_DEG], axis=1)


def miou(found: NDArray[np.uint8], true: NDArray[np.uint8]) -> float:
    shared = [(found == number) & (true == number) for number in range(4)]
    either = [(found == number) | (true == number) for number in range(4)]
    there = [number for number in range(4) if either[number].any()]
    return float(np.mean([shared[number].sum() / either[number].sum() for number in there]))


def _off(found: Ellipse, true: Ellipse, most_px: float, most_longer: float) -> float:
    middle = float(np.hypot(found.x - true.x, found.y - true.y)) / max(most_px, LEAST_PX)
    return max(middle, abs(found.long - true.long) / max(most_longer * true.long, LEAST_PX))


def axis_off_deg(reading: Reading, truth: Drawn) -> float:
    assert reading.gaze_deg and truth.axis_deg
    a, b = to_vectors(*reading.gaze_deg), to_vectors(*truth.axis_deg)
    return float(np.degrees(np.arccos(np.clip(a @ b, -1, 1))))


# ── Readings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def judged(number: tuple[int, int]) -> tuple[list[float], list[float]] | None:
    """Shares of the checks and how right it was; nothing where no eye was read, which is never sure."""
    truth = picture(*number)
    reading = estimate(truth.image, Settings(upside_down=False))
    if not reading.checks:
        return None
    shares = shares_of(reading.checks)
    return [shares.get(name, 1.0) for name in FEATURES], measured(reading, truth)


def readings(group: int, count: int, work: Path) -> tuple[Floats, Floats]:
    """(n, checks) shares and (n, measures)."""
    kept = work / f"{group}-{count}-{_state()}.npz"
    if not kept.is_file():
        work.mkdir(parents=True, exist_ok=True)
        found = []
        with ProcessPoolExecutor(workers()) as pool, console.progress("reading strangers", count) as advance:
            for one in pool.map(judged, [(group, number) for number in range(count)], chunksize=4):
                found.append(one)
                advance(1)
        there = [one for one in found if one]
        np.savez(kept, shares=np.array([one[0] for one in there]), measures=np.array([one[1] for one in there]))
    with np.load(kept) as file:
        return file["shares"], file["measures"]


def _state() -> str:
    """Of all that readings come from."""
    here = Path(certainty.__file__).parent
    files = [model_cards.path(NAME), Path("train/eye_pictures.py"), Path(__file__), *sorted(here.glob("*.py"))]
    files = [file for file in files if file.name not in ("certainty.py", "torch_network.py", "correction.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


# ── The fit ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def fitted(quantity: str, shares: Floats, hits: NDArray[np.bool_]) -> dict[str, Any]:
    """Weights that are 0 or more, a bias, and the curve from what they say to how often that is right."""
    names = [name for name in FEATURES if name not in IGNORED[quantity]]
    columns = [FEATURES.index(name) for name in names]
    design = np.array([[part for share in row[columns] for part in hinged(share)] for row in shares])
    weights = _logistic(design, hits)
    folds = np.arange(len(hits)) % 5
    raw = np.zeros(len(hits))
    for fold in range(5):  # the curve is of rows that the weights did not learn from
        out = folds == fold
        raw[out] = _says(design[out], _logistic(design[~out], hits[~out]))
    knots, told = _isotonic(raw, hits)
    each = weights[1:].reshape(len(names), -1)
    return {
        "bias": round(float(weights[0]), 4),
        "weights": {
            name: [round(float(w), 4) for w in row] for name, row in zip(names, each, strict=True) if row.any()
        },
        "raw": [round(float(value), 5) for value in knots],
        "told": [round(float(value), 5) for value in told],
    }


def _says(design: Floats, weights: Floats) -> Floats:
    return 1 / (1 + np.exp(-(weights[0] + design @ weights[1:])))


def _logistic(design: Floats, hits: NDArray[np.bool_], ridge: float = 0.0002) -> Floats:
    signs = np.where(hits, 1.0, -1.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margin = signs * (weights[0] + design @ weights[1:])
        pull = -signs / (1 + np.exp(np.clip(margin, -50, 50))) / len(signs)
        value = float(np.logaddexp(0, -margin).mean() + ridge * (weights[1:] ** 2).sum())
        return value, np.append(pull.sum(), design.T @ pull + 2 * ridge * weights[1:])

    bounds = [(None, None)] + [(0, None)] * design.shape[1]
    return np.asarray(minimize(loss, np.zeros(1 + design.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B").x)


def _isotonic(raw: Floats, hits: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Knots of a curve that never falls, by pooling adjacent violators among groups of equal size."""
    order = np.argsort(raw)
    groups = np.array_split(order, min(max(len(raw) // 40, 2), 40))
    # One right and one wrong more in each: nothing is ever certain that was seen some times.
    blocks = [[float(raw[group].mean()), float(hits[group].sum()) + 0.5, len(group) + 1.0] for group in groups]
    pooled: list[list[float]] = []
    for block in blocks:
        pooled.append(block)
        while len(pooled) > 1 and pooled[-2][1] / pooled[-2][2] > pooled[-1][1] / pooled[-1][2]:
            x, hit, many = pooled.pop()
            before = pooled.pop()
            total = before[2] + many
            pooled.append([(before[0] * before[2] + x * many) / total, before[1] + hit, total])
    knots = np.array([0.0, *(one[0] for one in pooled), 1.0])
    told = np.array([one[1] / one[2] for one in pooled])
    return knots, np.array([told[0] / 2, *told, told[-1]])


# ── What it comes to ──────────────────────────────────────────────────────────────────────────────────────────────────


def told(quantity: str, shares: Floats) -> Floats:
    """Certainties as the reading tells them."""
    own = [name for name in FEATURES if name not in IGNORED[quantity]]
    curve = certainty.curves()[quantity]
    columns = [FEATURES.index(name) for name in own]
    found = [curve.certainty(dict(zip(own, row[columns], strict=True))) for row in shares]
    gated = (shares[:, columns] < certainty.GATE).any(axis=1)
    return np.where(gated, np.minimum(found, certainty.UNSURE), found)


def expected_error(sure: Floats, hits: NDArray[np.bool_]) -> float:
    """Expected calibration error: how far certainty and frequency are apart, over bins of equal width."""
    total = 0.0
    for _, apart, share in bins(sure, hits):
        total += share * abs(apart[0] - apart[1])
    return total


def bins(sure: Floats, hits: NDArray[np.bool_]) -> list[tuple[int, tuple[float, float], float]]:
    """Number, (mean certainty, frequency) and share of the readings, of each bin that has some."""
    which = np.minimum((sure * BINS).astype(int), BINS - 1)
    inside = [(number, which == number) for number in range(BINS)]
    return [
        (number, (float(sure[some].mean()), float(hits[some].mean())), float(some.mean()))
        for number, some in inside
        if some.any()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("build/certainty"))
    parser.add_argument("--pictures", type=int, default=1200, help="to fit on; half as many others are looked at")
    options = parser.parse_args()
    shares, measures = readings(LEARNT, options.pictures, options.work)
    hits = right(measures)
    quantities = {name: fitted(name, shares, hits[:, at]) for at, name in enumerate(QUANTITIES)}
    note = {"made_by": "python -m train.certainty", "weights_sha256": model_cards.card(NAME).sha256,
            "readings": len(hits), "right": RIGHT}  # fmt: skip
    others, other_measures = readings(TRIED, options.pictures // 2, options.work)
    _write({**note, "quantities": quantities})
    checked = {name: _checked(at, name, others, other_measures) for at, name in enumerate(QUANTITIES)}
    for name, figures in checked.items():
        console.say(f"{name}: {figures}")
    _write({**note, "checked": checked, "quantities": quantities})
    draw(others, right(other_measures))


def _checked(at: int, name: str, shares: Floats, measures: Floats) -> dict[str, float]:
    """On strangers that nothing was fitted to."""
    sure, fits, far = told(name, shares), right(measures)[:, at], gross(measures)[:, at]
    taken = sure >= SURE
    return {
        "readings": len(sure),
        "right": round(float(fits.mean()), 4),
        "sure": round(float(taken.mean()), 4),
        "right_among_sure": round(float(fits[taken].mean()) if taken.any() else 0.0, 4),
        "far_off_among_sure": int(far[taken].sum()),
        "expected_calibration_error": round(expected_error(sure, fits), 4),
    }


def _write(known: dict[str, Any]) -> None:
    certainty.FILE.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    certainty.curves.cache_clear()


RIGHT = {
    "mask": f"mIoU with the true mask at least {LEAST_MIOU}",
    "pupil": f"middle within {PUPIL_OFF:.0%} of the iris's width, long axis within {PUPIL_LONGER:.0%}",
    "iris": f"middle within {IRIS_OFF:.0%} of the iris's width, long axis within {IRIS_LONGER:.0%}",
    "gaze": f"optical axis within {MOST_AXIS_DEG:.0f}°",
}


def draw(shares: Floats, hits: NDArray[np.bool_], file: Path = FIGURE) -> None:
    """The reliability diagram: how often each quantity is right, by how certain the reading is."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "palestra"
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), sharey=True)
    for at, (name, ax) in enumerate(zip(QUANTITIES, axes, strict=True)):
        sure = told(name, shares)
        found = bins(sure, hits[:, at])
        ax.plot([0, 1], [0, 1], color="#999", lw=1, ls="--")
        ax.plot([one[1][0] for one in found], [one[1][1] for one in found], color="#0072b2", lw=1.2)
        ax.scatter([one[1][0] for one in found], [one[1][1] for one in found],
                   s=[12 + 260 * one[2] for one in found], color="#0072b2", alpha=0.85)  # fmt: skip
        ax.set_title(f"{name}, error {expected_error(sure, hits[:, at]):.3f}", fontsize=10)
        ax.set_xlabel("certainty")
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(-0.03, 1.05)
    axes[0].set_ylabel("how often right")
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
