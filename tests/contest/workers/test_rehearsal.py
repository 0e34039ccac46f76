"""Bundles of phases that are held on stage: an upload is rehearsed, and the hidden data is played in the hall alone."""

import msgspec
import pytest

from palestra.contest.log import events as e
from palestra.contest.log.reducer import fold
from palestra.contest.queue.triggers import tasks_after
from palestra.contest.rules import held_on_stage, reader
from palestra.contest.rules.model import Promotion
from palestra.contest.workers import check as checking
from palestra.contest.workers import score
from palestra.contest.workers.settle import model_of
from palestra.datasets.starter_kit import starter_of
from palestra.records import Estimate
from palestra.text import Words
from tests import ROOT
from tests.contest.bundles import PROGRAM, Home, write_zip, zip_folder
from tests.contest.story import DAY, START, Story, a_phase, some_rules
from tests.live import hall
from tests.live.hall import at, program

FILES = sorted((ROOT / "contests").glob("*.toml"))


@pytest.fixture(autouse=True)
def _prepare(monkeypatch):
    hall.prepare(monkeypatch)


@pytest.fixture
def home(tmp_path):
    """A contest with a final on stage. Of its hidden data there is nothing here: whoever played it would fail."""
    from ticking_v1 import write_data

    write_data(tmp_path / "open")
    home = Home(tmp_path, "ticking-v1", tmp_path / "hidden", entry="promoted", rehearsal="open")
    (tmp_path / "data").unlink()
    return home


def check(home, text=None):
    return score.guarded(checking.check, home.assignment("check", home.bundle("bundle", text)))


def accepted(outcome):
    assert outcome.failure is None, outcome.failure
    (body,) = outcome.bodies
    assert isinstance(body, e.SubmissionAccepted), body
    return body


def test_an_upload_is_tried_on_rehearsal_data_and_no_hidden_data_is_touched(home):
    found = accepted(check(home)).rehearsal
    assert (found.asked, found.answered, found.missed) == (4, 4, Words())
    assert 0 < found.latency_ms < 1_000_000


def test_what_a_bundle_missed_in_its_rehearsal_is_told_with_the_first_reason(home):
    found = accepted(check(home, program(answer=at(9, "raise ValueError('dazzled')")))).rehearsal
    assert (found.asked, found.answered) == (4, 3)
    assert found.missed.en == "ValueError: dazzled"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (program(make="print('hm'); raise FileNotFoundError('weights.bin')"), "FileNotFoundError: weights.bin"),
        (
            program(answer="answer = 'boo'"),
            "It loads, and answers none of 4 rehearsal packets. The first time: returned",
        ),
        ("class Other: pass", "has no class MyAlgorithm"),
    ],
)
def test_a_bundle_that_does_not_load_or_answer_is_refused_in_words(home, text, message):
    (body,) = check(home, text).bodies
    assert isinstance(body, e.SubmissionRefused)
    assert message in body.faults[0]
    assert str(home.folder) not in body.faults[0]


def test_rehearsal_data_that_is_not_there_is_no_fault_of_the_team(home):
    home.phase = msgspec.structs.replace(home.phase, rehearsal="nowhere")
    assert check(home).failure.fault == "platform"


def test_without_a_word_synthetic_data_is_rehearsed_on_and_where_there_is_none_it_only_has_to_load(home):
    home.phase = msgspec.structs.replace(home.phase, rehearsal="")
    found = accepted(check(home)).rehearsal
    assert (found.asked, found.latency_ms) == (0, None)


def test_what_was_rehearsed_waits_for_the_stage_and_nothing_plays_it_before():
    story = Story(some_rules(a_phase(track="ticking-v1", held="on-stage")))
    team = story.team()
    name = story.submit(team)
    body = e.SubmissionAccepted(name, e.Rehearsal(4, 4, 1.5))
    assert list(tasks_after(body, story.state)) == []
    story.add(body)
    assert story.state.submission(name).stage == "ready"
    assert story.board() == []


def test_a_submission_that_was_accepted_before_there_were_rehearsals_is_read_as_it_was():
    body = e.decode('{"kind":"submission.accepted","submission":"s1"}')
    assert body == e.SubmissionAccepted("s1")
    assert e.encode(body) == '{"kind":"submission.accepted","submission":"s1"}'
    story = Story(some_rules(a_phase(track="ticking-v1")))
    name = story.submit(story.team())
    assert [task.kind for task in tasks_after(e.SubmissionAccepted(name), story.state)] == ["live"]


# What a bundle is made of


def bundle_of(home, name, code, weights):
    return write_zip(home.folder / f"{name}.zip", {PROGRAM: code, "weights/net.onnx": weights})


def test_code_that_changed_where_only_weights_may_is_found_and_named(home):
    before = bundle_of(home, "before", program(), "old")
    digest = home.put(before)
    given = {"of": "s0", "answers": digest, "answers_name": before.name}

    def parts(name, code):
        file = bundle_of(home, name, code, "new")
        return accepted(score.guarded(checking.check, home.assignment("check", file, **given))).parts

    weights, code = parts("weights", program()), parts("code", program(top="import json"))
    assert (weights.of, weights.changed) == ("s0", ())
    assert code.changed == (PROGRAM,)
    assert weights.weights == code.weights != ""
    assert weights.code != code.code


def test_a_bundle_is_compared_with_what_its_team_was_promoted_with_else_with_its_first_one():
    first = a_phase(track="ticking-v1", promotion=Promotion("second", 1))
    second = a_phase("second", track="ticking-v1", entry="promoted", changes="weights", opens=START, closes=START + DAY)
    story = Story(some_rules(first, second))
    team, other = story.team(), story.team()
    best = story.submit(team)
    story.accept(best)
    made = e.ResultMade(best, 1, {"accuracy": Estimate(0.5)})
    story.add(made, e.PromotionConfirmed("first", "second", (e.Promoted(team, 1), e.Promoted(other, 2))))
    state = story.state
    assert model_of(state, state.submission(story.submit(team, "second"))).id == best
    earliest = story.submit(other, "second")
    assert model_of(state, state.submission(earliest)) is None
    story.accept(earliest)
    assert model_of(state, state.submission(story.submit(other, "second"))).id == earliest
    assert model_of(state, state.submission(story.submit(team))) is None, "there everything may change"


def finals(file):
    return [phase for phase in reader.read(file).phases if phase.entry == "promoted"]


def test_every_final_of_a_ready_file_is_held_on_stage():
    found = [phase for file in FILES for phase in finals(file)]
    assert len(found) == 3
    assert all(map(held_on_stage, found))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_upload_to_a_final_of_a_ready_file_is_played_at_once(file):
    for phase in finals(file):
        story = Story(reader.read(file))
        story.add(e.SubmissionMade("s1", story.team(), phase.id, "f" * 64, "a.zip", 10))
        assert list(tasks_after(e.SubmissionAccepted("s1"), story.state)) == []


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_upload_to_a_final_of_a_ready_file_never_meets_its_hidden_data(file, tmp_path):
    for phase in finals(file):
        (tmp_path / phase.id).mkdir()
        home = Home(tmp_path / phase.id, phase.track, tmp_path / "nowhere")
        home.phase = msgspec.structs.replace(phase, data="nowhere")
        bundle = zip_folder(starter_of(phase.track) / "bundle", tmp_path / f"{phase.id}.zip")
        body = accepted(score.guarded(checking.check, home.assignment("check", bundle)))
        assert body.rehearsal.asked and body.rehearsal.answered == body.rehearsal.asked
        assert list(tasks_after(body, fold([]))) == []
