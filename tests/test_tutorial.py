"""docs/add-a-track.md is a tutorial that runs: each block in its order, with what it says is seen after it.

A block of Python or TOML is saved or appended as the line before it says. A block of bash is run in one shell with all
others and ends with 0; one that is marked `refused` ends with 1. Each line of a block of text is in the output before
it, where `…` stands for anything.
"""

import dataclasses
import os
import re
import shlex
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from palestra import records
from palestra.errors import Faults
from tests import OUTSIDE, ROOT

PAGE = ROOT / "docs" / "add-a-track.md"
BLOCK = re.compile(r"(?P<before>[^\n]*)\n+^```(?P<kind>\w+)(?P<mark> \w+)?\n(?P<text>.*?)^```$", re.M | re.S)
TOLD = re.compile(r"(Save this as|ppend this to) `([^`]+)`")
RECORDS = [
    records.Track, records.FileAnswers, records.StreamAnswers, records.EpisodeAnswers, records.RefereedMatch,
    records.Dataset, records.Display, records.RuleSettings, records.Metric, records.Solution, records.Sitting,
    records.Tick, records.Case, records.Part, records.Plan,
]  # fmt: skip
MOST_SENTENCES, MOST_LETTERS = 4, 700


@dataclass(frozen=True)
class Step:
    """A block of the page."""

    before: str  # the line of text above it
    kind: str  # python, toml, bash or text
    mark: str
    text: str

    def written(self) -> str:
        """The block as a shell does it."""
        if self.kind == "bash":
            return f"set +e\n{self.text}code=$?\nset -e\n[ $code = 1 ]\n" if self.mark == "refused" else self.text
        found = TOLD.search(self.before)
        assert found, f"nothing says where this goes: {self.text[:80]}"
        how, file = found.groups()
        folder = shlex.quote(str(Path(file).parent))
        arrow = ">" if how.startswith("Save") else ">>"
        gap = "" if arrow == ">" else "\n\n"
        return f"mkdir -p {folder}\ncat {arrow} {shlex.quote(file)} <<'END OF BLOCK'\n{gap}{self.text}END OF BLOCK\n"


def steps(page: str) -> list[Step]:
    found = BLOCK.finditer(page)
    return [Step(one["before"], one["kind"], (one["mark"] or "").strip(), one["text"]) for one in found]


def shell(folder: Path) -> dict[str, str]:
    """An environment in which `palestra`, `python` and `pip` are those under test, and pip installs into a folder."""
    commands = folder / "bin"
    commands.mkdir()
    for name, words in (("palestra", "-m palestra"), ("python", ""), ("pip", "-m pip")):
        (commands / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {words} "$@"\n')
        (commands / name).chmod(stat.S_IRWXU)
    site = str(folder / "site")
    # pip reads its options from the environment; of this one, 0 is what turns the isolation off.
    pip = {"TARGET": site, "NO_INDEX": "1", "NO_DEPS": "1", "NO_BUILD_ISOLATION": "0", "DISABLE_PIP_VERSION_CHECK": "1"}
    return {
        **os.environ,
        **{f"PIP_{name}": value for name, value in pip.items()},
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([site, str(ROOT)]),
    }


def run(page: str, folder: Path) -> list[str]:
    """What is seen after each block of the page."""
    script = "".join(f"{step.written() if step.kind != 'text' else ''}echo; echo '=== next'\n" for step in steps(page))
    (folder / "here").mkdir()
    words = ["bash", "-e", "-u", "-o", "pipefail", "-c", script]
    ran = subprocess.run(
        words, cwd=folder / "here", env=shell(folder), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
    return ran.stdout.split("\n=== next\n")[:-1]


def test_every_block_runs_and_shows_what_the_page_says(cache, tmp_path):
    page = PAGE.read_text()
    shown = run(page, tmp_path)
    for before, step in zip(shown, steps(page)[1:], strict=False):
        if step.kind == "text":
            seen = " ".join(before.split())
            for line in filter(str.strip, step.text.splitlines()):
                pattern = ".*".join(re.escape(" ".join(part.split())) for part in line.split("…"))
                assert re.search(pattern, seen), f"the page shows\n  {line}\nand what is seen is\n{before}"
    for name in ("report.html", "run.html", "contest.toml", "contestants.zip"):
        assert (tmp_path / "here" / name).is_file(), name


def test_the_first_track_is_the_one_that_the_tests_use():
    assert (OUTSIDE / "blink_count_v1.py").read_text() in [step.text for step in steps(PAGE.read_text())]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_the_reference_has_a_row_for_every_field_and_no_other(record):
    section = PAGE.read_text().partition(f"\n### `{record.__name__}`")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", section, re.M)
    assert [name for name, _, _ in rows] == [field.name for field in dataclasses.fields(record)]


def test_no_paragraph_is_long():
    prose = re.sub(r"^```.*?^```$", "", PAGE.read_text(), flags=re.M | re.S)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-#|])", prose):
        if not paragraph.startswith(("|", "#")):
            assert len(paragraph) <= MOST_LETTERS, paragraph
            assert len(re.findall(r"[.!?](?=\s|$)", paragraph)) <= MOST_SENTENCES, paragraph


def test_the_reference_has_a_row_for_every_field_of_an_order_and_every_method_of_faults():
    wanted = {
        "Order": list(records.Order.__struct_fields__),
        "Faults": [name for name, value in vars(Faults).items() if callable(value) and not name.startswith("_")],
    }
    for name, fields in wanted.items():
        section = PAGE.read_text().partition(f"\n### `{name}`")[2].partition("\n### ")[0]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == fields, name
