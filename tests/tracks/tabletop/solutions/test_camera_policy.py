"""The policy that sees fulfils instructions in either language, picks up what it drops, and knows only what it sees."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from palestra.tracks.tabletop.simulator.arm import HOME
from palestra.tracks.tabletop.simulator.case_generator import draw_case, draw_cases
from palestra.tracks.tabletop.simulator.goals import Progress
from palestra.tracks.tabletop.simulator.table import Table
from palestra.tracks.tabletop.solutions.camera_policy import CHUNK, Camera

LIMIT_S = 120.0


def play(case, policy, limit_s=LIMIT_S, language=None, delay=1):
    """Run a case in free-running time: while a policy thinks, for `delay` periods, its last action is held."""
    words = {"instruction": "en", "instruction_zh": "zh"}
    about = {key: case.instruction[each][0] for key, each in words.items() if language in (None, each)}
    policy.reset(about)
    with Table(case.scene) as table:
        held, done = table.target, False
        while not done and table.time_s < limit_s:
            answer = policy.act({**table.observe(), **about})
            done = answer["done"]
            for action in [*[held] * delay, *answer["actions"]]:
                table.step(action)
            held = answer["actions"][-1]
        for _ in range(10):
            table.step(held)
        progress = Progress(case.goals)
        progress.note(table.facts(), table.time_s)
        return progress.share, table.time_s, table.gripper()


@pytest.mark.parametrize("group", ["pick", "place", "stack", "insert"])
def test_it_fulfils_the_first_hidden_case_of_a_group(group):
    share, time_s, _ = play(draw_case(0, True, group, 1), Camera())
    assert share == 1
    assert time_s < 30


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_language_is_enough(language):
    assert play(draw_case(1, True, "place", 5), Camera(), language=language)[0] == 1


def test_it_puts_things_away_into_a_closed_drawer_and_closes_it():
    case = draw_case(0, True, "long", 1)
    assert any("drawer" in thing.kind for thing in case.scene.things)
    assert play(case, Camera())[0] == 1


def test_half_a_second_of_thinking_does_not_matter():
    assert play(draw_case(2, True, "stack", 1), Camera(), delay=10)[0] == 1


class Clumsy(Camera):
    """Opens its fingers once, while it carries something."""

    def reset(self, about):
        super().reset(about)
        self.dropped = False

    def act(self, observation):
        answer = super().act(observation)
        shut = bool((answer["actions"][:8, -1] == 0).all()) and len(answer["actions"]) > 8
        if not self.dropped and shut and observation["hand_pose"][2, 3] > 0.15:
            answer["actions"][2:8, -1] = 1.0
            self.dropped = True
        return answer


def test_what_is_dropped_on_the_way_is_picked_up_again():
    policy = Clumsy()
    share, _, _ = play(draw_case(0, True, "pick", 1), policy)
    assert policy.dropped
    assert share == 1


@pytest.mark.parametrize("said", ["Dance.", "Put the purple drawer on the moon.", "Put the red plate on the red tray."])
def test_what_it_does_not_understand_or_see_it_leaves_alone(said):
    case = draw_case(0, True, "insert", 1)
    policy = Camera()
    policy.reset({"instruction": said})
    with Table(case.scene) as table:
        answers = [policy.act(table.observe()) for _ in range(12)]
    assert answers[-1]["done"]
    assert all(np.abs(answer["actions"][:, :7] - HOME).max() < 1e-3 for answer in answers)


def test_actions_are_chunks_of_eight_finite_numbers():
    case = draw_case(0, True, "pick", 2)
    policy = Camera()
    policy.reset({})
    with Table(case.scene) as table:
        answer = policy.act({**table.observe(), "instruction": case.instruction["en"][0]})
        for _ in range(3):
            answer = policy.act({**table.observe(), "instruction": case.instruction["en"][0]})
    assert answer["actions"].shape == (CHUNK, 8)
    assert np.isfinite(answer["actions"]).all()
    assert answer["done"] is False


def test_it_needs_no_physics_and_so_cannot_look_into_it():
    privy = (
        "mujoco",
        "palestra.tracks.tabletop.simulator.table",
        "palestra.tracks.tabletop.simulator.goals",
        "palestra.tracks.tabletop.simulator.case_generator",
    )
    code = "import sys, palestra.tracks.tabletop.solutions.simple_policies; "
    code += f"print([name for name in {privy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_earns_most_of_the_hidden_cases(seed):
    shares = [play(case, Camera())[0] for case in draw_cases("paper", seed, hidden=True)]
    assert sum(shares, Fraction(0)) / len(shares) >= Fraction(9, 10)
