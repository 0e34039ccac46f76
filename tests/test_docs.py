"""Docs are true: what they name is there, and what is there they name."""

import re

import pytest
import typer

from palestra import registry
from palestra.cli import app
from palestra.contest.rules import reader, template
from tests import ROOT

PAGES = [
    *(ROOT / name for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "palestra" / "tracks").glob("*/README.md")),
]
COMMANDS = {name: typer.main.get_command(app.app).get_command(None, name) for name in app.ORDER}  # type: ignore
CONTEST = COMMANDS["contest"].commands


def require_known(words: list[str]) -> None:
    """A command line after `palestra`: its command is there, and so are its options."""
    if words[0] == "--tracks-dir":
        words = words[2:]
    name, rest = words[0], words[1:]
    command = COMMANDS[name]
    while hasattr(command, "commands"):  # contest, studio, studio calibrate
        command, rest = command.commands[rest[0]], rest[1:]
    known = {name for option in command.params for name in option.opts}
    assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= known, " ".join(words)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_in_the_docs_exist_with_their_options(page):
    for line in re.findall(r"^ *palestra (.+)$", page.read_text(), re.MULTILINE):
        require_known(line.split("#")[0].split())


def test_every_track_and_solution_is_named_in_the_docs():
    told = "".join(page.read_text() for page in PAGES) + (ROOT / "CHANGELOG.md").read_text()
    for name in [*registry.tracks(), *(f"`{solution.name}`" for solution in registry.solutions())]:
        assert name in told


def test_every_command_is_named_in_the_docs():
    told = "".join(page.read_text() for page in PAGES) + (ROOT / "CHANGELOG.md").read_text()
    for name in [*COMMANDS.keys() - {"tracks", "solutions"}, *(f"contest {name}" for name in CONTEST)]:
        assert re.search(rf"(palestra|make) {name}\b", told), name


def test_every_option_of_the_contest_commands_is_named_in_the_docs():
    told = "".join(page.read_text() for page in PAGES)
    shown = (
        option for command in CONTEST.values() for option in command.params if not getattr(option, "hidden", False)
    )
    for name in {name for option in shown for name in option.opts if name.startswith("--")} - {"--help"}:
        assert re.search(rf"{name}\b", told), name


PATH = re.compile(r"`(?:palestra/)?((?:[a-z_]+/)+[a-z_]\w*\.py)`")
HOME_OF = {"challenges", "kit", "tests"}  # made on the page, or not of the package


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_in_the_docs_are_where_they_say(page):
    for name in PATH.findall(page.read_text()):
        if name.split("/")[0] not in HOME_OF:
            assert (ROOT / "palestra" / name).is_file() or (ROOT / name).is_file(), name


def test_modules_that_comments_name_are_there():
    modules = [path for path in sorted((ROOT / "palestra").rglob("*.py")) if "starter" not in str(path)]
    names = {path.name for path in modules} | {
        "file.py",
        "predict.py",
        "verify.py",
    }  # the latter are contestants' and archives'
    for module in modules:
        for name in re.findall(r"(?<![\w./])[a-z_]+\.py\b", module.read_text()):
            assert name in names, f"{module.relative_to(ROOT)} names {name}"


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_what_the_readmes_submit_to_is_what_they_begin(name):
    text = (ROOT / name).read_text()
    (track,) = re.findall(r"^palestra contest init contest\.toml --track (\S+)", text, re.M)
    (phase,) = re.findall(r"^palestra submit http://127\.0\.0\.1:8765 (\S+)", text, re.M)
    rules = reader.parse(template([track], 1_660_000_000_000, "UTC"), "contest.toml")
    assert [one.id for one in rules.phases] == [phase]
    assert text.index("palestra contest init contest.toml") < text.index("palestra submit http")
    assert f"--data {rules.phases[0].data} " in text


def test_both_readmes_have_the_same_commands():
    english, chinese = (re.findall(r"^(?:palestra|make) \S+.*?(?=\s+#|$)", (ROOT / name).read_text(), re.MULTILINE)
                        for name in ("README.md", "README.zh-CN.md"))  # fmt: skip
    assert english == chinese
