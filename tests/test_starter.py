"""Starter kits work for whoever has numpy (and OpenCV for the solutions that look at pictures)."""

import shutil
import subprocess
import sys

import pytest

from palestra import registry
from palestra.errors import PalestraError
from palestra.starter import write_kit

TRACKS = sorted(registry.tracks())
# Runs a script as if nothing but these were installed.
ALONE = """
import sys, runpy
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
sys.argv = sys.argv[1:]
sys.path.insert(0, ".")
runpy.run_path(sys.argv[0], run_name="__main__")
"""
OURS = ["palestra", "polars", "msgspec", "scipy", "matplotlib", "rich", "typer", "jinja2", "sklearn", "torch"]


@pytest.fixture
def kit(tiny, tmp_path):
    def write(track_id):
        tiny(track_id)
        write_kit(registry.track(track_id), tmp_path / "kit")
        return tmp_path / "kit"

    return write


def run(kit, *words, blocked=OURS):
    code = ALONE.format(blocked=set(blocked))
    found = subprocess.run([sys.executable, "-c", code, *words], cwd=kit, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


def numbers(text):
    """The `name value` lines that a scorer prints."""
    words = [line.split() for line in text.splitlines()]
    return {pair[0]: float(pair[1]) for pair in words if len(pair) == 2}


@pytest.mark.parametrize("track_id", TRACKS)
def test_the_first_solution_runs_and_the_stand_alone_scorer_agrees_with_ours(track_id, kit, cli):
    track, folder = registry.track(track_id), kit(track_id)
    answers = folder / f"answers{track.suffix}"
    run(folder, "solution.py")
    assert cli("check", track_id, answers, "--data", folder / "data").code == 0
    ours = cli("score", track_id, answers, "--data", folder / "data", "--json").json["metrics"]
    alone = numbers(run(folder, "score.py", answers.name, blocked=[*OURS, "cv2"]))
    assert track.ranks.name in alone
    for name in alone.keys() & ours.keys():
        assert alone[name] == pytest.approx(ours[name]["value"], abs=1e-6)


@pytest.mark.parametrize("track_id", TRACKS)
def test_the_template_is_in_order_and_the_first_solution_beats_it(track_id, kit, cli):
    track, folder = registry.track(track_id), kit(track_id)
    run(folder, "solution.py")
    values = []
    for file in (f"template{track.suffix}", f"answers{track.suffix}"):
        assert cli("check", track_id, folder / file, "--data", folder / "data").code == 0
        found = cli("score", track_id, folder / file, "--data", folder / "data", "--json").json
        values.append(found["metrics"][track.ranks.name]["value"])
    assert values[1] < values[0] if track.ranks.better == "lower" else values[1] > values[0]


@pytest.mark.parametrize("track_id", TRACKS)
def test_a_kit_has_a_page_of_at_most_one_page(track_id, kit):
    page = (kit(track_id) / "README.md").read_text()
    assert page.startswith("# ")
    assert len(page.splitlines()) <= 50


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(PalestraError, match="Nothing was written"):
        write_kit(registry.track(TRACKS[0]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_track_outside_the_package_gets_a_plain_kit(tiny, tmp_path):
    import dataclasses

    data = tiny("near-eye-gaze-v1")
    track = dataclasses.replace(registry.track("near-eye-gaze-v1"), id="another-v1")
    place = data.with_name(data.name.replace("near-eye-gaze-v1", "another-v1"))
    if not place.exists():
        shutil.copytree(data, place)
    write_kit(track, tmp_path / "kit")
    assert "palestra check another-v1 template.csv" in (tmp_path / "kit" / "README.md").read_text()
    assert (tmp_path / "kit" / "template.csv").is_file()
