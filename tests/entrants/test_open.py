"""Entrants by the names that people give them."""

from contextlib import ExitStack

import pytest

from palestra.entrants import open
from palestra.entrants.open import Called, Terms, called, open_entry
from palestra.errors import PalestraError, UnknownName
from palestra.records import Solution
from palestra.sandbox import backends
from palestra.sandbox.launch import Backend, Limits
from tests.live import hall

TERMS = Terms(Limits(memory_bytes=1 << 29, wall_s=60, cpu_s=30), 10.0)
SOLUTIONS = {
    "good": Solution("t-v1", "good", "Plays", plays="collections:Counter"),
    "table": Solution("t-v1", "table", "Answers by file"),
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["entropy"], [("entropy", "entropy")]),
        (["red=entropy", "blue=entropy"], [("red", "entropy"), ("blue", "entropy")]),
        (["entropy"] * 3, [("entropy", "entropy"), ("entropy-2", "entropy"), ("entropy-3", "entropy")]),
        (["a", "a-2", "a"], [("a", "a"), ("a-2", "a-2"), ("a-3", "a")]),
        (["path/to/my.bundle/"], [("my.bundle", "path/to/my.bundle/")]),
        (["kits/team7.zip", "kits/team8.tar.gz"], [("team7", "kits/team7.zip"), ("team8", "kits/team8.tar.gz")]),
        (["Team 7=kits/a=b.zip"], [("Team 7", "kits/a=b.zip")]),
        (["kits/a=b.zip"], [("a=b", "kits/a=b.zip")]),
        (["ws://host:9000/play?a=b"], [("host:9000/play?a=b", "ws://host:9000/play?a=b")]),
        (["far=ws://host:9000"], [("far", "ws://host:9000")]),
        (["=bundle"], [("=bundle", "=bundle")]),
        ([], []),
    ],
)
def test_everybody_gets_a_name_of_their_own(words, expected):
    assert [(one.name, one.what) for one in called(words)] == expected


def test_a_name_that_nothing_has_gets_a_hint_of_those_that_play():
    hall.require_sandbox()
    with ExitStack() as stack, pytest.raises(UnknownName, match="Did you mean 'good'") as told:
        open_entry(Called("x", "goood"), SOLUTIONS, TERMS, stack)
    assert "bundle's folder" in str(told.value)


def test_a_solution_for_files_cannot_be_played_to():
    hall.require_sandbox()
    with ExitStack() as stack, pytest.raises(UnknownName):
        open_entry(Called("x", "table"), SOLUTIONS, TERMS, stack)


def test_what_is_no_bundle_is_refused_before_anything_starts(tmp_path):
    hall.require_sandbox()
    refused = pytest.raises(PalestraError, match=r"is no bundle: .* expected Algorithm/MyAlgorithm\.py")
    with ExitStack() as stack, refused:
        open_entry(Called("x", str(tmp_path)), {}, TERMS, stack)


def test_a_bundle_is_started_and_ends_with_the_stack(tmp_path):
    hall.require_sandbox()
    bundle = hall.write_bundle(tmp_path / "bundle", hall.program())
    with ExitStack() as stack:
        entry = open_entry(Called("red", str(bundle)), {}, TERMS, stack)
        entry.line.require_ready()
        running = entry.line._process.running
        assert running.alive
        assert entry.name == "red" and entry.what.startswith("sha256:") and entry.deaths == []
        assert entry.sandbox == str(backends.choose())
    assert not running.alive


def test_a_solution_runs_as_a_contestant_s_program_does():
    """This one lacks a method, and is told so as anybody would be."""
    hall.require_sandbox()
    with ExitStack() as stack:
        entry = open_entry(Called("x", "good"), SOLUTIONS, TERMS, stack)
        with pytest.raises(PalestraError, match="MyAlgorithm has no method get_data and no method algorithm"):
            entry.line.require_ready()


def test_without_a_sandbox_only_programs_that_are_trusted_run(tmp_path, monkeypatch):
    limits = Backend("rlimits", True, False, "limits alone")
    broken = Backend("bubblewrap", False, True, "it is not installed.", "apt-get install -y bubblewrap")
    monkeypatch.setattr(backends, "probe", lambda: [broken, limits])
    bundle = str(hall.write_bundle(tmp_path / "bundle", hall.program()))
    with ExitStack() as stack:
        with pytest.raises(PalestraError, match=r"No sandbox works .* apt-get install -y bubblewrap"):
            open_entry(Called("x", bundle), {}, TERMS, stack)
        entry = open_entry(Called("x", bundle), {}, Terms(TERMS.limits, 10.0, trusted=True), stack)
        entry.line.require_ready()
        assert entry.sandbox == "rlimits: limits alone"


@pytest.mark.parametrize("address", ["8765", "localhost", "localhost:", ":8765", "localhost:http"])
def test_an_address_to_listen_at_has_a_host_and_a_port(address):
    with ExitStack() as stack, pytest.raises(PalestraError, match="expected HOST:PORT"):
        open.listen(address, ["red"], "t-v1", TERMS, stack)


def test_each_team_that_dials_in_has_a_line_and_a_token_of_its_own():
    with ExitStack() as stack:
        red, blue = open.listen("127.0.0.1:0", ["red", "blue"], "t-v1", TERMS, stack)
        assert (red.name, blue.name) == ("red", "blue") and red.line.token != blue.line.token
        assert red.what == blue.what and red.what.startswith("ws://127.0.0.1:") and red.sandbox is None
        assert not red.what.endswith(":0")
    with ExitStack() as stack, pytest.raises(PalestraError, match="'red'"):
        open.listen("127.0.0.1:0", ["red", "red"], "t-v1", TERMS, stack)
