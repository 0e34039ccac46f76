"""A contest around a track that lies beside its file: no option, no variable, in any process; and one that moved."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from palestra import registry
from tests import OUTSIDE
from tests.cli.test_contest import LINK, PASSWORD, Browser, serving

TRACK, PHASE = "blink-count-v1", "blink-count"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A contest of blink-count-v1, whose file lies beside the folder that the track is in."""
    monkeypatch.delenv(registry.OUTSIDE, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("challenges").mkdir()
    shutil.copy(OUTSIDE / "blink_count_v1.py", "challenges")
    words = ("contest", "init", "contest.toml", "--track", TRACK, "--size", "none")
    palestra(tmp_path, "--tracks-dir", "challenges", *words)
    truth = Path("data") / PHASE / "truth"
    truth.mkdir(parents=True)
    names = [f"c{i}" for i in range(10)]
    (truth.parent / "clips.csv").write_text("trial,unit\n" + "".join(f"{n},p{i // 2}\n" for i, n in enumerate(names)))
    (truth / "clips.csv").write_text("trial,truth_blinks\n" + "".join(f"{name},1\n" for name in names))
    Path("answers.csv").write_text("trial,blinks\n" + "".join(f"{name},2\n" for name in names))
    return tmp_path


def palestra(folder: Path, *words: object, code: int = 0) -> str:
    """A command in a process of its own; all that it says."""
    line = [sys.executable, "-m", "palestra", *map(str, words)]
    ran = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == code, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def test_a_contest_finds_its_tracks_in_every_process_and_a_contestant_needs_none(folder, tmp_path):
    assert 'tracks = "challenges"' in (folder / "contest.toml").read_text()
    with serving(folder) as (server, address):
        link = LINK.search(server.said)
        assert link
        Browser(address).do("use-link", f"/link/{link[2]}", link=link[2], name="olga", password=PASSWORD)
        ann = Browser(address)
        ann.do("register", "/register", name="ann", password=PASSWORD)
        ann.do("make-team", "/team", name="Fovea")
        token = ann.token("read", "submit")
        contestant = tmp_path / "contestant"
        contestant.mkdir()
        shutil.copy(folder / "answers.csv", contestant)
        said = palestra(contestant, "submit", address, PHASE, "answers.csv", "--token", token)
        assert "It is scored." in said and "Rank 1 of 1" in said
        assert server.stop() == 0, server.said
    assert '"name":"Fovea"' in palestra(folder, "contest", "board", "contest.toml", "--json")
    assert "1 scored again, 0 failed" in palestra(folder, "contest", "rescore", "contest.toml", "--reason", "to see")
    palestra(folder, "contest", "export", "contest.toml", "contest.zip")
    moved_without_its_tracks(folder, tmp_path / "moved")


def moved_without_its_tracks(folder: Path, moved: Path) -> None:
    moved.mkdir()
    said = palestra(moved, "contest", "restore", "contest.toml", folder / "contest.zip")
    assert "Tracks from outside Palestra are in no backup and in no export." in said
    assert "contest.tracks: found the folder 'challenges', which is not there" in said
    assert "events, all as they were written" in palestra(moved, "contest", "verify-log", "contest.toml")
    for command in ("board", "serve", "worker"):
        said = palestra(moved, "contest", command, "contest.toml", code=1)
        assert f"phase {PHASE} cannot be run here, for its track {TRACK} cannot be used." in said
        assert "contest.tracks: found the folder 'challenges', which is not there" in said
    shutil.copytree(folder / "challenges", moved / "challenges")
    assert '"name":"Fovea"' in palestra(moved, "contest", "board", "contest.toml", "--json")


def test_a_missing_folder_is_told_with_its_line_before_a_contest_is_opened(folder):
    shutil.rmtree(folder / "challenges")
    said = palestra(folder, "contest", "serve", "contest.toml", code=1)
    assert "contest.toml: line " in said and "found the folder 'challenges', which is not there" in said


def test_a_folder_elsewhere_is_not_named_and_it_is_told_what_to_do(folder):
    shutil.move(folder / "challenges", folder.parent / "elsewhere")
    (folder / "contest.toml").unlink()
    words = ("--tracks-dir", folder.parent / "elsewhere", "contest", "init", "contest.toml", "--track", TRACK)
    said = palestra(folder, *words, "--size", "none")
    assert 'write tracks = "elsewhere" below [contest]' in said
    assert "tracks = " not in (folder / "contest.toml").read_text()
