import dataclasses
import math
import re

import msgspec
import numpy as np
import pytest

from palestra.live.answers import answers_of
from palestra.live.entrant_history import Story, story_of
from palestra.live.recording import Recorder, Recording
from palestra.live.scored_run import ScoredRun, hear_recorded
from palestra.live.terminal_summary import summary_lines
from palestra.live.timeline_charts import host_lateness, latencies, latency_over_time, standings_chart
from palestra.live.timeline_page import timeline, write_run
from palestra.records import Chart, Metric, Reply, Table
from palestra.scoring import score
from palestra.scoring.score import Scored
from palestra.text import Words, printable, say
from tests.changed import changed
from tests.english import english
from tests.live.test_recording import decided, end, head, tick
from tests.live.test_standings import live_track
from tests.report.test_bilingual import SAME, words_in
from tests.report.test_figures import check
from tests.report.test_page import HOSTILE, read

TRACK = live_track(trials=30)
SHEET = score.load(TRACK, None)
TRIALS = SHEET.trials["trial"].to_list()
SITTINGS = ("P0", "P1", "P2")


def right(i):
    return {"answer": i % 9, "latency_s": 0.010 + 0.001 * i}


def play(folder, script, names=("red",), pace="real", deaths=(), strays=(), stop=None, sittings=SITTINGS):
    """Record a run of 30 decisions in three sittings; `script` says how each goes. It may be stopped after some."""
    recorder = Recorder(folder, head(names, len(TRIALS), sittings, pace))
    for i, trial in enumerate(TRIALS[:stop]):
        recorder.sitting, due_s = divmod(i, 10)
        recorder.sent(tick(trial, float(due_s)), due_s + 0.001)
        for name in names:
            how = {"at_s": float(due_s), **script(i)}
            if how["answer"] is None:
                how["note"] = say("no answer in time")
            recorder.decided(decided(name, trial, **how))
    for trial in strays:
        recorder.strayed(names[0], Reply(trial, 1), 9.0)
    if stop is None:
        recorder.finish(end(names, deaths))
    else:
        recorder.close()
    return scored_run(folder)


def scored_run(folder):
    """A recorded run with its results."""
    run = Recording(folder)
    heard = {who.name: hear_recorded(TRACK, run, who.name) for who in run.head.entrants}
    answers = {name: answers_of(TRACK, SHEET.trials, own) for name, own in heard.items()}
    scored = {name: score.score(TRACK, SHEET, told, name) for name, told in answers.items()}
    return ScoredRun(TRACK, folder.parent, run, heard, scored)


def mixed(i):
    """Two are missed, one is not understood, one is noted by the line."""
    if i in (4, 17):
        return {"answer": None}
    if i == 8:
        return {"answer": 12}
    if i == 25:
        return {
            "answer": 3,
            "note": say("returned {value}, expected a number, a text, a boolean or a list of these", value="dict"),
        }
    return right(i)


def block(blocks, title):
    return next(block for block in english(blocks) if block.title == title)


def test_the_page_of_one_entrant_is_its_result_and_then_its_timeline(tmp_path):
    run = play(tmp_path / "run", mixed, deaths=["killed: memory"], strays=[TRIALS[4]])
    write_run(run, tmp_path / "run.html")
    text = read(tmp_path / "run.html").text
    words = ["✓ Valid", "Summary", "Latency over the run", "Latencies", "Host lateness", "What went wrong", "Totals",
             "Where this result comes from"]  # fmt: skip
    places = [text.index(word) for word in words]
    assert places == sorted(places)
    assert "no answer in time" in text and "killed: memory" in text and "returned 12, expected" in text


def test_the_page_of_several_entrants_is_a_board_the_standings_and_all_timelines(tmp_path):
    run = play(tmp_path / "run", mixed, names=("red", "blue", HOSTILE))
    write_run(run, tmp_path / "run.html")
    page = read(tmp_path / "run.html")
    words = ["Board", "95 % interval", "Standings during the run", "red: Latency over the run", "red: Totals",
             "blue: Latency over the run", f"{HOSTILE}: Latency over the run"]  # fmt: skip
    places = [page.text.index(word) for word in words]
    assert places == sorted(places)
    assert "3 entrants · 2026-01-02 10:00 UTC" in page.text
    assert sum(tag == "svg" for tag, _ in page.elements) == 1 + 3 * 3


@pytest.mark.parametrize("names", [("red",), ("red", "blue")])
def test_the_page_of_a_run_is_told_in_chinese_too(tmp_path, names):
    deaths = [Words("killed: it used more than 4 GiB of memory", "被终止：占用内存超过 4 GiB")]
    run = play(tmp_path / "run", mixed, names, deaths=deaths, strays=[TRIALS[4]])
    track = changed(
        TRACK,
        title=Words("One of nine", "九选一"),
        metrics=tuple(dataclasses.replace(one, title=Words("accuracy", "准确率")) for one in TRACK.metrics),
    )
    write_run(dataclasses.replace(run, track=track), tmp_path / "run.html", "zh")
    html = re.sub("<title>.*?</title>", "", (tmp_path / "run.html").read_text("utf-8"))
    assert "程序退出：被终止：占用内存超过 4 GiB" in html and "九选一" in html
    assert words_in(html) - SAME - {"red", "blue", "which", "dict", "deg"} == set()


def test_what_does_not_count_has_no_place_on_the_board_and_says_why(tmp_path):
    run = play(tmp_path / "run", right, names=("red", "blue"))
    blue = run.scored["blue"]
    why = {"invalid_because": ["the host was late"], "invalid_because_zh": ["主机延迟"]}
    spoiled = msgspec.structs.replace(blue.result, valid=False, **why)
    run = dataclasses.replace(run, scored={**run.scored, "blue": Scored(spoiled, blue.rows)})
    write_run(run, tmp_path / "run.html")
    assert "blue does not count: the host was late." in read(tmp_path / "run.html").text
    write_run(run, tmp_path / "run-zh.html", "zh")
    assert "主机延迟" in read(tmp_path / "run-zh.html").text and "was late" not in read(tmp_path / "run-zh.html").text


def test_a_page_shows_the_charts_that_the_track_gives(tmp_path):
    def charts(rows):
        return [Table("Of the track itself", ["n"], [[rows.height]])]

    run = play(tmp_path / "run", right)
    track = changed(TRACK, charts=charts)
    write_run(dataclasses.replace(run, track=track), tmp_path / "run.html")
    text = read(tmp_path / "run.html").text
    assert text.index("Summary") < text.index("Of the track itself") < text.index("Latency over the run")


def test_an_error_that_is_there_or_not_has_no_curve(tmp_path):
    run = play(tmp_path / "run", right)
    write_run(dataclasses.replace(run, track=changed(TRACK, error="right")), tmp_path / "run.html")
    assert "Cumulative error" not in read(tmp_path / "run.html").text
    write_run(run, tmp_path / "run.html")
    assert "Cumulative error" in read(tmp_path / "run.html").text


def test_what_went_wrong_is_counted_with_where_it_began(tmp_path):
    strays = [TRIALS[4], TRIALS[4], "made up"]
    run = play(tmp_path / "run", mixed, deaths=["killed: memory"] * 2, strays=strays)
    table = block(timeline(run, "red"), "What went wrong")
    assert table.rows == [
        ["no answer in time", 2, TRIALS[4]],
        ["returned 12, expected a whole number from 0 to 8", 1, TRIALS[8]],
        ["returned dict, expected a number, a text, a boolean or a list of these", 1, TRIALS[25]],
        ["answers to nothing that was open: late, double or made up", "3", TRIALS[4]],
        ["the program ended: killed: memory", 2, None],
    ]


def test_of_very_many_notes_the_most_frequent_are_listed_and_the_others_counted(tmp_path):
    run = play(tmp_path / "run", lambda i: {"answer": 3, "note": f"note {max(i, 3)}"})
    rows = block(timeline(run, "red"), "What went wrong").rows
    assert len(rows) == 21
    assert rows[0] == ["note 3", 4, TRIALS[0]]
    assert rows[-1][:2] == ["7 other notes", 7]


def test_a_run_without_a_fault_says_so(tmp_path):
    run = play(tmp_path / "run", right)
    table = block(timeline(run, "red"), "What went wrong")
    assert table.rows == [] and table.note == "Nothing did."


def test_the_totals_are_those_of_the_run(tmp_path):
    run = play(tmp_path / "run", mixed, strays=[TRIALS[4], "made up"])
    totals = dict(block(timeline(run, "red"), "Totals").rows)
    assert totals == {
        "Decisions": 30, "Answered": 26, "Missed": 4, "… and answered late": 1, "Stray answers": "2",
        "Sittings": "3 of 3", "Time in the stream": "28 s", "Time by the clock": "5 min", "Pace": "the wall clock",
    }  # fmt: skip


def test_a_run_that_was_stopped_is_shown_as_far_as_it_came(tmp_path):
    run = play(tmp_path / "run", right, stop=14)
    totals = block(timeline(run, "red"), "Totals")
    assert dict(totals.rows)["Decisions"] == "14 of 30"
    assert dict(totals.rows)["Sittings"] == "2 of 3"
    assert totals.note == "The run was stopped before its end."


def test_a_run_that_was_stopped_before_anything_happened_has_tables_and_no_charts(tmp_path):
    run = play(tmp_path / "run", right, stop=0)
    assert [type(one) for one in timeline(run, "red")] == [Table, Table]
    assert summary_lines(run, "red") == ["red: 0 of 0 answered"]


def test_virtual_time_has_no_lateness_of_the_host(tmp_path):
    run = play(tmp_path / "run", right, pace="fast")
    blocks = timeline(run, "red")
    assert [str(one.title) for one in blocks] == ["Latency over the run", "Latencies", "What went wrong", "Totals"]
    assert dict(english(blocks[-1].rows))["Pace"] == "virtual time"


def test_the_host_s_lateness_is_told_in_numbers(tmp_path):
    run = play(tmp_path / "run", lambda i: right(i) | {"late_s": 0.06 if i in (3, 7, 9) else 0.002})
    note = block(timeline(run, "red"), "Host lateness").note.replace("\u00a0", " ")
    assert "Half of all within 2 ms, 99 % within 60 ms, all within 60 ms." in note
    assert "10 % are above 10 % of the deadline" in note


def test_sittings_follow_each_other_on_one_axis(tmp_path):
    run = play(tmp_path / "run", right)
    story = story_of(run, "red")
    assert story.trials == TRIALS
    assert np.all(np.diff(story.at_s) > 0)
    # Nine seconds to the last decision, its deadline of half a second, and a millisecond that the host was late.
    assert story.starts_s == pytest.approx({0: 0.001, 1: 9.502, 2: 19.003})


def test_decisions_are_in_the_order_of_play_and_not_of_their_closing(tmp_path):
    recorder = Recorder(tmp_path / "run", head(["red"]))
    for name, at_s in (("t1", 1.0), ("t0", 0.0), ("t2", 2.0)):
        recorder.decided(decided("red", name, at_s=at_s))
    recorder.close()
    assert story_of(scored_run(tmp_path / "run"), "red").trials == ["t0", "t1", "t2"]


def test_a_decision_is_late_when_its_answer_came_after_all(tmp_path):
    run = play(tmp_path / "run", mixed, strays=[TRIALS[4], TRIALS[5], "made up"])
    story = story_of(run, "red")
    assert np.flatnonzero(story.late).tolist() == [4], "5 was answered, and its stray is a second answer"
    assert np.flatnonzero(~story.answered).tolist() == [4, 8, 17, 25]


def made_up(count, seed=0, missed=0.02, deadline_s=0.5, sittings=3):
    """A story as long as one likes."""
    rng = np.random.default_rng(seed)
    took = np.where(rng.random(count) < missed, np.nan, rng.lognormal(-4, 0.7, count))
    return Story(
        trials=[f"t{i}" for i in range(count)], sitting=np.arange(count) * sittings // max(count, 1),
        at_s=np.arange(count, dtype=float), latency_s=took, host_late_s=rng.lognormal(-9, 1, count),
        deadline_s=np.full(count, math.nan if deadline_s is None else deadline_s),
        notes=["no answer in time" if missed else "" for missed in np.isnan(took)],
        late=np.zeros(count, bool), strays=[], deaths=[],
    )  # fmt: skip


@pytest.mark.parametrize("count", [1, 2, 2000, 2001, 50_000])
@pytest.mark.parametrize("missed", [0.0, 0.5, 1.0])
def test_charts_are_light_however_many_decisions_there_are(count, missed):
    story = made_up(count, missed=missed)
    for chart in (latency_over_time(story, SITTINGS), latencies(story), host_lateness(story)):
        check(chart)


def test_very_many_decisions_are_drawn_by_the_span_of_each_bin():
    few, many = (latency_over_time(made_up(count), SITTINGS) for count in (2000, 2001))
    assert "bins" not in str(few.note)
    assert "400 bins: the least, the median and the most of about 5 decisions each." in str(many.note)


def test_one_slow_answer_among_very_many_is_not_lost():
    story = made_up(50_000, missed=0.0)
    story.latency_s[:] = 0.010
    story.latency_s[31_234] = 0.3
    slow = latency_over_time(story, SITTINGS).svg
    story.latency_s[31_234] = 0.010
    assert slow != latency_over_time(story, SITTINGS).svg


@pytest.mark.parametrize("deadline_s", [None, 0.5, 1e-3])
def test_charts_are_drawn_with_and_without_a_deadline(deadline_s):
    story = made_up(50, deadline_s=deadline_s)
    chart = latency_over_time(story, SITTINGS)
    check(chart)
    check(latencies(story))
    assert ("10\u00a0% of the deadline" in str(host_lateness(story).note)) == (deadline_s is not None)


def test_latencies_and_lateness_of_nothing_are_drawn():
    story = dataclasses.replace(made_up(20), latency_s=np.zeros(20), host_late_s=np.full(20, -1e-9))
    for chart in (latency_over_time(story, SITTINGS), latencies(story), host_lateness(story)):
        check(chart)
    assert "all within 0\u00a0ms" in str(host_lateness(story).note)


def test_more_sittings_than_can_be_named_are_marked():
    names = [f"sitting-{i}" for i in range(40)]
    check(latency_over_time(made_up(400, sittings=40), names))


def test_percentiles_are_written_into_the_histogram():
    story = dataclasses.replace(made_up(100), latency_s=np.linspace(0.001, 0.1, 100))
    assert str(latencies(story).note).replace("\u00a0", " ") == (
        "100 answers; the slowest took 100 ms. The axis ends at the deadline, 500 ms."
    )
    named = dataclasses.replace(made_up(100), latency_s=np.full(100, 0.02))
    assert latencies(named).svg != latencies(story).svg


def test_the_standings_end_at_the_results_and_the_best_is_named_first(tmp_path):
    good = play(tmp_path / "good", right, names=("good",)).scored
    bad = play(tmp_path / "bad", lambda i: {"answer": 8}, names=("bad",)).scored
    chart = standings_chart(TRACK, bad | good)
    check(chart)
    assert "Higher is better" in str(chart.note)
    assert chart.svg != standings_chart(TRACK, good | good).svg
    named = standings_chart(TRACK, {"坏": bad["bad"], "好": good["good"]}).svg  # such words stay text in the SVG
    assert named.index("好  1.0000") < named.index("坏  0.1000")


def test_the_standings_follow_the_order_of_play(tmp_path):
    scored = play(tmp_path / "run", lambda i: {"answer": i % 9 if i < 15 else 8}).scored
    forth, back = (standings_chart(TRACK, scored, order).svg for order in (TRIALS, TRIALS[::-1]))
    assert forth == standings_chart(TRACK, scored).svg != back


@pytest.mark.parametrize("count", [0, 1, 15])
def test_standings_of_any_number_of_teams(tmp_path, count):
    scored = play(tmp_path / "run", mixed).scored
    check(standings_chart(TRACK, {f"team {i}": scored["red"] for i in range(count)}))


def test_standings_of_a_metric_that_has_no_value_yet_are_drawn(tmp_path):
    odd = Metric("odd", "", "lower", lambda rows, draws: np.array([math.nan if rows.height < 9 else 1.0]))
    scored = play(tmp_path / "run", right).scored
    check(standings_chart(dataclasses.replace(TRACK, metrics=(odd,)), scored))


def test_a_summary_is_a_line_for_each_sitting(tmp_path):
    run = play(tmp_path / "run", mixed, deaths=["killed"], strays=[TRIALS[4], "made up"])
    lines = [line.replace("\u00a0", " ") for line in summary_lines(run, "red")]
    assert lines == [
        "red: 26 of 30 answered, 4 missed (1 of them answered late), 2 stray answers, ended 1 ×",
        "  P0  ████░███·█",
        "  P1  ███████·██",
        "  P2  █████·████",
        "  █ answered  ▄ in part  ░ only late  · not at all",
        "  latency p50 24 ms, p95 38 ms, p99 39 ms, at most 39 ms; deadline 500 ms",
        f"  2 × no answer in time (first: {TRIALS[4]})",
        f"  1 × returned 12, expected a whole number from 0 to 8 (first: {TRIALS[8]})",
        f"  1 × returned dict, expected a number, a text, a boolean or a list of these (first: {TRIALS[25]})",
    ]


def test_a_long_sitting_is_shown_by_parts(tmp_path):
    recorder = Recorder(tmp_path / "run", head(["red"], 200, ["P1"]))
    for i in range(200):
        answer = None if i < 4 or i == 5 else 1
        recorder.decided(decided("red", f"t{i}", answer, "" if answer else "no answer in time", float(i)))
    recorder.close()
    bar, legend = summary_lines(scored_run(tmp_path / "run"), "red")[1:3]
    assert bar == "  P1  ·▆" + "█" * 48
    assert legend.endswith("each is 4 decisions")


def test_very_many_sittings_are_cut(tmp_path):
    recorder = Recorder(tmp_path / "run", head(["red"], 50, [f"P{i}" for i in range(50)]))
    for i in range(50):
        recorder.sitting = i
        recorder.decided(decided("red", f"t{i}"))
    recorder.close()
    lines = summary_lines(scored_run(tmp_path / "run"), "red")
    assert sum("P" in line for line in lines) == 40 and "  … and 10 more sittings" in lines


def test_hostile_words_do_not_reach_the_terminal(tmp_path):
    hostile = "\x1b[2J\r\nred\x07"

    def script(i):
        return {"answer": 3, "note": hostile}

    run = play(tmp_path / "run", script, names=(hostile,), sittings=[hostile] * 3)
    assert all(line == printable(line) for line in summary_lines(run, hostile))


def test_an_unknown_entrant_is_refused_by_name(tmp_path):
    run = play(tmp_path / "run", right)
    with pytest.raises(Exception, match="Did you mean 'red'"):
        timeline(run, "rad")


def test_blocks_are_charts_and_tables(tmp_path):
    run = play(tmp_path / "run", mixed)
    assert [type(one) for one in timeline(run, "red")] == [Chart, Chart, Chart, Table, Table]
