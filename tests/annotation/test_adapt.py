"""Weights for one device: learnt from a few masks, compared on held-out ones, kept with a card that is checked."""

import hashlib
import shutil

import cv2
import numpy as np
import pytest

from benchmarks.adapt_devices import DEVICES, pictures
from palestra import model_cards
from palestra.annotation import adapt as device
from palestra.annotation.adapt import Adapted, Score, adapt, score, split
from palestra.annotation.device_windows import IGNORED, Eye, in_other_light, no_eye, windows_of
from palestra.annotation.jobs import jobs_of, pictures_of
from palestra.annotation.labels import Label, read_labels
from palestra.errors import PalestraError
from palestra.eyes.reader.ellipses import Ellipse
from palestra.eyes.reader.read_eye import Reading
from tests.eye_networks import LEVELS, drawn_eye, standing_in

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
shipped = pytest.mark.skipif(not model_cards.is_there("eye_reader"), reason="needs the weights of eye_reader")


def mask_of(image):
    levels = np.array([LEVELS[number] for number in range(4)])
    return np.argmin(np.abs(image[..., None] - levels), axis=2).astype(np.uint8)


@pytest.fixture(scope="module")
def pictures_of_device():
    """Eight pictures with masks, through a lens and onto a sensor that no training has."""
    return pictures(DEVICES[0], 8)


def write_eyes(home, seen):
    """All pictures, and masks of five of them."""
    for folder in ("eyes", "labels"):
        (home / folder).mkdir()
    for number, (image, mask) in enumerate(seen):
        cv2.imwrite(str(home / "eyes" / f"{number}.png"), image)
        if number < 5:
            cv2.imwrite(str(home / "labels" / f"{number}.png"), mask)
    return home / "eyes"


@pytest.fixture
def eyes(tmp_path, pictures_of_device):
    return write_eyes(tmp_path, pictures_of_device)


@pytest.fixture(scope="module")
def learnt(pictures_of_device, tmp_path_factory):
    """What came of a few steps, the weights, and how many steps were told."""
    eyes = write_eyes(tmp_path_factory.mktemp("device"), pictures_of_device)
    jobs, out, steps = pictures_of(eyes), eyes.parent / "device.onnx", []
    labels = read_labels(eyes.parent / "labels", jobs, eyes.parent / "eyes-annotated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "FIRST_STEPS", 18)
        patch.setattr(device, "SECOND_STEPS", 2)
        return adapt(jobs, labels, out, "upright", steps.append), out, sum(steps)


@pytest.fixture
def adapted(learnt, tmp_path):
    """The same in a folder of this test's own."""
    found, out, steps = learnt
    for ending in (".onnx", ".toml"):
        shutil.copyfile(out.with_suffix(ending), tmp_path / f"device{ending}")
    return found, tmp_path / "device.onnx", steps


@shipped
@pytest.mark.slow
def test_it_learns_from_masks_and_is_compared_on_those_held_out(adapted):
    found, out, steps = adapted
    assert (found.labelled, found.held_out, found.kept) == (4, 1, True) and 18 <= steps <= 20
    assert found.before and found.after and found.after.miou > found.before.miou + 0.05
    shown = cv2.imread(str(found.picture))
    assert shown is not None and shown.shape[1] == 2 * device.WIDE
    card = model_cards.card_of(out)
    assert card.sha256 == hashlib.sha256(out.read_bytes()).hexdigest() and not card.shipped
    assert card.checked["miou_after"] == pytest.approx(found.after.miou, abs=1e-4)
    assert "4 labelled pictures" in card.data and card.trained.startswith("From eye_reader")


@shipped
@pytest.mark.slow
def test_annotate_reads_by_them_and_reads_again_what_others_had_read(adapted, cli, eyes):
    _, out, _ = adapted
    plain = cli("annotate", eyes, "--json")
    again = cli("annotate", eyes, "--weights", out, "--json")
    assert plain.code == again.code == 0
    assert {row["reader"] for row in plain.json} != {row["reader"] for row in again.json}
    masks = [cv2.imread(str(eyes.parent / "eyes-annotated" / "masks" / f"{number}.png"), 0) for number in range(5, 8)]
    assert all((mask > 0).any() for mask in masks)


@shipped
@pytest.mark.slow
def test_weights_that_were_changed_or_have_no_card_are_refused(adapted, eyes, tmp_path):
    _, out, _ = adapted
    model_cards.session_at.cache_clear()
    bare = tmp_path / "bare.onnx"
    bare.write_bytes(out.read_bytes())
    with pytest.raises(PalestraError, match="no card"):
        jobs_of(eyes, tmp_path / "out", weights=bare)
    with pytest.raises(PalestraError, match="no such file"):
        jobs_of(eyes, tmp_path / "out", weights=tmp_path / "nowhere.onnx")
    out.write_bytes(out.read_bytes() + b" ")
    with pytest.raises(PalestraError, match="was changed"):
        jobs_of(eyes, tmp_path / "out", weights=out)
    card = model_cards.card_of(out)
    model_cards.write_weights(out, b"no network", card)
    with pytest.raises(PalestraError, match="cannot be run"):
        jobs_of(eyes, tmp_path / "out", weights=out)
    out.with_suffix(".toml").write_text("[")
    with pytest.raises(PalestraError, match="no model card"):
        jobs_of(eyes, tmp_path / "out", weights=out)


@shipped
@pytest.mark.slow
def test_a_network_of_another_kind_is_refused(adapted, eyes, tmp_path):
    _, out, _ = adapted
    other = tmp_path / "other.onnx"
    onnx = pytest.importorskip("onnx")
    model = onnx.load_model_from_string(out.read_bytes())
    model.graph.output[0].name = model.graph.node[-1].output[0] = "something"
    for node in model.graph.node:
        node.output[:] = ["something" if name == "logits" else name for name in node.output]
    model_cards.write_weights(other, model.SerializeToString(), model_cards.card_of(out))
    with pytest.raises(PalestraError, match="not a network that reads eyes"):
        jobs_of(eyes, tmp_path / "out", weights=other)


@shipped
@pytest.mark.slow
def test_the_command_says_before_and_after_and_what_to_do_next(learnt, cli, eyes, monkeypatch):
    found, _, _ = learnt
    monkeypatch.setattr(device, "adapt", lambda *given: found)
    ran = cli("adapt", eyes, "--labels", eyes.parent / "labels", "--out", eyes.parent / "again.onnx", "--json")
    assert ran.code == 0 and "held-out labels: mIoU" in ran.err and "--weights" in ran.err
    assert ran.json["labelled"] == 4 and ran.json["miou_after"] > ran.json["miou_before"]


@shipped
def test_weights_that_do_no_better_are_not_written(cli, eyes, monkeypatch):
    worse = Adapted(Score(0.9, 0.01), Score(0.8, 0.01), False, 4, 1, 0, None)
    monkeypatch.setattr(device, "adapt", lambda *given: worse)
    ran = cli("adapt", eyes, "--labels", eyes.parent / "labels")
    assert ran.code == 1 and "no better" in ran.err and not (eyes.parent / "eyes-reader.onnx").exists()


@pytest.mark.parametrize(
    ("before", "after", "better"),
    [
        (Score(0.8, 0.02), Score(0.9, 0.03), True),
        (Score(0.8, 0.02), Score(0.8, 0.01), False),
        (Score(None, 0.02), Score(None, 0.01), True),
        (Score(None, 0.02), Score(None, 0.02), False),
    ],
)
def test_what_counts_is_the_overlap_and_without_masks_the_pupil(before, after, better):
    assert after.beats(before) == better


def test_without_torch_it_says_what_to_install(cli, eyes, monkeypatch):
    monkeypatch.setattr(device.importlib.util, "find_spec", lambda name: None)
    ran = cli("adapt", eyes)
    assert ran.code == 1 and "pip install 'palestra[train]'" in ran.err


@pytest.mark.parametrize(("name", "words"), [("device.bin", "end in .onnx"), ("mine.onnx", "was not written by")])
def test_nothing_is_written_over_that_is_not_ours(cli, eyes, name, words):
    (eyes.parent / name).write_text("mine")
    ran = cli("adapt", eyes, "--out", eyes.parent / name)
    assert ran.code == 1 and words in ran.err and (eyes.parent / name).read_text() == "mine"


@shipped
def test_nothing_to_learn_from_is_told(cli, tmp_path):
    (tmp_path / "eyes").mkdir()
    cv2.imwrite(str(tmp_path / "eyes" / "grey.png"), np.full((400, 640), 128, np.uint8))
    ran = cli("adapt", tmp_path / "eyes")
    assert ran.code == 1 and "nothing to learn from" in ran.err


# --- parts


def labels_of(count):
    return [Label(f"{number}.png", drawn_eye(), mask_of(drawn_eye())) for number in range(count)]


@pytest.mark.parametrize(("count", "held_out"), [(1, 0), (2, 0), (3, 1), (5, 1), (10, 2), (12, 2)])
def test_one_label_in_five_is_held_out_and_none_of_two(count, held_out):
    learnt, others = split(labels_of(count))
    assert len(others) == held_out and len(learnt) + len(others) == count
    assert {label.name for label in learnt}.isdisjoint(label.name for label in others)


def test_a_pupil_that_is_not_found_is_as_far_off_as_the_picture_is_wide():
    labels = labels_of(1)
    found = Reading((), labels[0].mask, pupil=Ellipse(326.4, 200, 76, 76, 0))
    assert score(labels, [found]).miou == 1 and score(labels, [found]).pupil_off == pytest.approx(0.01, abs=1e-3)
    assert score(labels, [Reading((), labels[0].mask)]).pupil_off == 1


def test_windows_show_the_eye_with_its_mask_and_nobody_knows_what_lies_beyond():
    rng = np.random.default_rng(0)
    image = drawn_eye(x=0.3)
    for window in windows_of([Eye(image.astype(np.float32), mask_of(image))], 40, rng):
        assert window.seen.shape == window.mask.shape == (200, 320)
        known = window.mask != IGNORED
        assert known.mean() > 0.3 and (window.mask == 3).any()
        blurred = np.abs(window.seen - np.array([LEVELS[number] for number in range(4)] + [0] * 252)[window.mask])
        assert np.median(blurred[known]) < 3
        lit = in_other_light(window, rng)
        assert lit.shape == (200, 320) and 0 <= lit.min() <= lit.max() <= 255 and lit.std() > 5
        assert no_eye(window.seen, rng).shape == (200, 320)


def test_the_shipped_reader_reads_what_it_is_sure_of_without_labels(tmp_path, monkeypatch):
    with standing_in(tmp_path):
        for number in range(3):
            (tmp_path / "eyes").mkdir(exist_ok=True)
            cv2.imwrite(str(tmp_path / "eyes" / f"{number}.png"), drawn_eye(x=0.45 + 0.03 * number))
        found = device._sure_eyes(pictures_of(tmp_path / "eyes"), {"1.png"}, device.Settings(upside_down=False))
    assert len(found) == 2 and all((eye.mask == 3).any() for eye in found)
