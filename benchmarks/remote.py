"""Gaze before a screen: reading, decoding, measuring and folds, each beside a peer or a limit, in one run.

python -m benchmarks.remote
"""

import sys
import tempfile
from pathlib import Path

from benchmarks import remote_folds, remote_reading


def main() -> int:
    """0 if all that was asked is met."""
    with tempfile.TemporaryDirectory() as folder:
        reading, folds = Path(folder) / "reading", Path(folder) / "folds"
        reading.mkdir()
        folds.mkdir()
        lines = [*remote_reading.measure(reading), *remote_folds.measure(folds)]
    for line in lines:
        print(line)
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
