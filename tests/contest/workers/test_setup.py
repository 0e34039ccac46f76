"""A worker, put together."""

import os
import tempfile
from pathlib import Path

import pytest

from palestra.contest.setup.location import Place
from palestra.contest.workers import predict, setup
from palestra.entrants import bundle


def test_a_worker_sweeps_up_after_killed_ones_at_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, temporary = tmp_path / "contest", tmp_path / "tmp"
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    left = [home / f"{predict.PREFIX}x", temporary / f"{bundle.PREFIX}y"]
    kept = [home / "data", temporary / f"{predict.PREFIX}z"]
    for folder in (*left, *kept):
        folder.mkdir(parents=True)
        os.utime(folder, (0, 0))
    setup.sweep(Place(home / "contest.toml"))
    assert [folder for folder in (*left, *kept) if folder.exists()] == kept
