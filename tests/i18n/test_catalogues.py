"""The catalogues: every text that the code says has its Chinese, once, and nothing else is in them."""

import ast
import gettext
import re
from collections import defaultdict
from io import BytesIO
from pathlib import Path
from string import Formatter

import pytest
from babel.messages import Message

from palestra.i18n import po_files
from palestra.i18n.po_files import as_mo, as_po, extracted, folders, known, untranslated, updated

CHINESE = re.compile(r"[\u3001-\u3002\u4e00-\u9fff]")
FOLDERS = [folder for folder in folders() if (folder / "zh.po").is_file()]
# Words that Chinese contests write as English does, and what is no word.
SAME = {
    "{label}: {what}", "{id}", ", then ", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "contest.toml", "PE", "mIoU", "{count} of {total}", "µV² per Hz",
}  # fmt: skip


def name_of(folder: Path) -> str:
    return folder.name


def texts_of(message: Message) -> tuple[list[str], list[str]]:
    """The English and the Chinese: one each, or by number."""
    english = [message.id] if isinstance(message.id, str) else list(message.id)
    chinese = [message.string] if isinstance(message.string, str) else list(message.string)
    return english, chinese


def messages(folder: Path) -> list[Message]:
    return [one for one in known(folder) if one.id]


def places_in(text: str) -> set[str]:
    """What pages and code fill in: {name}; and what a script in the browser does: [name]."""
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None} | set(re.findall(r"\[\w+\]", text))


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_what_is_said_and_what_is_in_the_catalogue_are_the_same(folder: Path) -> None:
    """If this fails: `make texts`, then give the new texts their Chinese."""
    said, there = ({(one.context, one.id) for one in found if one.id} for found in (extracted(folder), known(folder)))
    assert said - there == set(), "missing in the catalogue"
    assert there - said == set(), "in the catalogue, and nobody says it"


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_every_text_has_its_chinese(folder: Path) -> None:
    assert untranslated(known(folder)) == []
    assert [one.id for one in messages(folder) if one.fuzzy] == []
    odd = [one.id for one in messages(folder) if not any(CHINESE.search(text) for text in texts_of(one)[1])]
    assert [text for text in odd if text not in SAME and re.search(r"[A-Za-z]{2}", _fixed(text))] == []


def _fixed(text: str | tuple[str, ...]) -> str:
    """What of a text is no placeholder."""
    return "".join(part for part, _, _, _ in Formatter().parse(text if isinstance(text, str) else text[0]))


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_english_is_not_chinese(folder: Path) -> None:
    assert [one.id for one in messages(folder) if any(CHINESE.search(text) for text in texts_of(one)[0])] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_both_languages_leave_the_same_places_to_fill(folder: Path) -> None:
    for one in messages(folder):
        english, chinese = texts_of(one)
        wanted = set().union(*map(places_in, english))
        for text in chinese:
            assert places_in(text) <= wanted, one.id
            assert wanted - places_in(text) <= {"count"} if one.pluralizable else wanted == places_in(text), one.id


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_the_compiled_catalogue_is_that_of_the_text(folder: Path) -> None:
    compiled = gettext.GNUTranslations(BytesIO((folder / "zh.mo").read_bytes()))
    fresh = gettext.GNUTranslations(BytesIO(as_mo(known(folder))))
    for one in messages(folder):
        english = texts_of(one)[0]
        if one.pluralizable:
            pairs = [(found.ngettext(english[0], english[-1], 2)) for found in (compiled, fresh)]
        elif one.context:
            pairs = [found.pgettext(one.context, english[0]) for found in (compiled, fresh)]
        else:
            pairs = [found.gettext(english[0]) for found in (compiled, fresh)]
        assert pairs[0] == pairs[1], one.id


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_updating_a_catalogue_that_is_in_step_changes_nothing(folder: Path) -> None:
    assert as_po(updated(folder)) == (folder / "zh.po").read_bytes()


def test_a_text_in_two_catalogues_has_one_chinese() -> None:
    found = defaultdict(set)
    for folder in FOLDERS:
        for one in messages(folder):
            found[one.context, one.id].add(tuple(texts_of(one)[1]))
    assert {key: said for key, said in found.items() if len(said) > 1} == {}


def modules() -> list[Path]:
    return sorted(file for file in po_files.PACKAGE.rglob("*.py") if "starter" not in str(file.parent))


def test_what_is_said_is_written_out_where_it_is_said() -> None:
    """A text that is put together elsewhere would be in no catalogue. Tables of texts are made with `message`."""
    put_together = []
    for file in modules():
        if file.name == "text.py" and file.parent == po_files.PACKAGE:
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in po_files.KEYWORDS:
                first = node.args[1 if node.func.id in ("said", "said_count", "say_as") else 0]
                if isinstance(first, ast.JoinedStr | ast.BinOp):
                    put_together.append(f"{file}:{node.lineno}")
    assert put_together == []


def test_values_fill_the_places_of_their_text() -> None:
    """Each call gives what its text asks for, and nothing else."""
    wrong = []
    for file in modules():
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id not in ("say", "say_as", "say_count") or any(one.arg is None for one in node.keywords):
                continue
            texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            texts = texts[1:] if node.func.id == "say_as" else texts
            if not texts:
                continue
            asked = set().union(*({name for _, name, _, _ in Formatter().parse(text) if name} for text in texts))
            given = {str(one.arg) for one in node.keywords} | (
                {"count"} & asked if node.func.id == "say_count" else set()
            )
            if asked != given:
                wrong.append(f"{file}:{node.lineno}: {sorted(asked ^ given)}")
    assert wrong == []
