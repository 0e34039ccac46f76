"""Bundles of live tracks as jobs, and live runs on the stage."""

import threading
from collections import Counter
from pathlib import Path

import msgspec
import polars as pl
import pytest
from sqlalchemy import select

from palestra import registry
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.storage.database import connect, reading, writing
from palestra.contest.storage.file_store import Files
from palestra.contest.storage.recordings import recorded
from palestra.contest.storage.tables import live
from palestra.contest.workers import live_run, score
from palestra.contest.workers.live_progress import MOST_WAITING, LiveNotes
from palestra.datasets.starter_kit import starter_of
from palestra.executors import fingerprint
from palestra.sandbox import backends
from palestra.sandbox.launch import Backend
from palestra.text import Words
from tests.changed import changed
from tests.contest.bundles import PROGRAM, Home, write_tar, write_zip, zip_folder
from tests.entrants.programs import until
from tests.live import hall
from tests.live.hall import at, program


@pytest.fixture(autouse=True)
def _prepare(monkeypatch):
    hall.prepare(monkeypatch)


@pytest.fixture
def home(tmp_path):
    """Makes a contest with a live phase; data as ticking_v1 writes it, and the phase, can be told to be otherwise."""

    def make(data=None, **phase):
        from ticking_v1 import write_data

        return Home(tmp_path, "ticking-v1", write_data(tmp_path / "data", **(data or {})), **phase)

    return make


def result(outcome):
    assert outcome.failure is None, outcome.failure
    return next(body for body in outcome.bodies if isinstance(body, e.ResultMade))


def play(assignment):
    return score.guarded(live_run.play_one, assignment)


# --- one bundle


def test_a_bundle_is_played_and_its_recording_kept(home):
    home = home()
    found = result(play(home.assignment("live", home.bundle("good"))))
    assert found.submission == "s1" and found.metrics["accuracy"].value == 1.0
    assert {"recording", "scores", "fingerprint", "output"} <= found.files.keys()
    with recorded(home.files, found.files["recording"], "s1") as (recording, name):
        assert name == "Blue" and len(list(recording.decisions(name))) == 8
        assert recording.end is not None and recording.end.results[0].entrant == "Blue"


@pytest.fixture
def asked(monkeypatch):
    """What was asked of the track, how often."""
    import ticking_v1

    counts = Counter()

    def counting(name, given):
        def counted(*words):
            counts[name] += 1
            return given(*words)

        return counted

    track = ticking_v1.TRACK
    parts = {name: counting(name, getattr(track, name)) for name in ("trials", "truth")}
    parts |= {name: counting(name, getattr(track.stream, name)) for name in ("sittings", "hear")}
    monkeypatch.setattr(ticking_v1, "TRACK", changed(track, **parts))
    registry._load.cache_clear()
    yield counts
    registry._load.cache_clear()


def test_data_is_read_once_and_an_answer_interpreted_once_whoever_wants_to_know(home, asked):
    home = home()
    some = program(answer="answer = [12, answer][self.number > 19]")
    found = result(play(home.assignment("live", home.bundle("some", some))))
    assert found.metrics["accuracy"].value == 0.5
    assert asked == {"trials": 1, "truth": 1, "sittings": 1, "hear": 8}
    play(home.assignment("live", home.bundle("good")))
    assert asked == {"trials": 1, "truth": 1, "sittings": 2, "hear": 16}, "trials and truth are kept between jobs"


def test_a_tar_is_a_bundle_too(home):
    home = home()
    file = write_tar(home.folder / "good.tar.gz", {PROGRAM: program()})
    assert result(play(home.assignment("live", file))).metrics["accuracy"].value == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (program(make="print('loading'); raise FileNotFoundError('weights.bin')"), "FileNotFoundError: weights.bin"),
        ("import os; print('so long'); os._exit(3)", "ended by itself with exit code 3"),
        ("class Other: pass", "has no class MyAlgorithm"),
    ],
)
def test_a_program_that_does_not_start_is_its_teams_fault_and_told_in_words(home, text, message):
    home = home()
    failure = play(home.assignment("live", home.bundle("bad", text))).failure
    assert failure.fault == "contestant" and message in failure.message.en
    assert ("loading" in failure.message.en) == ("loading" in text)
    assert "What it printed" in failure.trace and "Traceback" not in failure.message.en.partition("What it printed")[0]


def test_what_a_program_printed_is_cut_and_printable(home):
    home = home()
    flood = "import os\nfor n in range(10_000): print(n, '\\x1b[31m' + 'x' * 500)\nos._exit(1)"
    message = play(home.assignment("live", home.bundle("bad", flood))).failure.message.en
    assert len(message) <= score.MESSAGE and "\x1b" not in message and "9999" in message


def test_a_file_that_is_no_bundle_is_its_teams_fault(home):
    home = home()
    empty = write_zip(home.folder / "empty.zip", {"readme.txt": "hello"})
    failure = play(home.assignment("live", empty)).failure
    assert failure.fault == "contestant" and "expected Algorithm/MyAlgorithm.py" in failure.message.en
    assert str(home.folder) not in failure.message.en


def test_a_program_that_never_answers_is_its_teams_fault(home):
    home = home()
    failure = play(home.assignment("live", home.bundle("bad", program(answer="answer = 'boo'")))).failure
    assert failure.fault == "contestant"
    assert (
        "no usable answer, 8 times" in failure.message.en
        and "returned 'boo', expected a whole number" in failure.message.en
    )


SILENT = """
class MyAlgorithm:
    def set_task(self, task): self.task = task
    def run(self):
        while not self.task.get_data().finish_flag: pass
"""


def test_a_program_that_never_reports_is_told_so(home):
    home = home()
    message = play(home.assignment("live", home.bundle("bad", SILENT))).failure.message.en
    assert "It never reported an answer, though 8 were asked for. The first time: no answer in time." in message
    assert "ended" not in message, "it left at the finish"


DIES = """
import traceback
try:
    raise KeyError('gaze') if self.number < 5 else RuntimeError('noise')
except Exception:
    traceback.print_exc()
    os._exit(1)
"""


def test_of_one_that_dies_again_and_again_its_team_sees_the_first_traceback(home):
    home = home()
    message = play(home.assignment("live", home.bundle("bad", program(answer=DIES)))).failure.message.en
    assert "KeyError: 'gaze'" in message and "RuntimeError: noise" not in message


def test_a_program_that_answers_sometimes_has_a_result_and_is_told_what_was_missed(home):
    home = home()
    text = program(answer=at(9, "raise ValueError('dazzled')"))
    found = result(play(home.assignment("live", home.bundle("half", text))))
    assert found.metrics["accuracy"].value == 7 / 8
    told = home.files.read(found.files["output"]).decode()
    assert "1 of 8 decisions have no usable answer" in told and "person1/009: ValueError: dazzled" in told


def test_in_lock_step_deadlines_do_not_count(home):
    home = home(data={"deadline_s": 1e-9})
    late = play(home.assignment("live", home.bundle("good")))
    assert late.failure.fault == "contestant" and "no answer in time" in late.failure.message.en
    home.phase = msgspec.structs.replace(home.phase, timing="lockstep")
    assert result(play(home.assignment("live", home.bundle("good")))).metrics["accuracy"].value == 1.0


def test_nobody_waits_for_a_window_in_which_nobody_can_do_anything(home):
    track = registry.track("ticking-v1")
    home = home(data={"window_s": 3600.0})
    lengths = [
        [
            sitting.window_s
            for sitting in live_run.timed(track, home.phase, windows).stream.sittings(home.folder / "data")
        ]
        for windows in (True, False)
    ]
    assert lengths == [[3600.0, 3600.0], [0.0, 0.0]]


def test_a_run_that_the_host_spoiled_is_the_platforms_fault(home):
    home = home(data={"every_s": -10.0, "deadline_s": 1.0})  # all is due before it can be sent
    failure = play(home.assignment("live", home.bundle("good"))).failure
    assert failure.fault == "platform" and failure.message == score.OUR_FAULT
    assert "late" in failure.trace and "late" not in failure.message.en


def test_a_machine_without_a_sandbox_is_the_platforms_fault(home, monkeypatch):
    home = home()
    monkeypatch.setattr(backends, "probe", lambda: [Backend("bubblewrap", False, True, "it is gone.", "get it")])
    failure = play(home.assignment("live", home.bundle("good"))).failure
    assert failure.fault == "platform" and "it is gone" in failure.trace


def test_data_that_cannot_be_read_is_the_platforms_fault(home):
    home = home()
    (home.folder / "data" / "truth" / "labels.csv").write_text("trial,truth_label\nnobody/001,3\n")
    failure = play(home.assignment("live", home.bundle("good"))).failure
    assert failure.fault == "platform" and "nobody/001" in failure.trace and "nobody" not in failure.message.en


def test_a_program_cannot_make_its_failure_look_like_ours(home):
    home = home()
    text = program(make="raise ValueError('ended before it was ready: it was never started: no sandbox')")
    assert play(home.assignment("live", home.bundle("sly", text))).failure.fault == "contestant"


def test_a_re_scoring_goes_by_what_was_recorded(home):
    home = home()
    first = result(play(home.assignment("live", home.bundle("good"))))
    truth = home.folder / "data" / "truth" / "labels.csv"
    table = pl.read_csv(truth)
    changed = pl.when(pl.int_range(pl.len()) < 2).then(8 - pl.col("truth_label")).otherwise("truth_label")
    table.with_columns(changed.alias("truth_label")).write_csv(truth)
    broken = home.bundle("broken", "raise SystemExit")  # nothing is run
    again = home.assignment("live", broken, rescoring="r1", answers=first.files["recording"])
    found = result(play(again))
    assert found.rescoring == "r1" and found.files["recording"] == first.files["recording"]
    assert found.metrics["accuracy"].value < 1.0


# --- on the stage


def notes_of(engine, run="run1"):
    with reading(engine) as connection:
        rows = connection.execute(select(live).where(live.c.run == run).order_by(live.c.id)).all()
    return [msgspec.json.decode(row.body) for row in rows]


@pytest.fixture
def crowd(home, engine):
    """Three bundles that play, one that does not start, and one that is no bundle."""
    home = home()
    half = program(answer="if self.number > 19: raise ValueError('person 2 is too much')")
    entries = (
        home.entrant("s1", "Red", home.bundle("half", half), "t1"),
        home.entrant("s2", "Blue", home.bundle("good"), "t2"),
        home.entrant("s3", "Blue", home.bundle("mute", program(answer="answer = 'boo'"))),  # a baseline of that name
        home.entrant("s4", "Gone", home.bundle("gone", "class Other: pass"), "t4"),
        home.entrant("s5", "Torn", write_zip(home.folder / "torn.zip", {"x": ""}), "t5"),
    )
    address = engine.url.render_as_string(hide_password=False)
    return home.assignment("run", run="run1", entries=entries, database=address)


def test_several_bundles_play_on_one_clock_and_each_has_a_result(crowd, engine):
    outcome = live_run.play_all(crowd)
    *results, ended = outcome.bodies
    assert isinstance(ended, e.RunEnded) and ended.outcome == "done" and ended.run == "run1"
    assert "Gone could not take part: Gone: TypeError" in ended.message
    assert "Torn could not take part: The bundle is no bundle" in ended.message
    values = {body.submission: body.metrics["accuracy"].value for body in results}
    assert values == {"s1": 0.5, "s2": 1.0, "s3": 0.0}
    assert {body.files["recording"] for body in results} == {ended.recording}
    assert not list((Path(crowd.home) / live_run.RUNS).iterdir()), "the store has it"
    assert {(one.submission, one.sitting) for one in ended.weights} == {
        (name, person) for name in values for person in ("person1", "person2")
    }
    assert all(one.before == one.after for one in ended.weights)
    assert ended.machine == fingerprint()


def test_a_run_says_how_it_goes(crowd, engine, monkeypatch):
    monkeypatch.setattr("palestra.live.run.TOLD_EVERY_S", 0.0)
    live_run.play_all(crowd)
    start, *standings, end = notes_of(engine)
    assert start["kind"] == "start" and (start["metric"], start["better"]) == ("accuracy", "higher")
    assert [(team["team"], team["name"]) for team in start["teams"]] == [
        ("t1", "Red"),
        ("t2", "Blue"),
        ("", "Blue (2)"),
    ]
    assert [team["name"] for team in start["absent"]] == ["Torn", "Gone"]
    assert start["sittings"] == [{"name": name, "decisions": 4, "seconds": 1900.0} for name in ("person1", "person2")]
    assert {note["kind"] for note in standings} == {"standing"}
    places = [(note["sitting"], note["number"], note["of"]) for note in standings]
    assert places == sorted(set(places)) and places[-1] == ("person2", 4, 4) and ("person1", 4, 4) in places
    assert [note["at_s"] for note in standings] == sorted(note["at_s"] for note in standings)
    last = standings[-1]["teams"]
    assert [(team["name"], team["value"], team["decided"], team["missed"]) for team in last] == [
        ("Blue", 1.0, 8, 0), ("Red", 0.5, 8, 4), ("Blue (2)", 0.0, 8, 8),
    ]  # fmt: skip
    assert last[0]["latency_ms_p50"] <= last[0]["latency_ms_p95"] and "last_error" not in last[0]
    assert last[1]["last_error"] == "ValueError: person 2 is too much" and last[1]["just_missed"]
    assert last[2]["latency_ms"] is None
    assert end["kind"] == "end" and end["outcome"] == "done"
    assert {team["name"]: team["value"] for team in end["teams"]} == {"Red": 0.5, "Blue": 1.0, "Blue (2)": 0.0}


def test_a_run_that_nobody_can_play_has_failed_and_says_why(home, engine):
    home = home()
    address = engine.url.render_as_string(hide_password=False)
    entries = (home.entrant("s4", "Gone", home.bundle("gone", "class Other: pass")),)
    outcome = live_run.play_all(home.assignment("run", run="run1", entries=entries, database=address))
    (ended,) = outcome.bodies
    assert ended.outcome == "failed" and "has no class MyAlgorithm" in ended.message
    assert [note["outcome"] for note in notes_of(engine)] == ["failed"]


def test_a_run_that_the_host_spoiled_has_failed_and_gives_nobody_a_result(home, engine):
    home = home(data={"every_s": -10.0, "deadline_s": 1.0})
    address = engine.url.render_as_string(hide_password=False)
    entries = (home.entrant("s1", "Red", home.bundle("a")), home.entrant("s2", "Blue", home.bundle("b")))
    outcome = live_run.play_all(home.assignment("run", run="run1", entries=entries, database=address))
    (ended,) = outcome.bodies
    assert ended.outcome == "failed" and "no team is to blame" in ended.message and ended.recording


def stage(home, engine, **phase):
    """Two teams in real time, on a machine without control groups."""
    home = home(data={"sittings": 1, "ticks": 10, "every_s": 0.01, "deadline_s": 1.0}, pace="real", **phase)
    address = engine.url.render_as_string(hide_password=False)
    entries = (home.entrant("s1", "Red", home.bundle("a")), home.entrant("s2", "Blue", home.bundle("b")))
    return home.assignment("run", run="run1", entries=entries, database=address)


@pytest.fixture
def without_groups(monkeypatch):
    bare = msgspec.structs.replace(backends.choose(), groups=False, controls=())
    monkeypatch.setattr(backends, "choose", lambda trusted=False: bare)


def test_bundles_do_not_play_in_real_time_where_one_could_starve_another(home, engine, without_groups):
    (ended,) = live_run.play_all(stage(home, engine)).bodies
    assert ended.outcome == "failed" and not ended.starving
    assert "nothing here keeps one from starving the others" in ended.message
    assert "allow_starving = true" in ended.message_zh


def test_where_the_rules_allow_that_the_log_says_that_they_were_used(home, engine, without_groups):
    ended = live_run.play_all(stage(home, engine, allow_starving=True)).bodies[-1]
    assert ended.starving and "Nothing kept one program from starving another" in ended.message


def test_who_was_starved_has_no_result_and_the_others_do(home, engine, monkeypatch):
    def starved(decisions):
        return Words("Blue had the processors", "Blue") if any(one.entrant == "Red" for one in decisions) else Words()

    monkeypatch.setattr("palestra.live.scored_run.starved", starved)
    *results, ended = live_run.play_all(stage(home, engine)).bodies
    assert [body.submission for body in results if isinstance(body, e.ResultMade)] == ["s2"]
    assert ended.outcome == "done" and "The result of Red does not count: Blue had the processors" in ended.message


def test_a_run_that_the_organiser_stopped_ends_and_keeps_what_was_recorded(crowd, engine, clock):
    with writing(engine) as connection:
        chain.append(
            connection, [e.RunEnded("other", "stopped"), e.RunEnded("run1", "stopped", message="fire")], "o", 1
        )
    notes = LiveNotes(engine, "run1", clock)
    until(notes.stopped)
    outcome = live_run.on_stage(crowd, notes)
    notes.close()
    (ended,) = outcome.bodies
    assert ended.outcome == "stopped"
    with recorded(Files.open(crowd.files), ended.recording, "s2") as (recording, _):
        assert recording.end is None
    assert (Path(crowd.home) / live_run.RUNS / "run1").is_dir()
    assert notes_of(engine)[-1]["outcome"] == "stopped"


def test_a_run_is_not_stopped_by_the_end_of_another(engine, clock):
    with writing(engine) as connection:
        chain.append(connection, [e.RunEnded("run10", "stopped"), e.RunStarted("run1", "live", ("s1",))], "o", 1)
    notes = LiveNotes(engine, "run1", clock)
    notes.say({"kind": "start"})
    until(lambda: bool(notes_of(engine)))
    notes.close()
    assert not notes.stopped()


def test_when_something_of_ours_fails_in_a_run_screens_are_told(crowd, engine, monkeypatch):
    (Path(crowd.home) / "data" / "truth" / "labels.csv").unlink()
    outcome = score.guarded(live_run.play_all, crowd)
    assert outcome.failure.fault == "platform"
    assert notes_of(engine)[-1]["kind"] == "end" and notes_of(engine)[-1]["message"] == score.OUR_FAULT.en


# --- notes


def test_notes_are_written_in_order_with_the_time_they_were_said(engine, clock):
    notes = LiveNotes(engine, "run1", clock)
    for number in range(50):
        notes.say({"number": number})
        clock.advance(1)
    notes.close()
    assert [note["number"] for note in notes_of(engine)] == list(range(50)) and notes.lost == 0
    with reading(engine) as connection:
        times = list(connection.execute(select(live.c.at).order_by(live.c.id)).scalars())
    assert times == list(range(times[0], times[0] + 50))


def test_a_broken_database_holds_up_nobody_and_loses_only_notes(tmp_path, clock):
    engine = connect(f"sqlite:///{tmp_path}/nowhere/contest.db")
    notes = LiveNotes(engine, "run1", clock, close_s=0.0)
    for number in range(MOST_WAITING + 10):
        notes.say({"number": number})
    assert not notes.stopped()
    notes.close()
    assert notes.lost == MOST_WAITING + 10


def test_a_database_that_comes_back_gets_what_waited(engine, clock):
    gate, hold = threading.Event(), threading.Event()

    def busy():
        with writing(engine):
            gate.set()
            hold.wait(10)

    thread = threading.Thread(target=busy)
    thread.start()
    assert gate.wait(10)
    notes = LiveNotes(engine, "run1", clock)
    for number in range(20):
        notes.say({"number": number})
    assert notes_of(engine) == []
    hold.set()
    thread.join()
    notes.close()
    assert [note["number"] for note in notes_of(engine)] == list(range(20))


def test_listeners_of_postgresql_are_told(engine, clock):
    if engine.dialect.name != "postgresql":
        pytest.skip("PostgreSQL alone tells listeners")
    import psycopg

    address = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as listener:
        listener.execute("LISTEN palestra_live")
        notes = LiveNotes(engine, "run1", clock)
        notes.say({"kind": "start"})
        notes.close()
        heard = next(listener.notifies(timeout=10, stop_after=1))
    assert heard.payload == "run1"


# --- real tracks


@pytest.mark.slow
@pytest.mark.parametrize("track_id", ["near-eye-live-v1", "emotion-eeg-v1"])
def test_the_starters_bundle_of_a_live_track_is_played(tmp_path, tiny, track_id):
    home = Home(tmp_path, track_id, tiny(track_id))
    file = zip_folder(starter_of(track_id) / "bundle", tmp_path / "bundle.zip")
    found = result(play(home.assignment("live", file)))
    assert found.metrics and home.files.has(found.files["recording"])
    order = msgspec.structs.replace(home.assignment("report", submission="s1"), file=found.files["scores"])
    (made,) = score.write_report(order).bodies
    assert isinstance(made, e.ReportMade) and made.scores == found.files["scores"]
    assert home.files.has(made.report) and home.files.has(made.full)
