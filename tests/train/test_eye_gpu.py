"""The GPU benchmark's training loop in its small form: what runs minutes on a GPU must not break there first."""

import pytest

torch = pytest.importorskip("torch")

from benchmarks import eye_gpu  # noqa: E402

torch.set_num_threads(1)  # others need theirs


def test_the_loop_that_is_timed_learns_from_every_picture(capsys):
    pictures = torch.randint(0, 256, (6, 160, 256), dtype=torch.uint8)
    assert eye_gpu.training_loop(pictures, small=True) > 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["timed epoch 1", "timed epoch 2"]


def test_without_a_gpu_there_is_nothing_to_compare(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert eye_gpu.main() == 0
    assert "no GPU" in capsys.readouterr().out
