"""The commands, and what they refuse before a page is served."""

import socket

import pytest

from palestra.studio.present.plans.examples import EXAMPLES


def test_without_a_file_the_examples_are_listed(cli):
    listed = cli("studio", "present", "--json")
    assert listed.code == 0 and {row["example"] for row in listed.json} == set(EXAMPLES)
    assert {"targets", "curve", "pursuit", "saccades", "points", "emotion"} == set(EXAMPLES)


def test_a_plan_is_printed_as_a_table(cli):
    rows = cli("studio", "plan", "points", "--json").json
    assert len(rows) == 90
    assert rows[0] | {"place_mm": ""} == {
        "event": 0,
        "block": "1 points",
        "onset_s": 0,
        "length_s": 0.5,
        "shows": "target",
        "place_mm": "",
        "trigger": None,
    }
    assert "capture" in cli("studio", "plan", "points").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["none.toml"], "none.toml: cannot be read"),
        (["pursiut"], "There is no stimulus file or example 'pursiut'. Did you mean 'pursuit'?"),
        (["targets", "--serial", "/dev/none"], "/dev/none cannot be opened"),
    ],
)
def test_what_cannot_be_shown_is_refused_and_nothing_is_written(cli, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    ran = cli("studio", "present", *words, "--out", "run", "--no-browser")
    assert ran.code == 1 and told in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_run_needs_a_folder(cli):
    assert cli("studio", "present", "targets").code == 2


def test_a_port_that_is_taken_is_told(cli, tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ran = cli("studio", "present", "targets", "--out", tmp_path / "run", "--port", port, "--no-browser")
    assert ran.code == 1 and f"port {port}" in ran.err
    assert not (tmp_path / "run").exists()
