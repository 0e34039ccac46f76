"""Serves the bundle's class as a policy server: `python serve.py [PORT]`. Needs palestra, for its WebSocket."""

import sys
from pathlib import Path

from palestra.client import load, serve

PROGRAM = Path(__file__).resolve().parent / "bundle" / "Algorithm" / "MyAlgorithm.py"

if __name__ == "__main__":
    serve(load(f"{PROGRAM}:MyAlgorithm"), int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
