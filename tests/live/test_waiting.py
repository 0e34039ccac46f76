"""Who was starved in a real-time run, by whom, and who was not."""

from dataclasses import dataclass

import pytest

from palestra.live.waiting import Wait, starved


@dataclass(frozen=True)
class Asked:
    wait: Wait | None
    answered_s: float | None = None
    deadline_s: float | None = 0.5


def wait(waited_s=0.4, used_s=0.05, idle_s=0.0, outside_s=0.0, **others) -> Wait:
    """On two cores, over a second."""
    return Wait(1.0, waited_s, used_s, 2, idle_s, outside_s, others or {"hog": 1.9})


def test_one_that_waited_while_another_had_more_than_its_part_was_starved_by_that():
    why = starved([Asked(wait()), Asked(wait(waited_s=0.2)), Asked(wait(), answered_s=0.1)])
    assert why.en == (
        "it was kept waiting for a processor and missed 2 decisions (at worst it waited 400 ms of a deadline of "
        "500 ms); meanwhile hog used 1.9 of 2 cores"
    )
    assert "hog" in why.zh and "2 个核心中的 1.9 个" in why.zh


def test_who_had_most_is_named_first_and_who_had_its_part_is_not():
    why = starved([Asked(wait(blue=0.7, red=1.0, green=0.1))])
    assert why.en.endswith("meanwhile red used 1.0 of 2 cores, blue used 0.7 of 2 cores")


def test_work_that_is_no_entrants_is_told_apart():
    why = starved([Asked(wait(outside_s=1.7, quiet=0.2))])
    assert why.en.endswith("meanwhile work on the machine that is no entrant's used 1.7 of 2 cores")


@pytest.mark.parametrize(
    "asked",
    {
        "it answered": Asked(wait(), answered_s=0.3),
        "it did not wait": Asked(wait(waited_s=0.05)),
        "it had its part": Asked(wait(used_s=1.2, hog=0.7)),
        "its own processes took it": Asked(wait(used_s=1.9, quiet=0.05)),
        "processors stood idle": Asked(wait(idle_s=0.9, hog=1.05)),
        "nobody had more than a part": Asked(wait(outside_s=0.1, quiet=0.2)),
        "nothing was measured": Asked(None),
        "there is no deadline": Asked(wait(), deadline_s=None),
    }.values(),
    ids=str,
)
def test_nobody_was_starved_where(asked):
    assert not starved([asked])
