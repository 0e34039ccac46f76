"""The pictures that networks for eyes learn from: how they are framed, and what is still asked of them."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from train import eye_world as script  # noqa: E402
from train.eye_world import Framing, World, framed, moved  # noqa: E402

torch.set_num_threads(1)  # others need theirs
STILL = Framing(turn_deg=0.0, usual=(1.0, 1.0), wide=(1.0, 1.0), shift=0.0, margins=0.0)


@pytest.fixture(scope="module")
def world():
    return World(4, "cpu", 3, compiled=False)


@pytest.fixture(scope="module")
def drawn(world):
    return world.batch(48)


def iris_widths(masks):
    return (masks >= script.IRIS).any(1).sum(1)


def test_irises_are_from_very_small_to_nearly_the_whole_width(world, drawn):
    widths = torch.cat([iris_widths(moved(world, drawn, Framing()).mask) for _ in range(12)]) / script.WIDTH
    widths = widths[widths > 0.02]
    assert widths.quantile(0.02) < 0.15 and widths.quantile(0.99) > 0.7
    assert 0.2 < widths.median() < 0.4


def test_an_eye_that_is_brought_near_keeps_its_iris_in_sight(world, drawn):
    near = replace(STILL, usual=(3.0, 3.0), wide=(3.0, 3.0), shift=0.2)
    found = moved(world, drawn, near)
    open_wide = drawn.opening > 0.7
    assert (found.mask >= script.IRIS).any(2).any(1)[open_wide].float().mean() > 0.95
    assert found.shown[open_wide].median() > 0.5


def test_without_movement_nothing_moves_but_sides_may_change(world, drawn):
    found = moved(world, drawn, STILL)
    kept = found.left == 1
    # Widths are still squeezed a little, which shifts edges.
    same = (found.mask == torch.where(kept[:, None, None], drawn.mask, drawn.mask.flip(2))).float().mean((1, 2))
    assert same.median() > 0.97 and found.shown.min() > 0.85
    assert torch.allclose(found.axis[kept], drawn.axis[kept]) and torch.allclose(
        found.axis[~kept][:, 0], -drawn.axis[~kept][:, 0]
    )


def test_margins_hold_no_eye_and_the_picture_within_them_is_as_it_was(world, drawn):
    image, found = framed(world, drawn.image, drawn, Framing(margins=1.0))
    kept = (found.mask == drawn.mask) & (drawn.mask > 0)
    assert torch.equal(image[kept], drawn.image[kept])
    assert not (found.mask > drawn.mask).any() and (found.mask.sum((1, 2)) <= drawn.mask.sum((1, 2))).all()
    before = (drawn.mask >= script.IRIS).sum((1, 2))
    after = (found.mask >= script.IRIS).sum((1, 2))
    asked = before > 0
    assert torch.allclose(found.shown[asked], (after / before.clamp(min=1))[asked]) and (found.shown < 0.99).any()


def test_margins_are_smeared_mirrored_black_or_grey(world):
    ramp = torch.linspace(0, 250, script.WIDTH)[None, None].expand(200, script.HEIGHT, -1)
    blank = world.batch(200)
    image, _ = framed(world, ramp, blank, Framing(margins=1.0, inner=0.3))
    beyond = [row[0] for row in image[:, script.HEIGHT // 2]]  # the first column
    values = torch.stack(beyond)
    assert (values == 0).any() and (values > 0).any()
    flat = image[:, script.HEIGHT // 2, :8].std(1) < 1e-3
    assert flat.any() and (~flat).any()
    assert image.min() >= 0 and image.max() <= 255


def test_half_closed_eyes_are_more_where_they_are_asked_for():
    plain, squinting = (World(2, "cpu", 3, compiled=False, squints=share) for share in (0.0, 0.9))
    narrow = [((looks.opening > 0.14) & (looks.opening < 0.46)).float().mean() for looks in
              (plain.looks(500), squinting.looks(500))]  # fmt: skip
    assert narrow[1] > narrow[0] + 0.4
