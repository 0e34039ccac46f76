"""Scoring, from kernels to whole submissions, against peers and against the machine's own limits, in one run.

make bench        (or: python -m benchmarks.scoring)
"""

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import polars as pl

from benchmarks import scoring_kernels
from benchmarks.scoring_kernels import Row, medians_s, table
from palestra import registry
from palestra.datasets import make
from palestra.records import Order
from palestra.scoring.score import load, score_trials, whole
from palestra.scoring.submission import collect
from palestra.tracks.eye_segmentation import format as openeds
from palestra.tracks.eye_segmentation.masks import encode_mask, png_bytes

PNG_MASKS = 400
MEMORY_MB = 500
# A command, and then the most memory that its process held. (What the kernel counts for children begins with what
# their parent held.)
MEASURED = """
import sys
from palestra.cli.app import main
try:
    main()
finally:
    print(open("/proc/self/status").read(), file=sys.stderr)
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        lines = [*scoring_kernels.rows(), *csv_rows(Path(folder)), png_row(Path(folder))]
        print(table(lines))
        fits = report_memory(Path(folder))
    return int(not fits or any(line.met is False for line in lines))


def csv_rows(folder: Path) -> list[Row]:
    """A near-eye submission of 150,150 rows checked and scored, against a bare polars read of the same file."""
    track = registry.track("near-eye-gaze-v1")
    data = made(track.id, "paper", folder)
    sheet = load(track, data)
    trials = sheet.trials
    rng = np.random.default_rng(0)
    answers = trials.select("trial", x=pl.Series(rng.normal(0, 100, trials.height)), y=pl.lit(12.5))
    lines = []
    for name, table_ in (("in order", answers), ("shuffled", answers.sample(fraction=1, shuffle=True, seed=0))):
        file = folder / f"{name}.csv"
        assert track.writes is not None
        track.writes(table_, file)

        def ours(file: Path = file) -> None:
            rows = score_trials(track, sheet, collect(track, file, trials))
            for metric in track.metrics:
                metric.reduce(rows, whole(rows))

        ours_s, bare_s = medians_s(ours, lambda file=file: pl.read_csv(file))
        what = f"check and score a CSV of {trials.height:,} rows, {name}"
        lines.append(Row(what, ours_s, "pl.read_csv (limit)", bare_s, ours_s / bare_s, "≤ 6×", ours_s <= 6 * bare_s))
    return lines


def png_row(folder: Path) -> Row:
    """A folder of PNG masks checked and scored, against decoding the same files with as many threads."""
    track = registry.track("eye-segmentation-v1")
    data, submission = folder / "masks", folder / "submission"
    masks = tiny_masks(folder)
    release = data / openeds.RELEASE
    (data / "truth" / "S_0").mkdir(parents=True)
    (release / "participant").mkdir(parents=True)
    (submission / "S_0").mkdir(parents=True)
    (release / "images.txt").write_text("".join(f"S_0/{n}.png\n" for n in range(PNG_MASKS)))
    (release / "labels.txt").write_text("")
    for n in range(PNG_MASKS):
        mask = masks[n % len(masks)]
        np.save(data / "truth" / "S_0" / f"{n}.npy", mask)
        (submission / "S_0" / f"{n}.png").write_bytes(png_bytes(np.roll(mask, n % 7, axis=1)))
    sheet = load(track, data)
    files = sorted(submission.rglob("*.png"))

    def ours() -> None:
        score_trials(track, sheet, collect(track, submission, sheet.trials))

    def decode(file: Path) -> None:
        cv2.imdecode(np.frombuffer(file.read_bytes(), np.uint8), cv2.IMREAD_UNCHANGED)

    def bare() -> None:
        with ThreadPoolExecutor() as pool:
            list(pool.map(decode, files))

    ours_s, bare_s = medians_s(ours, bare)
    what = f"check and score a folder of {PNG_MASKS} PNG masks"
    return Row(what, ours_s, "decoding them (limit)", bare_s, ours_s / bare_s, "≤ 1.1×", ours_s <= 1.1 * bare_s)


def report_memory(folder: Path) -> bool:
    """The memory that scoring a whole submission of 27,871 masks takes, in a process of its own."""
    track = registry.track("eye-segmentation-v1")
    data = made(track.id, "paper", folder)
    texts = [encode_mask(mask) for mask in tiny_masks(folder)]
    trials = track.trials(data)
    keys = [texts[n % len(texts)] for n in range(trials.height)]
    submission = folder / "whole.json"
    assert track.writes is not None
    track.writes(trials.select("trial", mask_file=pl.lit(openeds.INLINE), mask_key=pl.Series(keys)), submission)
    started = time.perf_counter()
    command = [sys.executable, "-c", MEASURED, "score", track.id, str(submission), "--data", str(data)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    seconds = time.perf_counter() - started
    used_mb = int(told.split("VmHWM:")[1].split()[0]) / 1000
    size_mb = submission.stat().st_size / 1e6
    print(
        f"scoring a submission of {trials.height:,} masks ({size_mb:.0f} MB of JSON): {seconds:.1f} s, "
        f"{used_mb:.0f} MB at most; asked: under {MEMORY_MB} MB; {'yes' if used_mb < MEMORY_MB else 'no'}"
    )
    return used_mb < MEMORY_MB


def made(track_id: str, size: str, folder: Path, without: tuple[str, ...] = ("images",)) -> Path:
    """A data set for the benchmark; without pictures, which scoring never opens."""
    track, data = registry.track(track_id), folder / f"{track_id}-{size}"
    if not data.exists():
        order = Order(size, 0, without)  # type: ignore[arg-type]
        make.run(track, order, make.plan(track, order), data, lambda weight: None)
    return data


def tiny_masks(folder: Path) -> list[openeds.Mask]:
    """Some real masks."""
    data = made("eye-segmentation-v1", "tiny", folder)
    return [openeds.open_mask(file, key) for _, file, key in openeds.read_hidden(data).rows()]


if __name__ == "__main__":
    sys.exit(main())
