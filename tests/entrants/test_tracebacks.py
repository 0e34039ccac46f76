"""What a team is shown of what its program printed."""

from palestra.entrants.tracebacks import AGAIN, explaining_lines

TRACEBACK = "Traceback (most recent call last):\n  File \"a.py\", line 3\n    gaze()\nKeyError: 'gaze'"


def test_the_first_traceback_explains_and_later_ones_are_noise():
    output = AGAIN.join([f"loading\n{TRACEBACK}\nbye", TRACEBACK.replace("gaze", "noise")])
    assert explaining_lines(output, 10) == ["loading", *TRACEBACK.splitlines()]
    assert explaining_lines(output, 2) == TRACEBACK.splitlines()[-2:]


def test_without_a_traceback_the_first_start_explains():
    output = AGAIN.join(["1\n2\nterminate called", "noise"])
    assert explaining_lines(output, 2) == ["2", "terminate called"]
    assert explaining_lines("", 2) == []


def test_a_traceback_that_was_cut_off_is_shown_as_far_as_it_goes():
    assert explaining_lines(TRACEBACK[:60], 9) == TRACEBACK[:60].splitlines()
