import os
import re
import shutil
import subprocess
import sys

import pytest

from palestra import registry
from palestra.errors import PalestraError, UnknownName
from tests import ROOT


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(registry.OUTSIDE, "")
    registry.add_folder(tmp_path)
    return tmp_path


def test_the_folder_is_the_registry():
    files = ["eye-segmentation-v1", "gaze-prediction-v1", "near-eye-gaze-v1", "remote-gaze-v1"]
    live, acted = ["emotion-eeg-v1", "near-eye-live-v1"], ["tabletop-manip-v1"]
    assert list(registry.tracks()) == sorted(files + live + acted)
    assert [name for name, track in registry.tracks().items() if track.arrives == ["stream"]] == live
    assert [name for name, track in registry.tracks().items() if track.arrives == ["episode", "judged"]] == acted


def test_every_track_has_a_solution_and_every_solution_a_track():
    assert {solution.track for solution in registry.solutions()} == set(registry.tracks())


def test_an_unknown_track_gets_a_hint():
    with pytest.raises(UnknownName, match="near-eye-gaze-v1"):
        registry.track("near-eye-gase-v1")


def test_an_unknown_solution_gets_a_hint():
    with pytest.raises(UnknownName, match="hold-last"):
        registry.solution("gaze-prediction-v1", "hold-lst")


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs a package of one module as pip leaves it: its entry points are in its metadata."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def install(name: str, track_id: str, code: str) -> None:
        module = name.replace("-", "_")
        (site / f"{module}.py").write_text(code)
        about = site / f"{module}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[palestra.tracks]\n{track_id} = {module}\n")

    return install


def a_track(track_id: str) -> str:
    return (
        "from dataclasses import replace\nfrom palestra.tracks.near_eye.gaze_v1 import TRACK as OTHER\n"
        f"TRACK = replace(OTHER, id={track_id!r})\n"
    )


def test_a_file_without_a_track_is_skipped_with_a_sentence(folder, cli):
    (folder / "empty.py").write_text("x = 1\n")
    (told,) = registry.skipped()
    assert f"{folder / 'empty.py'}:1: has no TRACK. A track file ends in TRACK = Track(...)" in told
    assert registry.broken() == {}
    listed = cli("tracks")
    assert listed.code == 0 and f"Skipped: {told}" in listed.err and "near-eye-gaze-v1" in listed.out
    with pytest.raises(PalestraError, match="has no TRACK"):
        registry.track("empty")


def test_a_file_that_fails_is_named_with_its_reason(folder):
    (folder / "broken.py").write_text("1 / 0\n")
    assert "broken.py:1: fails when it is loaded: ZeroDivisionError" in registry.broken()["broken"]
    with pytest.raises(UnknownName, match=r"(?s)no track.*Could not be loaded: .*broken\.py"):
        registry.track("what-it-would-be-v1")


def test_the_same_id_twice_is_refused(folder):
    (folder / "again.py").write_text("from palestra.tracks.near_eye.gaze_v1 import TRACK\n")
    told = registry.broken()["near-eye-gaze-v1"]
    assert "Several tracks have the id" in told and "again.py" in told
    assert "near-eye-gaze-v1" not in registry.tracks()


def test_a_file_named_as_another_track_does_not_take_its_place(folder):
    (folder / "near_eye_gaze_v1.py").write_text("from palestra.tracks.gaze_prediction.v1 import TRACK\n")
    assert "Several tracks" in registry.broken()["gaze-prediction-v1"]
    assert str(registry.track("near-eye-gaze-v1").title) == "Near-eye gaze with calibration"


def test_a_package_brings_a_track_by_its_entry_point(package):
    package("good-pupils", "good-pupils-v1", a_track("good-pupils-v1"))
    assert registry.track("good-pupils-v1").id == "good-pupils-v1"
    assert registry.broken() == {}


BROKEN = {
    "1 / 0\n": "fails when it is loaded: ZeroDivisionError: division by zero",
    "import nowhere_to_be_found\n": "fails when it is loaded: ModuleNotFoundError",
    "TRACK = 5\n": "TRACK is 5, expected a Track. A track file ends in TRACK = Track(...)",
    a_track("something-else-v1"): "its track has the id 'something-else-v1'. Name the entry point after it",
    "raise SystemExit('no licence')\n": "fails when it is loaded: SystemExit: no licence",
    "from __future__ import nonsense\n": "fails when it is loaded: SyntaxError",
}


@pytest.mark.parametrize(("code", "why"), BROKEN.items(), ids=range(len(BROKEN)))
def test_a_package_that_cannot_be_loaded_is_named_and_harms_no_other_track(cli, package, code, why, request):
    name = f"bad-pupils-{request.node.callspec.id}"
    package(name, f"{name}-v1", code)
    listed = cli("tracks", "--json")
    assert listed.code == 0
    assert "near-eye-gaze-v1" in [one["id"] for one in listed.json]
    file = f"{name.replace('-', '_')}.py"
    told = rf"{name}-v1 of the package {name}: \S+/{file}:\d: {re.escape(why)}"
    assert re.search(f"Not usable: {told}", listed.err)
    assert cli("solutions", "near-eye-gaze-v1").err == ""
    named = cli("check", f"{name}-v1", "answers.csv")
    assert named.code == 1 and re.search(told, named.err)


def test_a_check_of_all_tracks_fails_where_one_cannot_be_loaded(cli, package, monkeypatch):
    package("bad-check", "bad-check-v1", "1 / 0\n")
    monkeypatch.setattr("palestra.contract.check_track", lambda track, data: None)
    monkeypatch.setattr("palestra.cli.tracks_check.data_of", lambda track, data, quiet: data)
    ran = cli("tracks", "--check")
    assert ran.code == 1 and "8 checked: 7 keep the contract, 1 failed, 0 not checked" in ran.err.splitlines()[-1]
    assert cli("tracks", "near-eye-gaze-v1", "--check").code == 0


def test_a_contest_on_a_package_that_cannot_be_loaded_is_told_why(cli, package, tmp_path):
    package("bad-contest", "bad-contest-v1", "1 / 0\n")
    good = cli("contest", "init", tmp_path / "contest.toml", "--track", "near-eye-gaze-v1", "--size", "none")
    assert good.code == 0, "another track's contest is not harmed"
    text = (tmp_path / "contest.toml").read_text()
    (tmp_path / "contest.toml").write_text(text.replace("near-eye-gaze-v1", "bad-contest-v1"))
    ran = cli("contest", "init", tmp_path / "contest.toml", "--size", "none")
    assert ran.code == 1 and "of the package bad-contest: " in ran.err
    assert "bad_contest.py:1: fails when it is loaded: ZeroDivisionError" in ran.err


def test_a_package_with_the_id_of_another_track_is_refused_in_words(cli, package):
    package("twin-pupils", "near-eye-gaze-v1", a_track("near-eye-gaze-v1"))
    listed = cli("tracks", "--json")
    assert listed.code == 0 and "near-eye-gaze-v1" not in [one["id"] for one in listed.json]
    for told in (listed, cli("check", "near-eye-gaze-v1", "answers.csv")):
        assert "Several tracks have the id 'near-eye-gaze-v1': palestra.tracks.near_eye.gaze_v1 and " in told.err
        assert re.search(r"of the package twin-pupils \(\S+/twin_pupils\.py:3\)\. Ids must differ", told.err)
    assert cli("solutions", "near-eye-live-v1").code == 0


def test_a_list_of_solutions_that_fails_is_told_with_its_track(package):
    code = a_track("bad-solutions-v1") + "class _Broken:\n    def __iter__(self): raise OSError('no list')\n"
    package("bad-solutions", "bad-solutions-v1", code + "SOLUTIONS = _Broken()\n")
    told = registry.broken()["bad-solutions-v1"]
    assert told.startswith("bad-solutions-v1 of the package bad-solutions: ")
    assert "bad_solutions.py:5: its solutions fail" in told


def test_an_outside_track_may_use_what_python_has(folder):
    (folder / "with_dataclass_v1.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass, replace\n"
        "from palestra.tracks.near_eye.gaze_v1 import TRACK as OTHER\n"
        "@dataclass\nclass Thing:\n    number: int\n"
        "TRACK = replace(OTHER, id='with-dataclass-v1')\n"
    )
    assert registry.track("with-dataclass-v1").id == "with-dataclass-v1"


def test_a_name_that_python_has_already_is_refused(folder):
    (folder / "json.py").write_text("")
    assert "another Python module" in registry.broken()["json"]


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(PalestraError, match="is not there; expected a folder"):
        registry.add_folder(registry.Path("nowhere"))


def test_settings_are_read_from_text():
    assert registry.track("near-eye-gaze-v1", {"score_calibration": "true"}).setting_values["score_calibration"] is True
    assert registry.track("eye-segmentation-v1", {"rank_by": "image"}).ranks.name == "miou_image"


@pytest.mark.parametrize(
    ("track", "settings", "message"),
    [
        ("eye-segmentation-v1", {"rank_by": "median"}, "expected global or image; the default is global"),
        ("eye-segmentation-v1", {"rank": "image"}, "rank_by"),
        ("near-eye-gaze-v1", {"score_calibration": "maybe"}, "found 'maybe', expected true or false"),
        ("gaze-prediction-v1", {"x": "1"}, "has no settings"),
    ],
)
def test_a_setting_that_is_wrong_is_told(track, settings, message):
    with pytest.raises(PalestraError, match=message):
        registry.track(track, settings)


# --- what is loaded, and what breaks


def loaded(code, folder=ROOT):
    """The modules of challenges that are there after these lines; the package is that of the folder."""
    told = "\nprint(*(name for name in sys.modules if name.startswith('palestra.tracks.')), file=sys.stderr)"
    ran = python(f"import sys\n{code}{told}", folder)
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split())


def python(code, folder=ROOT):
    command, env = [sys.executable, "-c", code], os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


BY_COMMAND = """
from palestra.cli import main
sys.argv = ["palestra", "solutions", "emotion-eeg-v1", "--json"]
try:
    main()
except SystemExit as stopped:
    assert not stopped.code
"""
LISTED = "from palestra import registry\nassert len(registry.solutions('emotion-eeg-v1')) == 3"


@pytest.mark.parametrize("code", [LISTED, BY_COMMAND], ids=["in Python", "by command"])
def test_listing_the_solutions_of_a_challenge_loads_neither_them_nor_other_challenges(code):
    found = loaded(code)
    assert "palestra.tracks.emotion_eeg.solutions" in found
    assert all(name.startswith("palestra.tracks.emotion_eeg") for name in found)
    assert not [name for name in found if name.startswith("palestra.tracks.emotion_eeg.solutions.")]


@pytest.fixture
def broken(tmp_path):
    """A copy of the package in which one solution has a syntax error."""
    heavy = shutil.ignore_patterns("weights", "__pycache__")
    shutil.copytree(ROOT / "palestra", tmp_path / "palestra", ignore=heavy)
    (tmp_path / "palestra/tracks/emotion_eeg/solutions/evidence.py").write_text("def broken(:\n")
    return tmp_path


def test_a_syntax_error_in_a_solution_breaks_that_solution_alone(broken):
    home = "palestra.tracks.emotion_eeg.solutions"
    lines = f"""
{LISTED}
assert registry.__file__.startswith({str(broken)!r})
from palestra.errors import PalestraError
registry.resolve("{home}.entropy:Linear"), registry.resolve("{home}.network:Network")
try:
    registry.resolve("{home}.evidence:Evidence")
except PalestraError as error:
    print(error)
"""
    ran = python(f"import sys{lines}", broken)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"{home}.evidence:Evidence cannot be loaded: SyntaxError: invalid syntax")
    assert "still works" in ran.stdout and "Traceback" not in ran.stderr


def test_a_solution_that_is_not_where_it_is_said_to_be_is_told_in_words():
    with pytest.raises(PalestraError, match=r"palestra\.nowhere:Thing cannot be loaded: ModuleNotFoundError"):
        registry.resolve("palestra.nowhere:Thing")
    with pytest.raises(PalestraError, match=r"cannot be loaded: AttributeError"):
        registry.resolve("palestra.tracks.emotion_eeg.solutions:NOTHING")
