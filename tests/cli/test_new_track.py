"""`palestra new-track`: what it writes works as it is, from the first check to a served contest."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from palestra import registry
from palestra.remote import Server
from tests import ROOT
from tests.cli.test_contest import PASSWORD, Browser, serving
from tests.test_tutorial import shell

KINDS = {"file": (), "live": ("--live",)}
BLOCK = re.compile(r"^```bash(?P<mark> \w+)?\n(?P<text>.*?)^```$", re.M | re.S)


@pytest.fixture
def here(tmp_path, monkeypatch, cache):
    """An empty folder to work in; commands of this test and of its processes find the package, and no other track."""
    monkeypatch.setenv(registry.OUTSIDE, "")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def palestra(*words: object, code: int = 0) -> str:
    """A command in a process of its own; its standard output."""
    ran = subprocess.run([sys.executable, "-m", "palestra", *map(str, words)], capture_output=True, text=True)
    assert ran.returncode == code, ran.stderr
    return ran.stdout


# What is written


@pytest.mark.parametrize("kind", KINDS)
def test_it_writes_a_folder_with_all_that_a_challenge_needs(kind, here, cli):
    ran = cli("new-track", "Gaze dot", *KINDS[kind], "--json")
    assert ran.code == 0 and ran.json["id"] == "gaze-dot-v1" and ran.json["folder"] == "gaze-dot"
    files = {file.relative_to("gaze-dot").as_posix() for file in Path("gaze-dot").rglob("*") if file.is_file()}
    assert files == set(ran.json["files"])
    assert {"README.md", "contest.toml", "tracks/gaze_dot_v1.py", "tests/test_gaze_dot_v1.py"} <= files
    assert any(file.startswith("data/gaze-dot/truth/") for file in files)
    assert ("bundle/Algorithm/MyAlgorithm.py" in files) is (kind == "live")
    left = [file for file in files if re.search("example", Path("gaze-dot", file).read_text(), re.I)]
    assert left == [], "everything has the new name"


@pytest.mark.parametrize("kind", KINDS)
def test_the_track_is_short_enough_to_be_read_as_an_example(kind, here, cli):
    cli("new-track", "dot", *KINDS[kind])
    text = Path("dot/tracks/dot_v1.py").read_text()
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 42 and "TRACK = Track(" in text


def test_without_a_word_for_machines_it_says_what_to_do_next(here, cli):
    ran = cli("new-track", "gaze-dot-v1", "deep/er")
    assert "begin with deep/er/README.md" in ran.err
    (line,) = re.findall(r"Check it with: palestra (.+)", ran.err)
    assert "keeps the contract" in cli(*line.split()).err


def test_an_empty_folder_is_filled_where_it_is(here, cli):
    inside = here.stat().st_ino
    assert cli("new-track", "dot", ".").code == 0
    assert Path("tracks/dot_v1.py").is_file() and here.stat().st_ino == inside
    assert not [path for path in here.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("name", ["", "Größe", "2-eyes", "a/b", "../up", "a--b", "-a", "x" * 41, "dot-v2", "a\nb;c"])
def test_a_name_that_cannot_be_one_is_refused_and_nothing_is_written(name, here, cli):
    ran = cli("new-track", "--", name)
    assert ran.code == 1 and ran.err.startswith("Found ") and "expected" in ran.err
    assert not any(here.iterdir())


def test_the_name_of_a_track_that_is_there_is_refused(here, cli):
    ran = cli("new-track", "near-eye-gaze")
    assert ran.code == 1 and "There is a track 'near-eye-gaze-v1' already. Choose another name." in ran.err
    assert not any(here.iterdir())


def test_nothing_is_ever_overwritten(here, cli):
    Path("dot").mkdir()
    Path("dot/mine.txt").write_text("mine")
    Path("file").write_text("a file")
    Path("elsewhere").mkdir()
    Path("link").symlink_to("elsewhere")
    for folder in ("dot", "file", "link"):
        ran = cli("new-track", "dot", folder)
        assert ran.code == 1 and "Nothing was written; name another one." in ran.err
    assert [path.name for path in Path("dot").iterdir()] == ["mine.txt"] and not any(Path("elsewhere").iterdir())


@pytest.mark.parametrize("there", [True, False], ids=["into an empty folder", "into a new one"])
def test_it_writes_all_or_nothing(there, here, cli, monkeypatch):
    if there:
        Path("dot").mkdir()
    before = sorted(here.iterdir())
    write = Path.write_text

    def full(self, text, *given, **named):
        if self.name == "contest.toml":
            raise OSError(28, "No space left on device", str(self))
        return write(self, text, *given, **named)

    monkeypatch.setattr(Path, "write_text", full)
    ran = cli("new-track", "dot")
    assert ran.code == 1 and "No space left on device" in ran.err
    assert sorted(here.iterdir()) == before and not (there and any(Path("dot").iterdir()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_readme_tells_the_truth(kind, here, tmp_path):
    palestra("new-track", "dot", *KINDS[kind])
    page = Path("dot/README.md").read_text()
    assert len(page.split()) < 450, "a page"
    blocks = {(one["mark"] or "").strip(): one["text"] for one in BLOCK.finditer(page)}
    assert list(blocks) == ["", "serve", "submit"]
    words = ["bash", "-e", "-c", blocks[""]]
    env = shell(tmp_path) | {"PYTEST_ADDOPTS": "-p no:cacheprovider"}
    ran = subprocess.run(words, cwd="dot", env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "dot-v1: keeps the contract" in ran.stderr and "2 passed" in ran.stdout
    assert Path("dot", "run.html" if kind == "live" else "report.html").is_file()


# From nothing to a leaderboard


def packed(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "bundle.zip", "w") as out:
        out.write(folder / "bundle/Algorithm/MyAlgorithm.py", "Algorithm/MyAlgorithm.py")
    return folder / "bundle.zip"


@pytest.mark.parametrize("kind", KINDS)
def test_from_nothing_to_a_served_contest_with_a_submission_on_its_leaderboard(kind, here):
    palestra("new-track", "dot", *KINDS[kind])
    folder = here / "dot"
    palestra("tracks", "dot-v1", "--check", "--tracks-dir", folder / "tracks")
    with serving(folder) as (server, address):
        ann = Browser(address)
        ann.do("register", "/register", name="ann", password=PASSWORD)
        ann.do("make-team", "/team", name="Iris")
        file = packed(folder) if kind == "live" else folder / "answers.csv"
        words = ("submit", address, "dot", file, "--token", ann.token("read", "submit"), "--json")
        sent = json.loads(palestra(*words))
        assert sent["state"] == "scored"
        with Server(address) as asked:
            (row,) = asked.board("dot").rows
        assert row.name == "Iris"
        (entry,) = json.loads(palestra("contest", "board", folder / "contest.toml", "--phase", "dot", "--json"))
        assert entry["name"] == "Iris"
        assert server.stop() == 0, server.said
    assert "Traceback" not in server.said, server.said


def test_a_perfect_solution_passes_the_test_that_comes_with_a_track(here, cli):
    cli("new-track", "perfect-dot", "dot")
    truth = Path("dot/data/perfect-dot/truth/trials.csv").read_text()
    Path("dot/answers.csv").write_text(truth.replace("truth_x_cm", "x_cm"))
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "scored", "tests"]
    ran = subprocess.run(words, cwd="dot", capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


def test_a_wrong_token_is_told_to_be_one(here, cli):
    cli("new-track", "token-dot", "dot")
    with serving(here / "dot") as (server, address):
        ran = cli("submit", address, "token-dot", "dot/answers.csv", "--token", "WRONG")
        assert ran.code == 1 and "This token is unknown, was revoked or has run out." in ran.err
        assert server.stop() == 0, server.said
