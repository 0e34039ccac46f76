"""A challenge that is a pip package (tests/outside/package): built, installed, found by its entry points, and used."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from palestra.remote import Server
from tests import OUTSIDE, ROOT
from tests.cli.test_contest import LINK, PASSWORD, Browser, serving

SIZE, LIGHT = "pupil-size-v1", "pupil-light-v1"
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")


@pytest.fixture(scope="session")
def site(cache: Path) -> Path:
    """Where the package is installed, once however many processes ask, as pip does it."""
    folder = cache / "outside-package"
    with (cache / "outside-package.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "site").exists():
            shutil.copytree(OUTSIDE / "package", folder / "source")  # a build leaves things behind
            words = ("install", "--no-index", "--no-deps", "--no-build-isolation", "--target", folder / "unfinished")
            subprocess.run([*PIP, *words, folder / "source"], check=True)
            (folder / "unfinished").rename(folder / "site")
    return folder / "site"


@pytest.fixture
def palestra(site, monkeypatch, tmp_path):
    """Runs a command in a process of its own that finds the package; gives its standard output."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(ROOT)]))
    monkeypatch.chdir(tmp_path)

    def run(*words: object, code: int = 0) -> str:
        line = [sys.executable, "-m", "palestra", *map(str, words)]
        ran = subprocess.run(line, capture_output=True, text=True)
        assert ran.returncode == code, ran.stderr
        return ran.stdout

    return run


def test_its_tracks_are_listed_and_keep_the_contract(palestra):
    listed = {one["id"]: one for one in json.loads(palestra("tracks", "--json"))}
    assert listed[SIZE] == {"id": SIZE, "title": "Pupil size", "answers": ["file"], "ranks": "mean_error_mm"}
    assert listed[LIGHT]["answers"] == ["stream"]
    assert "near-eye-gaze-v1" in listed
    for track in (SIZE, LIGHT):
        assert [one["id"] for one in json.loads(palestra("tracks", track, "--check", "--json"))] == [track]


def test_data_is_made_and_a_solution_and_a_template_are_scored(palestra):
    palestra("make", SIZE, "data", "--size", "tiny", "--seed", 3, "--pack", "contestants.zip")
    with zipfile.ZipFile("contestants.zip") as packed:
        assert {name.split("/")[0] for name in packed.namelist()} == {"people"}, "the truth stays here"
    palestra("solve", SIZE, "median", "--data", "data", "--out", "answers.csv")
    assert json.loads(palestra("check", SIZE, "answers.csv", "--data", "data", "--json"))["ok"]
    scored = json.loads(palestra("score", SIZE, "answers.csv", "--data", "data", "--json"))
    assert scored["valid"] and scored["metrics"]["mean_error_mm"]["value"] < 0.1
    palestra("starter", SIZE, "kit")
    assert Path("kit/README.md").read_text().startswith("# Pupil size: begin here")
    assert (Path("kit/tracks/palestra_pupils") / "size_v1.py").is_file() and not list(Path("kit").rglob("size_starter"))
    alone = subprocess.run([sys.executable, "kit/score.py"], capture_output=True, text=True)
    assert "mean_error_mm: " in alone.stdout, alone.stderr
    template = json.loads(palestra("score", SIZE, "kit/template.csv", "--data", "kit/data", "--json"))
    assert template["metrics"]["mean_error_mm"]["value"] > 0.5


def test_its_live_track_is_played_by_a_solution_and_by_a_bundle(palestra):
    palestra("starter", LIGHT, "kit")
    results = json.loads(palestra("play", LIGHT, "narrowing", "mine=kit/bundle", "--pace", "fast", "--json"))
    accuracy = {one["entrant"]: one["metrics"]["accuracy"]["value"] for one in results}
    assert accuracy["narrowing"] == 1.0 > accuracy["mine"], "and the bundle says the same each time"


def test_a_contest_with_its_track_is_served_and_a_submission_gets_onto_the_leaderboard(palestra, tmp_path):
    palestra("contest", "init", "contest.toml", "--track", SIZE)
    assert 'track = "pupil-size-v1"' in Path("contest.toml").read_text()
    palestra("solve", SIZE, "median", "--data", "data/pupil-size", "--out", "answers.csv")
    with serving(tmp_path) as (server, address):
        assert LINK.search(server.said)
        ann = Browser(address)
        ann.do("register", "/register", name="ann", password=PASSWORD)
        ann.do("make-team", "/team", name="Iris")
        words = ("submit", address, "pupil-size", "answers.csv", "--token", ann.token("read", "submit"))
        sent = json.loads(palestra(*words, "--json"))
        assert sent["state"] == "scored"
        with Server(address) as asked:
            (row,) = asked.board("pupil-size").rows
        assert row.name == "Iris"
        assert re.search(r"Pupil size.*Iris", ann.http.get("/boards/pupil-size").text, re.DOTALL)
        assert server.stop() == 0, server.said
