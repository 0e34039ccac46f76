"""Each challenge's folder has a page that names what is in it, and nothing else."""

import re

import pytest

from tests import ROOT

FOLDERS = sorted(file.parent for file in (ROOT / "palestra" / "tracks").glob("*/__init__.py"))
MOST_LINES = 30


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request):
    return request.param


def test_the_page_has_a_row_for_everything_in_the_folder_and_no_other(folder):
    page = (folder / "README.md").read_text()
    told = {name for row in re.findall(r"^\| (`.+?) \|", page, re.M) for name in re.findall(r"`([^`]+)`", row)}
    there = {path.name for kind in ("py", "toml", "po") for path in folder.glob(f"[!_]*.{kind}")}
    there |= {f"{path.name}/" for path in folder.glob("[!_.]*/")}
    assert told == there


def test_the_page_names_its_tracks_and_how_to_run_them_briefly(folder):
    page = (folder / "README.md").read_text()
    for file in folder.glob("*v[0-9]*.py"):
        assert f"`{folder.name}_{file.stem}`".replace("_", "-") in page
    assert len(re.findall(r"^palestra ", page, re.M)) == 3
    assert len(page.splitlines()) <= MOST_LINES
