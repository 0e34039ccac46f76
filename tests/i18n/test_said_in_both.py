"""Whatever people are told has both languages: errors and faults are made of texts of the catalogue."""

import ast
import re
from pathlib import Path

import pytest

from palestra.i18n import po_files

WORDS = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")  # more than a name
# In the contestant's sandbox; what contestants are handed; slips in the code of a track, told as Python tells them.
SKIPPED = ("entrants/runner", "starter", "palestra/registry.py", "palestra/contract.py")
FILES = [
    file for file in sorted(po_files.PACKAGE.rglob("*.py")) if not any(part in file.as_posix() for part in SKIPPED)
]


def kinds_of_error() -> set[str]:
    """The names of our errors' classes, wherever they are."""
    classes = [
        (node.name, {ast.unparse(base).rpartition(".")[2] for base in node.bases})
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    found, before = {"PalestraError"}, 0
    while len(found) > before:
        before = len(found)
        found |= {name for name, bases in classes if bases & found}
    return found


ERRORS = kinds_of_error()


def bare(node: ast.expr) -> bool:
    """Whether a text is English in the code, and nothing else."""
    if isinstance(node, ast.IfExp):
        return bare(node.body) or bare(node.orelse)
    if isinstance(node, ast.BinOp):
        return bare(node.left) or bare(node.right)
    if isinstance(node, ast.JoinedStr):
        text = " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        return bool(WORDS.search(text))
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    return bool(WORDS.search(node.value)) and not node.value.startswith('"')  # what is to be typed as it stands


def told(call: ast.Call) -> list[ast.expr]:
    """What a call shows to people, if it is one of those."""
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name in ERRORS:
        return call.args[:1]
    if name in ("add", "gap") and len(call.args) >= 3:
        return call.args[:3]
    if name in ("refuse", "of") and len(call.args) == 3:
        return call.args
    return []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(po_files.PACKAGE).as_posix())
def test_nobody_is_told_something_in_english_alone(file: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    assert [ast.unparse(call) for call in calls if any(map(bare, told(call)))] == []


def test_english_alone_would_be_found() -> None:
    assert {"BadFrame", "BadMessage", "UnknownName", "DamagedFile", "Forbidden"} <= ERRORS
    wrong = [
        'PalestraError("No such thing.")',
        'refuse(name, f"the class {x} at y", "one")',
        'faults.gap(a, b, "no row" + c)',
    ]
    right = ['PalestraError(say("No such thing."))', "refuse(name, clip(x), say('a row'))", 'faults.add("a.csv", x, y)']
    parsed = [ast.parse(text, mode="eval").body for text in [*wrong, *right]]
    assert [any(map(bare, told(call))) for call in parsed if isinstance(call, ast.Call)] == [True] * 3 + [False] * 3


# The Chinese stands in the catalogues alone

CHINESE = re.compile(r"[\u3001-\u3002\u4e00-\u9fff]")
OF_THE_CHALLENGE = {"language.py", "instruction_parser.py"}  # sentences that a robot is told, which are its data
NAMES = {"中文", "[中文](#", "指令", "望远镜队"}  # of languages in themselves, and of a team
BETWEEN = {"、", " 或 "}  # the items of a list


def chinese_in(code: str) -> list[str]:
    """The texts with Chinese that code has, without those that only explain it."""
    tree = ast.parse(code)
    explained = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in explained
        and CHINESE.search(node.value)
    ]


def test_no_code_has_chinese_of_its_own() -> None:
    found = {
        f"{file.relative_to(po_files.PACKAGE)}: {text}"
        for file in po_files.PACKAGE.rglob("*.py")
        if file.name not in OF_THE_CHALLENGE and "starter" not in str(file.parent)
        for text in chinese_in(file.read_text())
        if not any(name in text for name in NAMES) and text not in BETWEEN
    }
    assert found == set()
    assert chinese_in('"""The name: 名."""\nX = Words("name", "名")') == ["名"]


def test_no_page_and_no_script_has_chinese_of_its_own() -> None:
    files = [file for kind in ("html", "js", "md", "toml") for file in po_files.PACKAGE.rglob(f"*.{kind}")]
    assert [file for file in files if "vendor" not in file.parts and CHINESE.search(file.read_text())] == []
