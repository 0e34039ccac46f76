"""How well and how fast `palestra studio sync` aligns, beside what one would do at first.

python -m benchmarks.studio_sync [--seeds 3] [--minutes 10] [--part leds|events|speed]

Cameras of 30 and 25 fps with clocks of their own see the same five simulated LEDs for ten minutes. The naive methods
get the same readings: the cross-correlation of the LEDs' brightness in the first and the last minute, and the code
that each frame shows, read LED by LED and joined by a straight line. For events, the first and the last of both lists
are put onto each other. The speed is that of two drawn videos (320 × 240, MPEG-4), in processor time.
"""

import argparse
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from palestra.studio.sync.brightness import Readings
from palestra.studio.sync.events import Events
from palestra.studio.sync.gray_code import code_bits
from palestra.studio.sync.led_clock import led_clock
from palestra.studio.sync.led_places import Place, Places
from palestra.studio.sync.led_sync import align_clocks
from palestra.studio.sync.match_events import align_events
from palestra.studio.sync.sync import align_recordings
from palestra.studio.sync.video import shots
from tests.studio.sync.simulated import Board, Camera
from tests.studio.sync.test_match_events import OFFSET_S, PPM, lists

PLACES = Places(tuple(Place(40 + 40 * number, 20) for number in range(5)))
START_S, DRIFT_PPM = 0.83, 64.0
CASES = {
    "clean": {},
    "30 % wrong": {"wrong": 0.3},
    "30 % wrong, 2 % dropped": {"wrong": 0.3, "dropped": 0.02},
    "30 % wrong, 2 % dropped, 20 lost without a trace": {"wrong": 0.3, "dropped": 0.02, "lost": 20},
    "10 % wrong, 100 lost without a trace": {"wrong": 0.1, "lost": 100},
}
MINUTE_S, GRID_S = 60.0, 0.002


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--part", choices=("leds", "events", "speed"))
    options = parser.parse_args()
    if options.part in (None, "leds"):
        leds(options.seeds, 60 * options.minutes)
    if options.part in (None, "events"):
        events(options.seeds)
    if options.part in (None, "speed"):
        speed(60 * options.minutes)


def leds(seeds: int, seconds: float) -> None:
    print(f"LEDs, {seconds:.0f} s, 30 against 25 fps; worst of {seeds}; asked: 33.3 ms, 5 ppm")
    for name, faults in CASES.items():
        worst: dict[str, list[tuple[float, float]]] = {"HMM": [], "cross-correlation": [], "nearest code": []}
        for seed in range(seeds):
            a = Camera(30, **faults).readings(Board(), seconds, 2 * seed)  # type: ignore[arg-type]
            b = Camera(25, START_S, DRIFT_PPM, **faults).readings(Board(), seconds, 2 * seed + 1)  # type: ignore[arg-type]
            found = align_clocks(led_clock(a, PLACES), led_clock(b, PLACES), START_S)
            worst["HMM"].append(_errors(found.offset_s, found.drift_ppm))
            worst["cross-correlation"].append(_errors(*correlated(a, b)))
            worst["nearest code"].append(_errors(*decoded(a, b)))
        for method, errors in worst.items():
            offset, drift = np.abs(errors).max(axis=0)
            print(f"  {name:50} {method:18} {offset:9.2f} ms {drift:11.2f} ppm")


def _errors(offset_s: float, drift_ppm: float) -> tuple[float, float]:
    return 1e3 * (offset_s - START_S), drift_ppm - DRIFT_PPM


def correlated(a: Readings, b: Readings) -> tuple[float, float]:
    """The naive method of signals: where the brightness of all LEDs correlates best, early and late."""
    ends = []
    for start in (2.0, min(a.at_s[-1], b.at_s[-1]) - MINUTE_S - 4):
        grid = start + np.arange(round(MINUTE_S / GRID_S)) * GRID_S
        lag = 0.0
        for one in range(a.grey.shape[1]):
            x, y = (np.interp(grid, side.at_s, side.grey[:, one]) for side in (a, b))
            lag = lag + np.fft.irfft(np.fft.rfft(x - x.mean()) * np.conj(np.fft.rfft(y - y.mean())))
        shifts = np.fft.fftfreq(len(grid), 1 / len(grid)) * GRID_S
        near = np.abs(shifts - START_S) < 1.7
        ends.append((start + MINUTE_S / 2, shifts[near][np.argmax(np.asarray(lag)[near])]))
    (first_s, early), (last_s, late) = ends
    slope = (late - early) / (last_s - first_s)
    return float(early - slope * first_s), float(slope * 1e6)


def decoded(a: Readings, b: Readings) -> tuple[float, float]:
    """The naive method of codes: what each frame shows, unwrapped, and a line through it."""
    lines = []
    for one in (a, b):
        lit = one.grey > (np.percentile(one.grey, 10, axis=0) + np.percentile(one.grey, 90, axis=0)) / 2
        table = {tuple(bits): code for code, bits in enumerate(code_bits(lit.shape[1]).tolist())}
        code = np.array([table[tuple(row)] for row in lit.astype(int).tolist()], float)
        lines.append(np.polyfit(one.at_s, np.unwrap(code, period=2 ** lit.shape[1]), 1))
    (rate_a, first_a), (rate_b, first_b) = lines
    if abs(rate_a) < 1e-6:
        return float("nan"), float("nan")
    offset, whole = (first_b - first_a) / rate_a, 2 ** a.grey.shape[1] / abs(rate_a)
    return float(offset - whole * round((offset - START_S) / whole)), float((rate_b / rate_a - 1) * 1e6)


def events(seeds: int) -> None:
    print(f"events: 120 in 10 minutes, 20 % missed, 40 strange, 4 ms of jitter; worst of {10 * seeds}")
    ours, naive = [], []
    for seed in range(10 * seeds):
        a, b = lists(seed=seed)
        found = align_events(a, b, None)
        ours.append((1e3 * (found.offset_s - OFFSET_S), found.drift_ppm - PPM))
        naive.append(_ends(a, b))
    for method, errors in (("votes and a line", ours), ("first and last", naive)):
        offset, drift = np.abs(errors).max(axis=0)
        print(f"  {method:18} {offset:12.2f} ms {drift:12.2f} ppm")


def _ends(a: Events, b: Events) -> tuple[float, float]:
    scale = (a.at_s[-1] - a.at_s[0]) / (b.at_s[-1] - b.at_s[0])
    return 1e3 * (a.at_s[0] - scale * b.at_s[0] - OFFSET_S), (scale - 1) * 1e6 - PPM


def speed(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / "a.mp4", Path(place) / "b.mp4"]
        for number, (file, camera) in enumerate(
            zip(files, (Camera(30, wrong=0.3), Camera(25, START_S, DRIFT_PPM, wrong=0.3)), strict=True)
        ):
            _draw(file, camera, seconds, number)
        began = time.process_time()
        for file in files:
            for _ in shots(file):
                pass
        once_s = time.process_time() - began
        began = time.process_time()
        synced = align_recordings(files[0], files[1], [str(PLACES)], [], START_S)
        took_s = time.process_time() - began
        errors = _errors(synced.aligned.offset_s, synced.aligned.drift_ppm)
    print(f"speed, two videos of {seconds:.0f} s: decoding both once {once_s:.1f} s, twice {2 * once_s:.1f} s (asked)")
    print(f"  sync, decoding included: {took_s:.1f} s of the processor; off by {errors[0]:.2f} ms, {errors[1]:.2f} ppm")


def _draw(file: Path, camera: Camera, seconds: float, seed: int) -> None:
    """Noise that differs from frame to frame, of a few kinds, so that drawing does not take for ever."""
    rng = np.random.default_rng(seed)
    at_s, true_s = camera.frames(seconds, seed)
    level = camera.levels(Board(), true_s)
    level = np.where(rng.random(level.shape) < camera.wrong, 1 - level, level)
    smooth = 100 + 40 * np.sin(np.arange(240)[:, None] / 30) + np.linspace(0, 30, 320)[None, :]
    scenes = [np.clip(smooth + rng.normal(0, 6, smooth.shape), 0, 255).astype(np.uint8) for _ in range(16)]
    colour = np.full((120, 320), 128, np.uint8)
    with av.open(str(file), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(camera.fps).limit_denominator(1001))
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = 320, 240, "yuv420p", 3_000_000
        for number in range(len(at_s)):
            grey = scenes[number % 16].copy()
            for (x, y), lit in zip(PLACES.places, level[number], strict=True):
                grey[y - 4 : y + 5, x - 4 : x + 5] = 40 + 160 * lit
            frame = av.VideoFrame.from_ndarray(np.concatenate([grey, colour]), format="yuv420p")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


if __name__ == "__main__":
    main()
