"""Slips of people who write tracks: each is told with the track, the file, the line, what went wrong and what to do.

A slip is a change to the track that `palestra new-track` writes. `at` is a piece of the line that must be named. None
of them is told as a fault of Palestra, and none as a traceback.
"""

import itertools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from palestra import registry
from palestra.authoring.new_track import STARTER
from palestra.contest.log import events as e
from palestra.contest.rules import template
from palestra.contest.setup import Place, pack_data
from palestra.errors import PalestraError
from palestra.web.site import Setup, Site
from palestra.web.views import desk
from tests.slipped import slipped

NUMBERS = itertools.count()  # modules are imported once under a name
TRACEBACK = ("Traceback", "in Palestra itself")


@dataclass(frozen=True)
class Slip:
    """One change, and what is to be told of it."""

    what: str
    old: str
    new: str
    at: str  # in the line that is named; empty: the first line
    found: str
    remedy: str
    live: bool = False
    data: tuple[str, str, str] | None = None  # file, old, new: where the slip is one of the data
    gone: str = ""  # a file of the data that is not there
    word: str = "check"  # "score", or "validate": what `palestra check` does


PLAN = """
from functools import partial
from palestra.records import Dataset, Part, Plan
def make(order):
    part = Part("all", weight=1, write=lambda folder: None)
    return Plan([part], sample=part, finish=lambda folder: None)
from dataclasses import replace
TRACK = replace(TRACK, dataset=Dataset(make=make))
"""
LAST = "    files=FileAnswers(answers, write_table),\n)\n"
PLAUSIBLE = """from dataclasses import replace
from palestra.records import Plausible
TRACK = replace(TRACK, files=replace(TRACK.files, plausible={}))
"""
BLANK = 'blank=lambda trials: trials.select("trial", x_cm=pl.lit(0.0)),'
SCORE = 'return rows.with_columns(error=(pl.col("x_cm") - pl.col("truth_x_cm")).abs())'
READ = 'return read_table(file, key="trial", columns={"x_cm": pl.Float64}, expected=trials)'
TRUTH = 'return pl.read_csv(data / "truth/trials.csv", schema_overrides={"trial": pl.String})'
TRIALS = 'return pl.read_csv(data / "trials.csv", schema_overrides={"trial": pl.String})'
YIELD = "yield Tick(float(second),"

SLIPS = [
    # While it is loaded
    Slip("a syntax error", "TRACK = Track(", "TRACK = = Track(", "TRACK = = ", "SyntaxError",
         "Correct the Python there"),
    Slip("an import error", "import polars as pl", "import polars as pl\nimport nowhere_x", "import nowhere_x",
         "No module named 'nowhere_x'", "Install the package that has nowhere_x"),
    Slip("a name that a module lacks", "import mean_of", "import mean_off", "import mean_off",
         "cannot import name 'mean_off'", "Import a name that the module has"),
    Slip("a track under another name", "TRACK = Track(", "TRAK = Track(", "TRAK = ", "its track is called TRAK",
         "Call it TRACK"),
    Slip("no track", "TRACK = Track(", "dict(", "", "has no TRACK", "ends in TRACK = Track(...)"),
    Slip("a TRACK of another type", LAST, LAST + "TRACK = 'gaze'\n", "TRACK = 'gaze'", "TRACK is 'gaze'",
         "ends in TRACK = Track(...)"),
    Slip("a field that is not there", "files=File", "answer=File", "TRACK = Track(",
         "unexpected keyword argument 'answer'", "fields that docs/add-a-track.md lists"),
    Slip("one metric without a comma", 'reduce=mean_of("error")),)', 'reduce=mean_of("error")))', "metrics=(",
         "expected a tuple of Metric", "with a comma before the last bracket"),
    Slip("a function with another signature", "def score(rows: pl.DataFrame)", "def score(rows, truth)",
         "def score(rows, truth)", "cannot be called as score(rows)", "Let it take one argument: rows"),
    Slip("a table in the place of a function", "    trials=trials,", "    trials='trials.csv',", "trials='trials.csv'",
         "expected a function trials(data)", "Give the function trials(data) itself"),
    Slip("a word that says neither", 'better="lower"', 'better="low"', 'better="low"', "better='low'",
         "Say which values are better"),
    # Names and tables
    Slip("an id without a version", 'id="{id}"', 'id="{id}x"', 'id="', "ends in a version", "Call it "),
    Slip("trials without their column", TRIALS, TRIALS + '.rename({"trial": "look"})', "def trials(",
         "expected `trial` among them", "Keep the column `trial`"),
    Slip("a function that returns nothing", TRUTH, TRUTH.removeprefix("return "), "def truth(",
         "truth returned None, expected a polars DataFrame", "Return one"),
    Slip("trials that are there twice", TRIALS, TRIALS.replace("return ", "x = ") + "; return pl.concat([x, x])",
         "def trials(", "each trial is once in its trials", "['ann-1'] is there more than once"),
    Slip("no unit", TRIALS, TRIALS + '.drop("unit")', "def trials(", "have a column unit", "whom a row came from"),
    Slip("no truth at all", TRUTH, TRUTH + ".clear()", "def truth(", "its truth are not empty", "Look at the files"),
    Slip("truth of a trial that is none", TRUTH, TRUTH, "def truth(", "every trial of the truth is a trial",
         "The trials lack ['ann-9']", data=("truth/trials.csv", "ann-1,", "ann-9,")),
    *(Slip(f"{what}, by {word}", TRUTH, TRUTH, "def truth(",
           f"in its truth, truth_x_cm of 'ann-1' is {found}, expected", "Correct the truth in ",
           data=("truth/trials.csv", "ann-1,0.0", f"ann-1,{value}"), word=word)
      for what, value, found in (("truth without its value", "", "nothing"), ("truth that is NaN", "NaN", "nan"),
                                 ("a text among the numbers of the truth", "many", "'many'"))
      for word in ("check", "score")),
    *(Slip(f"truth that is called as answers are, by {word}", TRUTH, TRUTH, "def truth(",
           "its truth has the column 'x_cm', which is what answers are called", "Call it 'truth_x_cm'",
           data=("truth/trials.csv", "trial,truth_x_cm", "trial,x_cm"), word=word) for word in ("check", "score")),
    Slip("trials that show the truth", TRIALS, TRIALS + ".join(truth(data), on='trial')", "def trials(",
         "show to contestants (both have ['truth_x_cm'])", "Select the public columns alone"),
    Slip("a file of the data that is not there", TRUTH, TRUTH, TRUTH, "FileNotFoundError",
         "Name the data set's folder with --data, or write the file that it lacks", gone="truth/trials.csv"),
    # Scoring
    Slip("an error in score", SCORE, "1 / 0", "1 / 0", "score fails with ZeroDivisionError", "Correct it there"),
    Slip("an error while a submission is scored", SCORE, "1 / 0", "1 / 0", "score fails with ZeroDivisionError",
         "Correct it there", word="score"),
    Slip("a column that is not there", SCORE, SCORE.replace('"truth_x_cm"', '"truth_y"'), "truth_y", "truth_y",
         "Name a column that the table has", word="score"),
    Slip("a score that drops rows", SCORE, SCORE + ".head(7)", "def score(", "gives back every row", "with_columns"),
    Slip("a score of all rows", SCORE, SCORE.replace(".abs()", ".abs().mean()"), "def score(",
         "depends on that row alone", "no mean(), max() or sort()"),
    Slip("a score that is NaN", SCORE, SCORE.replace("error=(", "error=pl.lit(0.0) / 0 * ("), "def score(",
         "no score is NaN", "0/0, perhaps"),
    Slip("a metric of another shape", 'reduce=mean_of("error")', "reduce=lambda rows, draws: rows['error'].to_numpy()",
         "lambda rows, draws", "one number per resample (of 7, found an array of shape (30,))", "palestra.reduce"),
    Slip("a metric of a column that is not there", 'mean_of("error")', 'mean_of("eror")', 'mean_of("eror")',
         'ColumnNotFoundError: "eror" not found', "Name a column that the table has"),
    Slip("the same, while a submission is scored", 'mean_of("error")', 'mean_of("eror")', 'mean_of("eror")',
         'ColumnNotFoundError: "eror" not found', "Name a column that the table has", word="score"),
    Slip("missing without the error", 'missing={"error": 50}', 'missing={"eror": 50}', 'missing={"eror"',
         "`missing` has 'eror', expected columns that `score` adds", "Give it a value for 'error'"),
    Slip("the same, while a whole submission is scored", 'missing={"error": 50}', 'missing={"eror": 50}',
         'missing={"eror"', "`missing` has 'eror', expected columns that `score` adds", "Give it a value for 'error'",
         word="score"),
    Slip("no answer that costs nothing", 'missing={"error": 50}', 'missing={"error": 0}', 'missing={"error": 0}',
         "no answer at all is no better than answers", "cost at least as much as the worst answer"),
    # Answers
    Slip("a reader that fails", READ, "return pl.read_csv(file).select('x')",
         "return pl.read_csv(file)", "answers fails with ColumnNotFoundError", "Refuse a faulty file in words"),
    *(Slip(f"a reader that is called wrongly, by {word}", READ, READ.replace('columns={"x_cm": pl.Float64}, ', ""),
           READ.replace('columns={"x_cm": pl.Float64}, ', ""), "missing 1 required positional argument: 'columns'",
           "Give it every argument", word=word) for word in ("check", "score", "validate")),
    *(Slip(f"a misspelt column in the reader, by {word}", READ, READ.replace("x_cm", "x_cn"), "def answers(",
           "its reader refuses the template", "let columns and types agree", word=word)
      for word in ("score", "validate")),
    Slip("a misspelt column in the template", BLANK, BLANK.replace("x_cm", "x_cn"), "blank=lambda",
         "'x_cn' is not taken", "Call it 'x_cm', as truth_x_cm says"),
    *(Slip(f"the same, by {word}", BLANK, BLANK.replace("x_cm", "x_cn"), "def answers(",
           "its reader refuses the template", "let columns and types agree", word=word)
      for word in ("score", "validate")),
    Slip("a reader of other columns", READ, READ + '.rename({"x_cm": "x"})', "def answers(",
         "found no column x_cm", "Correct the reader"),
    Slip("a reader of other types", READ, READ + '.cast({"x_cm": pl.Boolean})', "def answers(",
         "values of the type Boolean", "Correct the reader"),
    Slip("a template that lacks trials", BLANK, BLANK.replace("trials.select", "trials.head(3).select"), "blank=lambda",
         "`blank` has every trial once", 'Begin with trials.select("trial", …)'),
    Slip("a template without trials", BLANK, BLANK.replace('"trial", ', ""), "blank=lambda",
         "expected `trial` among them", "Keep the column `trial`"),
    *(Slip(f"{what} in the place of what is plausible, by {word}", LAST, LAST + PLAUSIBLE.format(new),
           "plausible=", found, remedy, word=word)
      for what, new, found, remedy in (
          ("a function", "lambda rows: True", "expected plausible=Plausible(…)", "Write plausible=Pl"),
          ("one truth for all", "Plausible(lambda rows: True, 'x')",
           "plausible returned True, expected a column", "Compare a column of the rows"),
          ("a column that is not there", "Plausible(lambda rows: rows['y'] > 0, 'x')",
           '"y" not found', "Name a column that the table has"),
      )
      for word in ("check", "score", "validate")),
    Slip("a number in the place of what no answer costs", 'missing={"error": 50}', "missing=50", "missing=50",
         "expected scores by their columns, or a function missing(rows)", 'Write missing={"error": …}'),
    Slip("a title that is none", 'title="Example"', "title=7", "title=7", "expected a text", "Put it in quotes, or"),
    Slip("a metric's title that is none", '"mean_error", unit="cm"', '"mean_error", title=7, unit="cm"', "title=7",
         "expected a text", "Put it in quotes, or"),
    Slip("a lambda that other processes cannot be sent", LAST, LAST + PLAN, "write=lambda",
         "can be sent to another process", "Use functools.partial with a function of the module"),
    # Streams
    Slip("a template that no program can answer with", "pulse=pl.lit(0, pl.Int64)", "pulse=pl.lit(None, pl.Int64)",
         "blank=lambda", "is an answer that a program can give", "a number, a text, a boolean, or a list", live=True),
    Slip("a misspelt column in a live template", "pulse=pl.lit(0", "pulze=pl.lit(0", "blank=lambda",
         "'pulze' is not taken (`hear` gives pulse)", "Call it 'pulse', as truth_pulse says", live=True),
    Slip("ticks out of order", YIELD, "yield Tick(-float(second),", "def ticks(", "in the order in which they are due",
         "Sort them by due_s", live=True),
    Slip("a tick for a trial that is none", "trial, deadline_s=0.5", "'x' + trial, deadline_s=0.5", "def sittings(",
         "asks for every trial once", "It asks for 'xann-1', which is none of the trials", live=True),
    Slip("a sitting that counts wrong", "len(one), len(one), float", "len(one), 3, float", "def sittings(",
         "a sitting has what it says", "Count them from what it sends", live=True),
    Slip("an error in what is sent", YIELD, "1 / 0; " + YIELD, "1 / 0; ", "ticks fails with ZeroDivisionError",
         "Correct it there", live=True),
    Slip("nonsense that is heard", "type(answer) is not int or ", "", "def hear(",
         "refused by `hear` with a ValueError", "Look at the type first", live=True),
    Slip("nonsense that breaks hear", "    if type(answer) is not int or", "    if len(answer) > 9 or",
         "if len(answer)", "hear fails with TypeError", "Raise a ValueError that says what was returned", live=True),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(registry.OUTSIDE, "")
    registry.add_folder(tmp_path)
    return tmp_path


def write(slip: Slip, folder: Path) -> tuple[str, Path]:
    """The track with the slip, and its data beside it; its id and file."""
    track_id = f"slip-{next(NUMBERS)}-v1"
    starter = STARTER / ("live" if slip.live else "file")
    text = (starter / "tracks/example_v1.py").read_text().replace("example-v1", track_id)
    old, new = (part.replace("{id}", track_id) for part in (slip.old, slip.new))
    assert old in text, slip.what
    file = folder / f"{track_id.replace('-', '_')}.py"
    file.write_text(text.replace(old, new))
    shutil.copytree(starter / "data" / "example", folder / "data")
    if not slip.live:
        shutil.copy(starter / "answers.csv", folder)
    if slip.data:
        changed, before, after = slip.data
        assert before in (folder / "data" / changed).read_text()
        (folder / "data" / changed).write_text((folder / "data" / changed).read_text().replace(before, after))
    if slip.gone:
        (folder / "data" / slip.gone).unlink()
    return track_id, file


def line_of(file: Path, piece: str) -> int:
    lines = file.read_text().splitlines()
    return next((number for number, line in enumerate(lines, 1) if piece and piece in line), 1)


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip.what)
def test_a_slip_is_told_with_track_file_line_and_remedy(slip, folder, cli):
    track_id, file = write(slip, folder)
    if slip.word != "check":
        ran = cli(
            {"score": "score", "validate": "check"}[slip.word],
            track_id,
            folder / "answers.csv",
            "--data",
            folder / "data",
        )
    else:
        ran = cli("tracks", track_id, "--check", "--data", f"{track_id}={folder / 'data'}")
        if "id=" in slip.at:  # it is found under the id that it has
            ran = cli("tracks", f"{track_id}x", "--check", "--data", f"{track_id}x={folder / 'data'}")
    assert ran.code == 1
    told = next(line for line in ran.err.splitlines() if line.startswith(track_id))
    assert f": {file}:{line_of(file, slip.at)}: " in told, told
    assert slip.found in told
    assert slip.remedy in told and (slip.remedy != "Correct the truth in " or "truth/trials.csv:2." in told)
    assert not any(word in ran.err for word in TRACEBACK)


def test_there_are_at_least_twenty():
    assert len({slip.what for slip in SLIPS}) >= 20


def test_two_tracks_with_one_id_are_told_with_both_lines(folder, cli):
    track_id, file = write(SLIPS[0], folder)
    file.write_text((STARTER / "file" / "tracks/example_v1.py").read_text().replace("example-v1", track_id))
    twin = folder / f"twin_{file.name}"
    shutil.copy(file, twin)
    ran = cli("tracks", track_id, "--check", "--data", f"{track_id}={folder / 'data'}")
    listed = cli("tracks", "--check", "--data", f"{track_id}={folder / 'data'}", "--json") if ran.code == 0 else ran
    line = line_of(file, "id=")
    for place in (f"{file}:{line}", f"{twin}:{line}"):
        assert place in listed.err
    assert listed.code == 1 and "Ids must differ: rename one" in listed.err


def test_a_check_goes_on_after_a_track_that_fails_and_sums_up(folder, cli, monkeypatch):
    monkeypatch.setattr(registry, "_packaged", lambda: ())
    by_name = {slip.what: slip for slip in SLIPS}
    names = ("an error in score", "a syntax error", "no track", "a track under another name")
    ids = []
    for name in names:
        shutil.rmtree(folder / "data", ignore_errors=True)
        ids.append(write(by_name[name], folder)[0])
    shutil.rmtree(folder / "data")
    good, file = write(SLIPS[0], folder)
    file.write_text((STARTER / "file" / "tracks/example_v1.py").read_text().replace("example-v1", good))
    data = [word for one in (*ids, good) for word in ("--data", f"{one}={folder / 'data'}")]
    ran = cli("tracks", "--check", *data, "--json")
    assert ran.code == 1 and not any(word in ran.err for word in TRACEBACK)
    assert {one["id"]: one["check"] for one in ran.json} == {
        ids[0]: "failed",
        ids[1]: "failed",
        ids[3]: "failed",
        good: "ok",
    }
    assert "score fails with ZeroDivisionError" in next(one["fault"] for one in ran.json if one["id"] == ids[0])
    assert re.search(rf"^Skipped: {ids[2]}: .*has no TRACK", ran.err, re.M)
    assert ran.err.splitlines()[-1].startswith("4 checked: 1 keep the contract, 3 failed, 0 not checked")
    assert cli("tracks", good, "--check", "--data", f"{good}={folder / 'data'}").code == 0


# Where else a slip shows itself


def test_a_slip_in_what_is_sent_is_told_by_play(folder, cli):
    track_id, place = slipped(folder, YIELD, f"1 / 0; {YIELD}", live=True)
    words = ("--data", folder / "data", "--pace", "fast", "--run", folder / "run")
    ran = cli("play", track_id, folder / "bundle", *words)
    assert ran.code == 1 and not any(word in ran.err for word in TRACEBACK)
    assert f"{track_id}: {place}: ticks fails with ZeroDivisionError: division by zero. Correct it there." in ran.err
    assert "The traceback: " in ran.err


MAKER = """
from dataclasses import replace
from functools import partial
from palestra.records import Dataset, Part, Plan
def write_part(order, folder):
    1 / 0
def make(order):
    parts = [Part(name, weight=1, write=partial(write_part, order)) for name in "ab"]
    return Plan(parts, sample=Part("none", 1, write=print), finish=print)
TRACK = replace(TRACK, dataset=Dataset(make=make))
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_slip_in_a_part_of_a_data_set_is_told_whichever_process_writes_it(folder, cli, monkeypatch, workers):
    monkeypatch.setenv("PALESTRA_WORKERS", str(workers))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    track_id, _ = slipped(folder, LAST, LAST + MAKER)
    file = folder / f"{track_id.replace('-', '_')}.py"
    ran = cli("make", track_id, folder / "made")
    assert ran.code == 1 and not any(word in ran.err for word in TRACEBACK)
    assert f"{track_id}: {file}:{line_of(file, '1 / 0')}: write_part fails with ZeroDivisionError" in ran.err


def test_a_part_that_other_processes_cannot_be_sent_is_named_by_make_before_any_work(folder, cli):
    track_id, place = slipped(folder, LAST, LAST + PLAN)
    ran = cli("make", track_id, folder / "made")
    file = Path(place.rpartition(":")[0])
    assert (
        ran.code == 1
        and f"{track_id}: {file}:{line_of(file, 'write=lambda')}: the `write` of the part 'all'" in ran.err
    )
    assert "Define it at the top level of a module" in ran.err
    assert not any(word in ran.err for word in TRACEBACK) and not (folder / "made").exists()


def test_a_slip_in_a_folder_of_data_is_told_by_check_and_score_alike(folder, cli):
    track_id, place = slipped(folder, TRIALS, "return data.read()")
    for word in ("check", "score"):
        ran = cli(word, track_id, folder / "answers.csv", "--data", folder / "data")
        assert ran.code == 1 and f"{track_id}: {place}: trials fails with AttributeError" in ran.err


def contest_of(folder: Path, track_id: str) -> Place:
    text = template([track_id], 1_660_000_000_000, "UTC")
    text = text.replace(f'data = "data/{track_id.removesuffix("-v1")}"', 'data = "data"')
    (folder / "contest.toml").write_text(text)
    return Place(folder / "contest.toml")


def test_what_cannot_be_packed_is_told_and_holds_up_nothing_else(folder):
    track_id, place = slipped(folder, TRUTH, TRUTH)
    home, said = contest_of(folder, track_id), []
    contest = home.open()
    (folder / "data/truth/trials.csv").write_text("")
    pack_data(home, contest, said.append)
    told = [line for line in said if "cannot be packed" in line]
    assert told and f"{track_id}: {place}: truth fails with NoDataError" in told[-1]
    assert list(contest.state.packs[contest.state.rules().phases[0].id]) == ["starter", "truth"]
    contest.engine.dispose()


# What keeps the contract


LIVE_TEXTS = {
    "answer not in (0, 1)": "answer not in ('yes', 'no')",
    "type(answer) is not int": "type(answer) is not str",
    "pulse=pl.lit(0, pl.Int64)": 'pulse=pl.lit("no")',
    'return rows.with_columns(error=(pl.col("pulse") - pl.col("truth_pulse")).abs())':
        'return rows.with_columns(error=((pl.col("pulse") == "yes") != (pl.col("truth_pulse") == 1)).cast(pl.Int32))',
}  # fmt: skip
LIVE_BOOLEANS = {
    "answer not in (0, 1)": "False",
    "type(answer) is not int": "type(answer) is not bool",
    "pulse=pl.lit(0, pl.Int64)": "pulse=pl.lit(False)",
    'return rows.with_columns(error=(pl.col("pulse") - pl.col("truth_pulse")).abs())':
        'return rows.with_columns(error=(pl.col("pulse") != (pl.col("truth_pulse") == 1)).cast(pl.Int32))',
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"), [(LIVE_TEXTS, "'yes' if {} else 'no'"), (LIVE_BOOLEANS, "bool({})")], ids=["texts", "booleans"]
)
def test_texts_and_booleans_keep_the_contract_with_truth_of_numbers_and_are_played(changes, said, folder, cli):
    track_id, _ = slipped(folder, YIELD, YIELD, live=True)
    for file, pairs in (
        (folder / f"{track_id.replace('-', '_')}.py", changes),
        (folder / "bundle/Algorithm/MyAlgorithm.py",
         {"int(self.samples.max() > 0.4)": said.format("self.samples.max() > 0.4")}),
    ):  # fmt: skip
        text = file.read_text()
        for old, new in pairs.items():
            assert old in text
            text = text.replace(old, new)
        file.write_text(text)
    ran = cli("tracks", track_id, "--check", "--data", folder / "data")
    assert f"{track_id}: keeps the contract" in ran.err, ran.err
    words = ("--data", folder / "data", "--pace", "fast", "--run", folder / "run", "--json")
    ran = cli("play", track_id, folder / "bundle", *words)
    assert ran.code == 0 and ran.json["metrics"]["error_rate"]["value"] == 0, ran.err


def test_truth_that_lacks_a_trial_is_told_by_check_and_score(folder, cli):
    track_id, _ = slipped(folder, TRUTH, TRUTH)
    truth = folder / "data/truth/trials.csv"
    truth.write_text(truth.read_text().replace("ann-2,-14.1\n", ""))
    told = "29 of 30 trials have truth and are scored; the others ('ann-2') do not count."
    ran = cli("tracks", track_id, "--check", "--data", folder / "data")
    assert ran.code == 0 and f"{track_id}: keeps the contract. {told}" in ran.err
    assert told in cli("score", track_id, folder / "answers.csv", "--data", folder / "data").err


# Where the check finds its data, and what it says without


def test_the_check_finds_the_data_that_a_new_track_has_beside_it(tmp_path, cli, monkeypatch):
    monkeypatch.setenv(registry.OUTSIDE, "")
    folder = tmp_path / f"beside-{next(NUMBERS)}"
    name = folder.name
    assert cli("new-track", name, folder).code == 0
    ran = cli("tracks", f"{name}-v1", "--check", "--tracks-dir", folder / "tracks")
    assert ran.code == 0 and f"{name}-v1: keeps the contract" in ran.err
    shutil.move(folder / "data", folder / "elsewhere")
    ran = cli("--tracks-dir", folder / "tracks", "tracks", f"{name}-v1", "--check")
    assert ran.code == 1 and "not checked, for it makes no data of its own" in ran.err
    ran = cli("tracks", "--check", "--data", folder / "elsewhere" / name)
    assert ran.code == 2 and "is not TRACK=DIR" in ran.err


def test_a_check_does_not_say_to_run_a_check(folder, cli):
    track_id, _ = slipped(folder, SCORE, "1 / 0")
    ran = cli("tracks", track_id, "--check", "--data", folder / "data")
    assert ran.code == 1 and "score fails with ZeroDivisionError" in ran.err and "Then run" not in ran.err


def test_a_folder_whose_tracks_lie_deeper_is_refused_with_where_they_are(tmp_path, cli):
    (tmp_path / "mine" / "tracks").mkdir(parents=True)
    ran = cli("tracks", "--tracks-dir", tmp_path / "mine")
    assert ran.code == 1 and f"no track files there. Did you mean {tmp_path / 'mine' / 'tracks'}?" in ran.err


def test_an_unknown_track_is_told_in_plain_words(cli):
    assert "There is no track 'nothing-like-it-v1'." in cli("tracks", "nothing-like-it-v1").err
    assert "A track from outside Palestra needs --tracks-dir." in cli("tracks", "nothing-like-it-v1").err


# Before a contest starts


@pytest.mark.parametrize(
    ("old", "new", "file", "told"),
    [
        ("ann-1,0.0", "ann-1,NaN", "data/truth/trials.csv", "in its truth, truth_x_cm of 'ann-1' is nan"),
        ('pl.col("truth_x_cm")', 'pl.col("truth_y")', "", "score fails with ColumnNotFoundError"),
        ('columns={"x_cm": pl.Float64}, ', "", "", "missing 1 required positional argument: 'columns'"),
        (BLANK, BLANK.replace("x_cm", "x_cn"), "", "Call it 'x_cm', as truth_x_cm says"),
    ],
    ids=["truth", "score", "reader", "template"],
)
def test_a_contest_does_not_start_on_a_track_that_cannot_score(old, new, file, told, folder):
    track_id, _ = slipped(folder, READ if file else old, READ if file else new)
    if file:
        (folder / file).write_text((folder / file).read_text().replace(old, new))
    place = contest_of(folder, track_id)
    with pytest.raises(PalestraError) as refused:
        place.open()
    assert f"{track_id}: {folder}/" in str(refused.value) and told in str(refused.value)
    assert "cannot be scored" in str(refused.value)


def test_a_contest_with_teams_goes_on_and_its_desk_says_what_is_wrong(folder, cli):
    track_id, _ = slipped(folder, READ, READ)
    place = contest_of(folder, track_id)
    contest = place.open()
    truth = folder / "data/truth/trials.csv"
    truth.write_text(truth.read_text().replace("ann-1,0.0", "ann-1,NaN"))
    with pytest.raises(PalestraError, match="cannot be scored"):
        place.look_at_tracks(contest)
    contest.act("system", lambda state, now: [e.AccountMade("a1", "ann", "member"), e.TeamMade("t1", "Iris", "a1")])
    slips = place.look_at_tracks(contest)
    assert list(slips) == [contest.state.rules().phases[0].id]
    page = desk.overview(Site(contest, Setup(place.home, place.spool, slips=slips)))
    assert "in its truth, truth_x_cm of 'ann-1' is nan" in page.phases[0].slip
    contest.engine.dispose()


def test_a_phase_for_a_track_is_not_forgotten_where_a_file_is_there(folder, cli):
    track_id, _ = slipped(folder, READ, READ)
    contest_of(folder, track_id)
    before = (folder / "contest.toml").read_text()
    words = ("contest", "init", folder / "contest.toml", "--size", "none", "--track")
    assert cli(*words, track_id).code == 0
    ran = cli(*words, "near-eye-gaze-v1")
    assert ran.code == 1 and "has no phase with the track near-eye-gaze-v1" in ran.err
    assert (folder / "contest.toml").read_text() == before
