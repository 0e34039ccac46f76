"""The rooms of the package: imports point one way and go through doors, and what runs on bare machines uses what is
there. The order of the rooms is the diagram in docs/architecture.md. Imports inside functions and for type checkers
count as any other."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from palestra.door import exports
from tests import ROOT

PACKAGE = ROOT / "palestra"
STANDARD = {"numpy", "scipy", "cv2", "torch"}
# Doors that export nothing, as start-up or a sandbox's list of imports matters there: their modules are imported.
EMPTY = {"metrics", "eyes", "sandbox", "entrants.runner"}
SPLIT = ("contest", "web")  # their folders are rooms of their own
MOST_IN_ROOT, MOST_IN_FOLDER = 12, 22
TOUCH = re.compile(r"touched|[Cc]hanges published numbers|Only as new events|Hostile input|Nothing imports from here")


@dataclass(frozen=True)
class Import:
    """A module that another one imports, and the door that it came through."""

    module: str
    door: str | None
    line: int


def name_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def files() -> dict[str, Path]:
    return {name_of(file): file for file in sorted(PACKAGE.rglob("*.py")) if "starter" not in str(file.parent)}


@cache
def doors() -> dict[str, dict[str, tuple[str, str]]]:
    """What each package exports."""
    return {name: exports(file.read_text()) for name, file in files().items() if file.name == "__init__.py"}


def room_of(module: str) -> str:
    """`live` for palestra.live.run, `contest.log` for palestra.contest.log.chain, "" for modules of the root."""
    parts = module.split(".")[1:]
    if not parts or (len(parts) == 1 and module not in doors()):
        return ""
    if parts[0] == "tracks":
        return ".".join(parts[:2])
    if parts[0] in SPLIT and len(parts) > 1 and f"palestra.{parts[0]}.{parts[1]}" in doors():
        return ".".join(parts[:2])
    return "entrants.runner" if parts[:2] == ["entrants", "runner"] else parts[0]


def found(module: str, name: str) -> tuple[str, str | None]:
    """The module that `from module import name` comes from, and the door on the way."""
    if name in doors().get(module, {}):
        place, original = doors()[module][name]
        return (f"{place}.{original}" if f"{place}.{original}" in files() else place), module
    inner = f"{module}.{name}"
    return (inner, None) if inner in files() else (module, None)


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    """Everything of the package that a module imports, wherever in it."""
    return tuple(_imports(ast.parse(files()[module].read_text())))


def _imports(tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "palestra":
                    yield Import(alias.name, None, node.lineno)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "palestra":
            for alias in node.names:
                yield Import(*found(node.module or "", alias.name), node.lineno)


def crossing() -> Iterator[tuple[str, str, Import]]:
    """Imports from one room to another, each with both rooms. Modules of the root belong to everybody."""
    for module in files():
        if module in doors() and module != "palestra":
            continue  # a door and its own room may know each other
        for one in imports_of(module):
            mine, other = room_of(module), room_of(one.module)
            if other and mine != other:
                yield module, other, one


def layers() -> list[set[str]]:
    """The diagram in docs/architecture.md, from the bottom up."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    block = re.search(r"```rooms\n(.*?)```", text, re.DOTALL)
    assert block, "docs/architecture.md has a block ```rooms"
    lines = [line.partition("#")[0].split() for line in block[1].splitlines()]
    return [set(line) for line in reversed(lines) if line]


def test_every_room_is_in_the_diagram_once():
    drawn = [room for layer in layers() for room in layer]
    assert len(drawn) == len(set(drawn))
    rooms = {room_of(module) for module in files()} - {""}
    assert {room for room in rooms if not room.startswith("tracks.")} == set(drawn)


def test_the_picture_of_the_rooms_shows_every_room():
    picture = (ROOT / "docs" / "rooms.svg").read_text()
    shown = set(re.findall(r"data-room=\"([\w.]+)\"", picture))
    assert shown == {room for layer in layers() for room in layer}


def test_imports_point_down_the_diagram():
    level = {room: number for number, layer in enumerate(layers()) for room in layer}
    wrong = []
    for module, other, one in crossing():
        mine = room_of(module)
        mine = "tracks" if mine.startswith("tracks.") else mine
        other = "tracks" if other.startswith("tracks.") else other
        if mine and level[other] >= level[mine]:
            wrong.append(f"{module}, line {one.line}: {mine} imports {one.module}")
    assert not wrong, "\n".join(wrong)


def test_modules_of_the_root_import_no_room_above_the_lowest():
    """But for the client of a server, which is for contestants, and for track authors: contract and registry."""
    allowed = {"palestra.__main__": {"cli"}, "palestra.console": {"metrics", "scoring"}}
    allowed["palestra.contract"] = {"scoring", "formats", "authoring", "entrants.runner"}
    allowed["palestra.registry"] = {"authoring"}
    allowed["palestra.client"] = {"entrants"}
    allowed["palestra.remote"] = {"formats", "contest.storage", "web.models"}
    for module, other, one in crossing():
        if not room_of(module):
            assert other in allowed.get(module, {"metrics"}), f"{module}, line {one.line}: {one.module}"


def test_rooms_import_each_other_through_doors():
    wrong = [
        f"{module}, line {one.line}: {one.module} is not imported from the door of {other}"
        for module, other, one in crossing()
        if other not in EMPTY and one.door != f"palestra.{other}"
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("door", sorted(doors()))
def test_a_door_exports_what_is_there(door):
    for name, (module, original) in doors()[door].items():
        if f"{module}.{original}" in files():
            continue
        tree = ast.parse(files()[module].read_text())
        assert original in _defined(tree), f"{door} exports {name} of {module}"


def _defined(tree: ast.Module) -> set[str]:
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            named.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            named.add(node.id)
    return named


def test_a_door_exports_what_another_room_uses():
    used: dict[str, set[str]] = {}
    for module in files():
        for node in ast.walk(ast.parse(files()[module].read_text())):
            if isinstance(node, ast.ImportFrom) and node.module in doors() and module != node.module:
                used.setdefault(node.module or "", set()).update(alias.name for alias in node.names)
    # The command itself, and what docs tell users to import.
    promised = {
        "palestra.cli": {"main"},
        "palestra.tracks.gaze_prediction": {"forecast"},
        "palestra.tracks.eye_segmentation": {"segment"},
    }
    for door, names in doors().items():
        unused = set(names) - used.get(door, set()) - promised.get(door, set())
        assert not unused or "eyediap" in door, f"{door} exports {unused}, which nobody imports from it"


@pytest.mark.parametrize("door", sorted(doors()))
def test_a_door_says_what_its_room_is_for_and_what_may_be_touched(door):
    text = ast.get_docstring(ast.parse(files()[door].read_text())) or ""
    assert len(text.split()) >= 5
    parts = door.split(".")
    if len(parts) <= 3 and door != "palestra":
        assert TOUCH.search(text), f"{door} does not say what may be touched"


def test_no_modules_import_each_other_in_a_circle():
    graph = {
        module: {one.module for one in imports_of(module)} - {module}
        for module in files()
        if module not in doors() or "eyediap" in module
    }
    assert [sorted(circle) for circle in circles(graph) if len(circle) > 1] == []


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Tarjan's strongly connected components."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    out: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            out.append(stack[at:])
            del stack[at:]

    for node in graph:
        if node not in index:
            visit(node)
    return out


def test_a_circle_is_found():
    assert [sorted(one) for one in circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) if len(one) > 1] == [
        ["a", "b", "c"]
    ]


def test_no_folder_has_more_modules_than_one_can_look_through():
    counts: dict[Path, int] = {}
    for file in files().values():
        if not file.name.startswith("__"):
            counts[file.parent] = counts.get(file.parent, 0) + 1
    assert counts.pop(PACKAGE) <= MOST_IN_ROOT
    assert {str(folder): count for folder, count in counts.items() if count > MOST_IN_FOLDER} == {}


def imports(file: Path, whole: bool) -> set[str]:
    """Modules that a file imports: at its top, or anywhere in it."""
    tree = ast.parse(file.read_text())
    nodes = ast.walk(tree) if whole else iter(tree.body)
    named: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            named.add(node.module or "")
    return named


BARE = sorted(
    file
    for file in files().values()
    if file.parent.name in ("metrics", "simulator") or file == PACKAGE / "tracks" / "emotion_eeg" / "simulator.py"
)


@pytest.mark.parametrize("file", BARE, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_simulators_and_metrics_need_numpy_scipy_and_opencv_alone(file):
    outside = {name.split(".")[0] for name in imports(file, whole=True)} - {"palestra", "__future__"}
    physics = {"mujoco"} if "tabletop" in str(file) else set()
    assert outside <= STANDARD | physics | set(sys.stdlib_module_names)


def test_only_the_engine_of_the_table_imports_mujoco():
    """It chooses how to draw before MuJoCo is there; whoever imports MuJoCo first would take that choice away."""
    using = {str(file.relative_to(PACKAGE)) for file in files().values() if "mujoco" in imports(file, whole=True)}
    assert using <= {"tracks/tabletop/simulator/engine.py"}


def test_only_scoring_and_those_who_look_at_a_data_set_open_the_truth():
    """`track.truth(` opens what contestants must not see: few places may."""
    allowed = {"scoring/score.py", "contract.py", "datasets/view.py"}
    assert {str(file.relative_to(PACKAGE)) for file in files().values() if ".truth(" in file.read_text()} <= allowed


def test_the_command_line_starts_without_heavy_libraries():
    heavy = ("polars", "numpy", "cv2", "matplotlib", "scipy", "torch", "rich", "mujoco")
    code = f"import sys; from palestra.cli import main; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_a_process_that_scores_starts_without_a_database():
    code = "import sys; import palestra.contest.workers.jobs; print('sqlalchemy' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


BESIDE = sorted(file for folder in ("benchmarks", "train") for file in (ROOT / folder).glob("*.py"))


@pytest.mark.parametrize("file", BESIDE, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_lies_beside_the_package_imports_what_is_there(file):
    """These scripts run seldom: a name that moved would be noticed late."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "palestra":
            assert node.module in files(), f"line {node.lineno}"
            for alias in node.names:
                module, door = found(node.module, alias.name)
                text = files()[module].read_text()
                there = door or module != node.module or alias.name in _defined(ast.parse(text)) | _taken_in(text)
                assert there, f"line {node.lineno}: {node.module} has no {alias.name}"


def _taken_in(text: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {alias.asname or alias.name for node in nodes for alias in node.names}
