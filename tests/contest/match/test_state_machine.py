"""The referee's table: what may happen when, what it costs, and how it is refused."""

import msgspec
import pytest

from palestra.contest.match import events as e
from palestra.contest.match.clock import Clock, shown
from palestra.contest.match.reducer import at_time, fold, last_of
from palestra.contest.match.rules import PRESETS, TOTAL_MS
from palestra.contest.match.state import Match
from palestra.contest.match.state_machine import decide, open_match, who_of
from palestra.contest.match.turn import flags, left_ms
from palestra.errors import Forbidden, PalestraError
from tests.contest.match.table import ANNA, BLUE, BO, CHEN, HEAD, MINUTE, ORGANISER, RED, SECOND, Table, a_sheet


def refused(table, who, kind, words, **fields):
    """Ask, and be refused with these words; nothing changes, and Chinese words are there as well."""
    before = msgspec.msgpack.encode(table.match)
    with pytest.raises(PalestraError, match=words) as caught:
        table.ask(who, kind, **fields)
    assert any("\u4e00" <= letter <= "\u9fff" for letter in caught.value.in_language("zh"))
    assert msgspec.msgpack.encode(table.match) == before
    return caught.value


# Presets and settings


def test_the_presets_are_those_of_the_readings():
    seed, english, literal = PRESETS["seed"], PRESETS["english"], PRESETS["literal"]
    assert (seed.groups, seed.cases, seed.limit_per, seed.limit_ms) == (5, 5, "group", 600_000)
    assert (english.groups, english.cases, english.limit_per, english.limit_ms) == (5, 2, "case", 300_000)
    assert english.draw == "all"
    assert (literal.limit_per, literal.limit_ms) == ("case", 600_000)
    assert {rules.retries for rules in PRESETS.values()} == {2}
    assert TOTAL_MS == 55 * 60 * 1000


# Before the turn


def test_a_turn_needs_neutral_referees_a_draw_and_a_frozen_image():
    table = Table()
    begin = {"referees": ("anna", "bo")}
    refused(table, HEAD, e.TurnBegun, "head referee has not declared", **begin)
    table.ask(HEAD, e.RefereeDeclared)
    refused(table, HEAD, e.TurnBegun, "2 referees or more", referees=("anna",))
    refused(table, HEAD, e.TurnBegun, "2 referees or more", referees=("anna", "anna"))
    refused(table, HEAD, e.TurnBegun, "anna has not declared", **begin)
    table.ask(ANNA, e.RefereeDeclared, conflicts=("red",))
    table.ask(BO, e.RefereeDeclared)
    refused(table, HEAD, e.TurnBegun, "conflict with Red", **begin)
    table.ask(ANNA, e.RefereeDeclared)
    refused(table, HEAD, e.TurnBegun, "has no seat", referees=("anna", "head"))
    refused(table, HEAD, e.TurnBegun, "not been drawn", **begin)
    table.ask(ORGANISER, e.GroupsDrawn, seed="7")
    refused(table, HEAD, e.TurnBegun, "Freeze the image", **begin)
    table.ask(ANNA, e.ImageTaken, image="a")
    table.ask(ANNA, e.ImageFrozen, image="a")
    assert table.ask(HEAD, e.TurnBegun, **begin)[0].order == table.match.setup.groups["red"]


def test_several_images_while_debugging_and_one_frozen():
    table = Table().settled()
    table.ask(ANNA, e.ImageTaken, image="a", core="core-r")
    table.ask(ANNA, e.ImageTaken, image="b", core="other", by_way_of="usb")
    refused(table, ANNA, e.ImageFrozen, "no image", image="c")
    table.ask(ANNA, e.ImageFrozen, image="a")
    refused(table, ANNA, e.ImageFrozen, "say why", image="b")
    assert flags(table.match.opened, table.match.turns["red"]) == []
    table.ask(ANNA, e.ImageFrozen, image="b", reason="the first one lacks a driver")
    assert "core code differs" in str(flags(table.match.opened, table.match.turns["red"])[0])
    table.ask(HEAD, e.TurnBegun, referees=("anna", "bo"))
    refused(table, ANNA, e.ImageTaken, "turn has begun", image="d")


def test_the_running_order_is_kept_unless_a_reason_is_given():
    table = Table().settled()
    table.ask(ORGANISER, e.TeamsOrdered, teams=("blue", "red"))
    table.ask(ANNA, e.ImageTaken, image="a")
    table.ask(ANNA, e.ImageFrozen, image="a")
    refused(table, HEAD, e.TurnBegun, "Blue is next", referees=("anna", "bo"))
    table.ask(HEAD, e.TurnBegun, referees=("anna", "bo"), reason="blue's robot cell is being repaired")
    refused(table, ORGANISER, e.TeamsOrdered, "the set-up stays", teams=("red", "blue"), reason="late")


def test_only_one_team_is_at_the_table():
    table = Table().begun("red")
    table.ask(ANNA, e.ImageTaken, team="blue", image="b")
    table.ask(ANNA, e.ImageFrozen, team="blue", image="b")
    refused(table, HEAD, e.TurnBegun, "Red is at the table", team="blue", referees=("anna", "bo"))
    table.wait(TOTAL_MS).ask(HEAD, e.TurnBegun, team="blue", referees=("anna", "bo"))


# A case


def test_the_order_of_a_case_is_scene_and_confirmation_instruction_signal_start():
    table = Table().begun()
    case = table.case
    sheet = next(one for group in table.body.groups for one in group.cases if one.id == case)
    scene = {"things": sheet.things, "layout": sheet.layout, "photo": "p"}
    refused(table, ANNA, e.CaseStarted, "hand signal")
    refused(table, ANNA, e.InstructionEntered, "check the scene", text=sheet.instruction.en)
    refused(
        table,
        ANNA,
        e.SceneChecked,
        "missing objects 2, objects that do not belong there 3",
        **{**scene, "things": (1, 3)},
    )
    refused(table, ANNA, e.SceneChecked, "another layout", **{**scene, "layout": "else"})
    refused(table, ANNA, e.SceneChecked, "photo", **{**scene, "photo": ""})
    table.ask(ANNA, e.SceneChecked, **scene)
    refused(table, ANNA, e.InstructionEntered, "confirms that its system", text=sheet.instruction.en)
    table.ask(RED, e.SystemConfirmed)
    refused(table, RED, e.SignalGiven, "enters the instruction")
    refused(table, ANNA, e.InstructionEntered, "letter by letter", text="<b>something else</b>")
    table.ask(ANNA, e.InstructionEntered, text=sheet.instruction.zh)
    table.ask(RED, e.SignalGiven)
    table.ask(ANNA, e.CaseStarted)
    found = refused(table, ANNA, e.CaseStarted, "running already")
    assert "Possible now: " in str(found) and "stop, retry, restart the program, abandon the case" in str(found)
    assert "现在可以：" in found.in_language("zh") and "停止计时、重试、重启程序、放弃用例" in found.in_language("zh")


def test_a_case_that_is_not_at_the_table_is_refused():
    table = Table().begun()
    other = next(name for name in table.match.turns["red"].cases if name != table.case)
    refused(table, RED, e.SystemConfirmed, f"is not at the table; {table.case} is", case=other)
    refused(table, RED, e.SystemConfirmed, "no case", case="nowhere")


def test_other_people_may_not():
    table = Table().begun()
    for who, kind in [(BLUE, e.SystemConfirmed), (RED, e.CaseStarted), (ORGANISER, e.CaseStarted), (ANNA, e.ClockHeld)]:
        with pytest.raises(Forbidden):
            table.ask(who, kind, **({"reason": "because"} if kind is e.ClockHeld else {}))
    with pytest.raises(Forbidden, match="themselves"):
        table.ask(ANNA, e.GoalMarked, attempt=1, goal="s1", on=True, referee="bo")
    refused(table, CHEN, e.GoalMarked, "referees of this turn", attempt=1, goal="s1", on=True)


def test_an_account_has_its_part_at_the_table():
    match = Table().match
    assert who_of(match, "head", "referee").part == "head"
    assert who_of(match, "anna", "referee").part == "referee"
    assert who_of(match, "olga", "organiser").part == "organiser"
    assert who_of(match, "rosa", "member", "red") == RED
    assert who_of(match, "vera", "member", "green").part == "viewer"


def test_a_match_is_opened_once_by_the_organiser():
    table = Table()
    assert open_match({}, "organiser", table.body) == [table.body]
    with pytest.raises(PalestraError, match="already"):
        open_match({"m": table.match}, "organiser", table.body)
    with pytest.raises(Forbidden):
        open_match({}, "referee", table.body)


# Clocks


def test_a_clock_is_a_function_of_its_start_and_now():
    clock = Clock()
    assert clock.elapsed(99) == 0
    clock.start(100)
    assert (clock.elapsed(100), clock.elapsed(250), clock.elapsed(50)) == (0, 150, 0)
    clock.stop(250)
    clock.start(1000)
    assert (clock.elapsed(1001), clock.running) == (151, True)
    assert shown(599_999) == "9:59"


def test_the_clock_survives_a_restart_to_the_millisecond():
    table = Table().begun()
    case = table.started()
    began = table.now
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(table.match), type=Match)
    for now in (began + 1, began + 12_345, began + 600_000):
        assert at_time(again, "red", now) == at_time(fold(table.log), "red", now) == at_time(table.match, "red", now)
    assert at_time(again, "red", began + 12_345).cases[case].ran_ms(began + 12_345) == 12_345


def test_a_time_out_keeps_what_holds():
    table = Table("literal").begun()
    case = table.started()
    began = table.now
    for who in (ANNA, BO):
        table.ask(who, e.GoalMarked, attempt=1, goal="s1", on=True)
    table.wait(600 * SECOND)
    assert table.row(case).ended == "time"
    refused(table, ANNA, e.CaseStopped, "stopped at 10:00: its time was up", case=case)
    table.signed(case, ("s1",))
    row = table.row(case)
    assert (row.met, row.time_ms, row.state) == (1, 600_000, "agreed")
    assert at_time(table.match, "red", table.now).cases[case].ended_at == began + 600_000


def test_cases_of_a_group_share_its_time_and_the_rest_is_not_reached():
    table = Table("seed").begun()
    first = table.played(ms=400 * SECOND)
    second = table.started()
    table.wait(200 * SECOND)
    row = table.row(second)
    assert (row.ended, row.time_ms, row.charged_ms) == ("time", 200_000, "200000")
    assert table.row(first).time_ms == 400_000


def test_a_case_whose_group_has_no_time_left_is_skipped_and_charged_its_share():
    table = Table("seed", a_sheet(2, 3)).begun()
    table.started()
    table.wait(600 * SECOND)
    order = list(table.match.turns["red"].cases)
    assert table.case == order[3]
    row = table.row(order[1])
    assert (row.ended, row.met, row.charged_ms, row.state) == ("unreached", 0, "200000", "agreed")
    assert (table.row(order[3]).ended, table.row(order[3]).state) == ("", "unscored")


def test_the_end_of_55_minutes_inside_a_case_scores_it_as_it_stands_and_the_rest_0():
    table = Table("literal", a_sheet(5, 2)).begun()
    begun_at = table.match.turns["red"].begun_at
    table.wait(begun_at + TOTAL_MS - 5 * SECOND - table.now - 5)
    case = table.started()
    for who in (ANNA, BO):
        table.ask(who, e.GoalMarked, attempt=1, goal="s2", on=True)
    table.wait(MINUTE)
    row = table.row(case)
    assert (row.ended, row.met, row.total, row.time_ms) == ("match", 1, 2, 5 * SECOND)
    assert row.note == "the 55 minutes ended"
    others = [table.row(name) for name in table.match.turns["red"].cases if name != case]
    assert {(other.ended, other.met, other.charged_ms) for other in others} == {("unreached", 0, "600000")}
    refused(table, ANNA, e.SystemConfirmed, "over after 55:00", case=others[0].case)
    table.signed(case, ("s2",))
    assert table.row(case).state == "agreed"


def test_a_held_clock_stands_for_case_and_match():
    table = Table("literal").begun()
    case = table.started()
    table.wait(10 * SECOND - 1).ask(HEAD, e.ClockHeld, reason="emergency stop of the hall")
    turn = at_time(table.match, "red", table.now)
    left = left_ms(turn, table.now)
    table.wait(30 * MINUTE)
    assert left_ms(at_time(table.match, "red", table.now), table.now) == left
    refused(table, ANNA, e.CaseRetried, "held", why="drop")
    table.ask(HEAD, e.ClockReleased)
    table.wait(5 * SECOND - 1).ask(ANNA, e.CaseStopped, case=case)
    assert table.row(case).time_ms == 15 * SECOND


def test_no_case_starts_while_the_clock_is_held():
    table = Table("literal").begun()
    case = table.prepared()
    table.ask(HEAD, e.ClockHeld, reason="the lights went out")
    refused(table, ANNA, e.CaseStarted, "release it first", case=case)
    table.ask(HEAD, e.ClockReleased)
    assert table.ask(ANNA, e.CaseStarted, case=case)


# Retries, restarts, abandoning


def test_the_last_attempt_counts_and_the_clock_runs_on():
    table = Table("literal").begun()
    case = table.started()
    for who in (ANNA, BO):
        table.ask(who, e.GoalMarked, attempt=1, goal="s1", on=True)
    assert table.row(case).met == 1
    table.wait(20 * SECOND).ask(ANNA, e.CaseRetried, why="drop")
    assert (table.row(case).met, table.row(case).attempts) == (0, 2)
    table.wait(20 * SECOND).ask(ANNA, e.CaseRetried, why="pose")
    refused(table, ANNA, e.CaseRetried, "All 2 retries", why="hang")
    table.wait(20 * SECOND).ask(ANNA, e.CaseStopped)
    table.signed(case, ("s1", "s2"), attempt=3)
    assert (table.row(case).met, table.row(case).state) == (2, "agreed")
    assert table.row(case).time_ms > 60 * SECOND


def test_the_best_attempt_counts_where_the_setting_says_so():
    table = Table("literal", settings={"counts": "best"}).begun()
    case = table.started()
    table.ask(ANNA, e.CaseRetried, why="hang")
    table.ask(ANNA, e.CaseStopped)
    table.signed(case, ("s1",), attempt=2)
    assert table.row(case).state == "unscored"
    table.signed(case, ("s1", "s2"), attempt=1)
    assert (table.row(case).met, table.row(case).state) == (2, "agreed")


def test_a_retry_in_the_last_second_gives_up_what_was_met():
    table = Table("english").begun()
    case = table.started()
    for who in (ANNA, BO):
        table.ask(who, e.GoalMarked, attempt=1, goal="s1", on=True)
    started = table.match.turns["red"].cases[case].started_at
    table.now = started + 300 * SECOND - 2
    table.ask(ANNA, e.CaseRetried, why="drop")
    table.wait(1)
    row = table.row(case)
    assert (row.ended, row.met, row.attempts, row.time_ms) == ("time", 0, 2, 300_000)


def test_a_retry_when_the_time_is_up_is_refused():
    table = Table("english").begun()
    case = table.started()
    table.now = table.match.turns["red"].cases[case].started_at + 300 * SECOND - 1
    refused(table, ANNA, e.CaseRetried, "its time was up", why="drop", case=case)


def test_abandoning_scores_0_though_sub_goals_are_met():
    table = Table("literal").begun()
    case = table.started()
    for who in (ANNA, BO):
        for goal in ("s1", "s2"):
            table.ask(who, e.GoalMarked, attempt=1, goal=goal, on=True)
    table.wait(30 * SECOND).ask(ANNA, e.CaseAbandoned)
    row = table.row(case)
    assert (row.ended, row.met, row.charged_ms, row.state) == ("abandoned", 0, "600000", "agreed")
    assert table.case != case


def test_a_program_is_restarted_once_by_a_named_referee_and_it_is_no_retry():
    table = Table("literal").begun()
    case = table.started()
    refused(table, ANNA, e.ProgramRestarted, "approved by a referee", approved_by="olga", reason="it hangs")
    refused(table, ANNA, e.ProgramRestarted, "Say why", approved_by="bo", reason=" ")
    table.ask(ANNA, e.ProgramRestarted, approved_by="bo", reason="it hangs")
    assert table.row(case).attempts == 1
    refused(table, ANNA, e.ProgramRestarted, f"restarted in case {case} already", approved_by="bo", reason="again")
    table.ask(ANNA, e.CaseStopped)
    table.started()
    refused(table, ANNA, e.ProgramRestarted, "a team has 1 in all", approved_by="anna", reason="again")


def test_closing_a_turn_early_leaves_the_rest_at_0():
    table = Table("literal").begun()
    case = table.started()
    refused(table, ANNA, e.TurnClosed, "stop it first")
    table.ask(ANNA, e.CaseStopped)
    table.ask(ANNA, e.TurnClosed)
    others = [table.row(name) for name in table.match.turns["red"].cases if name != case]
    assert {(other.ended, other.state) for other in others} == {("unreached", "agreed")}


# Late, double and lost messages


def test_a_message_that_comes_twice_counts_once():
    table = Table("literal").begun()
    case = table.started()
    body = table.body_of(e.CaseRetried, why="drop", key="tablet:7", said_at=table.now + 5)
    table.wait(10)
    assert table.send(ANNA, body) == [body]
    assert table.send(ANNA, body) == []
    twice = fold([*table.log, e.Entry(table.log[-1].seq + 1, table.now, "anna", body)])
    assert len(twice.turns["red"].cases[case].attempts) == 2


def test_the_same_key_of_another_page_is_another_message():
    table = Table("literal").begun()
    case = table.started()
    for who in (ANNA, BO):
        table.send(who, table.body_of(e.GoalMarked, attempt=1, goal="s1", on=True, key="1", said_at=table.now))
    assert table.row(case).met == 1


def test_a_stop_that_arrives_late_counts_when_it_was_said():
    table = Table("literal").begun()
    case = table.started()
    pressed = table.now + 42 * SECOND
    table.wait(20 * MINUTE)
    assert table.row(case).ended == "time"
    table.send(ANNA, table.body_of(e.CaseStopped, case=case, key="t:1", said_at=pressed, queued=True))
    row = table.row(case)
    assert (row.ended, row.time_ms) == ("stopped", 42_000)


def test_of_two_stops_the_earlier_counts_whichever_arrives_first():
    for order, queued in (((0, 1), True), ((1, 0), True), ((0, 1), False), ((1, 0), False)):
        table = Table("literal").begun()
        case = table.started()
        began = table.now
        stops = [(ANNA, began + 9_000), (BO, began + 10_000)]
        table.wait(30 * SECOND)
        for number in order:
            who, at = stops[number]
            table.send(who, table.body_of(e.CaseStopped, case=case, key="s", said_at=at, queued=queued))
        assert table.row(case).time_ms == 9_000


def test_a_page_cannot_speak_of_the_future():
    table = Table("literal").begun()
    case = table.started()
    table.wait(5_000)
    table.send(ANNA, table.body_of(e.CaseStopped, case=case, key="t:1", said_at=table.now + 90_000))
    assert table.row(case).time_ms == 5_000


def test_a_queued_message_that_does_not_fit_is_kept_and_shown_without_effect():
    table = Table("literal").begun()
    case = table.prepared()
    table.wait(5_000)
    body = table.body_of(e.CaseRetried, case=case, why="drop", key="t:1", said_at=table.now - 1_000)
    with pytest.raises(PalestraError, match="has not started"):
        table.send(ANNA, body)
    assert table.send(ANNA, msgspec.structs.replace(body, queued=True))
    strays = table.match.turn_logs["red"].strays
    assert [words.en for words in strays.values()] == [f"Case {case} has not started."]
    assert table.match.turns["red"].cases[case].attempts == []


# Undo


def test_the_last_event_of_ones_own_is_undone_and_the_clock_counts_on():
    table = Table("literal").begun()
    case = table.started()
    table.wait(10 * SECOND - 1).ask(ANNA, e.CaseStopped)
    last = last_of(table.match, "anna", "red")
    table.wait(5 * SECOND).ask(ANNA, e.EventUndone, undoes=f"#{last.seq}", team="red")
    assert table.match.turns["red"].cases[case].running
    table.now = table.match.turns["red"].cases[case].started_at + 20 * SECOND - 1
    table.ask(ANNA, e.CaseStopped, case=case)
    assert table.row(case).time_ms == 20 * SECOND


def test_an_undo_goes_back_step_by_step_and_only_over_ones_own():
    table = Table("literal").begun()
    table.started()
    for goal in ("s1", "s2"):
        table.ask(ANNA, e.GoalMarked, attempt=1, goal=goal, on=True, key=goal)
    table.ask(BO, e.GoalMarked, attempt=1, goal="s1", on=True, key="bo1")
    refused(table, ANNA, e.EventUndone, "last event of one's own", undoes="bo1", team="red")
    refused(table, ANNA, e.EventUndone, "last event of one's own", undoes="s1", team="red")
    table.ask(ANNA, e.EventUndone, undoes="s2", team="red")
    table.ask(ANNA, e.EventUndone, undoes="s1", team="red")
    case = table.match.turns["red"].cases[table.case]
    assert "anna" not in case.marks and "bo" in case.marks


def test_an_undo_that_would_take_the_ground_from_another_is_refused():
    table = Table("literal").begun()
    case = table.started()
    table.ask(ANNA, e.CaseStopped)
    table.ask(BO, e.MarksSigned, case=case, attempt=1, met=("s1",))
    last = last_of(table.match, "anna", "red")
    refused(table, ANNA, e.EventUndone, "logged since would no longer fit", undoes=f"#{last.seq}", team="red")


def test_a_draw_and_a_publication_cannot_be_undone():
    table = Table("literal").settled()
    assert last_of(table.match, "olga") is None
    refused(table, ORGANISER, e.EventUndone, "not a draw", undoes=f"#{table.log[-1].seq}")


def test_nothing_is_logged_for_a_refused_wish():
    table = Table().begun()
    with pytest.raises(PalestraError):
        decide(table.match, ANNA, table.body_of(e.CaseStarted), table.now)
    assert fold(table.log) == table.match
