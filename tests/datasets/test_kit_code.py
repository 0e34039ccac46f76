"""Kits of tracks from outside: what their page says to run works in a fresh folder, in processes that know no track."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from palestra import registry
from palestra.datasets.starter_kit import write_kit
from tests import OUTSIDE

HELPER = "def distance(a, b):\n    return (a - b).abs()\n"
TITLES = "TITLE = 'Blink counting'\n"


def run(folder: Path, *words: object, code: int = 0) -> str:
    """A command in a process of its own, to which nobody said where tracks are."""
    names = {"palestra": [sys.executable, "-m", "palestra"], "python": [sys.executable]}
    line = [*names[str(words[0])], *map(str, words[1:])]
    known = {name: value for name, value in os.environ.items() if name != registry.OUTSIDE}
    ran = subprocess.run(line, cwd=folder, env=known, capture_output=True, text=True)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def commands(kit: Path) -> list[list[str]]:
    (block,) = re.findall(r"```\n(.*?)```", (kit / "README.md").read_text(), re.DOTALL)
    return [line.split() for line in block.splitlines()]


@pytest.fixture
def challenges(tmp_path) -> Path:
    """A track that imports a helper and a package beside it, another track, and data."""
    folder = tmp_path / "challenges"
    (folder / "eyelids").mkdir(parents=True)
    (folder / "eyelids/__init__.py").write_text(TITLES)
    (folder / "_lids.py").write_text(HELPER)
    text = (OUTSIDE / "blink_count_v1.py").read_text()
    imports = "from _lids import distance\nfrom eyelids import TITLE\n"
    text = text.replace("import polars as pl\n", f"import polars as pl\n{imports}")
    blinks = 'pl.col("blinks")', 'pl.col("truth_blinks")'
    text = text.replace("({} - {}).abs()".format(*blinks), "distance({}, {})".format(*blinks))
    assert "distance(pl" in text
    (folder / "blink_count_v1.py").write_text(text)
    (folder / "secret_count_v1.py").write_text(text.replace("blink-count-v1", "secret-count-v1"))
    data = tmp_path / "clips"
    (data / "truth").mkdir(parents=True)
    names = [f"c{i}" for i in range(10)]
    (data / "clips.csv").write_text("trial,unit\n" + "".join(f"{name},p{i // 2}\n" for i, name in enumerate(names)))
    (data / "truth/clips.csv").write_text("trial,truth_blinks\n" + "".join(f"{name},2\n" for name in names))
    return folder


def test_a_kit_brings_the_track_a_scorer_data_and_a_template_and_its_commands_work(challenges, tmp_path):
    words = ("starter", "blink-count-v1", "kit", "--data", "clips")
    run(tmp_path, "palestra", "--tracks-dir", "challenges", *words)
    kit = (tmp_path / "kit").rename(tmp_path / "fresh")
    shutil.rmtree(challenges)
    code = {path.name for path in (kit / "tracks").iterdir() if path.name != "__pycache__"}
    assert code == {"blink_count_v1.py", "_lids.py", "eyelids"}, "and no other track"
    assert {"data", "template.csv", "score.py", "README.md"} <= {path.name for path in kit.iterdir()}
    said = [run(kit, *line) for line in commands(kit)]
    assert len(said) == 3 and "mean_error: 2 blinks" in said[-1]
    shutil.copytree(kit, tmp_path / "again")
    (tmp_path / "again" / "mine.csv").write_text("trial,blinks\nc0,nan\n")
    assert "cannot be scored" in run(tmp_path, "python", "again/score.py", "again/mine.csv", code=1)


def test_a_track_that_makes_no_data_asks_for_some(challenges, tmp_path):
    said = run(tmp_path, "palestra", "--tracks-dir", "challenges", "starter", "blink-count-v1", "kit", code=1)
    assert "makes no synthetic data: name a data set with --data DIR" in said
    assert not (tmp_path / "kit").exists()


def test_a_kit_without_data_says_where_it_goes(monkeypatch, tmp_path):
    """As a contest packs it whose track makes no data."""
    monkeypatch.setenv(registry.OUTSIDE, str(OUTSIDE))
    write_kit(registry.track("blink-count-v1"), tmp_path / "kit")
    assert (tmp_path / "kit/tracks/blink_count_v1.py").is_file()
    assert "| `data/` | is not here:" in (tmp_path / "kit/README.md").read_text()
