"""The synthetic worlds: how fast eyes are drawn on one core; movements, pictures and EEG beside real ones.

make bench        (or: python -m benchmarks.worlds)
python -m benchmarks.worlds recipe        how hard the EEG is, as docs/worlds.md has it; takes some minutes
"""

import os
import sys
import time

import cv2
import numpy as np

from palestra.eyes.cohort import SEGMENTATION_PEOPLE
from palestra.eyes.simulator import image_statistics
from palestra.eyes.simulator.movement_statistics import forecast_errors, format_forecasts, format_statistics, statistics
from palestra.eyes.simulator.people import draw_profiles
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import Look, draw_camera, draw_person
from palestra.metrics.angles import to_vectors
from palestra.tracks.emotion_eeg import statistics as brain_statistics

PEOPLE, PICTURES = 20, 30
ASKED = 200  # pictures per second on one core


def main() -> int:
    if sys.argv[1:] == ["recipe"]:
        found = brain_statistics.usual_recipe(np.random.default_rng(7), people=80, video_s=30)
        print(f"whole recording, smoothed: {found.published:.1%}; as a stream: {found.causal:.1%} of seconds right")
        return 0
    rate = pictures_per_second()
    met = "yes" if rate >= ASKED else "no"
    print(f"eyes of 640×400 with masks, one core: {rate:.0f} per second; asked: {ASKED}; {met}")
    print("\nGaze beside real recordings (5 / 50 / 95 %)\n")
    print(format_statistics(statistics(np.random.default_rng(2), people=24)))
    print("\nPictures of eyes beside two real headsets (5 / 50 / 95 %, ranges 5–95 %, or medians)\n")
    print(image_statistics.format_statistics(image_statistics.statistics(np.random.default_rng(3))))
    print("\nEEG beside a lab cap and consumer headsets (5 / 50 / 95 %)\n")
    print(brain_statistics.format_statistics(brain_statistics.statistics(np.random.default_rng(0))))
    print("\nForecasts from the last frames, degrees at 10 … 50 ms and on average\n")
    print(format_forecasts(forecast_errors(np.random.default_rng(0), people=20)))
    return int(rate < ASKED)


def pictures_per_second() -> float:
    """Over many people and devices, glasses and make-up among them; the layers that stay still are made beforehand."""
    cv2.setNumThreads(1)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rng = np.random.default_rng(0)
    profiles = draw_profiles(SEGMENTATION_PEOPLE, rng)[:PEOPLE]
    renderers = [Renderer(draw_person(profile, rng), draw_camera(rng)) for profile in profiles]
    gazes = to_vectors(rng.uniform(-18, 18, PICTURES), rng.uniform(-15, 15, PICTURES))
    looks = [Look(gaze, float(rng.uniform(2.5, 5)), float(rng.uniform(0.6, 1))) for gaze in gazes]
    renderers[0].render(looks[0], rng)
    started = time.perf_counter()
    for renderer in renderers:
        for look in looks:
            renderer.render(look, rng)
    return PEOPLE * PICTURES / (time.perf_counter() - started)


if __name__ == "__main__":
    sys.exit(main())
