"""How a pair of eyes watches a target: saccades, pursuit, fixation, blinks, and the labels that a data set gives.

The eyes are simulated at 1 kHz, movement by movement, as seen from midway between them; each eye then adds its own
turn towards near targets (vergence), which is slow. Angles are yaw and pitch in degrees, points are in headset axes.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import ndimage, signal, special

from palestra.eyes.simulator.targets import MOVING, STATIC, Array, Targets
from palestra.metrics.angles import to_angles, to_vectors

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Eye = Literal["left", "right"]

EYES: tuple[Eye, Eye] = ("left", "right")
EYE_X_CM = {"left": 3.2, "right": -3.2}
CORNEA_AHEAD_CM = 0.55  # the cornea's centre lies this far in front of the eye's
MOVEMENTS = ("fixation", "pursuit", "saccade")
FIXATION, PURSUIT, SACCADE = range(3)

SIMULATED_HZ = 1000
LONGEST_JUMP_MS = 200  # a target that moves for longer is pursued
TOP_SPEED_DEG_S = 541.0  # of real saccades: speed = top · (1 − exp(−amplitude / 7.6°))
SPEED_AMPLITUDE_DEG = 7.6
LABEL_FILTER = 5  # frames of the median filter over labels


@dataclass(frozen=True)
class Mover:
    """How one person's eyes move, and how well the tracker that labels them does."""

    latency_ms: float  # from a target's jump to the saccade
    latency_sd_ms: float
    speed_gain: float  # this person's peak velocities over the main sequence
    speed_spread: float  # log sd from saccade to saccade
    undershoot: float  # share of the way that the first saccade leaves open
    landing_sd: float  # sd of landing errors, as a share of the amplitude
    correction_ms: float  # mean time between looking again and again whether the target is on the fovea
    tolerance_deg: float  # error that is not worth a corrective saccade
    pursuit_latency_ms: float
    pursuit_gain: float
    anticipation_ms: float  # how long before a predictable end the pursuit slows down
    vergence_ms: float  # time constant of the turn towards another depth
    drift_deg: float  # sd of the slow drift in a fixation, per axis
    drift_s: float  # time constant of its pull back
    microsaccade_hz: float
    microsaccade_deg: float
    tremor_deg: float
    blinks_per_min: float
    distractions_per_min: float
    pupil_mm: float
    hippus_mm: float  # sd of the pupil's slow waves
    label_noise_deg: float  # per axis and frame, before the median filter
    label_wander_deg: float  # slow error of the estimator
    label_offset_deg: tuple[float, float]  # yaw, pitch; what calibration left
    label_gain: tuple[float, float]  # yaw, pitch
    misses_per_min: float  # bad detections


@dataclass(frozen=True)
class Trace:
    """What one eye did while it watched a target, frame by frame."""

    time_s: Array  # (n,)
    gaze: Array  # (n, 3) true visual axis, unit
    label: Array  # (n, 3) what the data set says of it, unit
    movement: npt.NDArray[np.uint8]  # (n,) index into MOVEMENTS
    opening: Array  # (n,) 0 closed, 1 open
    pupil_mm: Array  # (n,) diameter
    valid: Bools  # (n,) no blink, distraction or bad detection here or near
    cornea_cm: Array  # (n, 3)


def draw_mover(rng: np.random.Generator) -> Mover:
    """A person as people differ: most near the middle, a few slow, sloppy or sleepy."""

    def around(middle: float, spread: float) -> float:
        return float(middle * np.exp(spread * np.clip(rng.standard_normal(), -2.5, 2.5)))

    return Mover(
        latency_ms=around(200, 0.12),
        latency_sd_ms=around(32, 0.25),
        speed_gain=around(1.0, 0.06),
        speed_spread=around(0.11, 0.2),
        undershoot=around(0.06, 0.4),
        landing_sd=around(0.035, 0.3),
        correction_ms=around(190, 0.15),
        tolerance_deg=around(0.55, 0.2),
        pursuit_latency_ms=around(120, 0.15),
        pursuit_gain=float(np.clip(rng.normal(0.9, 0.05), 0.72, 0.99)),
        anticipation_ms=around(60, 0.35),
        vergence_ms=around(80, 0.2),
        drift_deg=around(0.17, 0.45),
        drift_s=around(0.40, 0.3),
        microsaccade_hz=around(0.6, 0.4),
        microsaccade_deg=around(0.30, 0.25),
        tremor_deg=around(0.003, 0.3),
        blinks_per_min=around(9, 0.6),
        distractions_per_min=around(0.6, 0.8),
        pupil_mm=float(np.clip(rng.normal(4.2, 0.7), 2.6, 6.2)),
        hippus_mm=around(0.14, 0.3),
        label_noise_deg=around(0.22, 0.35),
        label_wander_deg=around(0.25, 0.35),
        label_offset_deg=(float(rng.normal(0, 1.2)), float(rng.normal(0, 1.2))),
        label_gain=(float(rng.normal(1, 0.015)), float(rng.normal(1, 0.02))),
        misses_per_min=around(1.5, 0.8),
    )


def watch(targets: Targets, mover: Mover, eye: Eye, rng: np.random.Generator) -> Trace:
    """One eye's recording of a person who watches the target.

    Two generators of the same state give the two eyes of one recording: they blink, jump and drift together, and only
    vergence and the tracker's faults differ.
    """
    seed = int(rng.integers(2**62))
    shared, own = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1 + EYES.index(eye)])
    scene = _look(targets, mover, shared)
    blink = _blinks(len(scene.angles), mover, shared)
    path, movement = _follow(scene, mover, shared)
    pupil_mm = _pupil(scene, mover, shared)
    at = np.round(targets.time_s * SIMULATED_HZ).astype(np.int64)

    path = path + _vergence(scene, mover, eye)
    path[:, 1] -= 1.5 * blink  # the eye dips behind a closing lid
    gaze = to_vectors(path[at, 0], path[at, 1])
    missed = _spells(len(path), mover.misses_per_min, (20.0, 150.0), own)
    spoilt = _widen(blink > 0.02, 40, 40) | _widen(scene.distracted, 20, 500) | _widen(missed, 30, 30)
    centre_cm = np.array([EYE_X_CM[eye], 0.0, 0.0])
    aim = np.stack(to_angles(targets.point_cm - centre_cm), axis=1)
    valid = ~spoilt[at]
    estimate = _estimate(path[at], missed[at], targets.rate_hz, mover, own)
    label = _centred(estimate, aim, valid & (targets.status == STATIC))
    droop = np.minimum(0.08, 0.03 * np.abs(_wander(len(path), 2.0, 0.2, shared)))
    return Trace(
        time_s=targets.time_s,
        gaze=gaze,
        label=to_vectors(label[:, 0], label[:, 1]),
        movement=movement[at],
        opening=((1 - blink) * (1 - droop)).clip(0, 1)[at],
        pupil_mm=pupil_mm[at],
        valid=valid,
        cornea_cm=centre_cm + CORNEA_AHEAD_CM * gaze,
    )


def pick_windows(valid: Bools, length: int, count: int, rng: np.random.Generator) -> Ints:
    """Starts of up to `count` random windows of valid frames that do not overlap, in order of time.

    Random starts alone would waste room; so every run of valid frames is filled with as many windows as fit, with
    its spare frames spread at random between them, and of all those some are drawn.
    """
    starts: list[Ints] = []
    for begin, end in _runs(valid):
        fit = (end - begin) // length
        spare = np.sort(rng.integers(0, end - begin - fit * length + 1, fit))
        starts.append(begin + np.arange(fit) * length + spare)
    every = np.concatenate([np.zeros(0, dtype=np.int64), *starts])
    return np.sort(rng.permutation(every)[:count])


@dataclass(frozen=True)
class _Scene:
    """What the person attends to, at 1 kHz."""

    angles: Array  # (n, 2) from midway between the eyes, as the person knows them by now
    points_cm: Array  # (n, 3) the same, as points
    reactions: Ints  # when a saccade to a new place is due
    pursuits: list[tuple[int, int]]
    distracted: Bools


def _look(targets: Targets, mover: Mover, rng: np.random.Generator) -> _Scene:
    """The target as it reaches the person: after the latency, and with something else in its place at times."""
    count = round(targets.time_s[-1] * SIMULATED_HZ) + 1
    at_s = np.arange(count) / SIMULATED_HZ
    points = np.stack([np.interp(at_s, targets.time_s, axis) for axis in targets.point_cm.T], axis=1)
    angles = np.stack(to_angles(points), axis=1)
    distracted = np.zeros(count, dtype=bool)
    jumps = [(begin, end) for begin, end in _moves(targets) if end - begin <= LONGEST_JUMP_MS]
    for begin, end in _runs(_spells(count, mover.distractions_per_min, (350.0, 1100.0), rng)):
        turn, size = rng.uniform(0, 2 * np.pi), rng.uniform(6, 16)
        angles[begin:end] += size * np.array([np.cos(turn), 0.6 * np.sin(turn)])
        distracted[begin:end] = True
        jumps += [(max(0, begin - 1), begin), (end - 1, end)]
    jumps = sorted(jump for jump in jumps if jump[1] < count - 1)
    latencies = _latencies(len(jumps), mover, targets.pattern == "free", rng)
    known, reactions = _known(count, jumps, latencies)
    pursuits = [(begin, end) for begin, end in _moves(targets) if end - begin > LONGEST_JUMP_MS]
    return _Scene(angles[known], points[known], reactions, pursuits, distracted)


def _moves(targets: Targets) -> list[tuple[int, int]]:
    """Each of the target's movements: its last moment at rest and its first one at rest again, in ms."""
    moving = targets.status == MOVING
    last = len(moving) - 1
    scale = SIMULATED_HZ / targets.rate_hz
    return [(round(max(0, a - 1) * scale), round(min(last, b) * scale)) for a, b in _runs(moving)]


def _latencies(count: int, mover: Mover, self_paced: bool, rng: np.random.Generator) -> Array:
    if self_paced:  # the target is the person's own wish, so its timing is already the eye's
        return np.full(count, mover.latency_ms)
    # Reaction times have a tail of late ones.
    late = rng.exponential(0.6 * mover.latency_sd_ms, count) - 0.6 * mover.latency_sd_ms
    return np.maximum(90.0, mover.latency_ms + 0.8 * mover.latency_sd_ms * rng.standard_normal(count) + late)


def _known(count: int, jumps: list[tuple[int, int]], latencies: Array) -> tuple[Ints, Ints]:
    """For each moment the moment whose target the eye acts on, and the moments at which a jump is answered."""
    begins = np.array([begin for begin, _ in jumps], dtype=np.int64)
    ends = np.array([end for _, end in jumps], dtype=np.int64)
    reactions = np.maximum.accumulate(begins + latencies.astype(np.int64)) if jumps else begins
    edges = np.concatenate([[0], reactions, [count]]).clip(0, count)
    first = np.repeat(np.concatenate([[0], ends]), np.diff(edges))
    last = np.repeat(np.concatenate([begins, [count - 1]]), np.diff(edges))
    return np.clip(np.arange(count), first, np.maximum(first, last)), reactions[reactions < count]


def _follow(scene: _Scene, mover: Mover, rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.uint8]]:
    """Where the eyes point (n, 2), and by which movement."""
    smooth_speed, pursuing = _pursue(scene, mover, rng)
    smooth = np.cumsum(smooth_speed, axis=0)
    steps = np.zeros_like(smooth)
    movement = np.where(pursuing, PURSUIT, FIXATION).astype(np.uint8)
    for onset, course in _saccades(scene, smooth, mover, rng):
        end = min(onset + len(course), len(steps))
        steps[onset:end] += course[: end - onset]
        movement[onset:end] = SACCADE
    drift = np.stack([_wander(len(steps), mover.drift_s, 0.02, rng) for _ in range(2)], axis=1) * mover.drift_deg
    tremor = mover.tremor_deg * rng.standard_normal(steps.shape)
    return scene.angles[0] + smooth + np.cumsum(steps, axis=0) + drift + tremor, movement


def _pursue(scene: _Scene, mover: Mover, rng: np.random.Generator) -> tuple[Array, Bools]:
    """Smooth movement per ms (n, 2): it starts late, lags in speed, and slows before an end that can be foreseen."""
    count = len(scene.angles)
    speed = np.zeros((count, 2))
    pursuing = np.zeros(count, dtype=bool)
    for begin, end in scene.pursuits:
        start = begin + round(max(60.0, mover.pursuit_latency_ms + 25 * rng.standard_normal()))
        slow = end - round(max(0.0, mover.anticipation_ms + 30 * rng.standard_normal()))
        stop = slow + 140
        at = np.arange(start, min(stop, count - 1))
        held = np.clip(at, begin + 1, end - 2)  # past the end the eye goes on as the target last went
        share = _ramp((at - start) / 90) * _ramp((stop - at) / (stop - slow))
        gain = mover.pursuit_gain * (1 + 0.04 * rng.standard_normal())
        step = scene.angles[held + 1] - scene.angles[held]
        # A distraction puts jumps in what is attended to; those are not followed smoothly.
        calm = ~scene.distracted[at] & (np.abs(step).max(axis=1) < 0.2)
        speed[at] = gain * (share * calm)[:, None] * step
        pursuing[at] = calm
    return speed, pursuing


def _saccades(scene: _Scene, smooth: Array, mover: Mover, rng: np.random.Generator) -> list[tuple[int, Array]]:
    """Onset and course (displacement per ms) of every saccade: answers to jumps, corrections and microsaccades.

    Between jumps the person checks now and then; an error beyond tolerance is corrected, also in pursuit (catch-up).
    """
    found: list[tuple[int, Array]] = []
    place = np.zeros(2)  # what all saccades so far add up to
    wish = scene.angles - scene.angles[0] - smooth
    due = [*scene.reactions.tolist(), len(wish)]
    now, answered = 0, 0
    while now < len(wish) - 1:
        check = now + round(max(70.0, mover.correction_ms * (1 + 0.25 * rng.standard_normal())))
        onset = max(now + 15, min(check, due[answered]))
        if onset >= len(wish):
            break
        jumped = onset >= due[answered]
        while onset >= due[answered]:
            answered += 1
        ahead = min(onset + 30, due[answered] - 1)  # a moving target is met where it will be; a jump is not foreseen
        step = _aim(wish[ahead] - place, jumped, onset - now, mover, rng)
        now = onset
        if step is not None:
            course = saccade_course(step, mover, rng)
            found.append((onset, course))
            place = place + step
            now += len(course)
    return found


def _aim(error: Array, jumped: bool, waited_ms: int, mover: Mover, rng: np.random.Generator) -> Array | None:
    """The step that the next saccade makes, or None if the eyes are content where they are."""
    size = float(np.hypot(error[0], error[1]))
    scatter = rng.standard_normal(2)
    if jumped and size > 0.15:
        gain = 1 - mover.undershoot * min(1.0, size / 5)
        return np.asarray(gain * error + (0.08 + mover.landing_sd * size) * scatter)
    if size > mover.tolerance_deg:
        return np.asarray(0.95 * error + (0.06 + mover.landing_sd * size) * scatter)
    if rng.random() < mover.microsaccade_hz * waited_ms / 1000:
        return np.asarray(0.5 * error + mover.microsaccade_deg * scatter)
    return None


def saccade_course(step_deg: Array, mover: Mover, rng: np.random.Generator) -> Array:
    """Displacement per ms (T, 2) of a saccade: a skewed bell whose peak lies on the person's main sequence.

    The bell starts and ends softly, so what stands out of a recording is shorter than the whole: at 30 deg/s that
    gives the durations that people measure (2.46 ms per degree and 14.8 ms).
    """
    size = float(np.hypot(step_deg[0], step_deg[1]))
    vigour = mover.speed_gain * np.exp(mover.speed_spread * rng.standard_normal())
    peak = vigour * TOP_SPEED_DEG_S * -np.expm1(-size / SPEED_AMPLITUDE_DEG)
    rise = 1.2 * np.exp(0.3 * rng.standard_normal())
    fall = rise + 0.03 * size  # large ones brake longer than they speed up
    top = rise / (rise + fall)
    sharpness = top**rise * (1 - top) ** fall / special.beta(rise + 1, fall + 1)
    length = max(8, round(1000 * sharpness * size / max(peak, 1e-6)))
    time = np.linspace(0, 1, length + 1)
    way = special.betainc(rise + 1, fall + 1, time)
    bend = 0.02 * rng.standard_normal() * 16 * (way * (1 - way)) ** 2
    across = np.array([-step_deg[1], step_deg[0]])
    return np.diff(way[:, None] * step_deg + bend[:, None] * across, axis=0)


def _vergence(scene: _Scene, mover: Mover, eye: Eye) -> Array:
    """This eye's turn (n, 2) from the common direction to its own, which follows a change of depth slowly."""
    own = np.stack(to_angles(scene.points_cm - np.array([EYE_X_CM[eye], 0.0, 0.0])), axis=1)
    turn = own - np.stack(to_angles(scene.points_cm), axis=1)
    keep = np.exp(-1000 / SIMULATED_HZ / mover.vergence_ms)
    # Two lags in a row: the turn sets out at rest.
    poles = np.array([1.0, -2 * keep, keep**2])
    moved = signal.lfilter([(1 - keep) ** 2], poles, turn - turn[0], axis=0)
    return np.asarray(turn[0] + moved)


def _blinks(count: int, mover: Mover, rng: np.random.Generator) -> Array:
    """How far the lids are closed (n,), 0 to 1: quickly down, a while shut, slowly up."""
    closed = np.zeros(count)
    for begin, end in _runs(_spells(count, mover.blinks_per_min, (90.0, 150.0), rng)):
        down, up = rng.uniform(55, 85), rng.uniform(120, 190)
        depth = rng.uniform(0.93, 1.0)
        at = np.arange(max(0, begin - 90), min(count, end + 200))
        curve = depth * _ramp((at - begin + down) / down) * _ramp((end + up - at) / up)
        closed[at] = np.maximum(closed[at], curve)
    return closed


def _pupil(scene: _Scene, mover: Mover, rng: np.random.Generator) -> Array:
    """Diameter (n,): slow waves, and smaller for what is near."""
    near = 100 / np.linalg.norm(scene.points_cm, axis=1)  # dioptres
    keep = np.exp(-1 / (0.4 * SIMULATED_HZ))
    eased = near[0] + signal.lfilter([1 - keep], [1, -keep], near - near[0])
    waves = mover.hippus_mm * _wander(len(near), 0.8, 0.25, rng)
    return np.asarray((mover.pupil_mm + waves - 0.25 * eased).clip(1.8, 8.0))


def _estimate(path: Array, missed: Bools, rate_hz: float, mover: Mover, rng: np.random.Generator) -> Array:
    """What a frame-by-frame tracker says (n, 2), smoothed as the data set's authors did."""
    noise = mover.label_noise_deg * rng.standard_normal(path.shape)
    slow = [_wander(len(path), 1.0, 0.1, rng, rate_hz) for _ in range(2)]
    wander = mover.label_wander_deg * np.stack(slow, axis=1)
    wild = missed[:, None] * 5.0 * rng.standard_normal(path.shape)
    raw = path * np.array(mover.label_gain) + np.array(mover.label_offset_deg) + noise + wander + wild
    return np.asarray(ndimage.median_filter(raw, size=(LABEL_FILTER, 1), mode="nearest"))


def _centred(estimate: Array, aim: Array, trusted: Bools) -> Array:
    """Estimates without their mean distance to the target, which is taken where the eye is known to be on it."""
    return estimate + (aim - estimate)[trusted].mean(axis=0) if trusted.any() else estimate


def _wander(
    count: int, pull_s: float, smooth_s: float, rng: np.random.Generator, rate_hz: float = SIMULATED_HZ
) -> Array:
    """A random walk (n,) with steps that resemble each other and a pull back to zero, of sd 1 in the long run."""
    slow, quick = np.exp(-1 / (pull_s * rate_hz)), np.exp(-1 / (smooth_s * rate_hz))
    poles = np.array([1.0, -(slow + quick), slow * quick])
    # The variance of this second-order process, so that it need not be measured on the sample.
    power = (1 + slow * quick) / ((1 - slow * quick) * (1 - slow**2) * (1 - quick**2))
    return np.asarray(signal.lfilter([1 / np.sqrt(power)], poles, rng.standard_normal(count)))


def _spells(count: int, per_min: float, range_ms: tuple[float, float], rng: np.random.Generator) -> Bools:
    """Moments (n,) that lie in spells which come at random."""
    found = np.zeros(count, dtype=bool)
    number = rng.poisson(per_min * count / SIMULATED_HZ / 60)
    begins, lengths = rng.integers(0, count, number), rng.uniform(*range_ms, number)
    for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True):
        found[begin : begin + round(length)] = True
    return found


def _runs(mask: Bools) -> list[tuple[int, int]]:
    """Begin and end (exclusive) of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]


def _widen(mask: Bools, before: int, after: int) -> Bools:
    wide = mask.copy()
    for begin, end in _runs(mask):
        wide[max(0, begin - before) : end + after] = True
    return wide


def _ramp(share: npt.NDArray[np.floating]) -> Array:
    """From 0 to 1 without a kink at either end."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.clip(share, 0, 1)))
