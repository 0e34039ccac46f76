"""`palestra annotate` as people type it."""

import os
import subprocess
import sys

import cv2
import numpy as np
import pytest

from palestra import model_cards
from palestra.annotation import run
from palestra.annotation.table import COLUMNS
from tests.eye_networks import CARD, drawn_eye, standing_in, weights_in


@pytest.fixture
def eyes(tmp_path):
    folder = tmp_path / "eyes"
    folder.mkdir()
    cv2.imwrite(str(folder / "1.png"), drawn_eye())
    cv2.imwrite(str(folder / "2.png"), np.full((400, 640), 100, np.uint8))
    return folder


@pytest.fixture
def network(tmp_path):
    (tmp_path / "weights").mkdir()
    with standing_in(tmp_path / "weights"):
        yield


def test_it_says_what_was_sure_and_why_the_rest_was_not(cli, eyes, network):
    ran = cli("annotate", eyes)
    assert ran.code == 0 and ran.out == ""
    assert "2 pictures, 1 of them read for sure" in ran.err and "1 × no contrast" in ran.err
    assert (eyes.parent / "eyes-annotated" / "contact.png").is_file()


def test_json_is_the_table(cli, eyes, network, tmp_path):
    ran = cli("annotate", eyes, "--out", tmp_path / "out", "--json")
    assert [row["file"] for row in ran.json] == ["1.png", "2.png"]
    assert set(ran.json[0]) == set(COLUMNS)
    assert isinstance(ran.json[0]["sure"], bool) and isinstance(ran.json[0]["certainty"], float)
    flags = [value for name, value in ran.json[0].items() if name.endswith("_sure")]
    numbers = [value for name, value in ran.json[0].items() if "pupil" in name and not name.endswith("_sure")]
    assert flags == [True] * 4 and all(value is None or isinstance(value, float) for value in numbers)


def test_what_it_wrote_is_not_taken_for_pictures(cli, eyes, network, tmp_path):
    cli("annotate", eyes, "--out", tmp_path / "out")
    ran = cli("annotate", tmp_path / "out")
    assert ran.code == 1 and "is what `palestra annotate` wrote" in ran.err
    assert not (tmp_path / "out-annotated").exists()


def test_a_folder_named_by_a_dot_is_written_beside_it(cli, eyes, network, monkeypatch):
    monkeypatch.chdir(eyes)
    assert cli("annotate", ".").code == 0
    assert (eyes.parent / "eyes-annotated" / "1.png").is_file()


@pytest.mark.parametrize("words", [["nowhere"], ["eyes", "--out", "eyes/out"]])
def test_what_cannot_be_done_ends_with_1_and_words(cli, eyes, network, monkeypatch, words):
    monkeypatch.chdir(eyes.parent)
    ran = cli("annotate", *words)
    assert ran.code == 1 and "Name" in ran.err and "Traceback" not in ran.err


def test_without_weights_it_says_what_brings_them_and_writes_nothing(cli, eyes, tmp_path):
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "eye_reader.toml").write_text(CARD)
    with weights_in(tmp_path / "none"):
        ran = cli("annotate", eyes)
    assert ran.code == 1 and "make train-eye-reader" in ran.err
    assert not (tmp_path / "eyes-annotated").exists()


def test_ctrl_c_ends_it_with_130_and_the_next_call_goes_on(cli, eyes, network, monkeypatch):
    annotated = run._annotated

    def stopped(how, turned, item):
        if item.job.name == "2.png":
            raise KeyboardInterrupt
        return annotated(how, turned, item)

    monkeypatch.setattr(run, "_annotated", stopped)
    ran = cli("annotate", eyes)
    assert ran.code == 130 and "`annotate`" in ran.err
    monkeypatch.setattr(run, "_annotated", annotated)
    assert cli("annotate", eyes).code == 0


@pytest.mark.skipif(not model_cards.is_there("eye_reader"), reason="needs the weights of eye_reader")
def test_two_processes_give_the_same_as_one(eyes, tmp_path):
    tables = []
    for workers in ("1", "2"):
        words = [sys.executable, "-m", "palestra.cli.app", "annotate", str(eyes), "--out", str(tmp_path / workers)]
        subprocess.run(words, env={**os.environ, "PALESTRA_WORKERS": workers}, check=True, capture_output=True)
        tables.append((tmp_path / workers / "annotations.csv").read_bytes())
    assert tables[0] == tables[1]


@pytest.fixture
def looking(tmp_path):
    """Five pictures of an eye that looks farther and farther to the right."""
    folder = tmp_path / "looking"
    folder.mkdir()
    for number in range(5):
        cv2.imwrite(str(folder / f"{number}.png"), drawn_eye(x=0.42 + 0.04 * number))
    return folder


def test_known_points_calibrate_the_gaze_and_the_error_is_told(cli, looking, network, tmp_path):
    points = tmp_path / "points.csv"
    points.write_text("file,yaw,pitch\n" + "".join(f"{number}.png,{6 * number - 9},2\n" for number in range(4)))
    ran = cli("annotate", looking, "--points", points, "--json")
    assert ran.code == 0 and "Gaze calibrated on 4 of 4 points" in ran.err and "left-out points" in ran.err
    told = [(row["calibrated_yaw_deg"], row["calibrated_pitch_deg"]) for row in ran.json]
    assert np.allclose(told, [(-9, 2), (-3, 2), (3, 2), (9, 2), (15, 2)], atol=1.5)
    with (tmp_path / "looking-annotated" / "annotations.csv").open() as stream:
        assert stream.read().count(",2.00,") == 5


def test_labels_correct_and_what_was_read_without_them_is_read_again(cli, looking, network, tmp_path):
    plain = cli("annotate", looking, "--json").json
    labels = tmp_path / "labels.csv"
    rows = [f"{row['file']},{row['pupil_x'] + 6},{row['pupil_y']}\n" for row in plain[:4]]
    labels.write_text("file,x,y\n" + "".join(rows))
    ran = cli("annotate", looking, "--labels", labels, "--json")
    assert ran.code == 0 and "4 labels: corrected" in ran.err and "pupil off" in ran.err
    moved = [after["pupil_x"] - before["pupil_x"] for before, after in zip(plain, ran.json, strict=True)]
    assert np.allclose(moved, 6, atol=0.5)
    assert {row["reader"] for row in plain}.isdisjoint(row["reader"] for row in ran.json)


def test_labels_that_do_not_help_are_told_and_left_out(cli, looking, network, tmp_path):
    plain = cli("annotate", looking, "--json").json
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "0.png").write_bytes((tmp_path / "looking-annotated" / "masks" / "0.png").read_bytes())
    ran = cli("annotate", looking, "--labels", tmp_path / "one", "--json")
    assert ran.code == 0 and "read as without them" in ran.err and ran.json == plain


@pytest.mark.parametrize("option", ["--labels", "--points"])
def test_labels_and_points_that_do_not_fit_end_with_1_and_write_nothing(cli, looking, network, tmp_path, option):
    (tmp_path / "odd.csv").write_text("file,x,y,yaw,pitch\nnobody.png,1,2,3,4\n")
    ran = cli("annotate", looking, option, tmp_path / "odd.csv")
    assert ran.code == 1 and "no picture of that name" in ran.err and "Traceback" not in ran.err
    assert not (tmp_path / "looking-annotated").exists()
