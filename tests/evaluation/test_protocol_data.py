"""Materials of every protocol of every track: tests without truth, trainings without what is tested."""

from pathlib import Path

import polars as pl
import pytest

from palestra import registry
from palestra.errors import PalestraError
from palestra.evaluation import protocol_data as studying
from palestra.records import Study
from palestra.scoring import score
from tests.tracks.remote_gaze.sessions import write_sessions

SESSIONS = [f"{p}_A_{target}_{head}" for p in (1, 14, 15) for target in ("DS", "CS", "FT") for head in "SM"]
SESSIONS += [f"{p}_B_FT_{head}" for p in (14, 15) for head in "SM"]
STUDIED = {name: track.study for name, track in registry.tracks().items() if track.study}
CASES = [(name, protocol.name) for name, study in STUDIED.items() for protocol in study.protocols]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory) -> Path:
    return write_sessions(tmp_path_factory.mktemp("eyediap"), SESSIONS)


@pytest.fixture
def data_of(sessions, tiny):
    """A data set of a track with several people in it."""
    return lambda track_id: sessions if track_id == "remote-gaze-v1" else tiny(track_id)


def folds_of(study: Study, name: str, data: Path):
    return studying.folds_of(study, studying.protocol_of(study, name), data)


def test_three_tracks_at_least_can_be_studied():
    assert {"remote-gaze-v1", "emotion-eeg-v1", "eye-segmentation-v1"} <= set(STUDIED)


@pytest.mark.parametrize(("track_id", "name"), CASES)
def test_a_test_never_shows_its_truth_and_a_training_never_holds_what_is_tested(track_id, name, data_of):
    study, data = STUDIED[track_id], data_of(track_id)
    for fold in folds_of(study, name, data):
        learnt = studying.training(study, fold, data, data).rows
        assert [column for column in learnt.columns if column.startswith("truth_")]
        for _, test in studying.tests(study, fold, data):
            assert not [column for column in test.rows.columns if column.startswith("truth_")]
            assert test.rows.height > 0
            if fold.train:  # else it is another data set, and here the same stands for it
                assert learnt.join(test.rows, on="trial").is_empty()


@pytest.mark.parametrize(("track_id", "name"), CASES)
def test_trials_and_truth_of_a_protocol_are_what_its_folds_test(track_id, name, data_of):
    study, data = STUDIED[track_id], data_of(track_id)
    track = studying.under(registry.track(track_id), studying.protocol_of(study, name))
    sheet = score.load(track, data)
    tested = [
        test.rows.select(studying.named(experiment))["trial"]
        for fold in folds_of(study, name, data)
        for experiment, test in studying.tests(study, fold, data)
    ]
    assert sheet.trials["trial"].to_list() == pl.concat(tested).to_list()
    assert sheet.truth["trial"].to_list() == sheet.trials["trial"].to_list()
    assert not [column for column in sheet.trials.columns if column.startswith("truth_")]
    assert track.ranks.reduce(score.score_trials(track, sheet, track.blank(sheet.trials)), score.whole(sheet.truth))


def test_a_track_without_a_study_says_so():
    with pytest.raises(PalestraError, match="tabletop-manip-v1 has no benchmark protocols"):
        studying.study_of(registry.track("tabletop-manip-v1"))


def test_people_of_an_eeg_fold_are_others_than_those_it_learns_from(tiny):
    study, data = STUDIED["emotion-eeg-v1"], tiny("emotion-eeg-v1")
    people = {piece["person"] for piece in study.pieces(data)}
    for name, count in (("leave-one-person-out", len(people)), ("5-fold", min(5, len(people)))):
        found = folds_of(study, name, data)
        assert len(found) == count
        assert {stretch.piece for fold in found for _, stretch in fold.tests} == people
        for fold in found:
            tested = {stretch.piece for _, stretch in fold.tests}
            assert {stretch.piece for stretch in fold.train} == people - tested


def test_a_second_of_eeg_does_not_tell_which_video_is_on(tiny):
    """Whoever knows the video knows the emotion."""
    study, data = STUDIED["emotion-eeg-v1"], tiny("emotion-eeg-v1")
    (fold, *_) = folds_of(study, "5-fold", data)
    (_, test), *_ = studying.tests(study, fold, data)
    assert set(test.rows.columns) == {"trial", "piece", "person", "start"}


def test_sequences_are_dealt_to_folds_and_people_left_out_whole(tiny):
    study, data = STUDIED["eye-segmentation-v1"], tiny("eye-segmentation-v1")
    person_of = {piece["piece"]: piece["person"] for piece in study.pieces(data)}
    assert len(folds_of(study, "5-fold", data)) == min(5, len(person_of))
    for fold in folds_of(study, "leave-one-person-out", data):
        tested = {person_of[stretch.piece] for _, stretch in fold.tests}
        assert len(tested) == 1
        assert not tested & {person_of[stretch.piece] for stretch in fold.train}


def test_data_that_does_not_tell_who_is_seen_leaves_nobody_out(tiny, tmp_path):
    import shutil

    study, data = STUDIED["eye-segmentation-v1"], tmp_path / "data"
    shutil.copytree(tiny("eye-segmentation-v1"), data)
    (data / "truth" / "sequences.csv").unlink()
    with pytest.raises(PalestraError, match="does not tell the person"):
        folds_of(study, "leave-one-person-out", data)
    assert folds_of(study, "5-fold", data)
