"""`tracks` of [contest]: what it may name, what becomes of a place that is not there, and that nobody sends another."""

import os

import pytest

from palestra import registry
from palestra.contest.rules.new_file import template
from palestra.contest.rules.reader import named_tracks, parse, parse_sent, read
from palestra.contest.rules.track_places import find_tracks
from palestra.errors import Refused
from tests import OUTSIDE
from tests.contest.rules.test_reader import SMALL


def with_tracks(value: str) -> str:
    return SMALL.replace("[contest]\n", f"[contest]\ntracks = {value}\n", 1)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv(registry.OUTSIDE, "")
    return tmp_path / "contest.toml"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ('"challenges"', ("challenges",)),
        ('["challenges", "ours/eyes"]', ("challenges", "ours/eyes")),
        ('"package:palestra-blinks"', ("package:palestra-blinks",)),
    ],
)
def test_folders_and_packages_are_named_beside_the_rules(file, value, named):
    file.write_text(with_tracks(value))
    assert named_tracks(file) == named
    assert parse(file.read_text(), "contest.toml") == parse(SMALL, "contest.toml"), "it is not of the rules"


@pytest.mark.parametrize(
    "value",
    [
        '""', '"."', '"./x"', '"../x"', '"a/../../x"', '"/etc"', '"~/x"', '"C:/x"', '"a:b"', '"a//b"', "3", "[]", "[3]",
        '"package:"', '"package:../x"', '"package:a b"', '["a"]' .replace('"a"', ", ".join(['"a"'] * 17)),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_its_line(value):
    with pytest.raises(Refused, match=r"contest.toml: line 2, contest.tracks: .*a folder beside this file"):
        parse(with_tracks(value), "contest.toml")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ('"challenges"', r"line 2, contest.tracks: found the folder 'challenges', which is not there"),
        ('"contest.toml"', r"line 2, contest.tracks: found the folder 'contest.toml', which is a file"),
        (
            '"package:no-such-thing"',
            r"found the package 'no-such-thing', which is not installed, .* pip install no-such",
        ),
    ],
)
def test_a_place_that_is_not_there_is_a_fault_of_the_file(file, value, told):
    file.write_text(with_tracks(value))
    with pytest.raises(Refused, match=told):
        read(file, registry.tracks())
    with pytest.raises(Refused, match=told):
        named_tracks(file, must_be_there=True)
    assert read(file), "a file can be read where its tracks are not"


def test_tracks_are_found_there_once_and_in_processes_that_are_started(file):
    (file.parent / "challenges").symlink_to(OUTSIDE)
    for _ in range(2):
        find_tracks(("challenges", "package:pytest", "absent"), file.parent)
    assert os.environ[registry.OUTSIDE] == str(OUTSIDE.resolve())
    assert registry.track("blink-count-v1").title == "Blink counting"


@pytest.mark.parametrize("sent", ['"/etc"', '"uploads"', '["challenges", "uploads"]', '"package:other"', None])
def test_what_is_sent_cannot_name_another_place(file, sent):
    file.write_text(with_tracks('"challenges"'))
    assert parse_sent(file.read_text(), "contest.toml", file) == parse(SMALL, "contest.toml")
    with pytest.raises(Refused, match=r"contest\.tracks|tracks = \"challenges\", as in the file on the server"):
        parse_sent(with_tracks(sent) if sent else SMALL, "contest.toml", file)


@pytest.mark.parametrize("text", ["", "[contest", None])
def test_where_the_file_names_none_nothing_that_is_sent_may(file, text):
    if text is not None:
        file.write_text(text)
    with pytest.raises(Refused, match="expected no tracks, as in the file on the server"):
        parse_sent(with_tracks('"uploads"'), "contest.toml", file if text is not None else None)


def test_a_new_file_names_them(file):
    file.write_text(template(["blink-count-v1"], 0, "UTC", ["challenges"]))
    assert named_tracks(file) == ("challenges",)
