"""Conditions that real pictures have: what each slider does to a picture, and what it leaves alone."""

import pytest

torch = pytest.importorskip("torch")

from palestra.eyes.simulator import torch_conditions as conditions  # noqa: E402
from palestra.eyes.simulator.torch_conditions import CONDITIONS, SHARES, Scene, under, varied  # noqa: E402

HEIGHT, WIDTH = 200, 320


class Chance:
    def __init__(self, seed=0):
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, low, high, *size):
        return low + (high - low) * torch.rand(*size, generator=self.generator)

    def normal(self, *size):
        return torch.randn(*size, generator=self.generator)


def eyes(count=16, size=1):
    """Flat eyes: skin of 100, a white of 110, an iris of 70, a pupil of 30, between two arcs."""
    high, wide = HEIGHT * size, WIDTH * size
    x = torch.arange(wide) / size
    inside = ((x - 160) / 110).abs() < 1
    arc = torch.sqrt((1 - ((x - 160) / 110) ** 2).clamp(min=0)) * 40
    upper, lower = (100 - arc) * size, (100 + arc) * size
    rows = torch.arange(high)[:, None]
    open_there = (rows >= upper) & (rows <= lower) & inside
    radius = torch.hypot(x[None] - 160, rows / size - 100)
    mask = open_there * (1 + (radius < 38).int() + (radius < 14).int())
    image = torch.tensor([100.0, 110.0, 70.0, 30.0])[mask]
    many = (part.expand(count, *part.shape).contiguous() for part in (image, mask.to(torch.uint8), upper, lower))
    return Scene(*many)


def of(part, scene, image):
    return image[scene.mask == part].mean()


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_slider_at_nought_leaves_a_picture_as_it_is_and_a_higher_one_changes_more(name):
    scene = eyes()
    none, some, most = (under(name, scene, slider, Chance()) for slider in (0.0, 0.5, 1.25))
    assert torch.allclose(none, scene.image, atol=1e-3)
    changed = [(image - scene.image).abs().mean() for image in (some, most)]
    assert 0 < changed[0] < changed[1]
    assert most.min() >= 0 and most.max() <= 255


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_does_the_same_at_twice_the_size(name):
    changes = []
    for size in (1, 2):
        scene = eyes(size=size)
        changes.append((under(name, scene, 1.0, Chance()) - scene.image).abs().mean())
    assert changes[1] == pytest.approx(float(changes[0]), rel=0.35)


def test_uneven_light_makes_skin_brighter_than_the_white():
    scene = eyes(64)
    image = under("uneven light", scene, 1.0, Chance())
    assert of(1, scene, scene.image) > of(0, scene, scene.image)
    assert of(1, scene, image) < 0.8 * of(0, scene, image)
    assert of(3, scene, image) == pytest.approx(30, abs=2)


def test_a_burnt_cheek_is_below_the_eye_and_leaves_the_eye_alone():
    scene = eyes(64)
    gain = under("burnt cheek", scene, 1.0, Chance()) / scene.image
    assert gain[:, 145:185, 80:240].mean() > 1.15 and gain[:, :50].max() < 1.01
    assert gain[scene.mask == 2].max() < 1.05


def test_corners_of_the_white_lie_in_shade_and_its_middle_does_not():
    scene = eyes(64)
    gain = under("shaded corners", scene, 1.0, Chance()) / scene.image
    assert gain[:, 95:105, 58:70].mean() < 0.8 and gain[:, 95:105, 125:195].min() > 0.97


def test_a_lens_ring_is_bright_with_darkness_beyond_it():
    scene = eyes(64)
    image = under("lens ring", scene, 1.0, Chance())
    assert image.amax((1, 2)).min() > 115 and (image.amin((1, 2)) < 25).any()


def test_tear_glints_are_small_lie_between_the_lids_and_mostly_low():
    scene = eyes(64)
    more = under("tear glints", scene, 1.0, Chance()) - scene.image
    rows = torch.where(more > 60)[1]
    assert 0.0005 < (more > 60).float().mean() < 0.01
    assert rows.float().median() > 105 and rows.min() > 50 and rows.max() < 150


def test_the_upper_lids_edge_is_bright_above_the_eye_alone():
    scene = eyes(64)
    more = under("bright lid margin", scene, 1.0, Chance()) - scene.image
    assert more[:, 50:59, 150:170].max() > 40 and more[:, 62:, 140:180].abs().max() < 1e-3


def test_mascara_only_takes_light_and_crosses_the_eye():
    scene = eyes(64)
    less = scene.image - under("mascara", scene, 1.0, Chance())
    assert less.min() > -1e-3 and (less[:, 65:90, 100:220] > 20).float().mean() > 0.005


def test_streaks_of_glasses_only_add_light():
    scene = eyes(64)
    more = under("glasses streaks", scene, 1.0, Chance()) - scene.image
    assert more.min() > -1e-3 and 0.002 < (more > 30).float().mean() < 0.1


def test_training_draws_each_condition_about_as_often_as_its_share_says():
    asked = dict.fromkeys(CONDITIONS, 0)
    scene, chance = eyes(40), Chance(3)

    def counted(name, condition):
        def count(some, slider, chance):
            asked[name] += len(some.image)
            assert slider.shape == (len(some.image), 1, 1) and slider.min() >= 0 and slider.max() <= 1
            return condition(some, slider, chance)

        return count

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "CONDITIONS", {name: counted(name, CONDITIONS[name]) for name in CONDITIONS})
        for _ in range(8):
            image = varied(scene, chance)
    assert asked.keys() == SHARES.keys()
    for name, share in SHARES.items():
        assert asked[name] / 320 == pytest.approx(share, abs=0.1)
    assert not torch.equal(image, scene.image) and torch.equal(scene.image, eyes(40).image)
