"""Weights and their cards: what is shipped fits, and what does not fit is refused in words."""

import hashlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from palestra import model_cards
from palestra.errors import PalestraError
from palestra.registry import solutions
from tests import ROOT
from tests.eye_networks import CARD, standing_in, weights_in, write_network

MOST_BYTES, MOST_TOGETHER = 5_000_000, 25_000_000


def shipped():
    return [name for name in model_cards.names() if model_cards.card(name).shipped and model_cards.card(name).sha256]


def test_every_file_of_weights_has_a_card_that_fits_it():
    files = {
        file.name
        for file in (file for folder in model_cards.FOLDERS for file in folder.iterdir())
        if file.suffix != ".toml"
    }
    assert files <= {model_cards.path(name).name for name in model_cards.names()}
    for name in shipped():
        content = model_cards.path(name).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (
            model_cards.card(name).bytes,
            model_cards.card(name).sha256,
        )


def test_weights_are_small():
    sizes = {name: model_cards.path(name).stat().st_size for name in shipped()}
    assert max(sizes.values()) < MOST_BYTES and sum(sizes.values()) < MOST_TOGETHER


def test_every_card_says_where_its_weights_come_from():
    for name in model_cards.names():
        card = model_cards.card(name)
        module = re.fullmatch(r"python -m (train\.\w+).*", card.script)
        assert module and (ROOT / f"{module[1].replace('.', '/')}.py").is_file(), name
        assert re.fullmatch(r"make train-[\w-]+", card.make), name
        assert card.trained and card.data and card.parameters > 0, name


def test_weights_and_cards_are_in_the_package():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {"tracks/*/weights/*", "eyes/reader/weights/*"} <= set(
        build["tool"]["setuptools"]["package-data"]["palestra"]
    )


def test_every_solution_that_learnt_beforehand_has_a_card():
    known = {model_cards.path(name).name for name in model_cards.names()}
    assert {solution.weights for solution in solutions() if solution.weights} <= known


def test_a_network_is_loaded_once_and_runs_on_one_thread():
    network = model_cards.session("remote_gaze_network")
    assert network is model_cards.session("remote_gaze_network")
    assert network.get_session_options().intra_op_num_threads == 1


def test_cards_are_read_without_onnxruntime():
    code = "import sys; from palestra import model_cards; model_cards.card('remote_gaze_network'); "
    found = subprocess.run(
        [sys.executable, "-c", f"{code} print('onnxruntime' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "False"


def test_changed_weights_are_refused_with_what_was_found_and_expected(tmp_path):
    for name in ("remote_gaze_network.onnx", "remote_gaze_network.toml"):
        shutil.copy(model_cards.path("remote_gaze_network").with_name(name), tmp_path)
    expected = model_cards.card("remote_gaze_network").sha256
    changed = bytearray((tmp_path / "remote_gaze_network.onnx").read_bytes())
    changed[5000] ^= 1
    (tmp_path / "remote_gaze_network.onnx").write_bytes(changed)
    with weights_in(tmp_path), pytest.raises(PalestraError) as refused:
        model_cards.session("remote_gaze_network")
    told = str(refused.value)
    assert expected[:12] in told and hashlib.sha256(changed).hexdigest()[:12] in told
    assert "make train-remote-gaze-network" in told


def test_what_is_not_shipped_says_what_brings_it_and_is_used_once_it_is_there(tmp_path):
    (tmp_path / "winner.toml").write_text(CARD.replace("train-eye-reader", "train-winner"))
    with weights_in(tmp_path):
        with pytest.raises(PalestraError, match=r"not shipped.*make train-winner"):
            model_cards.session("winner")
        write_network(tmp_path / "winner.onnx")
        assert model_cards.session("winner").get_inputs()[0].name == "pictures"


def test_stamped_weights_fit_their_card(tmp_path):
    with standing_in(tmp_path):
        assert model_cards.card("eye_reader").sha256 == ""
        stamped = model_cards.stamp("eye_reader")
        assert stamped.bytes == (tmp_path / "eye_reader.onnx").stat().st_size
        assert model_cards.weights("eye_reader") and model_cards.card("eye_reader") == stamped
        assert stamped.trained == "By hand."


def test_an_unknown_name_is_met_with_a_near_one():
    with pytest.raises(PalestraError, match="Did you mean 'remote_gaze_network'"):
        model_cards.card("remote_gaze_netwrok")


@pytest.mark.parametrize("text", ["solution = 3", "solution = ", CARD.replace("seed = 0", 'seed = "zero"')])
def test_a_broken_card_is_refused_by_its_name(tmp_path, text):
    (tmp_path / "broken.toml").write_text(text)
    with weights_in(tmp_path), pytest.raises(PalestraError, match=r"broken\.toml: this is no model card"):
        model_cards.card("broken")


def test_what_is_no_network_is_refused_in_words(tmp_path):
    (tmp_path / "eye_reader.toml").write_text(CARD)
    (tmp_path / "eye_reader.onnx").write_bytes(b"not a network")
    with weights_in(tmp_path), pytest.raises(PalestraError, match="cannot be run by onnxruntime"):
        model_cards.session("eye_reader")
