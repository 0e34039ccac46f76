"""The command that scripts of drawn worlds share: it trains as told, and notes what came of it."""

import sys

import pytest

torch = pytest.importorskip("torch")

from train import command, eye_reader, gaze_forecaster, near_eye_palestra, results  # noqa: E402

torch.set_num_threads(1)  # others need theirs


@pytest.mark.parametrize("script", [eye_reader, near_eye_palestra, gaze_forecaster])
def test_what_is_told_on_the_command_line_is_done_and_noted(script, tmp_path, monkeypatch, capsys):
    out, eyes = tmp_path / "made" / "some.onnx", script is not gaze_forecaster
    given = ["--work", str(tmp_path / "work"), "--out", str(out), "--steps", "1", "--seed", "3"]
    monkeypatch.setattr(sys, "argv", ["script", *given, *(["--people", "5"] if eyes else ["--hidden", "8"])])
    what = (lambda asked: asked.told(script.WHAT)) if eyes else (lambda asked: script.WHAT)
    command.run(script.__doc__, script.SMALL, script.train, script.write, what)
    (noted,) = results.read(out.parent)
    assert noted.weights == "some" and noted.bytes == out.stat().st_size and noted.parameters > 0
    assert noted.checked and noted.device
    assert noted.trained.startswith(script.WHAT) and ("of 5 people" in noted.trained) == eyes
    assert {kept.name[-5:] for kept in (tmp_path / "work").iterdir()} == {"-3.pt"}
    assert f"wrote {out}" in capsys.readouterr().out


def test_it_wants_to_know_where_to_write(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["script", "--work", "x"])
    with pytest.raises(SystemExit):
        command.run("", eye_reader.SMALL, eye_reader.train, eye_reader.write, str)
    assert "--out" in capsys.readouterr().err
