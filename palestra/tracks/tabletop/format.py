"""The data set of the robot table: cases as files that people can read.

cases.csv             case,group,set (practice or hidden)
cameras.json          where the cameras are and how they project
cases/<case>.json     practice cases: instruction, scene and sub-goals
hidden/<case>.json    hidden cases without sub-goals, for the organiser alone: teams meet them when the clock starts
truth/goals.json      the sub-goals of the hidden cases
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl

from palestra.errors import clip, refuse
from palestra.formats import FileFaults, read_bytes, read_once, shown_name, write_bytes
from palestra.text import OR, joined, say
from palestra.tracks.tabletop.format_checks import check_case, check_goals
from palestra.tracks.tabletop.simulator.cameras import calibration
from palestra.tracks.tabletop.simulator.case import GROUPS
from palestra.tracks.tabletop.simulator.case import Case as Case  # what this format's readers give
from palestra.tracks.tabletop.simulator.goals import Condition, SubGoal
from palestra.tracks.tabletop.simulator.objects import Scene, Thing

SETS = ("practice", "hidden")
PICTURE_SIZE = 256  # that cameras.json tells the intrinsics for
MAX_CASE_BYTES, MAX_GOALS_BYTES, MAX_INDEX_BYTES = 200_000, 5_000_000, 1_000_000
CASE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
T = TypeVar("T")


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field that nobody knows is a slip of the pen, and is said."""


class ThingFile(_Strict, frozen=True):
    id: str
    kind: str
    colour: str
    size: tuple[float, ...]
    position: tuple[float, float]
    yaw: float = 0.0


class SceneFile(_Strict, frozen=True):
    arm: tuple[float, ...]
    things: tuple[ThingFile, ...]
    settled: dict[str, tuple[float, ...]]


class ConditionFile(_Strict, frozen=True):
    rule: str
    of: tuple[str, ...]


class GoalFile(_Strict, frozen=True):
    id: str
    en: str
    zh: str
    any_of: tuple[tuple[ConditionFile, ...], ...]


class CaseFile(_Strict, frozen=True, omit_defaults=True):
    id: str
    group: str
    hidden: bool
    instruction: dict[str, tuple[str, ...]]
    scene: SceneFile
    goals: tuple[GoalFile, ...] | None = None  # none in a hidden case


def write_cases(cases: Iterable[Case], data: Path) -> None:
    """Write a data set: the list, the cameras, every case, and the sub-goals of hidden ones apart from them."""
    cases = list(cases)
    for name in ("cases", "hidden", "truth"):
        (data / name).mkdir(parents=True, exist_ok=True)
    for case in cases:
        write_case(case, data)
    rows = [(case.id, case.group, SETS[case.hidden]) for case in cases]
    index = pl.DataFrame(rows, schema=dict.fromkeys(("case", "group", "set"), pl.String), orient="row")
    write_bytes(data / "cases.csv", index.write_csv().encode())
    cameras = {"size": PICTURE_SIZE, "axes": "x right, y down, z ahead", "cameras": calibration(PICTURE_SIZE)}
    write_bytes(data / "cameras.json", _readable(cameras))
    hidden = {case.id: [_goal_file(goal) for goal in case.goals] for case in cases if case.hidden}
    write_bytes(data / "truth" / "goals.json", _readable(hidden))


def write_case(case: Case, data: Path) -> None:
    """Write one case to where its set is; a hidden one without its sub-goals."""
    scene = SceneFile(
        case.scene.arm, tuple(_convert(thing, ThingFile) for thing in case.scene.things), case.scene.settled
    )
    goals = None if case.hidden else tuple(map(_goal_file, case.goals))
    file = CaseFile(case.id, case.group, case.hidden, case.instruction, scene, goals)
    write_bytes(case_path(data, case.id, case.hidden), _readable(file))


def case_path(data: Path, name: str, hidden: bool) -> Path:
    return data / ("hidden" if hidden else "cases") / f"{name}.json"


def read_index(data: Path) -> pl.DataFrame:
    """All cases (case, group, set), in order."""
    return _index_in(data / "cases.csv")


@read_once(most=16)
def _index_in(file: Path) -> pl.DataFrame:
    try:
        table = pl.read_csv(read_bytes(file, MAX_INDEX_BYTES), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        refuse(shown_name(file), str(error).splitlines()[0], say("a CSV with case,group,set"))
    if table.columns != ["case", "group", "set"]:
        refuse(shown_name(file), say("the columns {clip}", clip=clip(",".join(table.columns))), say("case,group,set"))
    faults, seen = FileFaults(file), set[str]()
    for row, (name, group, which) in enumerate(table.rows(), 1):
        where = faults.at(say("row {row}", row=row))
        if not CASE_ID.fullmatch(name or ""):
            faults.add(where, say("the case {name}", name=clip(name)), say("a name like pick-p1"))
        if name in seen:
            faults.add(where, say("the case {name} again", name=clip(name)), say("each case once"))
        if group not in GROUPS:
            faults.add(
                where, say("the group {group}", group=clip(group)), say("one of {groups}", groups=", ".join(GROUPS))
            )
        if which not in SETS:
            faults.add(where, say("the set {which}", which=clip(which)), joined(SETS, OR))
        seen.add(name)
    faults.finish()
    return table


def read_cases(data: Path, hidden: bool) -> list[Case]:
    """The practice cases, or the hidden ones (without sub-goals)."""
    names = read_index(data).filter(pl.col("set") == SETS[hidden])["case"]
    return [read_case(case_path(data, name, hidden)) for name in names]


@read_once(most=512)
def read_case(file: Path) -> Case:
    """One case. Whoever wrote the file, it is refused unless it can be laid on the table as it says."""
    found = _decode(file, MAX_CASE_BYTES, CaseFile)
    scene = Scene(
        tuple(_convert(thing, Thing) for thing in found.scene.things), found.scene.arm, dict(found.scene.settled)
    )
    goals = tuple(map(_goal, found.goals or ()))
    case = Case(found.id, found.group, found.hidden, found.instruction, scene, goals)
    faults = FileFaults(file)
    if not CASE_ID.fullmatch(case.id) or case.id != Path(file).stem:
        faults.add(faults.at("id"), clip(case.id), say("the file's own name, like pick-p1"))
    if case.hidden == (found.goals is not None):
        has = say("sub-goals in a hidden case") if case.hidden else say("no sub-goals")
        faults.add(
            faults.at("goals"), has, say("sub-goals in practice cases alone; hidden ones have them in truth/goals.json")
        )
    check_case(case, faults)
    faults.finish()
    return case


def read_goals(data: Path, cases: Iterable[Case]) -> dict[str, tuple[SubGoal, ...]]:
    """The sub-goals of hidden cases, by case; those of practice cases are in the cases themselves."""
    file = data / "truth" / "goals.json"
    found = _goals_in(file)
    goals, faults = dict[str, tuple[SubGoal, ...]](), FileFaults(file)
    for case in cases:
        if case.id in found:
            goals[case.id] = tuple(map(_goal, found[case.id]))
            check_goals(goals[case.id], case.scene, faults, f"{case.id}")
        else:
            faults.add(faults.at(case.id), say("nothing"), say("the sub-goals of every hidden case"))
    faults.finish()
    return goals


@read_once(most=16)
def _goals_in(file: Path) -> dict[str, tuple[GoalFile, ...]]:
    return _decode(file, MAX_GOALS_BYTES, dict[str, tuple[GoalFile, ...]])


def _decode(file: Path, max_bytes: int, kind: type[T]) -> T:
    data = read_bytes(file, max_bytes)
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # The message of a wrong field ends in its place: … - at `$.scene.things[0].yaw`
        what, _, place = str(error).partition(" - at ")
        where = shown_name(file) + (f": {place.strip('`').removeprefix('$.')}" if place else "")
        refuse(where, clip(what, 120), say("JSON as the cases that 'palestra make' writes have it"))


def _readable(value: Any) -> bytes:
    """JSON with one field to a line and lists of numbers or words in one line; the same bytes for the same value."""
    text = msgspec.json.format(msgspec.json.encode(value, order=None), indent=2).decode()
    return (_FLAT.sub(_in_one_line, text) + "\n").encode()


_FLAT = re.compile(r"\[\s+((?:-?[0-9][0-9.eE+-]*|\"[a-z0-9_]*\")(?:,\s+(?:-?[0-9][0-9.eE+-]*|\"[a-z0-9_]*\"))*)\s+\]")


def _in_one_line(found: re.Match[str]) -> str:
    return "[" + ", ".join(part.strip() for part in found.group(1).split(",")) + "]"


def _convert(value: Any, kind: Callable[..., T]) -> T:
    """The same fields in a record of another kind."""
    return kind(**{name: getattr(value, name) for name in ThingFile.__struct_fields__})


def _goal_file(goal: SubGoal) -> GoalFile:
    ways = tuple(tuple(ConditionFile(each.rule, each.of) for each in way) for way in goal.any_of)
    return GoalFile(goal.id, goal.en, goal.zh, ways)


def _goal(goal: GoalFile) -> SubGoal:
    ways = tuple(tuple(Condition(each.rule, each.of) for each in way) for way in goal.any_of)
    return SubGoal(goal.id, goal.en, goal.zh, ways)
