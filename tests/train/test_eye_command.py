"""The command that both scripts of the world of eyes share: it trains as told, and notes what came of it."""

import sys

import pytest

torch = pytest.importorskip("torch")

from train import eye_command, eye_reader, near_eye_palestra, results  # noqa: E402

torch.set_num_threads(1)  # others need theirs


@pytest.mark.parametrize("script", [eye_reader, near_eye_palestra])
def test_what_is_told_on_the_command_line_is_done_and_noted(script, tmp_path, monkeypatch, capsys):
    out = tmp_path / "made" / "some.onnx"
    given = ["--work", str(tmp_path / "work"), "--out", str(out), "--steps", "1", "--people", "5", "--seed", "3"]
    monkeypatch.setattr(sys, "argv", ["script", *given])
    eye_command.run(script.__doc__, script.SMALL, script.train, script.write, script.WHAT)
    (noted,) = results.read(out.parent)
    assert noted.weights == "some" and noted.bytes == out.stat().st_size and noted.parameters > 0
    assert noted.checked and noted.device
    assert noted.trained.startswith(script.WHAT) and "of 5 people" in noted.trained
    assert {kept.name[-5:] for kept in (tmp_path / "work").iterdir()} == {"-3.pt"}
    assert f"wrote {out}" in capsys.readouterr().out


def test_it_wants_to_know_where_to_write(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["script", "--work", "x"])
    with pytest.raises(SystemExit):
        eye_command.run("", eye_reader.SMALL, eye_reader.train, eye_reader.write, "")
    assert "--out" in capsys.readouterr().err
