"""A final on people for tests: pictures of a few points, played as if a camera took them."""

from pathlib import Path

from palestra import registry
from palestra.records import Track
from palestra.studio.sitting.capture_file import CaptureFile
from palestra.studio.sitting.prepare import prepare_data, sources_named
from tests.contest.bundles import PROGRAM, write_zip

EVERY_S = 0.6
RATE_HZ = 25
POINTS = """
seed = 3
[screen]
width_mm = 531
height_mm = 299
distance_mm = 600
[[blocks]]
kind = "points"
columns = {columns}
rows = 2
every_s = {every_s}
shown_s = {every_s}
capture_s = 0.5
"""
# Each answers by what it saw, so that other pictures would give other scores.
ANSWERS = {
    "bright": "[float(self.left.mean()), float(self.right.mean())]",
    "dark": "[-float(self.left[100:300].mean()), float(self.right[:, 300:].std())]",
}
TEXT = """
class MyAlgorithm:
    def get_data(self, left, right):
        self.left, self.right = left, right

    def algorithm(self):
        return {answer}
"""


def track(every_s: float = EVERY_S) -> Track:
    """The track under rules that are quick to play."""
    return registry.track("near-eye-live-v1", {"every_s": str(every_s), "window_s": "0"})


def programs(folder: Path) -> dict[str, Path]:
    return {
        name: write_zip(folder / f"{name}.zip", {PROGRAM: TEXT.format(answer=answer)})
        for name, answer in ANSWERS.items()
    }


def played(pictures: Path, rate_hz: float = RATE_HZ, loop: str = ",loop") -> dict[str, str]:
    """Sources that play a tester of a stored data set."""
    return sources_named([f"{eye}=played:{pictures / eye}@{rate_hz:g}{loop}" for eye in ("left", "right")])


def stimuli(folder: Path, columns: int = 2, every_s: float = EVERY_S) -> Path:
    file = folder / "points.toml"
    file.write_text(POINTS.format(columns=columns, every_s=every_s))
    return file


def prepared(
    folder: Path, people: list[str], sources: dict[str, str], port: int, columns: int = 2, every_s: float = EVERY_S
) -> Path:
    """A data set whose people are to come."""
    data = folder / "final"
    prepare_data(track(every_s), data, stimuli(folder, columns, every_s), CaptureFile(people, sources, port))
    return data
