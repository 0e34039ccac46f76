"""Runs inputs through readers: `python -m tests.fuzz eyediap --inputs 1000000`. Stopped, it goes on where it was."""

import argparse
import tempfile
from pathlib import Path
from random import Random

from tests import ROOT
from tests.fuzz import campaign, readers

KEPT = ROOT / "build" / "fuzz"


def main() -> None:
    parse = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parse.add_argument("reader", choices=[*readers.READERS])
    parse.add_argument("--inputs", type=int, default=1_000_000)
    parse.add_argument("--only", type=int, help="show this input, and what becomes of it")
    asked = parse.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="palestra-fuzz-") as folder:
        if asked.only is not None:
            show(asked.reader, asked.only, Path(folder))
            return
        keep = KEPT / f"{asked.reader}.json"
        done = campaign.run(asked.reader, asked.inputs, Path(folder), keep, lambda line: print(line, flush=True))
        print(done)
        for fault in done.faults[:100]:
            print(f"  --only {fault.number}: {fault.file}: {fault.what}")
    raise SystemExit(bool(done.faults))


def show(name: str, number: int, home: Path) -> None:
    """The input, kept as a file, and the error with its traceback."""
    samples = readers.made(name, home)
    random = Random(f"{name} {campaign.SEED} {number}")
    sample = random.choice(samples)
    data = campaign.input_of(sample, random, [one.data for one in samples])
    kept = KEPT / f"{name}-{number}{Path(sample.file).suffix}"
    kept.write_bytes(data)
    print(f"{sample.file}, {len(data):,} bytes, kept as {kept}")
    (home / sample.file).parent.mkdir(parents=True, exist_ok=True)
    (home / sample.file).write_bytes(data)
    print(sample.read(home / sample.file))


if __name__ == "__main__":
    main()
