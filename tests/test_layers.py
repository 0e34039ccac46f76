"""Imports point one way, and what runs on bare machines uses what is there."""

import ast
from pathlib import Path

import pytest

from tests import ROOT

PACKAGE = ROOT / "palestra"
STANDARD = {"numpy", "scipy", "cv2", "torch"}
# folder → palestra modules or folders that it may import
MAY_IMPORT = {
    "worlds": {"worlds", "metrics"},
    "metrics": {"metrics"},
    "formats": {"formats", "metrics", "errors", "records", "worlds"},  # worlds: for the records that lie beside them
    "collect": {"collect", "errors", "records"},
    "tracks": {"formats", "metrics", "errors", "records", "reduce", "protocols", "studying"},
    "makers": {"makers", "worlds", "formats", "errors", "records"},
    "solutions": {"solutions", "worlds", "formats", "metrics", "errors", "records"},
    "entrants": {"entrants", "formats", "errors", "records", "wire"},
    "contest": {
        *("contest", "metrics", "formats", "collect", "entrants", "errors", "records", "scoring", "saved", "registry"),
        *("making", "solving", "packing", "pool", "playing", "following", "recording", "standings", "report", "reduce"),
        *("starter", "console", "films"),
    },
}


def imports(file: Path, whole: bool) -> set[str]:
    """Modules that a file imports: at its top, or anywhere in it."""
    tree = ast.parse(file.read_text())
    nodes = ast.walk(tree) if whole else iter(tree.body)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names if node.module == "palestra")
    return found


def inside(names: set[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("palestra.")}


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_a_folder_imports_only_what_stands_before_it(folder):
    for file in (ROOT / folder).glob("*.py"):
        assert inside(imports(file, whole=False)) <= MAY_IMPORT[folder], file.name


BESIDES = {"worlds": {"mujoco"}, "metrics": set()}  # the robot table has its physics from there


@pytest.mark.parametrize("folder", ["worlds", "metrics"])
def test_worlds_and_metrics_need_numpy_scipy_and_opencv_alone(folder):
    import sys

    for file in (ROOT / folder).glob("*.py"):
        outside = {name.split(".")[0] for name in imports(file, whole=True)} - {"palestra", "__future__"}
        assert outside <= STANDARD | BESIDES[folder] | set(sys.stdlib_module_names), file.name


def test_only_the_engine_of_the_table_imports_mujoco():
    """It chooses how to draw before MuJoCo is there; whoever imports MuJoCo first would take that choice away."""
    found = {str(file.relative_to(ROOT)) for file in ROOT.rglob("*.py") if "mujoco" in imports(file, whole=True)}
    assert found <= {"tracks/tabletop/simulator/engine.py"}


def test_only_scoring_and_those_who_look_at_a_data_set_open_the_truth():
    """`track.truth(` opens what contestants must not see: few places may."""
    allowed = {"scoring.py", "contract.py", "viewing.py"}
    found = {file.name for file in ROOT.rglob("*.py") if ".truth(" in file.read_text()}
    assert found <= allowed


def test_packages_have_empty_init_files():
    assert all(file.read_text() == "" for file in ROOT.rglob("__init__.py"))


def test_the_command_line_starts_without_heavy_libraries():
    import subprocess
    import sys

    heavy = ("polars", "numpy", "cv2", "matplotlib", "scipy", "torch", "rich", "mujoco")
    code = f"import sys; import palestra.cli.app; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
