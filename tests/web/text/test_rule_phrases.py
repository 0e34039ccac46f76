"""What is wrong with a contest file is told in Chinese on the desk, down to what was found and what was expected."""

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import pytest

from palestra import registry
from palestra.contest.rules import reader, toml_lines
from palestra.contest.rules.keys import TABLES
from palestra.contest.rules.value_parsers import Unfit, either
from palestra.errors import Fault, Refused
from palestra.text import Words, say, words_of
from tests.web.conftest import As
from tests.web.text.chinese import CHINESE, english_in

WRONG: list[Any] = [
    5, -1, 0.5, True, "", "Not An Id", "../up", "{who}.csv", "Asia/Shanghigh", [], [5], ["earlier", "x"], {},
    {"fr": "x"}, {"en": 5}, {"en": ""}, date(1066, 10, 14), datetime(2022, 3, 27, 2, 30), [date(2022, 10, 5)],
]  # fmt: skip
HEAD = '[contest]\nid = "a"\nname = "A"\nzone = "UTC"\n'


def phase(name: str, *lines: str, opens: str = "2022-01-01", closes: str = "2022-02-01") -> str:
    given = [f'id = "{name}"', 'title = "T"', 'track = "near-eye-gaze-v1"', f"opens = {opens}", f"closes = {closes}"]
    return "\n".join(["[[phase]]", *given, *lines, ""])


PROMOTES = '[phase.promotion]\nto = "two"\ntop = 3'
FILES = [
    "", "name = ", "[contest\n", "a = 1\na = 2", "x = {a = 1, a = 2}", 'x = "\\q"', "x = [1 2]", "x = 2022-13-01",
    "x = 'abc", "[" * 40, "x = " + "9" * 5000, "[a]\n[a]", "contest = 5\nphase = 5\nweights = 5", "[phase]",
    "[contset]", HEAD, HEAD + phase("one", 'titel = "x"'), HEAD + phase("one", closes="2021-01-01"),
    HEAD + "[registration]\nopens = 2022-02-01\ncloses = 2022-01-01\n" + phase("one"),
    HEAD + phase("one") + phase("one"), HEAD + phase("one", "freeze = 2023-01-01"),
    HEAD + phase("one", 'freeze_own = "shown"'), HEAD + phase("one", 'entry = "promoted"'),
    HEAD + phase("one", '[phase.verification]\nwithin = "5 working days"'), HEAD + phase("one", PROMOTES),
    HEAD + phase("one", PROMOTES) + phase("two"), HEAD + phase("two") + phase("one", PROMOTES),
    HEAD + phase("one", PROMOTES) + phase("two", 'entry = "promoted"', opens="2022-01-15", closes="2022-03-01"),
    HEAD + phase("one") + "[weights]\none = 0.5\n", HEAD + phase("one") + "[weights]\nbone = 1.0\n",
    HEAD + phase("one") + '[[award]]\ntitle = "x"\ncount = 1\n',
    HEAD + phase("one") + '[[award]]\nphase = "bone"\ntitle = "x"\ncount = 1\n',
    HEAD + phase("one").replace("near-eye-gaze-v1", "near-eye-glaze-v1"), HEAD + phase("one", 'ties = ["mises"]'),
    HEAD + phase("one", 'pace = "real"'), HEAD + phase("one") + "[weights]\none = 1.0\n",
    HEAD + phase("one", "settings = { rool = 5 }"), HEAD + phase("one", "[phase.match]"),
    HEAD + phase("one", "match = 5"),
    HEAD.replace("UTC", "Europe/Zurich") + phase("one", opens="2022-03-27T02:30:00"),
    HEAD.replace("UTC", "Europe/Zurich") + phase("one", opens="2021-10-31T02:30:00"),
]  # fmt: skip


def faults_of(text: str) -> list[Fault]:
    with pytest.raises(Refused) as caught:
        reader.parse(text, "contest.toml", registry.tracks())
    return caught.value.faults


def unfit() -> Iterator[tuple[str, Unfit]]:
    """What each key has against values that are wrong in ways that people's are."""
    for table, keys in TABLES.items():
        for name, key in keys.items():
            for value in WRONG:
                try:
                    key.read(value, "Europe/Zurich")
                except Unfit as error:
                    yield f"{table} {name}", error


def test_what_every_key_expects_is_told_in_chinese() -> None:
    found = list(unfit())
    assert len({error.expected for _, error in found}) > 20
    told = {(where, part) for where, error in found for part in map(words_of, (error.expected, error.found))}
    assert [(where, part) for where, part in told if english_in(part.zh)] == []
    assert {part.zh for _, part in told if part.zh == part.en} <= {"", '"5 working days"'}


def test_what_is_wrong_with_a_line_is_told_in_chinese() -> None:
    assert [meaning for meaning in toml_lines._MEANINGS.values() if not CHINESE.search(say(meaning).zh)] == []


def test_what_does_not_fit_together_is_told_in_chinese() -> None:
    faults = [fault for text in FILES for fault in faults_of(text)]
    assert len({(fault.found, fault.expected) for fault in faults}) > 35
    assert [fault.zh for fault in faults if "——实际：" not in fault.zh or english_in(fault.zh)] == []
    assert [fault.zh for fault in faults if not CHINESE.search(fault.zh.split("；应为：")[1])] == []


def test_a_choice_is_told_with_its_words_as_they_are_written() -> None:
    assert either(["best", "last"]).zh == '"best" 或 "last"'
    assert either(["team", "all", "fixed"]) == Words('"team", "all" or "fixed"', '"team"、"all" 或 "fixed"')
    assert either(["one"]) == Words.same('"one"')


def test_a_fault_keeps_its_line_and_its_key() -> None:
    (fault,) = faults_of(HEAD + phase("one", 'board = "bets"'))
    assert fault.zh == 'contest.toml，第 11 行，phase.board——实际：\'bets\'；应为："best" 或 "last"'


def test_the_desk_tells_faults_of_new_rules_in_its_language(organiser: As) -> None:
    given = {"text": HEAD + phase("one", 'titel = "x"'), "counts_from": "2022-12-01T00:00", "reason": "clearer"}
    for path in ("/desk/rules", "/do/amend-rules"):
        answer = organiser.post(path, given, **{"accept-language": "zh"})
        assert answer.status_code == 422
        assert "contest.toml，第 11 行，phase.titel——实际：&#39;titel&#39;；应为：phase 的键。" in answer.text
        assert "found" not in answer.text.split("<main")[1]
