"""All five solutions of eye-segmentation-v1, one after the other on one GPU; the pictures are drawn once.

    python -m train.segmentation_all --data FOLDER --out FOLDER

Writes segmentation_NAME.zip (masks of the frames that are scored) and eye_segmentation_NAME.onnx for each, and
results.jsonl for train.ship. One that fails is told and does not stop the others.
"""

import argparse
import time
import traceback
from pathlib import Path

from train import (
    segmentation_baseline,
    segmentation_bts_digital,
    segmentation_common,
    segmentation_jhu,
    segmentation_palestra,
    segmentation_tetelias,
)

# Ours comes second: what is cut off where the time is up are the others.
TURNS = {
    "baseline": segmentation_baseline,
    "palestra": segmentation_palestra,
    "bts_digital": segmentation_bts_digital,
    "tetelias": segmentation_tetelias,
    "jhu": segmentation_jhu,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="what `python -m train.paper FOLDER` wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("build/train"), help="where epochs are kept")
    parser.add_argument("--longer", type=float, default=1.0, help="how many times as long as usual each trains")
    parser.add_argument("--only", nargs="*", choices=list(TURNS), default=list(TURNS))
    parser.add_argument("--small", action="store_true", help="a few pictures and steps, to see that it runs")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    data = segmentation_common.open_data(options.data, small=options.small)
    failed = []
    for name in options.only:
        script = TURNS[name]
        began = time.perf_counter()
        try:
            work = segmentation_common.work_in(options.work, options.small)
            made = script.train(data, work, options.longer * script.TRAIN_S, options.small)
            took_s = time.perf_counter() - began
            segmentation_common.write(made, data, options.data, options.out, took_s)
        except Exception:  # told, and the others are trained
            traceback.print_exc()
            failed.append(name)
            continue
        print(f"{name}: {made.parameters:,} parameters, left out {made.validation:.4f}, {took_s:.0f} s", flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}; see above")


if __name__ == "__main__":
    main()
