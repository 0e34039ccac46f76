"""Solutions for emotional EEG hear what they were trained on, and weigh it as they should."""

import numpy as np
import pytest

from palestra import model_cards, registry
from palestra.tracks.emotion_eeg.format import recordings
from palestra.tracks.emotion_eeg.solutions import network
from palestra.tracks.emotion_eeg.solutions.entropy import Linear
from palestra.tracks.emotion_eeg.solutions.evidence import NO_VIDEO, Belief, Evidence
from palestra.tracks.emotion_eeg.solutions.features import NEUTRAL, Seconds, Usual
from palestra.tracks.emotion_eeg.solutions.network import Network
from train.emotion_features import of_recording

TRACK = "emotion-eeg-v1"


def packets(data, people=1):
    for sitting in registry.track(TRACK).stream.sittings(data)[:people]:
        yield from sitting.ticks()


def test_what_is_streamed_gives_the_features_that_are_trained_on(tiny):
    data, seconds = tiny(TRACK), Seconds()
    heard = [seconds.take(tick.payload["packet"])[1] for tick in packets(data)]
    trained = of_recording(next(iter(recordings(data, "test").values())))
    found = np.array([features for features in heard if features is not None])
    whole = len(trained["features"]) - 1  # the last second may be cut short
    assert len(found) >= whole > 150
    assert found[:whole] == pytest.approx(trained["features"][:whole], abs=1e-4)


def test_every_decision_is_asked_when_a_second_is_complete(tiny):
    seconds = Seconds()
    complete = [(tick.trial, seconds.take(tick.payload["packet"])[1] is not None) for tick in packets(tiny(TRACK))]
    asked = [whole for trial, whole in complete if trial]
    assert all(asked) and len(asked) > 100


def test_volts_and_microvolts_give_the_same(tiny):
    ticks = list(packets(tiny(TRACK)))[:50]
    one, other = Seconds(), Seconds()
    for tick in ticks:
        packet = tick.payload["packet"].astype(np.float64)
        larger = packet.copy()
        larger[:-1] *= 1e6
        first, second = one.take(packet)[1], other.take(larger)[1]
        assert (first is None) == (second is None)
        assert first is None or first == pytest.approx(second, abs=1e-9)


def test_somebody_new_is_noticed(tiny):
    seconds = Seconds()
    assert sum(seconds.take(tick.payload["packet"])[0] for tick in packets(tiny(TRACK), people=3)) == 3


def test_what_is_usual_is_the_mean_and_spread_of_the_past_after_a_prior():
    rng = np.random.default_rng(0)
    usual, seen = Usual(np.zeros(3), np.ones(3), 10.0), rng.normal(2, 3, (40, 3))
    for one in seen:
        found = usual.normal(one)
    everything = np.concatenate([np.repeat([[1.0], [-1.0]], 5, axis=0) * np.ones((1, 3)), seen])
    assert found == pytest.approx((seen[-1] - everything.mean(axis=0)) / everything.std(axis=0))
    usual.forget()
    assert usual.normal(seen[0]) == pytest.approx(Usual(np.zeros(3), np.ones(3), 10.0).normal(seen[0]))


def votes(label, strength):
    found = np.zeros(10)
    found[label] = strength
    return found


def test_weak_votes_add_up_within_a_video():
    belief = Belief(weight=1.0, video_s=66, pause_s=45)
    belief.after(votes(3, 5.0))
    answers = [belief.after(votes(5, 0.6)) for _ in range(30)]
    assert answers[0] == 3 and answers[-1] == 5


def test_a_pause_is_noticed_and_what_was_felt_before_it_is_forgotten():
    kept, paused = (Belief(weight=1.0, video_s=66, pause_s=45) for _ in range(2))
    for belief in (kept, paused):
        for _ in range(20):
            belief.after(votes(3, 2.0))
    for _ in range(20):
        paused.after(votes(NO_VIDEO, 2.0))
    assert kept.after(votes(7, 2.0)) == 3
    assert paused.after(votes(7, 2.0)) == 7


@pytest.mark.parametrize("kind", [Linear, Evidence, Network])
def test_every_solution_says_a_label_from_the_first_packet_on(kind, tiny):
    program = kind()
    assert program.algorithm() == NEUTRAL
    said = set()
    for tick in packets(tiny(TRACK)):
        program.get_data(tick.payload["packet"])
        said.add(program.algorithm())
    assert all(type(label) is int and 0 <= label <= 8 for label in said) and len(said) > 2


def test_the_network_starts_anew_with_somebody_new(tiny):
    once, twice = Network(), Network()
    ticks = [tick.payload["packet"] for tick in packets(tiny(TRACK))]

    def answers(program):
        found = []
        for packet in ticks:
            program.get_data(packet)
            found.append(program.algorithm())
        return found

    first = answers(once)
    answers(twice)
    assert answers(twice) == first


def test_weights_are_small():
    folder = model_cards.path(network.WEIGHTS).parent
    assert registry.solution("emotion-eeg-v1", "evidence").weights in {file.name for file in folder.iterdir()}
    assert all(file.stat().st_size < 5_000_000 for file in folder.iterdir())
