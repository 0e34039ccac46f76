"""Pictures of heads: eyes are where geometry puts them, lids close, noses hide what is behind them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from palestra.metrics.transforms import Head, Image, Pose, World
from palestra.tracks.remote_gaze.simulator.ball import RADIUS_M
from palestra.tracks.remote_gaze.simulator.eyes import lids_at, optical_axis
from palestra.tracks.remote_gaze.simulator.head import Look, Renderer
from palestra.tracks.remote_gaze.simulator.maps import map_places
from palestra.tracks.remote_gaze.simulator.person import PEOPLE, WOMEN, draw_people
from palestra.tracks.remote_gaze.simulator.room import draw_room
from palestra.tracks.remote_gaze.simulator.shape import surface_of
from palestra.tracks.remote_gaze.simulator.stage import cameras, rotations
from tests.tracks.remote_gaze.irises import iris_centre_m

SEAT = World(np.array([0.0, 0.01, 0.15]))
SCREEN = (0.0, 0.2, 1.0)


@pytest.fixture(scope="module")
def person():
    drawn = draw_people(np.random.default_rng(3))[0]
    # Wide open, so that the lids cut nothing off an iris that is looked for.
    return replace(drawn, opening_mm=17.0, iris=(0.05, 0.05, 0.05), texture_seed=5)


@pytest.fixture(scope="module")
def surface(person):
    return surface_of(person)


@pytest.fixture(scope="module")
def views():
    return cameras(np.random.default_rng(1))


def room(condition="A"):
    return draw_room(condition, np.random.default_rng(1), np.random.default_rng(2))


def look(person, yaw_deg=0.0, pitch_deg=8.0, target=SCREEN, **more):
    head = Pose(rotations(np.radians([yaw_deg, pitch_deg, 0.0])), np.asarray(SEAT))
    gaze = np.array(target) - head(Head(person.eyes_mm / 1000))
    return Look(head, World(gaze / np.linalg.norm(gaze, axis=1, keepdims=True)), **more)


@pytest.fixture(scope="module")
def irises(person, surface, views):
    """How much each pixel shows of an iris: pictures with irises of two colours differ there and nowhere else."""

    @cache
    def renderers(which):
        coloured = [replace(person, iris=iris) for iris in ((0.05, 0.05, 0.05), (0.6, 0.05, 0.05))]
        return [Renderer(who, surface, room(), views[which], SEAT) for who in coloured]

    def changed(which, seen):
        first, second = (each.picture(seen, np.random.default_rng(0))[..., 0] for each in renderers(which))
        return np.abs(first.astype(float) - second)

    return changed


def beside(camera, head, changed, which):
    """The changed pixels of the left (0) or the right (1) eye: of the picture's right or left half of the face."""
    middle = float(camera.project(head(Head(np.array([0.0, 0.0, 0.1]))))[0])
    columns = np.arange(changed.shape[1])
    return changed * ((columns > middle) if which == 0 else (columns < middle))


@pytest.mark.parametrize("which_camera, most_px", [("rgb_vga", 0.5), ("rgb_hd", 1.0)])
@pytest.mark.parametrize("target", [(0.0, 0.2, 1.0), (0.26, 0.2, 1.0), (-0.26, 0.1, 1.0)])
def test_irises_are_seen_where_the_optical_axes_put_them(person, views, irises, which_camera, most_px, target):
    camera, seen = views[which_camera], look(person, target=target)
    changed = irises(which_camera, seen)
    rows, columns = np.indices(changed.shape)
    for which in (0, 1):
        weight = beside(camera, seen.head, changed, which)
        axis = optical_axis(person, which, seen.head.rotation.T @ seen.gaze[which])
        expected = camera.project(seen.head(Head(iris_centre_m(person, which, axis))))
        found = np.array([(columns * weight).sum(), (rows * weight).sum()]) / weight.sum()
        assert np.linalg.norm(found - expected) < most_px


def test_an_eye_is_about_18_pixels_wide_in_vga_and_over_50_in_hd(person, views):
    lids = lids_at(person, 0.0, 1.0)
    for which, least, most in (("rgb_vga", 15, 21), ("rgb_hd", 50, 62)):
        corners = np.array([[person.eyes_mm[0, 0] + x, 4.0, 78.0] for x in (lids.inner_mm[0], lids.outer_mm[0])]) / 1000
        across = np.diff(views[which].project(look(person).head(Head(corners)))[:, 0])[0]
        assert least < across < most


def test_lids_close_over_the_iris(person, irises):
    shown = [irises("rgb_vga", look(person, opening=o)).sum() for o in (1.0, 0.4, 0.0)]
    assert shown[0] > 1.5 * shown[1] > 0
    assert shown[2] == 0


def test_the_upper_lid_follows_the_gaze(person):
    down, ahead, up = (lids_at(person, pitch, 1.0).upper_mm for pitch in (-25.0, 0.0, 25.0))
    assert down < ahead < up


def test_a_nose_hides_the_far_eye(person, views, irises):
    camera, ahead, turned = views["rgb_vga"], look(person), look(person, yaw_deg=70.0, target=(1.0, 0.1, 0.9))
    both = irises("rgb_vga", ahead)
    assert beside(camera, ahead.head, both, 0).sum() > 0
    assert irises("rgb_vga", turned).sum() < 0.6 * both.sum()


def test_visual_and_optical_axes_differ_to_the_temples(person):
    ahead = np.array([0.0, 0.0, 1.0])
    left, right = (optical_axis(person, which, ahead) for which in (0, 1))
    assert left[0] > 0 > right[0]
    assert np.degrees(np.arcsin(left[0])) == pytest.approx(person.kappa_deg[0, 0], abs=0.1)


def test_depths_lie_on_the_head(person, surface, views):
    """Pixels brought back into the head's frame are on the surface that the map describes."""
    camera, seen = views["depth"], look(person, yaw_deg=15)
    far, _ = Renderer(person, surface, room(), camera, SEAT).depth_m(seen)
    middle = camera.project(seen.head(Head(np.array([0.0, 0.0, 0.1])))).round().astype(int)
    rows, columns = np.mgrid[middle[1] - 30 : middle[1] + 30, middle[0] - 25 : middle[0] + 25]
    pixels = Image(np.stack([columns, rows], axis=-1).astype(float))
    place = seen.head.back()(camera.lift(pixels, far[rows, columns].astype(float)))
    length = np.linalg.norm(place, axis=-1)
    on_map = map_places(*np.moveaxis(place.astype(np.float32), -1, 0), length.astype(np.float32))
    radius = surface.radius_m[on_map[1].round().astype(int), on_map[0].round().astype(int)]
    assert np.median(np.abs(length - radius)) < 0.0005
    assert np.percentile(np.abs(length - radius), 95) < 0.003
    assert 0.70 < far[rows, columns].min() < 0.78  # a nose before a head's middle at 85 cm


def test_the_ball_hangs_before_everything(person, surface, views):
    ball = World(np.array([0.02, 0.0, 0.5]))
    camera, seen = views["rgb_vga"], look(person, ball=ball)
    renderer = Renderer(person, surface, room(), camera, SEAT)
    column, row = camera.project(ball).round().astype(int)
    red, _, blue = renderer.picture(seen, np.random.default_rng(0))[row, column].astype(int)
    assert red > 2 * blue
    far, _ = renderer.depth_m(seen)
    assert far[row, column] == pytest.approx(0.5 - RADIUS_M, abs=0.001)


def test_pictures_are_the_same_to_the_byte_and_people_are_not(person, surface, views):
    seen = look(person)
    first, again = (
        Renderer(person, surface_of(person), room(), views["rgb_vga"], SEAT).picture(seen, np.random.default_rng(4))
        for _ in range(2)
    )
    assert first.tobytes() == again.tobytes()
    other = draw_people(np.random.default_rng(9))[2]
    shown = Renderer(other, surface_of(other), room(), views["rgb_vga"], SEAT).picture(seen, np.random.default_rng(4))
    assert np.abs(first.astype(int) - shown)[100:300, 250:400].mean() > 5


def test_conditions_differ_in_light(person, surface, views):
    bright = [
        Renderer(person, surface, room(condition), views["rgb_vga"], SEAT)
        .picture(look(person), np.random.default_rng(0))[:100]
        .mean()
        for condition in ("A", "B")
    ]
    assert abs(bright[0] - bright[1]) > 5


@pytest.mark.parametrize("seed", range(3))
def test_twelve_men_and_four_women_are_drawn(seed):
    people = draw_people(np.random.default_rng(seed))
    assert (len(people), sum(person.woman for person in people)) == (PEOPLE, WOMEN) == (16, 4)
    left, right = np.array([person.eyes_mm for person in people]).transpose(1, 0, 2)
    assert (left[:, 0] > 25).all()
    assert np.array_equal(left[:, 0], -right[:, 0])
