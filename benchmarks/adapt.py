"""What `palestra adapt` makes of five masks, on three devices that no training has in it.

    python -m benchmarks.adapt [DEVICE …] [--page docs/annotate.md]

For each: mIoU on pictures that it was given neither with a mask nor without, by the shipped weights and by the adapted
ones, and how long that took. The ways there are those of a user: a folder of pictures, a folder of five masks.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import cv2

from benchmarks.adapt_devices import DEVICES, Device, Image, pictures
from palestra.annotation.adapt import adapt
from palestra.annotation.jobs import jobs_of
from palestra.annotation.labels import overlap_counts, pooled_miou, read_labels
from palestra.eyes.reader.read_eye import estimate
from palestra.eyes.reader.settings import Settings
from train.tables_page import markdown, placed

LABELLED, UNLABELLED, TRIED = 5, 16, 18
AIM, RISE = 0.95, 0.05  # mIoU to reach, or to rise by
MOST_S, CORES = 300.0, 2  # it may take so long on so many cores; on a busy machine, processor time tells


def miou(seen: list[tuple[Image, Image]], weights: Path | None) -> float:
    """Of all pixels together."""
    settings = Settings(weights=weights, upside_down=False)
    return pooled_miou([overlap_counts(mask, estimate(image, settings).mask) for image, mask in seen])


def tried(device: Device, work: Path) -> dict[str, float]:
    seen = pictures(device, LABELLED + UNLABELLED + TRIED)
    for folder in ("eyes", "labels"):
        (work / folder).mkdir(parents=True)
    for number, (image, mask) in enumerate(seen[: LABELLED + UNLABELLED]):
        cv2.imwrite(str(work / "eyes" / f"{number:02}.png"), image)
        if number < LABELLED:
            cv2.imwrite(str(work / "labels" / f"{number:02}.png"), mask)
    out = work / "out"
    jobs = jobs_of(work / "eyes", out)
    before = miou(seen[-TRIED:], None)
    began, cpu_s = time.perf_counter(), sum(os.times()[:4])
    found = adapt(jobs, read_labels(work / "labels", jobs, out), work / "device.onnx", "upright", lambda count: None)
    took_s, cpu_s = time.perf_counter() - began, sum(os.times()[:4]) - cpu_s
    after = miou(seen[-TRIED:], work / "device.onnx") if found.kept else before
    return {"before": before, "after": after, "others": found.others, "wall_s": took_s, "cpu_s": cpu_s}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("devices", nargs="*", default=[device.name for device in DEVICES])
    parser.add_argument("--page", type=Path, help="a page to put the table into")
    options = parser.parse_args()
    rows = []
    for device in (device for device in DEVICES if device.name in options.devices):
        with tempfile.TemporaryDirectory() as folder:
            told = tried(device, Path(folder))
        better = told["after"] >= min(AIM, told["before"] + RISE)
        in_time = told["cpu_s"] / CORES <= MOST_S
        print(f"{device.name}: {', '.join(f'{name} {value:.3g}' for name, value in told.items())}: "
              f"{'reached' if better and in_time else 'missed'}", flush=True)  # fmt: skip
        rows.append([device.name, f"{told['before']:.3f}", f"{told['after']:.3f}", f"{told['cpu_s']:.0f} s"])
    table = markdown(["device", "shipped", "adapted", "processor time"], rows)
    if options.page:
        options.page.write_text(placed(options.page.read_text(encoding="utf-8"), "adapt", table), encoding="utf-8")


if __name__ == "__main__":
    main()
