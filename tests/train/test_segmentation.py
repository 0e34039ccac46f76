"""The trained solutions of sparse segmentation, in a small form: that they learn, what they write, what they are."""

import sys
import zipfile
from dataclasses import replace

import cv2
import numpy as np
import onnxruntime
import pytest

from tests import ROOT
from tests.test_layers import STANDARD, imports

torch = pytest.importorskip("torch")

from train import results  # noqa: E402
from train import segmentation_baseline as baseline  # noqa: E402
from train import segmentation_bts_digital as bts_digital  # noqa: E402
from train import segmentation_common as common  # noqa: E402
from train import segmentation_jhu as jhu  # noqa: E402
from train import segmentation_losses as losses  # noqa: E402
from train import segmentation_palestra as ours  # noqa: E402
from train import segmentation_tetelias as tetelias  # noqa: E402
from train import segmentation_views as views  # noqa: E402
from train.learning import Schedule  # noqa: E402


def count(network):
    return sum(part.numel() for part in network.parameters())


@pytest.fixture(scope="module")
def data():
    """Two sequences of six frames that show a bright eye with a dark iris and a darker pupil, by hand."""
    rng = np.random.default_rng(0)
    pictures, masks = [], []
    for k in range(12):
        mask = np.zeros((400, 640), np.uint8)
        at = (300 + 8 * k, 200)
        cv2.ellipse(mask, (320, 200), (200, 90), 0, 0, 360, 1, -1)
        cv2.circle(mask, at, 80, 2, -1)
        cv2.circle(mask, at, 30, 3, -1)
        pictures.append(np.array([120, 200, 80, 30])[mask] + rng.normal(0, 2, mask.shape))
        masks.append(mask)
    labelled = torch.tensor([0, 2, 4, 5, 6, 8, 10, 11])
    return common.Data(
        pictures=torch.tensor(np.array(pictures)).to(torch.uint8),
        labelled=labelled,
        masks=torch.tensor(np.array(masks))[labelled],
        sequence=torch.arange(12) // 6,
        frame=torch.arange(12) % 6,
    )


def test_the_networks_have_as_many_parameters_as_the_recipes_say():
    assert count(baseline.Network()) == pytest.approx(40_000, rel=0.05)
    assert count(tetelias.DABNet()) == pytest.approx(760_000, rel=0.03)
    assert count(jhu.UNet()) == pytest.approx(1_900_000, rel=0.05)
    assert count(bts_digital.Network()) > 11_000_000
    assert count(ours.Network()) * 4 < 5_000_000


@pytest.mark.parametrize("make", [bts_digital.Network, tetelias.DABNet, jhu.UNet, baseline.Network])
def test_a_network_tells_four_classes_of_each_pixel(make):
    with torch.no_grad():
        assert make().eval()(torch.zeros(1, 1, 400, 640)).shape == (1, 4, 400, 640)


def test_losses_are_what_a_hand_works_out():
    found = torch.zeros(1, 4, 1, 2)
    masks = torch.tensor([[[1, losses.IGNORED]]], dtype=torch.uint8)
    assert losses.cross_entropy(found, masks).item() == pytest.approx(np.log(4))
    plain, focal = losses.binary(found, masks)
    assert plain.item() == pytest.approx(np.log(2)) and focal.item() == pytest.approx(np.log(2) / 4)
    # Class 1 has 2·¼ + 1 over ¼ + 1 + 1, each of the others 1 over ¼ + 1.
    assert losses.dice(found, masks).item() == pytest.approx(1 - (1.5 / 2.25 + 3 / 1.25) / 4)


def test_a_perfect_answer_costs_nothing():
    masks = torch.randint(0, 4, (1, 8, 8)).to(torch.uint8)
    found = 40.0 * torch.nn.functional.one_hot(masks.long(), 4).permute(0, 3, 1, 2).float() - 20
    assert bts_digital.loss(found, masks).item() < 1e-3


def test_ours_asks_of_iris_and_pupil_only_where_the_eye_is_open():
    masks = torch.zeros(1, 400, 640, dtype=torch.uint8)
    masks[:, 100:200], masks[:, 120:140] = 1, 2
    masks[:, :50] = losses.IGNORED
    share, known = ours.targets(masks)
    assert known[0, :, 60:, 0].sum(1).tolist() == [140.0, 40.0, 40.0]
    assert share[0, 1, 60:70].min() == 1 and share[0, 1, 50:60].max() == 0 and known[0, :, :25].max() == 0


def test_edges_count_more_than_what_is_plain():
    share, known = torch.zeros(1, 3, 200, 320), torch.ones(1, 3, 200, 320)
    share[..., 160:] = 1
    found = 20 * share - 10
    near, far = found.clone(), found.clone()
    near[..., 160], far[..., 300] = -10, -10
    assert ours.loss(near, share, known) > 4 * ours.loss(far, share, known)


def test_pictures_and_masks_move_together(data):
    """Grey levels are those of the classes, wherever a picture was turned to."""
    torch.manual_seed(0)
    pictures, masks = data.floats(data.labelled), data.masks
    for seen, true in (views.moved(pictures, masks, 20.0, 1.3, 0.2), views.flipped(pictures, masks)):
        level = torch.tensor([120.0, 200.0, 80.0, 30.0])[true.long().clamp(max=3)]
        known = true != losses.IGNORED
        assert ((seen[:, 0] - level).abs()[known] < 12).float().mean() > 0.97
    mixed, true = tetelias.fmixed(pictures, masks, share=1.0)
    level = torch.tensor([120.0, 200.0, 80.0, 30.0])[true.long()]
    assert ((mixed[:, 0] - level).abs() < 12).float().mean() > 0.999 and (true != masks).any()


def test_grid_mask_takes_squares_away_and_leaves_the_rest():
    torch.manual_seed(0)
    seen = tetelias.grid_masked(torch.ones(4, 1, 400, 640), share=1.0)
    assert 0.08 < (seen == 0).float().mean() < 0.25 and (seen[seen != 0] == 1).all()


def test_the_rate_falls_to_nothing_in_steps_or_along_a_cosine():
    plain = Schedule(10.0, 100, 1.0, 4)
    assert plain.rate_at(0.5) == pytest.approx(0.5) and plain.rate_at(1.0) == pytest.approx(0, abs=1e-9)
    stepped = replace(plain, falls=(0.6, 0.8))
    assert [stepped.rate_at(share) for share in (0.5, 0.7, 0.9)] == pytest.approx([1.0, 0.1, 0.01])


def test_overlap_is_one_confusion_over_all_masks():
    found, true = torch.tensor([[[0, 1]], [[2, 3]]]), torch.tensor([[[0, 1]], [[2, 2]]])
    mean, each = common.miou(found, true)
    assert each == [1, 1, 0.5, 0] and mean == pytest.approx(0.625)


def test_a_stopped_training_goes_on(data, tmp_path, capsys):
    for _ in range(2):
        baseline.train(data, tmp_path, 60.0, small=True)
    assert capsys.readouterr().out.count("epoch 1,") == 1


def ask(file, pictures):
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return session.run(None, {"pictures": pictures})[0]


SCRIPTS = {"baseline": baseline, "palestra": ours, "bts_digital": bts_digital, "tetelias": tetelias, "jhu": jhu}


@pytest.mark.parametrize("train", [script.train for script in SCRIPTS.values()], ids=list(SCRIPTS))
def test_from_pictures_to_masks_weights_and_what_is_noted_of_them(train, data, tmp_path):
    made = train(data, tmp_path / "work", 60.0, small=True)
    (tmp_path / "asked.txt").write_text("S_0/1\nS_1/3\nS_9/9\n")
    common.write(made, data, tmp_path, tmp_path / "out", 12.3)
    (noted,) = results.read(tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "out" / f"segmentation_{made.name}.zip") as kept:
        assert kept.namelist() == ["S_0/1.png", "S_1/3.png"]
        mask = cv2.imdecode(np.frombuffer(kept.read("S_1/3.png"), np.uint8), cv2.IMREAD_UNCHANGED)
    assert mask.shape == (400, 640) and mask.max() <= 3
    file = tmp_path / "out" / f"eye_segmentation_{made.name}.onnx"
    assert noted.bytes == file.stat().st_size and noted.parameters == made.parameters and noted.train_s == 12.3
    assert (tmp_path / "out" / noted.predictions).is_file() and noted.weights == file.stem
    assert {f"segmentation_{name}.zip" for name in (made.name, *made.others)} == {
        one.name for one in (tmp_path / "out").glob("*.zip")
    }
    pictures = np.random.default_rng(0).uniform(0, 255, (3, *made.inputs)).astype(np.float32)
    with torch.no_grad():
        expected = made.network(torch.from_numpy(pictures)).numpy()
    np.testing.assert_allclose(ask(file, pictures), expected, atol=2e-3)


def test_dabnet_is_written_for_onnxruntime_too(tmp_path):
    network = common.Ensemble([tetelias.DABNet(1, (4,))])
    made = common.Made("x", network, lambda rows: rows, 0.0, "")
    common.write_onnx(made, tmp_path / "x.onnx")
    assert ask(tmp_path / "x.onnx", np.zeros((1, 1, 400, 640), np.float32)).shape == (1, 4, 400, 640)


def test_a_network_learns_the_eyes_by_hand(data, tmp_path, monkeypatch):
    quick = Schedule(1e6, steps=60, rate=1e-2, batch=6, epoch=60)
    monkeypatch.setattr(Schedule, "small", lambda self: quick)
    made = baseline.train(data, tmp_path, 60.0, small=True)
    assert made.validation > 0.6


FILES = [f"train/segmentation_{name}.py" for name in
         ("common", "views", "losses", "baseline", "bts_digital", "tetelias", "jhu", "palestra", "all")]  # fmt: skip
FILES += [f"train/{name}.py" for name in ("learning", "eye_world", "eye_reader", "near_eye_palestra")]


@pytest.mark.parametrize(
    "file", [*FILES, *(f"palestra/tracks/eye_segmentation/solutions/{x}.py" for x in ("edges", "shapes", "sequence"))]
)
def test_training_needs_nothing_that_bare_machines_lack(file):
    outside = {name.split(".")[0] for name in imports(ROOT / file, whole=True)} - {"palestra", "train"}
    assert outside <= STANDARD | set(sys.stdlib_module_names)
