"""Tests mirror the package: what palestra/live/run.py does is tested in tests/live/test_run.py."""

from pathlib import Path

ROOT = Path(__file__).parent.parent  # of the repository
OUTSIDE = ROOT / "tests" / "outside"  # tracks and programs of somebody else
