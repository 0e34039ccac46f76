"""All five solutions for gaze-prediction-v1 one after another, on pictures that are drawn once.

    python -m train.gaze_all --data FOLDER --out OUT [--only palestra baseline]

One that fails is told at the end and stops none of the others.
"""

from __future__ import annotations

import sys
import time
import traceback
from types import ModuleType

import torch

from train import gaze_baseline, gaze_eymazing, gaze_konovalov, gaze_palestra, gaze_random_b
from train.gaze_common import changed, command, draw, reported

# Ours first, as most hangs on it where time is short.
SCRIPTS: tuple[ModuleType, ...] = (gaze_palestra, gaze_baseline, gaze_random_b, gaze_eymazing, gaze_konovalov)


def main() -> None:
    parser = command(__doc__)
    names = [script.NAME for script in SCRIPTS]
    parser.add_argument("--only", nargs="*", choices=names, default=names, help="these solutions alone")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    began = time.perf_counter()
    seen = draw(options.data, device, options.small)
    print(f"drew all pictures in {time.perf_counter() - began:.0f} s", flush=True)
    failed = []
    for script in SCRIPTS:
        if script.NAME not in options.only:
            continue
        try:
            print(reported(script.NAME, script.train, seen, options.out, changed(script.SETTINGS, options)), flush=True)
        except Exception:
            traceback.print_exc()
            failed.append(script.NAME)
        torch.compiler.reset()
        print(f"{time.perf_counter() - began:.0f} s after the start", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
