"""A slip in a challenge's own code, in a contest: the platform's fault for teams, file and line for organisers."""

import pytest

from palestra import registry
from palestra.contest.storage.file_store import Files
from palestra.contest.workers import score
from palestra.contest.workers.jobs import do
from tests.contest.bundles import Home, zip_folder
from tests.slipped import slipped

SCORE = 'return rows.with_columns(error=(pl.col("x_cm") - pl.col("truth_x_cm")).abs())'
TRUTH = 'return pl.read_csv(data / "truth/trials.csv", schema_overrides={"trial": pl.String})'
READ = 'return read_table(file, key="trial", columns={"x_cm": pl.Float64}, expected=trials)'
RAISES = "raise ValueError(str(rows.rows()))"  # all of the truth is in its words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(registry.OUTSIDE, "")
    registry.add_folder(tmp_path)
    return tmp_path


def require_ours(failure, place):
    """Teams read that it was no fault of theirs, and nothing else; organisers where it was, and what to do."""
    assert failure is not None and failure.fault == "platform"
    assert failure.message == score.OUR_FAULT
    assert failure.trace.startswith(failure.slip) and f": {place}: " in failure.slip
    assert "Then run `palestra tracks slipped-" in failure.slip


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("score", SCORE, RAISES),
        ("score", SCORE, "return rows.undo()"),
        ("score", 'Metric("mean_error", unit="cm", better="lower", reduce=mean_of("error")',
         'Metric("mean_error", unit="cm", better="lower", reduce=mean_of("eror")'),
        ("check", TRUTH, "raise KeyError(data)"),
        ("check", READ, READ.replace('columns={"x_cm": pl.Float64}, ', "")),
        ("score", TRUTH, "import sys; sys.exit(str(data))"),
    ],
)  # fmt: skip
def test_a_slip_is_the_platforms_fault_and_tells_teams_nothing(folder, kind, old, new):
    track, place = slipped(folder, old, new)
    home = Home(folder, track, folder / "data")
    require_ours(do(home.assignment(kind, folder / "answers.csv")).failure, place)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("ann-1,0.0", "ann-1,NaN", "in its truth, truth_x_cm of 'ann-1' is nan"),
        ("ann-1,0.0", "ann-1,many", "in its truth, truth_x_cm of 'ann-1' is 'many'"),
        ("trial,truth_x_cm", "trial,x_cm", "its truth has the column 'x_cm'"),
    ],
)
def test_a_slip_in_the_truth_is_the_platforms_fault_and_the_desk_has_file_and_row(folder, old, new, told):
    track, _ = slipped(folder, TRUTH, TRUTH)
    truth = folder / "data" / "truth" / "trials.csv"
    truth.write_text(truth.read_text().replace(old, new))
    failure = do(Home(folder, track, folder / "data").assignment("score", folder / "answers.csv")).failure
    line = (folder / f"{track.replace('-', '_')}.py").read_text().splitlines().index(f"    {TRUTH}")
    require_ours(failure, f"{folder / track.replace('-', '_')}.py:{line}")
    assert told in failure.slip


@pytest.mark.parametrize(
    "said", ["", "x_cm\n1\n", "trial,x_cm\nann-1,many\n", "\0"], ids=["empty", "columns", "text", "nothing"]
)
def test_a_faulty_file_is_its_teams_fault_where_the_template_is_read(folder, said):
    track, _ = slipped(folder, TRUTH, TRUTH)
    (folder / "answers.csv").write_text(said)
    (refused,) = do(Home(folder, track, folder / "data").assignment("check", folder / "answers.csv")).bodies
    assert refused.count >= 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("yield Tick(float(second),", "1 / 0; yield Tick(float(second),"),
        ('return {"pulse": answer}', "return answer.pulse"),
        ('return rows.with_columns(error=(pl.col("pulse")', 'return rows.with_columns(error=(pl.col("puls")'),
        ("people = samples(data)", "people = nobody"),
    ],
)
def test_a_slip_of_a_live_challenge_is_no_fault_of_the_bundle_that_plays(folder, old, new):
    track, place = slipped(folder, old, new, live=True)
    home = Home(folder, track, folder / "data")
    bundle = zip_folder(folder / "bundle", folder / "bundle.zip")
    require_ours(do(home.assignment("live", bundle)).failure, place)


def test_a_challenge_that_cannot_be_loaded_any_longer_is_no_fault_of_a_team(folder):
    track, place = slipped(folder, "TRACK = Track(", "1 / 0\nTRACK = Track(")
    home = Home(folder, track, folder / "data")
    failure = do(home.assignment("check", folder / "answers.csv")).failure
    require_ours(failure, place)
    assert "fails when it is loaded: ZeroDivisionError" in failure.slip


def test_a_report_that_fails_is_told_to_the_organiser_with_its_line(folder):
    new = "    display=Display(charts=lambda rows: rows.chart()),\n)\n"
    track, _ = slipped(folder, "    files=FileAnswers(answers, write_table),\n)\n",
                           "    files=FileAnswers(answers, write_table),\n" + new)  # fmt: skip
    file = folder / f"{track.replace('-', '_')}.py"
    file.write_text(file.read_text().replace("import FileAnswers,", "import Display, FileAnswers,"))
    home = Home(folder, track, folder / "data")
    (made,) = do(home.assignment("score", folder / "answers.csv")).bodies
    kept = Files.open(str(home.store)).read(made.files["scores"])
    (folder / "scores.parquet").write_bytes(kept)
    assignment = home.assignment("report", folder / "scores.parquet")
    line = file.read_text().splitlines().index(new.splitlines()[0]) + 1
    require_ours(do(assignment).failure, f"{file}:{line}")
