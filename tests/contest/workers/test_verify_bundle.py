"""Bundles that are to reproduce what their team submitted."""

import re
import shutil
import zipfile

import msgspec
import polars as pl
import pytest

from palestra import registry
from palestra.contest.log import events as e
from palestra.contest.rules.model import Verification
from palestra.contest.workers import live_run, predict, score
from palestra.contest.workers import verify_bundle as verifying
from palestra.report.bilingual import only
from palestra.sandbox import backends
from palestra.sandbox.launch import Backend
from tests import OUTSIDE
from tests.changed import changed
from tests.contest.bundles import Home, write_zip
from tests.live import hall
from tests.live.hall import program

EXAMPLE = OUTSIDE / "verification" / "predict.py"
TRACK = "near-eye-gaze-v1"


@pytest.fixture(autouse=True)
def _sandbox():
    hall.require_sandbox()


@pytest.fixture
def home(tmp_path, tiny):
    return Home(tmp_path, TRACK, tiny(TRACK), verification=Verification(5, tolerance=0.01))


@pytest.fixture
def submitted(home):
    """What the example writes at home, as it was submitted; with some change."""

    def make(change=None):
        file = home.folder / "submitted.csv"
        import runpy

        runpy.run_path(str(EXAMPLE))["main"](home.folder / "data", file)
        if change is not None:
            change(pl.read_csv(file, infer_schema=False).with_columns(pl.col("x", "y").cast(pl.Float64))).write_csv(
                file
            )
        return file

    return make


def bundle(home, text, name="predict.py", **more):
    return write_zip(home.folder / "Blue_Test.zip", {name: text, **more})


def assignment(home, file, answers):
    order = home.assignment("verify", file, submission="b1", of="s1")
    return msgspec.structs.replace(order, answers=home.put(answers), answers_name=answers.name)


def verify(order):
    outcome = score.guarded(verifying.verify, order)
    assert outcome.failure is None, outcome.failure.trace
    (made,) = outcome.bodies
    assert isinstance(made, e.VerificationMade) and (made.submission, made.of) == ("b1", "s1")
    return made


def page(home, made):
    return home.files.read(made.report).decode()


# --- the outcomes


@pytest.mark.parametrize("name", ["predict.py", "Algorithm/predict.py"])
def test_a_bundle_that_gives_the_same_answers_is_reproduced(home, submitted, name):
    answers = submitted(lambda table: table.with_columns(pl.col("x") + 0.005))
    made = verify(assignment(home, bundle(home, EXAMPLE.read_text(), name), answers))
    assert made.outcome == "reproduced" and made.different == 0
    assert made.rows == registry.track(TRACK).trials(home.folder / "data").height
    assert made.worst == pytest.approx(0.005) and "within 0.01" in made.message
    text = page(home, made)
    assert "Reproduced" in text and "Blue_Test.zip" in text and "<script" not in text
    told = only(text, "zh")
    assert "<h1>复现核验：通过</h1>" in told and "在容差 0.01 内一致" in told and "are the same" not in told


def test_a_bundle_that_answers_otherwise_is_told_where_and_by_how_much(home, submitted):
    answers = submitted(lambda table: table.with_columns(pl.col("x") + 3 * (pl.int_range(pl.len()) < 2)))
    made = verify(assignment(home, bundle(home, EXAMPLE.read_text()), answers))
    assert (made.outcome, made.different, made.worst) == ("differs", 2, pytest.approx(3))
    first = registry.track(TRACK).trials(home.folder / "data")["trial"][0]
    assert first in made.message and first in page(home, made) and "By person" in page(home, made)
    told = only(page(home, made), "zh")
    assert "按受试者" in told and "（重跑）" in told and "个超出容差 0.01" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; print('no model'); sys.exit(3)", "predict.py ended by itself with exit code 3"),
        ("raise ValueError('no such layer')", "ValueError: no such layer"),
        ("pass", "predict.py ended without writing anything to OUT"),
        ("import sys; open(sys.argv[2], 'w').write('x,y')", "What it wrote is no submission"),
    ],
)
def test_a_bundle_that_does_not_do_it_has_failed_and_is_told_why(home, submitted, text, message):
    made = verify(assignment(home, bundle(home, text), submitted()))
    assert made.outcome == "failed" and message in made.message
    assert (made.rows, made.different) == (0, 0) and "Failed" in page(home, made)
    assert ("no model" in page(home, made)) == ("no model" in text)
    assert not re.search("ended|What it wrote|found", only(page(home, made), "zh"))


def test_a_bundle_without_a_program_has_failed(home, submitted):
    made = verify(assignment(home, bundle(home, "", "readme.txt"), submitted()))
    assert made.outcome == "failed" and "expected predict.py or Algorithm/predict.py" in made.message


def test_a_hostile_archive_has_failed(home, submitted):
    file = home.folder / "Blue_Test.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("../../predict.py", "print('out')")
    made = verify(assignment(home, file, submitted()))
    assert made.outcome == "failed" and "'..' in the name" in made.message


def test_what_a_bundle_prints_is_escaped_on_the_page(home, submitted):
    made = verify(
        assignment(home, bundle(home, "print('<script>alert(1)</script>'); raise SystemExit(1)"), submitted())
    )
    assert "<script>" not in page(home, made) and "&lt;script&gt;" in page(home, made)


def test_more_than_a_submission_may_have_is_not_taken(home, submitted):
    home.phase = msgspec.structs.replace(home.phase, limit_bytes=100)
    made = verify(assignment(home, bundle(home, EXAMPLE.read_text()), submitted()))
    assert made.outcome == "failed" and "a submission has at most 100 bytes" in made.message


def test_a_bundle_brings_its_own_wheels(home, submitted):
    name, info = "entrantlib", "entrantlib-1.0.dist-info"
    wheel = home.folder / "entrantlib-1.0-py3-none-any.whl"
    write_zip(wheel, {
        f"{name}/__init__.py": "VALUE = 41",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": f"{name}/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
    })  # fmt: skip
    file = bundle(home, "import entrantlib; print('value', entrantlib.VALUE + 1); raise SystemExit(1)")
    with zipfile.ZipFile(file, "a") as archive:
        archive.write(wheel, f"wheels/{wheel.name}")
    assert "value 42" in verify(assignment(home, file, submitted())).message


# --- what it cannot do


SEARCH = """
import os, sys
found = []
for root, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if f"{root}/{name}".replace("//", "/") not in ("/proc", "/sys", "/usr")]
    if "/palestra/authoring/starter" in root: continue  # the example that new challenges begin with
    if "truth" in root.split("/")[-3:] or "truth" in folders: found.append(root)
try: open(ADDRESS + "/data.toml"); found.append("the data set itself")
except OSError: pass
print("found:", found)
print("sees:", sorted(os.listdir(sys.argv[1])))
raise SystemExit(1)
"""


def test_the_truth_is_out_of_reach(home, submitted, tmp_path):
    data = tmp_path / "whole"
    shutil.copytree(home.folder / "data", data)
    data.chmod(0o755)
    text = SEARCH.replace("ADDRESS", repr(str(data.resolve())))
    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to(data)
    made = verify(assignment(home, bundle(home, text), submitted()))
    assert "found: []" in made.message and "'test'" in made.message
    assert "truth" not in made.message


def test_truth_that_lies_about_is_never_given_to_a_bundle(home, submitted, tmp_path):
    """Under another name than the track hides: nothing is run then, and it is our fault."""
    track = registry.track(TRACK)
    shutil.copytree(home.folder / "data", tmp_path / "open")
    with pytest.raises(RuntimeError, match="can be read from what contestants see"):
        predict.lay_out(track_without_hidden(track), tmp_path / "open", tmp_path / "view")


def track_without_hidden(track):

    return changed(track, hidden=("elsewhere",))


def test_the_view_has_everything_but_what_is_hidden_and_what_hides_itself(tmp_path, tiny):
    data = tmp_path / "data"
    shutil.copytree(tiny(TRACK), data)
    (data / ".git").mkdir()
    (data / ".git" / "truth").write_text("x")
    (data / "people.csv").chmod(0o600)  # a program has another user
    predict.lay_out(registry.track(TRACK), data, tmp_path / "view")
    names = {path.name for path in (tmp_path / "view").iterdir()}
    assert names == {path.name for path in data.iterdir()} - {"truth", ".git"}
    assert (tmp_path / "view" / "people.csv").stat().st_mode & 0o444 == 0o444
    assert (data / "people.csv").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "view" / "data.toml").samefile(data / "data.toml"), "a second name, and no copy"


def test_nothing_is_left_of_a_verification(home, submitted):
    before = {path.name for path in home.folder.iterdir()}
    verify(assignment(home, bundle(home, EXAMPLE.read_text()), submitted()))
    assert {path.name for path in home.folder.iterdir()} - before <= {"Blue_Test.zip", "submitted.csv"}


def test_a_machine_without_a_sandbox_is_no_outcome(home, submitted, monkeypatch):
    monkeypatch.setattr(backends, "probe", lambda: [Backend("bubblewrap", False, True, "it is gone.", "get it")])
    outcome = score.guarded(verifying.verify, assignment(home, bundle(home, EXAMPLE.read_text()), submitted()))
    assert not outcome.bodies and outcome.failure.fault == "platform" and "it is gone" in outcome.failure.trace


# --- live tracks


@pytest.fixture
def live_home(tmp_path, monkeypatch):
    hall.prepare(monkeypatch)
    from ticking_v1 import write_data

    return Home(tmp_path, "ticking-v1", write_data(tmp_path / "data"), verification=Verification(5))


def live_assignment(home, file):
    """A bundle that is to do what a program did that is always right."""
    played = live_run.play_one(home.assignment("live", home.bundle("good")))
    recording = next(body for body in played.bodies if isinstance(body, e.ResultMade)).files["recording"]
    order = home.assignment("verify", file, submission="b1", of="s1")
    return msgspec.structs.replace(order, answers=recording, answers_name="good.zip")


def test_a_live_bundle_that_says_the_same_again_is_reproduced(live_home):
    made = verify(live_assignment(live_home, live_home.bundle("Blue_Test")))
    assert (made.outcome, made.rows, made.different) == ("reproduced", 8, 0)


def test_a_live_bundle_that_says_something_else_differs(live_home):
    text = program(answer="if self.number == 9: answer = (answer + 1) % 9\nif self.number == 14: answer = 'boo'")
    made = verify(live_assignment(live_home, live_home.bundle("Blue_Test", text)))
    assert (made.outcome, made.rows, made.different) == ("differs", 8, 2)
    assert "the first is person1/009" in made.message and "Answered in one of the two runs alone: 1" in made.message


def test_a_live_bundle_that_does_not_start_has_failed(live_home):
    made = verify(live_assignment(live_home, live_home.bundle("Blue_Test", "class Other: pass")))
    assert made.outcome == "failed" and "has no class MyAlgorithm" in made.message


# --- masks


@pytest.mark.slow
def test_masks_are_compared_pixel_by_pixel(tmp_path, tiny):
    import numpy as np

    from palestra.tracks.eye_segmentation.format import SHAPE
    from palestra.tracks.eye_segmentation.masks import encode_mask

    track = registry.track("eye-segmentation-v1")
    home = Home(tmp_path, track.id, tiny(track.id), verification=Verification(5, tolerance=0.001))
    blank = track.blank(track.trials(home.folder / "data"))
    submitted = tmp_path / "submitted.json"
    track.writes(blank, submitted)
    mask = np.zeros(SHAPE, np.uint8)
    mask[:, :64] = 1  # a tenth
    other = pl.when(pl.int_range(pl.len()) == 1).then(pl.lit(encode_mask(mask))).otherwise("mask_key")
    track.writes(blank.with_columns(other.alias("mask_key")), tmp_path / "other.json")
    text = "import shutil, sys; shutil.copyfile('other.json', sys.argv[2])"
    file = bundle(home, text, **{"other.json": (tmp_path / "other.json").read_text()})
    made = verify(assignment(home, file, submitted))
    assert (made.outcome, made.rows, made.different) == ("differs", blank.height, 1)
    assert made.worst == pytest.approx(0.1) and blank["trial"][1] in made.message
