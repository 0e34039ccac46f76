"""Heads are found where they are, also after they were lost, and nowhere else."""

import numpy as np
import pytest

from palestra.metrics.transforms import Pose
from palestra.studio.track.eye_centres import eye_centres
from palestra.studio.track.head_fit import fit
from palestra.studio.track.head_icp import align
from palestra.studio.track.head_start import Reach
from palestra.studio.track.head_template import read_template, write_template
from palestra.studio.track.head_tracker import GATES_M, HeadTracker
from tests.studio.track.conftest import NECK, SEAT
from tests.studio.track.recorded import RIG
from tests.studio.track.scene import HAND, Look, hand_before, rotation


def apart(found, true):
    """Degrees and millimetres between poses, but for a turn and shift that all share: a frame is anybody's choice.

    What all share is told by the half that agree best, so that a few wrong ones do not hide in it.
    """
    turns = np.array([there.rotation.T @ here.rotation for here, there in zip(found, true, strict=True)])
    shifts = np.array([there.back()(here.translation) for here, there in zip(found, true, strict=True)])
    kept = np.ones(len(turns), bool)
    for _ in range(4):
        u, _, v = np.linalg.svd(turns[kept].sum(axis=0))
        turn, shift = u @ v, np.median(shifts[kept], axis=0)
        cosines = (np.einsum("nij,ij->n", turns, turn) - 1) / 2
        degrees = np.degrees(np.arccos(np.clip(cosines, -1, 1)))
        kept = degrees <= np.median(degrees)
    places = [here.translation - here.rotation @ turn.T @ shift for here in found]
    return degrees, 1000 * np.linalg.norm(np.array(places) - [there.translation for there in true], axis=1)


def followed(sitting, depths):
    tracker = HeadTracker(sitting.template, RIG, Reach())
    return [tracker.find(depth) for depth in depths]


def test_a_head_that_turns_is_found_within_a_degree_and_three_millimetres(sitting):
    found = followed(sitting, sitting.depths)
    assert all(found)
    degrees, mm = apart([one.pose for one in found], sitting.heads)
    assert np.median(degrees) < 0.5 and np.median(mm) < 1.0
    assert degrees.max() < 1.5 and mm.max() < 3


def test_eyeballs_of_the_fitted_shape_are_where_the_persons_are(sitting):
    found = followed(sitting, sitting.depths[:10])
    eyes = eye_centres(sitting.template)
    off = [
        one.pose(eyes) - true(sitting.scene.person.eyes) for one, true in zip(found, sitting.heads[:10], strict=True)
    ]
    assert np.median(np.linalg.norm(off, axis=2)) < 0.006


def test_a_hidden_face_is_not_found_and_found_again_when_it_has_turned_away_meanwhile(sitting):
    """It comes back turned and aside, where ICP from where it was would not get to."""
    scene, first = sitting.scene, sitting.heads[0]
    back = Pose(rotation(-28, 5), np.array(SEAT) + [0.16, 0.01, 0.02])
    hidden = [Look(first, things=(hand_before(first, 0.0),), shoulders=NECK)] * 3
    looks = [Look(first, shoulders=NECK)] * 2 + hidden + [Look(back, shoulders=NECK + [0.16, 0, 0])] * 4
    depths = [scene.depth(look) for look in looks]
    found = followed(sitting, depths)
    assert found[0] and found[1] and not any(found[2:5]) and found[8]
    known = [at for at, one in enumerate(found) if one]
    degrees, mm = apart([found[at].pose for at in known], [looks[at].head for at in known])
    assert degrees.max() < 1.5 and mm.max() < 3
    pose = found[1].pose
    for depth in depths[2:]:
        points, _ = RIG.points(depth, RIG.window(pose.translation, 0.17), 2)
        aligned = align(sitting.template, points, RIG.eye, pose, GATES_M)
        pose = pose if aligned is None else aligned.pose
    assert np.linalg.norm(pose.translation - found[8].pose.translation) > 0.01  # the naive one stays away


@pytest.mark.parametrize("nobody", ["an empty room", "a hand", "nothing comes back"])
def test_no_head_is_found_where_there_is_none(sitting, nobody):
    looks = {
        "an empty room": Look(),
        "a hand": Look(things=((np.array([0, 0, 0.2]), np.array([0.08, 0.1, 0.03]), HAND),)),
    }
    depth = sitting.scene.depth(looks[nobody]) if nobody in looks else np.zeros((480, 640), np.uint16)
    assert followed(sitting, [sitting.depths[0], depth, depth])[1:] == [None, None]
    assert fit(RIG, [depth, depth], Reach()) is None


def test_a_shape_comes_back_from_its_file(sitting, tmp_path):
    write_template(tmp_path / "shape.npz", sitting.template)
    again = read_template(tmp_path / "shape.npz")
    np.testing.assert_array_equal(again.radius, sitting.template.radius)
    np.testing.assert_array_equal(eye_centres(again), eye_centres(sitting.template))
