"""Take new weights into the package and write on their cards what training came to.

    python -m train.ship FOLDER           all that a training run wrote: weights, predictions, results.jsonl
    python -m train.ship FILE.onnx NAME … a file is copied; a bare name is of weights that their script put there itself

Of solutions that are not shipped only the digest is noted, unless --all says so: whoever trains them with `make
train-NAME` wants to run them. Predictions go to docs/predictions; what older ones scored is taken off the cards, and
`make tables` scores the new ones.
"""

import argparse
import hashlib
import shutil
from pathlib import Path

from palestra import model_cards
from train import results

PREDICTIONS = Path("docs/predictions")
NOTED = ("parameters", "train_s", "epochs", "device", "trained", "checked", "sha256", "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("given", type=Path, nargs="+")
    parser.add_argument("--commit", default="", help="of the scripts that trained them, for the cards")
    parser.add_argument("--all", action="store_true", help="also weights that are not shipped")
    options = parser.parse_args()
    for given in options.given:
        for name in _shipped(given, options):
            known = model_cards.card(name)
            print(f"{name}: {known.bytes:,} bytes, sha256 {known.sha256[: model_cards.SHOWN] or 'of nothing'}…")


def _shipped(given: Path, options: argparse.Namespace) -> list[str]:
    return ship_all(given, options.commit, options.all) if given.is_dir() else [ship(given, options.commit)]


def ship(given: Path, commit: str = "") -> str:
    if given.suffix:
        shutil.copyfile(given, model_cards.path(given.stem))
    model_cards.stamp(given.stem, commit=commit)
    return given.stem


def ship_all(folder: Path, commit: str = "", unshipped: bool = False) -> list[str]:
    """Names of all networks that a run tells of."""
    every = results.read(folder)
    for learnt in every:
        file, known = folder / f"{learnt.weights}.onnx", model_cards.card(learnt.weights)
        if (known.shipped or unshipped) and file.is_file():
            shutil.copyfile(file, model_cards.path(learnt.weights))
        told = {key: getattr(learnt, key) for key in NOTED}
        if learnt.predictions:
            told["predictions"] = keep(folder / learnt.predictions)
        for other in learnt.others:
            keep(folder / other)
        told = {key: value for key, value in told.items() if value}
        model_cards.stamp(learnt.weights, **({"commit": commit, "scores": {}, "predictions": ""} | told))
    return [learnt.weights for learnt in every]


def keep(predictions: Path) -> str:
    """Copy answers to the test split to where they are scored; their digest."""
    PREDICTIONS.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(predictions, PREDICTIONS / predictions.name)
    return hashlib.sha256(predictions.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
