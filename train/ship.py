"""Take new weights into the package and write their size and digest on their cards.

python -m train.ship FILE.onnx NAME …

A file is copied into the package; a bare name is of weights that their script put there itself.
"""

import argparse
import shutil
from pathlib import Path

from palestra.solutions import cards


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, nargs="+")
    for given in parser.parse_args().weights:
        place = cards.path(given.stem)
        if given.suffix:
            shutil.copyfile(given, place)
        known = cards.stamp(given.stem)
        print(f"{place.name}: {known.bytes:,} bytes, sha256 {known.sha256[: cards.SHOWN]}…")


if __name__ == "__main__":
    main()
