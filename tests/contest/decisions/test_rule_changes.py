"""Which rules are in force, and where a contest's file says otherwise."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra import registry
from palestra.contest.decisions.rule_changes import SHOWN, differences, told
from palestra.contest.log import events as e
from palestra.contest.rules import model as rule_records
from palestra.contest.rules import reader, template
from palestra.contest.rules.model import Award, Quota, Rules
from palestra.text import Words
from tests.contest.story import DAY, Story, a_phase, some_rules, two_phases

DESK = "http://127.0.0.1:8765/desk/rules"
replace = msgspec.structs.replace


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "contest.toml"
    path.write_text(template(["near-eye-gaze-v1"], 1_660_000_000_000, "UTC"))
    return path


def story_of(file: Path) -> Story:
    return Story(reader.read(file, registry.tracks()))


def amended(story: Story, counts_from: int | None = None, **changes: object) -> None:
    rules = story.state.versions[-1].rules
    phases = (replace(rules.phases[0], **changes), *rules.phases[1:])
    text = rule_records.encode(replace(rules, phases=phases))
    story.add(e.RulesAmended(text, story.now if counts_from is None else counts_from, "asked for"))


def said(file: Path, story: Story) -> str:
    return "\n".join(told(file, story.state, story.now, DESK))


def test_a_file_that_is_in_force_is_not_spoken_of(file: Path) -> None:
    assert said(file, story_of(file)) == ""


def test_a_file_that_was_edited_is_told_with_its_keys_and_the_way_to_apply_it(file: Path) -> None:
    story = story_of(file)
    file.write_text(file.read_text().replace('# quota = "5 per day"', 'quota = "7 per day"').replace("My c", "Our c"))
    text = said(file, story)
    assert "In force are the rules in the log: version 1" in text
    assert f"{file} differs in [contest] name; phase near-eye-gaze: quota." in text
    assert f"to put it into force, paste it at {DESK}" in text
    assert "still version" not in text


def test_a_file_that_was_overtaken_at_the_desk_is_told(file: Path) -> None:
    """The file is what the contest was opened with: it looks as if it were in force, and is not."""
    story = story_of(file)
    amended(story, quota=Quota(9, "day"), limit_bytes=5)
    text = said(file, story)
    assert "version 2" in text and "phase near-eye-gaze: quota, limit." in text
    assert "The file is still version 1." in text


def test_a_file_that_is_announced_comes_into_force_by_itself(file: Path) -> None:
    story = story_of(file)
    file.write_text(file.read_text().replace('# quota = "5 per day"', 'quota = "9 per day"'))
    amended(story, story.now + DAY, quota=Quota(9, "day"))
    text = said(file, story)
    assert "version 1, since" in text and "The file is version 2, which counts from" in text
    assert "nothing to do" in text and DESK not in text
    story.wait(DAY)
    assert said(file, story) == ""


def test_a_phase_that_was_moved_at_the_desk_is_told(file: Path) -> None:
    story = story_of(file)
    phase = story.state.rules().phases[0]
    story.add(e.PhaseMoved(phase.id, phase.opens, phase.closes + DAY, "a storm"))
    (line,) = told(file, story.state, story.now, DESK)
    assert line.startswith("Phase near-eye-gaze was moved at the desk: it opens ")


def test_a_file_that_cannot_be_read_does_not_stop_a_contest_that_runs(file: Path) -> None:
    story = story_of(file)
    file.write_text("[contest]\nid = 3\n")
    text = said(file, story)
    assert "the rules in the log are in force" in text and "line 2" in text


def test_many_differences_are_counted() -> None:
    before = some_rules(*(a_phase(f"p{i}") for i in range(20)))
    after = some_rules(*(a_phase(f"p{i}", quota=Quota(99, "week")) for i in range(20)))
    assert len(differences(before, after)) == 20 > SHOWN


def test_phases_that_only_one_of_them_has_are_named() -> None:
    one, two = two_phases(), some_rules()
    assert "phase second (only in the log)" in differences(one, two)
    assert "phase second (only in the file)" in differences(two, one)


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from([Words("A"), Words("B")]),
        "team_limit": st.integers(1, 3),
        "registration_opens": st.sampled_from([None, 5]),
        "holidays": st.sampled_from([(), ("2022-10-03",)]),
        "weights": st.sampled_from([{}, {"first": 1.0}]),
        "awards": st.sampled_from([(), (Award("", Words("x"), 1),)]),
        "phases": st.permutations([a_phase("first"), a_phase("second")]).map(tuple),
    },
)


@given(CHANGES, CHANGES)
def test_rules_differ_where_and_only_where_they_are_said_to(one: dict[str, object], other: dict[str, object]) -> None:
    before, after = (replace(two_phases(), **changes) for changes in (one, other))
    assert (differences(before, after) == []) == (before == after)


def test_every_field_of_the_rules_has_a_name_in_the_file() -> None:
    for field in Rules.__struct_fields__:
        changed = replace(two_phases(), **{field: ()} if field == "phases" else {field: object()})
        assert differences(two_phases(), changed) not in ([], ["the order of the phases"]), field
