"""The ball is found where it is, and nothing else is taken for it."""

import numpy as np
import pytest

from palestra.metrics.transforms import World
from palestra.studio.track.ball_colour import Disc, learn
from palestra.studio.track.ball_tracker import BallTracker
from palestra.studio.track.head_start import Reach
from palestra.studio.track.sphere import fit_sphere, free_radius
from tests.studio.track.recorded import RIG
from tests.studio.track.scene import BALL_M, COLOUR_CAMERA, HAND, LARGE, THING, Look, Person, Scene, moving_head

NECK = np.array([0.0, -0.09, -0.23])
HEAD = moving_head(1, (0.0, 0.0, -0.2))[0]
FIRST = np.array([0.1, 0.05, 0.35])
THINGS = (
    (np.array([0.25, -0.15, 0.2]), np.array([0.06, 0.08, 0.05]), LARGE),
    (np.array([-0.25, 0.15, 0.3]), np.array([0.035, 0.02, 0.008]), THING),
)


@pytest.fixture(scope="module")
def scene():
    return Scene(Person(1), rng=np.random.default_rng(2))


def tracker_of(scene):
    middle = COLOUR_CAMERA.project(World(FIRST))
    picture = scene.colour(Look(HEAD, FIRST, shoulders=NECK))
    colour = learn([(picture, Disc(*middle, 525 * BALL_M / (1 - FIRST[2])))])
    return BallTracker(colour, RIG, BALL_M, Reach())


def find(tracker, scene, look, light=1.0):
    return tracker.find(scene.colour(look, light), scene.depth(look))


def test_a_ball_that_moves_is_found_within_three_millimetres_among_things_of_its_colour(scene):
    tracker, off, naive = tracker_of(scene), [], []
    for at in np.arange(12) / 5:
        place = np.array([0.2 * np.sin(2.1 * at), 0.05 + 0.12 * np.sin(1.5 * at), 0.35 + 0.15 * np.sin(1.1 * at)])
        look = Look(HEAD, place, THINGS, NECK)
        ball = find(tracker, scene, look)
        assert ball is not None
        off.append(np.linalg.norm(ball.centre - place))
        rows, columns = np.nonzero(tracker._colour.likelihood(scene.colour(look)) > 0.5)
        middle = np.array([columns.mean(), rows.mean()])
        naive.append(np.linalg.norm(middle - COLOUR_CAMERA.project(World(place))))
    assert np.median(off) < 0.001 and max(off) < 0.003
    assert np.median(naive) > 10  # pixels, where the middle of all of its colour is


@pytest.mark.parametrize(
    "look",
    [
        Look(HEAD, None, THINGS, NECK),
        Look(HEAD, None, (), NECK),
        Look(HEAD, FIRST, ((FIRST + [0.0, 0, 0.06], np.array([0.05, 0.05, 0.01]), HAND),), NECK),
        Look(HEAD, None, ((FIRST, np.array([0.02, 0.02, 0.02]), HAND),), NECK),  # a ball of another colour
        Look(HEAD, np.array([0.0, 0.0, -1.2]), (), NECK),  # behind all that is in reach
    ],
    ids=["things of its colour", "nothing", "behind a hand", "another colour", "too far"],
)
def test_no_ball_is_found_where_there_is_none(scene, look):
    tracker = tracker_of(scene)
    assert find(tracker, scene, Look(HEAD, FIRST, shoulders=NECK)) is not None
    assert find(tracker, scene, look) is None


@pytest.mark.parametrize("hidden", [0.1, 0.3, 0.5, 0.8])
def test_a_ball_that_is_partly_hidden_is_found_where_it_is_or_not_at_all(scene, hidden):
    edge = FIRST + [BALL_M * (2 * hidden - 1) - 0.06, 0, 0.05]
    look = Look(HEAD, FIRST, ((edge, np.array([0.06, 0.06, 0.01]), HAND),), NECK)
    ball = find(tracker_of(scene), scene, look)
    assert ball is None or np.linalg.norm(ball.centre - FIRST) < 0.003
    assert ball is not None or hidden > 0.4  # of what is half hidden nothing is said


def test_a_darker_room_is_no_other_colour(scene):
    ball = find(tracker_of(scene), scene, Look(HEAD, FIRST, shoulders=NECK), light=0.7)
    assert ball is not None and np.linalg.norm(ball.centre - FIRST) < 0.003


def test_of_two_balls_the_followed_one_is_taken_and_neither_where_none_was(scene):
    other = (np.array([-0.15, -0.05, 0.35]), np.full(3, BALL_M), LARGE)
    both = Look(HEAD, FIRST, (other,), NECK)
    assert find(tracker_of(scene), scene, both) is None
    tracker = tracker_of(scene)
    assert find(tracker, scene, Look(HEAD, FIRST, shoulders=NECK)) is not None
    ball = find(tracker, scene, both)
    assert ball is not None and np.linalg.norm(ball.centre - FIRST) < 0.003


def test_a_sphere_is_laid_on_its_points_and_a_larger_one_is_known_by_its_radius():
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(400, 3))
    ways[:, 2] = np.abs(ways[:, 2])
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    points = 0.02 * ways + [0.1, 0.2, 0.3] + rng.normal(0, 0.001, (400, 3))
    sphere = fit_sphere(points, np.array([0.105, 0.195, 0.295]), 0.02, 0.004)
    assert sphere is not None and np.linalg.norm(sphere.centre - [0.1, 0.2, 0.3]) < 0.0005
    assert abs(free_radius(points, sphere.centre, 0.02) - 0.02) < 0.002
    assert free_radius(2 * points, 2 * sphere.centre, 0.02) > 0.03
