"""A contest file that is changed says the new rules, and keeps every byte that has nothing to do with them."""

import time
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from palestra.contest.rules.editor import LARGEST_EDITED, edited, edited_file
from palestra.contest.rules.model import Award, MatchPlan, Phase, Quota, Rules
from palestra.contest.rules.reader import LARGEST, parse
from palestra.contest.rules.writer import written
from palestra.text import Words
from tests import ROOT
from tests.contest.rules.test_writer import LINES, full_rules
from tests.contest.story import DAY, START, a_phase, some_rules, two_phases

FILES = sorted((ROOT / "contests").glob("*.toml"))
every_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)

SMALL = """\
# Of all this.

[contest]
id = "test"
name = "Test"  # short
zone = "UTC"

# The only one.
[[phase]]  # with two brackets
id = "first"
title = { en = "One", zh = '一' }  # both
track = "near-eye-gaze-v1"
opens = 2022-12-01
closes = 2022-12-31  # the end of that day
# to come: freeze

# Prizes.
"""


def read(text: str) -> Rules:
    return parse(text, "contest.toml")


def with_phase(rules: Rules, place: int = 0, **fields: Any) -> Rules:
    phases = list(rules.phases)
    phases[place] = replace(phases[place], **fields)
    return replace(rules, phases=tuple(phases))


def lines_that_differ(before: str, after: str) -> tuple[list[str], list[str]]:
    """Lines that are gone, and lines that are new; all others are the same, in the same order."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    gone, added = [], []
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            gone += old[i:j]
            added += new[k:m]
    return gone, added


# One thing is changed in each of the ready contests


def later(phase: Phase) -> dict[str, Any]:
    return {"closes": phase.closes + DAY}


VALUES: list[tuple[str, Callable[[Phase], dict[str, Any]]]] = [
    ("closes", later),
    ("quota", lambda _: {"quota": Quota(7, "week")}),
    ("title", lambda _: {"title": Words("New", "新")}),
    ("title", lambda phase: {"title": Words("New", phase.title.zh)}),
    ("ties", lambda _: {"ties": ("some", "other", "earlier")}),
    ("limit", lambda _: {"limit_bytes": 123_000_000}),
]


@every_file
@pytest.mark.parametrize(("key", "fields"), VALUES, ids=[f"{i}-{name}" for i, (name, _) in enumerate(VALUES)])
def test_one_value_of_the_last_phase_is_one_line(
    file: Path, key: str, fields: Callable[[Phase], dict[str, Any]]
) -> None:
    text = file.read_text("utf-8")
    rules = read(text)
    after = with_phase(rules, -1, **fields(rules.phases[-1]))
    changed = edited(text, after)
    assert read(changed) == after
    gone, added = lines_that_differ(text, changed)
    assert [line.split(" ")[0] for line in added] == [key]
    assert [line.split(" ")[0] for line in gone] in ([key], [])
    assert [line.partition("  #")[2] for line in gone] in ([added[0].partition("  #")[2]], [])


@every_file
def test_a_long_text_in_one_language_leaves_the_other_as_it_is(file: Path) -> None:
    text = file.read_text("utf-8")
    rules = read(text)
    changed = edited(text, with_phase(rules, about=Words("Other\nlines", rules.phases[0].about.zh)))
    gone, added = lines_that_differ(text, changed)
    assert "".join(added).removeprefix('about.en = """\n') == 'Other\nlines"""\n'
    assert not any("zh" in line for line in gone)


@every_file
def test_a_phase_is_added_and_removed_again_to_the_byte(file: Path) -> None:
    text = file.read_text("utf-8")
    rules = read(text)
    last = rules.phases[-1].closes
    more = a_phase("extra", opens=last, closes=last + DAY, match=MatchPlan(retries=1))
    longer = edited(text, replace(rules, phases=(*rules.phases, more)))
    gone, added = lines_that_differ(text, longer)
    assert not gone
    assert {"[[phase]]\n", 'id = "extra"\n', "[phase.match]\n", "retries = 1\n"} <= set(added)
    assert read(longer).phases[-1] == more
    assert edited(longer, rules).rstrip("\n") == text.rstrip("\n")


@every_file
def test_awards_are_changed_added_and_removed(file: Path) -> None:
    text = file.read_text("utf-8")
    rules = read(text)
    first = Award(rules.phases[0].id, Words("Before all", "最先"), 2)
    longer = edited(text, replace(rules, awards=(first, *rules.awards)))
    gone, added = lines_that_differ(text, longer)
    assert not gone
    assert len([line for line in added if line.strip()]) == 4
    assert read(longer).awards == (first, *rules.awards)
    more = edited(longer, replace(rules, awards=(replace(first, count=9), *rules.awards)))
    assert lines_that_differ(longer, more) == (["count = 2\n"], ["count = 9\n"])
    assert edited(longer, rules).rstrip("\n") == text.rstrip("\n")


def test_a_removed_phase_takes_its_comments_along_and_leaves_those_below_it() -> None:
    text = (ROOT / "contests" / "openeds-2020.toml").read_text("utf-8")
    rules = read(text)
    after = replace(rules, phases=rules.phases[:1], awards=rules.awards[:3])
    changed = edited(text, after)
    assert read(changed) == after
    assert not lines_that_differ(text, changed)[1]
    assert "# The code of the first three of each board" in changed
    assert "one confusion over all frames" not in changed


def test_phases_in_another_order_keep_their_comments() -> None:
    text = (ROOT / "contests" / "openeds-2020.toml").read_text("utf-8")
    rules = read(text)
    changed = edited(text, replace(rules, phases=rules.phases[::-1]))
    assert sorted(changed.splitlines()) == sorted(text.splitlines())
    assert [phase.id for phase in read(changed).phases] == ["eye-segmentation", "gaze-prediction"]


# Where things go


def test_what_says_the_same_is_not_touched() -> None:
    odd = SMALL.replace("zone", "  zone  ").replace("2022-12-01", "2022-12-01T08:00:00+08:00")
    assert edited(odd, read(odd)) == odd


def test_a_new_key_stands_below_the_others_of_its_table() -> None:
    rules = read(SMALL)
    changed = edited(SMALL, with_phase(rules, freeze=rules.phases[0].closes - DAY))
    assert changed == SMALL.replace("that day\n", "that day\nfreeze = 2022-12-31\n")


def test_new_tables_stand_where_they_belong() -> None:
    rules = read(SMALL)
    after = replace(
        with_phase(rules, match=MatchPlan()), registration_closes=rules.phases[0].closes, weights={"first": 1.0}
    )
    changed = edited(SMALL, after)
    assert read(changed) == after
    order = ["[contest]", "[registration]", "# The only one.", "[[phase]]", "[phase.match]", "[weights]"]
    assert [line.partition("  ")[0] for line in changed.splitlines() if line.startswith(("[", "# The"))] == order
    assert edited(changed, rules).replace("\n", "").replace("[registration]", "") == SMALL.replace("\n", "")


def test_another_zone_keeps_the_moments_or_the_days_as_the_rules_say() -> None:
    rules = read(SMALL)
    moved = edited(SMALL, replace(rules, zone="Asia/Shanghai"))
    assert "closes = 2023-01-01T08:00:00  # the end of that day\n" in moved
    other = SMALL.replace('"UTC"', '"Asia/Shanghai"')
    assert edited(SMALL, read(other)) == other


def test_a_value_that_becomes_the_usual_one_keeps_its_comment() -> None:
    text = SMALL.replace("closes", 'quota = "2 per day"  # few\ncloses')
    assert 'quota = "5 per day"  # few\n' in edited(text, with_phase(read(text), quota=Quota(5, "day")))


def test_comments_within_a_list_stay() -> None:
    text = SMALL.replace('zone = "UTC"', 'zone = "UTC"\nholidays = [\n  2022-10-03,  # one\n  2022-10-04,  # two\n]')
    changed = edited(text, replace(read(text), holidays=("2022-10-03", "2022-10-04", "2022-10-05")))
    assert lines_that_differ(text, changed) == ([], ["  2022-10-05,\n"])


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_lines_end_as_they_did(end: str) -> None:
    text = SMALL.replace("\n", end).removesuffix(end)
    changed = edited(text, with_phase(read(text), title=Words("Two\nlines", "一"), match=MatchPlan()))
    assert changed.replace(end, "").count("\n") == 0
    assert changed.startswith(text[: text.index("{ en")])


def test_a_text_that_looks_like_a_comment_or_a_table_is_none() -> None:
    text = SMALL.replace('"Test"  # short', '"Test"\nabout = """\n[[phase]]\n# not one"""')
    changed = edited(text, with_phase(read(text), board="last"))
    assert lines_that_differ(text, changed) == ([], ['board = "last"\n'])


@pytest.mark.parametrize(
    "odd",
    [
        SMALL.replace("track", 'settings."a b" = 1\ntrack').replace("# to come: freeze", "[phase.licence]\nen = 'L'"),
        SMALL.replace("[[phase]]  #", '[[ "phase" ]] #').replace("opens", "'opens'"),
        SMALL.replace("[contest]\n", "").replace('id = "test"', 'contest.id = "test"')
        .replace("name =", "contest.name =").replace("zone =", "contest.zone ="),
        'contest = { id = "a", name = "b", zone = "UTC" }\n'
        'phase = [{ id = "first", title = "t", track = "x-v1", opens = 2022-12-01, closes = 2022-12-31 }]\n',
        SMALL.replace("title = {", 'title.zh = "一"\nabout = "x"\ntitle.en = "One" #{'),
    ],
    ids=["own headers", "quotes", "dots at the top", "inline", "apart"],
)  # fmt: skip
def test_however_a_file_is_put_together_the_result_says_the_rules(odd: str) -> None:
    rules = replace(
        with_phase(read(odd), title=Words("Other"), licence=Words("New", "新"), settings={"a b": "2", "c": "3"}),
        name=Words("Other", "其他"), awards=(Award("first", Words("Prize"), 1),),
    )  # fmt: skip
    assert read(edited(odd, rules)) == rules


# Any rules from any others


RULES = [*(read(file.read_text("utf-8")) for file in FILES), full_rules(), two_phases(), some_rules()]
TEXTS = [*(file.read_text("utf-8") for file in FILES), SMALL]


@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_any_file_can_be_made_to_say_any_rules(text: str, rules: Rules) -> None:
    assert read(edited(text, rules)) == rules


@given(
    title=LINES,
    more=LINES,
    at=st.integers(START, START + 1000 * DAY),
    settings=st.dictionaries(LINES, LINES, max_size=3),
)
def test_any_values_read_back_and_the_comments_stay(title: str, more: str, at: int, settings: dict[str, str]) -> None:
    at -= at % 1000
    rules = with_phase(
        read(SMALL),
        title=Words(title, more),
        opens=at,
        closes=at + DAY,
        settings=settings,
        about=Words(f"{title}\n{more}"),
    )
    changed = edited(SMALL, rules)
    assert read(changed) == rules
    for comment in (
        "# Of all this.",
        "  # short",
        "# The only one.",
        "  # both",
        "  # the end of that day",
        "# Prizes.",
    ):
        assert f"{comment}\n" in changed


# Texts that are no use


@pytest.mark.parametrize(
    "text",
    ["", "no toml", "a = " + "[" * 10_000, ".".join("a" * 5_000) + " = 1", "x" * (LARGEST + 1), SMALL + "odd = 1\n"],
    ids=["empty", "no TOML", "deep", "long key", "huge", "unknown key"],
)  # fmt: skip
def test_a_text_that_the_reader_refuses_is_written_anew(text: str) -> None:
    rules = two_phases()
    assert edited(text, rules) == written(rules)


def test_a_text_that_would_take_long_is_written_anew() -> None:
    text = SMALL + "#\n" * (LARGEST_EDITED // 2)
    rules = with_phase(read(text), board="last")
    assert edited(text, rules) == written(rules)


@pytest.mark.parametrize("days", [4_000, 100])
def test_long_lists_are_changed_in_bounded_time(days: int) -> None:
    text = SMALL.replace('zone = "UTC"', f'zone = "UTC"\nholidays = [{"2022-10-03, " * days}] # kept')
    rules = replace(read(text), holidays=("2022-10-04",) * 4_000)
    start = time.process_time()
    changed = edited(text, rules)
    assert time.process_time() - start < 10  # one value after the other would take much longer
    assert read(changed) == rules
    assert "] # kept\n" in changed


def test_a_file_that_is_not_there_is_not_needed(tmp_path: Path) -> None:
    rules, file = two_phases(), tmp_path / "contest.toml"
    assert edited_file(file, rules) == written(rules)
    file.write_bytes(b"\xff\xfe")
    assert edited_file(file, rules) == written(rules)
    file.write_text("# Mine.\n" + written(rules), "utf-8")
    assert edited_file(file, rules).startswith("# Mine.\n")
