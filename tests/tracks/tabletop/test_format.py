"""Cases as files: written the same each time, read back as they were, refused in words where they are wrong."""

import copy
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palestra.errors import Refused
from palestra.tracks.tabletop.format import read_case, read_cases, read_goals, read_index, write_cases
from palestra.tracks.tabletop.simulator.case_generator import draw_cases


@pytest.fixture(scope="module")
def cases():
    return draw_cases("tiny", 5, hidden=False) + draw_cases("tiny", 5, hidden=True)


@pytest.fixture(scope="module")
def data(cases, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    write_cases(cases, folder)
    return folder


@pytest.fixture(scope="module")
def stacking(data):
    return json.loads((data / "cases" / "stack-p1.json").read_text())


def written(content, folder: Path, name: str = "stack-p1") -> Path:
    file = folder / f"{name}.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def changed(content, path: str, value):
    """A copy with one field changed; a path like scene.things.0.kind."""
    whole = part = copy.deepcopy(content)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in way:
        part = part[step]
    part[last] = value
    return whole


def test_what_is_written_is_read_back(cases, data):
    hidden = read_cases(data, hidden=True)
    goals = read_goals(data, hidden)
    found = read_cases(data, hidden=False) + [replace(case, goals=goals[case.id]) for case in hidden]
    assert found == cases
    assert read_index(data).rows() == [(case.id, case.group, "hidden" if case.hidden else "practice") for case in cases]


def test_the_same_cases_give_the_same_bytes(cases, data, tmp_path):
    write_cases(cases, tmp_path)
    files = sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file())
    assert len(files) == len(cases) + 3
    assert all((tmp_path / file).read_bytes() == (data / file).read_bytes() for file in files)


def test_sub_goals_of_hidden_cases_are_in_the_truth_alone(cases, data):
    for case in cases:
        if case.hidden:
            text = (data / "hidden" / f"{case.id}.json").read_text()
            assert "goals" not in json.loads(text)
            assert not any(goal.en in text for goal in case.goals)
    outside = [path for path in data.rglob("*") if path.is_file() and not {"truth", "hidden"} & set(path.parts)]
    assert all(case.said("en") not in path.read_text() for path in outside for case in cases if case.hidden)


def test_cases_are_read_where_there_is_no_simulator(data):
    code = (
        "import sys; from pathlib import Path; from palestra.tracks.tabletop.format import read_cases; "
        f"read_cases(Path({str(data)!r}), False); print('mujoco' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


WRONG = {
    "an unknown kind": ("scene.things.0.kind", "spaceship", "scene.things[0].kind"),
    "an unknown colour": ("scene.things.0.colour", "beige", "scene.things[0].colour"),
    "a size beyond bounds": ("scene.things.0.size", [4.0], "scene.things[0].size"),
    "too few sizes": ("scene.things.0.size", [], "scene.things[0].size"),
    "off the table": ("scene.things.0.position", [0.0, 0.9], "scene.things[0].position"),
    "in the arm's foot": ("scene.things.0.position", [-0.42, 0.0], "where the arm stands"),
    "an id with markup": ("scene.things.0.id", "<b>block</b>", "scene.things[0].id"),
    "an id of the arm's own": ("scene.things.0.id", "hand", "scene.things[0].id"),
    "a turn without end": ("scene.things.0.yaw", 1e30, "scene.things[0]"),
    "text for a number": ("scene.things.0.yaw", "north", "scene.things[0].yaw"),
    "too many things": ("scene.things", [{}] * 1000, "scene.things"),
    "no things": ("scene.things", [], "scene.things"),
    "an arm out of joint": ("scene.arm", [9.0] * 7, "scene.arm"),
    "an arm with six joints": ("scene.arm", [0.0] * 6, "scene.arm"),
    "a rule that nobody knows": ("goals.0.any_of.0.0.rule", "levitates", "goals[0].any_of"),
    "a thing that is not there": ("goals.0.any_of.0.0.of", ["ghost", "phantom"], "goals[0].any_of"),
    "a rule of one thing": ("goals.0.any_of.0.0.of", [], "goals[0].any_of"),
    "no way to meet it": ("goals.0.any_of", [], "goals[0].any_of"),
    "no sub-goals": ("goals", [], "goals"),
    "an unknown group": ("group", "juggle", "group"),
    "no Chinese": ("instruction", {"en": ["Do."]}, "instruction.'zh'"),
    "an empty instruction": ("instruction.en", [""], "instruction.'en'"),
    "an instruction that beeps": ("instruction.en", ["Do\a it."], "instruction.'en'"),
    "a field too many": ("solved", True, "solved"),
    "another case's name": ("id", "stack-p2", "id"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_case_that_cannot_be_is_refused_with_its_field(what, stacking, tmp_path):
    path, value, named = WRONG[what]
    with pytest.raises(Refused) as refusal:
        read_case(written(changed(stacking, path, value), tmp_path))
    assert named in str(refusal.value) and "stack-p1.json" in str(refusal.value)


def test_two_things_at_one_place_are_refused_by_name(stacking, tmp_path):
    first, second = (thing["id"] for thing in stacking["scene"]["things"][:2])
    place = stacking["scene"]["things"][0]["position"]
    with pytest.raises(Refused, match=f"{second} overlapping {first}"):
        read_case(written(changed(stacking, "scene.things.1.position", place), tmp_path))


def test_two_things_of_one_id_are_refused(stacking, tmp_path):
    name = stacking["scene"]["things"][0]["id"]
    with pytest.raises(Refused, match="again"):
        read_case(written(changed(stacking, "scene.things.1.id", name), tmp_path))


@pytest.mark.parametrize("pose", [[0.0] * 7, [0.0] * 6, None, [0, 0, 0.3, 1, 0, 0, 0], [5, 5, 0, 1, 0, 0, 0]])
def test_a_start_that_differs_from_the_layout_is_refused(pose, stacking, tmp_path):
    name = next(iter(stacking["scene"]["settled"]))
    content = changed(stacking, f"scene.settled.{name}", pose)
    if pose is None:
        del content["scene"]["settled"][name]
    with pytest.raises(Refused, match="settled"):
        read_case(written(content, tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"id": NaN}', "\x00", "[" * 100_000])
def test_what_is_no_case_at_all_is_refused(text, tmp_path):
    with pytest.raises(Refused):
        read_case(written(text, tmp_path))


def test_a_hidden_case_with_its_sub_goals_is_refused(stacking, tmp_path):
    with pytest.raises(Refused, match=r"truth/goals\.json"):
        read_case(written(changed(stacking, "hidden", True), tmp_path))


def test_an_instruction_with_markup_stays_the_text_it_is(stacking, tmp_path):
    text = "<script>alert(1)</script> & put it away."
    assert read_case(written(changed(stacking, "instruction.en", [text]), tmp_path)).said("en") == text


def test_missing_sub_goals_of_a_hidden_case_are_told(data, tmp_path):
    hidden = read_cases(data, hidden=True)
    goals = json.loads((data / "truth" / "goals.json").read_text())
    del goals[hidden[0].id]
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "goals.json").write_text(json.dumps(goals))
    with pytest.raises(Refused, match=hidden[0].id):
        read_goals(tmp_path, hidden)


@pytest.mark.parametrize(
    "text",
    ["case,group\npick-p1,pick\n", "case,group,set\npick-p1,juggle,practice\n", "case,group,set\n../x,pick,practice\n",
     "case,group,set\npick-p1,pick,secret\n", "case,group,set\npick-p1,pick,hidden\npick-p1,pick,hidden\n"],
)  # fmt: skip
def test_a_wrong_list_of_cases_is_refused(text, tmp_path):
    (tmp_path / "cases.csv").write_text(text)
    with pytest.raises(Refused, match=r"cases\.csv"):
        read_index(tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [
    "id",
    "group",
    "hidden",
    "instruction",
    "instruction.en",
    "scene",
    "scene.arm",
    "scene.things",
    "scene.settled",
    "scene.things.0",
    "scene.things.0.size",
    "scene.things.0.position",
    "scene.things.1.kind",
    "scene.things.1.id",
    "scene.things.1.yaw",
    "goals",
    "goals.0",
    "goals.0.any_of",
    "goals.0.any_of.0.0",
    "goals.0.en",
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field=st.sampled_from(FIELDS), value=JSON)
def test_whatever_a_stranger_writes_is_read_or_refused(field, value, stacking, tmp_path):
    file = written(changed(stacking, field, value), tmp_path)
    try:
        case = read_case(file)
    except Refused as refusal:
        assert str(refusal)
    else:
        assert case.id == "stack-p1"
