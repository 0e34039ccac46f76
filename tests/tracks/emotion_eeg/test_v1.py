import math
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra import registry
from palestra.contract import check_track
from palestra.errors import PalestraError, Refused
from palestra.report import page as report
from palestra.scoring import score
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg import v1 as module
from palestra.tracks.emotion_eeg.experiment import FILMS, Event
from tests.english import english

TRACK = registry.track("emotion-eeg-v1")
RULES = ("final", "preliminary")


@pytest.fixture
def data(tiny):
    return tiny(TRACK.id)


def with_triggers(folder, events, samples, name="sub081", dtype=np.float32):
    """A data set of one test person with these triggers; each sample of EEG tells where it is."""
    array = np.zeros((33, samples), dtype)
    array[:32] = 100 + np.arange(samples) % 1000 + np.arange(32)[:, None] / 64
    for sample, code in events:
        array[32, sample] = code
    eeg.write_recording(array, folder / "test" / f"{name}.pkl", dtype)
    return folder


def asked(data):
    return [tick for sitting in TRACK.stream.sittings(data) for tick in sitting.ticks() if tick.trial]


def perfect(data):
    return TRACK.truth(data).select("trial", label="truth_label")


def value(answers, data, name="accuracy"):
    return score.score(TRACK, score.load(TRACK, data), answers, "me").result.metrics[name].value


# --- which decisions there are, and which count

# Packet 0 begins at sample 10, with the 250. The 242 is in packet 2, the 243 in packet 60.
OPEN, CLOSE, LAST = 10 + 2 * 50 + 30, 10 + 60 * 50 + 10, 10 + 70 * 50 + 20
BLOCK = [Event(10, 250), Event(OPEN, 242), Event(CLOSE, 243), Event(LAST, 251)]
ASKS = [7, 12, 17, 22, 27, 32, 37, 42, 47, 52, 57]  # five packets after packet 2, and so on


def video(number, start, stop):
    return [Event(start - 25, number), Event(start, 240), Event(stop, 241)]


def test_a_program_is_asked_on_every_fifth_packet_after_the_one_with_the_242_until_the_one_with_the_243(tmp_path):
    data = with_triggers(tmp_path, BLOCK + video(1, 500, 2000), 4000)
    ticks = list(TRACK.stream.sittings(data)[0].ticks())
    assert [i for i, tick in enumerate(ticks) if tick.trial] == ASKS
    assert TRACK.trials(data).rows() == [(f"sub081/{i + 1:05d}", "sub081", 1) for i in range(len(ASKS))]


@pytest.mark.parametrize(("packet", "asks"), [(57, ASKS[:-1]), (58, ASKS)])
def test_the_packet_that_holds_the_243_asks_nothing(tmp_path, packet, asks):
    events = [*BLOCK[:2], Event(10 + packet * 50, 243), BLOCK[3]]
    data = with_triggers(tmp_path, events + video(1, 500, 2000), 4000)
    assert [i for i, tick in enumerate(TRACK.stream.sittings(data)[0].ticks()) if tick.trial] == asks


def windows_inside(start, stop):
    """Decisions of the sitting above whose samples all lie a second or more inside of a video."""
    ends = [10 + (packet + 1) * 50 for packet in ASKS]
    return [i + 1 for i, end in enumerate(ends) if start + 250 <= end - 250 and end <= stop - 250]


# The third decision is about samples 660 to 909.
@pytest.mark.parametrize(
    ("start", "stop", "scored"),
    [
        (410, 1910, [3, 4, 5, 6]),  # both ends touch: 660 = 410 + 250, 1660 = 1910 - 250
        (411, 1910, [4, 5, 6]),
        (410, 1909, [3, 4, 5]),
        (410, 1160, [3]),
        (410, 1159, []),
    ],
)
def test_a_decision_counts_if_its_whole_second_lies_a_second_from_either_end_of_a_video(tmp_path, start, stop, scored):
    data = with_triggers(tmp_path, BLOCK + video(1, start, stop) + video(2, 2150, 3000), 4000)
    truth = TRACK.truth(data)
    assert truth.filter(video=1)["trial"].to_list() == [f"sub081/{number:05d}" for number in scored]
    assert scored == windows_inside(start, stop)
    assert truth.filter(video=2).height == len(windows_inside(2150, 3000)) == 1


def test_truth_says_what_was_shown_and_how_far_the_video_was(tmp_path):
    data = with_triggers(tmp_path, BLOCK + video(21, 410, 1910), 4000)
    assert TRACK.truth(data).rows(named=True)[1:3] == [
        {"trial": f"sub081/{number:05d}", "person": "sub081", "video": 21, "emotion": "inspiration",
         "valence": "positive", "truth_label": 6, "second": second}
        for number, second in ((4, 2), (5, 3))
    ]  # fmt: skip


def test_decisions_are_not_aligned_with_videos(data):
    plans = module.schedules(data)
    phases = {(plan.windows[0] - shown.start) % 250 for plan in plans for shown in plan.videos}
    assert len(phases) > 50


def by_the_document(row):
    """What the contest's own program would do: packet after packet, sample after sample. Decisions, and who counts."""
    first = row.index(250)
    inside, since, decisions, at = False, 0, [], first
    while True:
        packet = row[at : at + 50]
        if inside and 243 not in packet:
            since += 1
            if since % 5 == 0:
                decisions.append(range(at - 200, at + 50))
        if 243 in packet:
            inside = False
        if 242 in packet:
            inside, since = True, 0
        if 251 in packet:
            break
        at += 50
    shown, begin, found = None, None, []
    for sample, code in enumerate(row):
        if 1 <= code <= 28:
            shown = code
        elif code == 240:
            begin = sample
        elif code == 241:
            found.append((shown, begin, sample))
    scored = {}
    for i, window in enumerate(decisions):
        for number, start, stop in found:
            if all(start + 250 <= sample < stop - 250 for sample in window):
                scored[i + 1] = (number, math.floor((window[0] - start) / 250))
    return len(decisions), scored


gap = st.integers(1, 400)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 60),
    st.integers(26, 60),
    st.lists(st.lists(st.integers(300, 1600), min_size=1, max_size=3), min_size=1, max_size=3),
    st.data(),
)
def test_decisions_and_truth_are_those_of_a_loop_over_packets(tmp_path_factory, lead, tail, blocks, more):
    at, events, number = lead, [Event(lead, 250)], 0
    for block in blocks:
        at += more.draw(gap)
        events.append(Event(at, 242))
        for length in block:
            number += 1
            at += 25 + more.draw(gap)
            events += video(number, at, at + length)
            at += length
        at += more.draw(gap)
        events.append(Event(at, 243))
    at += more.draw(gap)
    events.append(Event(at, 251))
    row = [0] * (at + tail)
    for sample, code in events:
        row[sample] = code
    data = with_triggers(tmp_path_factory.mktemp("data"), events, len(row))
    count, scored = by_the_document(row)
    found = TRACK.truth(data)
    assert TRACK.trials(data).height == TRACK.stream.sittings(data)[0].decisions == count
    assert {
        int(trial[-5:]): (shown, second) for trial, shown, second in found.select("trial", "video", "second").rows()
    } == scored


def test_every_video_of_every_person_counts(data):
    truth = TRACK.truth(data)
    assert truth.n_unique(["person", "video"]) == 5 * 28
    assert truth["second"].min() == 1


# --- scores


def neutral(trials):
    return TRACK.blank(trials)


def full_length(people=18):
    """The truth of whole sittings: every second of every film but the first and the last."""
    films = material.material().select("video", "seconds", "emotion", "valence", truth_label="label")
    films = films.with_columns(second=pl.int_ranges(1, pl.col("seconds") - 1)).explode("second")
    return pl.DataFrame({"person": [f"sub{81 + i:03d}" for i in range(people)]}).join(films, how="cross")


def test_a_constant_neutral_scores_4_of_28_videos(data):
    assert value(neutral(TRACK.trials(data)), data) == pytest.approx(4 / 28, abs=1e-12)
    truth = full_length()
    rows = TRACK.score(truth.with_columns(label=pl.lit(4)))
    assert TRACK.ranks.reduce(rows, score.whole(rows))[0] == pytest.approx(4 / 28, abs=1e-12)
    assert truth.height / 18 == pytest.approx(1780, rel=0.01)


def test_a_film_without_a_scored_second_counts_nothing(data):
    """The document divides by 28. Whoever's recording lacks a film must not gain by it."""
    truth = TRACK.truth(data)
    rows = TRACK.score(truth.with_columns(label="truth_label"))
    first = truth["person"][0]
    lacking = rows.filter(~((pl.col("person") == first) & pl.col("video").is_in([3, 17])))
    people = truth["person"].n_unique()
    found = TRACK.ranks.reduce(lacking, score.whole(lacking))[0]
    assert found == pytest.approx((people - 1 + 26 / 28) / people, abs=1e-12)
    one = lacking.filter(pl.col("video") == 5)
    assert TRACK.ranks.reduce(one, score.whole(one))[0] == 1.0, "in a table by film each stands for itself"


def test_truth_as_answers_scores_exactly_one(data):
    result = score.score(TRACK, score.load(TRACK, data), perfect(data), "truth").result
    assert {name: found.value for name, found in result.metrics.items()} == {
        "accuracy": 1.0, "valence_accuracy": 1.0, "missed": 0.0
    }  # fmt: skip
    assert (result.metrics["accuracy"].low, result.metrics["accuracy"].high) == (1.0, 1.0)


@pytest.mark.parametrize("rule", RULES)
def test_the_track_keeps_its_contract_under_either_rule(data, rule):
    check_track(registry.track(TRACK.id, {"rule": rule}), data)


def formula(rows, right):
    """The document's Acc, letter by letter."""
    people = {}
    for row in rows:
        people.setdefault(row["person"], {}).setdefault(row["video"], []).append(right(row))
    return sum(sum(sum(v) / len(v) for v in videos.values()) / len(videos) for videos in people.values()) / len(people)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 0.3))
def test_accuracy_is_the_formula_of_the_document(tiny, seed, skill, gaps):
    data = tiny(TRACK.id)
    rng, truth = np.random.default_rng(seed), perfect(data)
    chosen = np.where(rng.random(truth.height) < skill, truth["label"], rng.integers(0, 9, truth.height))
    answers = truth.select("trial", label=pl.Series(chosen)).filter(pl.Series(rng.random(truth.height) >= gaps))
    scored = score.score(TRACK, score.load(TRACK, data), answers, "me")
    given_answers = dict(answers.rows())
    rows = TRACK.truth(data).rows(named=True)
    valence = {film.emotion.label: film.emotion.valence for film in FILMS}

    def right(row):
        return given_answers.get(row["trial"]) == row["truth_label"]

    def same(row):
        return valence.get(given_answers.get(row["trial"])) == row["valence"]

    metrics = scored.result.metrics
    assert metrics["accuracy"].value == pytest.approx(formula(rows, right), abs=1e-12)
    assert metrics["valence_accuracy"].value == pytest.approx(formula(rows, same), abs=1e-12)
    assert metrics["missed"].value == pytest.approx(1 - answers.height / truth.height, abs=1e-12)
    for part in scored.result.by["emotion"]:
        own = [row for row in rows if row["emotion"] == part["emotion"]]
        assert part["accuracy"] == pytest.approx(formula(own, right), abs=1e-12)


def test_a_long_video_weighs_as_much_as_a_short_one():
    truth = full_length(people=1)
    rows = TRACK.score(truth.with_columns(label=pl.when(pl.col("video") == 20).then(6).otherwise(9)))
    assert TRACK.ranks.reduce(rows, score.whole(rows))[0] == pytest.approx(1 / 28, abs=1e-12)


def test_a_missed_decision_counts_as_wrong(data):
    answers = perfect(data)
    gone = answers["trial"][0]
    rows = score.score(TRACK, score.load(TRACK, data), answers.filter(pl.col("trial") != gone), "me").rows
    assert rows.row(0, named=True) | {"right": 0, "wrong": 1, "valence_right": 0, "missed": 1} == rows.row(
        0, named=True
    )
    assert rows["wrong"].sum() == rows["missed"].sum() == 1
    assert value(answers.clear(), data) == 0.0


def test_a_wrong_emotion_of_the_right_valence_is_half_right(data):
    swapped = perfect(data).with_columns(
        label=pl.col("label").replace_strict({0: 1, 1: 0, 5: 6, 6: 5}, default=pl.col("label"))
    )
    assert value(swapped, data) == pytest.approx(16 / 28, abs=1e-12)
    assert value(swapped, data, "valence_accuracy") == 1.0


def test_answers_outside_of_videos_change_nothing(data):
    outside = neutral(TRACK.trials(data)).join(perfect(data), on="trial", how="anti")
    assert value(pl.concat([perfect(data), outside]), data) == 1.0


def test_the_result_is_broken_down_by_emotion_valence_and_video(data):
    result = score.score(TRACK, score.load(TRACK, data), perfect(data), "me").result
    assert result.unit == "person"
    assert {name: len(rows) for name, rows in result.by.items()} == {
        "person": 5,
        "emotion": 9,
        "valence": 3,
        "video": 28,
    }
    assert [row["video"] for row in result.by["video"]] == list(range(1, 29))


# --- the stream


def test_packets_are_the_recording_from_the_250_to_the_251_with_four_triggers_alone(data):
    for sitting, file in zip(TRACK.stream.sittings(data), eeg.recordings(data, "test").values(), strict=True):
        recording = eeg.open_recording(file)
        sent = np.concatenate([tick.payload["packet"] for tick in sitting.ticks()], axis=1)
        assert np.array_equal(sent[:32], recording.signal[:32])
        assert sent.dtype == recording.signal.dtype
        codes = sent[32]
        assert sorted(set(codes)) == [0, 242, 243, 250, 251]
        assert [np.count_nonzero(codes == code) for code in (250, 242, 243, 251)] == [1, 7, 7, 1]
        shown = np.isin(recording.triggers, [250, 242, 243, 251])
        assert np.array_equal(codes, np.where(shown, recording.triggers, 0))


def test_packets_come_every_fifth_of_a_second_when_their_last_sample_is_recorded(data):
    for number, sitting in enumerate(TRACK.stream.sittings(data), start=1):
        ticks = list(sitting.ticks())
        shapes = [tick.payload["packet"].shape for tick in ticks]
        assert set(shapes[:-1]) == {(33, 50)} and shapes[-1][0] == 33 and 1 <= shapes[-1][1] <= 50
        assert [tick.due_s for tick in ticks[:-1]] == pytest.approx([(i + 1) / 5 for i in range(len(ticks) - 1)])
        assert sitting.seconds == ticks[-1].due_s
        assert (sitting.count, sitting.decisions) == (len(ticks), sum(tick.trial is not None for tick in ticks))
        assert [tick.about["start"] for tick in ticks] == [50 * i for i in range(len(ticks))]
        assert {tick.about["person"] for tick in ticks} == {number}


def test_what_is_asked_are_the_trials_in_their_order(data):
    assert [tick.trial for tick in asked(data)] == TRACK.trials(data)["trial"].to_list()


def test_only_the_last_packet_of_the_last_person_is_called_last(data):
    told = [tick.about["last"] for sitting in TRACK.stream.sittings(data) for tick in sitting.ticks()]
    assert told[-1] is True and not any(told[:-1])


@pytest.mark.parametrize(("rule", "deadline_s"), [("final", 0.5), ("preliminary", None)])
def test_a_decision_has_half_a_second_in_the_final_and_all_the_time_before_it(data, rule, deadline_s):
    ticks = list(registry.track(TRACK.id, {"rule": rule}).stream.sittings(data)[0].ticks())
    assert {tick.deadline_s for tick in ticks if tick.trial} == {deadline_s}
    assert {tick.deadline_s for tick in ticks if not tick.trial} == {None}


def test_an_unknown_rule_is_refused():
    with pytest.raises(PalestraError, match="expected final or preliminary"):
        registry.track(TRACK.id, {"rule": "semifinal"})


def test_what_an_entrant_writes_into_a_packet_stays_there(data):
    (sitting, *_) = TRACK.stream.sittings(data)
    before = [tick.payload["packet"].copy() for tick in sitting.ticks()]
    for tick, packet in zip(sitting.ticks(), before, strict=True):
        assert np.array_equal(tick.payload["packet"], packet)
        assert tick.payload["packet"].flags.c_contiguous and tick.payload["packet"].flags.owndata
        tick.payload["packet"][:] = -1
    assert all(np.array_equal(t.payload["packet"], p) for t, p in zip(sitting.ticks(), before, strict=True))


def test_a_held_trigger_does_not_tell_where_a_hidden_one_begins(tmp_path):
    held = [Event(OPEN + i, 242) for i in range(200)]
    data = with_triggers(tmp_path, BLOCK + held + video(1, 500, 2000), 4000)  # the 1 stands 25 samples before 500
    row = np.concatenate([tick.payload["packet"][32] for tick in TRACK.stream.sittings(data)[0].ticks()])
    assert [(int(at) + 10, int(row[at])) for at in np.flatnonzero(row)] == BLOCK


@pytest.mark.parametrize(("samples", "last"), [(LAST + 1, 21), (LAST + 30, 50), (4000, 50)])
def test_the_last_packet_holds_the_251_and_is_shorter_where_the_recording_ends(tmp_path, samples, last):
    data = with_triggers(tmp_path, BLOCK + video(1, 500, 2000), samples, dtype=np.float64)
    ticks = list(TRACK.stream.sittings(data)[0].ticks())
    assert len(ticks) == 71
    assert ticks[-1].payload["packet"].shape == (33, last)
    assert ticks[-1].payload["packet"][32, 20] == 251
    assert ticks[-1].payload["packet"].dtype == np.float64


def test_a_block_outside_of_the_experiment_is_told(tmp_path):
    data = with_triggers(tmp_path, [Event(5, 242), *[e for e in BLOCK if e.code != 242]], 4000)
    with pytest.raises(Refused, match="a block outside of the experiment"):
        TRACK.trials(data)


def test_a_test_set_without_hidden_triggers_has_no_truth(tmp_path):
    data = with_triggers(tmp_path, BLOCK, 4000)
    assert TRACK.trials(data).height == len(ASKS)
    with pytest.raises(Refused, match="no video in its triggers"):
        TRACK.truth(data)


def test_a_person_who_is_asked_nothing_leaves_the_others_theirs(tmp_path):
    with_triggers(tmp_path, BLOCK + video(1, 500, 2000), 4000)
    with_triggers(tmp_path, [Event(10, 250), *video(2, 500, 2000), Event(LAST, 251)], 4000, "sub082")
    assert TRACK.trials(tmp_path)["person"].unique().to_list() == ["sub081"]
    assert TRACK.truth(tmp_path)["person"].unique().to_list() == ["sub081"]
    assert [sitting.decisions for sitting in TRACK.stream.sittings(tmp_path)] == [len(ASKS), 0]


# --- answers


@pytest.mark.parametrize("answer", [0, 8, np.int64(3), np.uint8(5), {"answer": 4}, {"label": 4}])
def test_a_label_is_heard(answer):
    label = next(iter(answer.values())) if isinstance(answer, dict) else answer
    heard = TRACK.hear(answer)
    assert heard == {"label": label} and type(heard["label"]) is int


@pytest.mark.parametrize(
    "answer",
    [
        12, -1, 9, 2**70, True, np.True_, 4.0, np.float64(4), "4", None, [4], (4,), np.array(4), np.array([4]), b"4",
        {}, {"answer": {"answer": 4}}, {"emotion": 4}, {"answer": 4, "label": 4}, {"label": True},
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_words(answer):
    with pytest.raises(ValueError, match=r"^returned .*, expected a whole number from 0 to 8$"):
        TRACK.hear(answer)


def test_what_was_returned_is_told():
    with pytest.raises(ValueError, match=r"^returned 12, expected a whole number from 0 to 8$"):
        TRACK.hear({"answer": 12})
    with pytest.raises(ValueError, match="…, expected"):
        TRACK.hear("x" * 10_000)


# --- what else is told


def test_the_signal_has_the_names_and_units_of_the_test_people(data):
    signal = TRACK.stream.signal(data)
    assert signal.channels == (*material.BATCH_2, "trigger") and signal.units == ("volts",) * 32 + ("none",)
    assert (signal.rate_hz, signal.kind, signal.array) == (250.0, "EEG", "packet")


def test_recordings_of_two_units_are_no_one_signal(tmp_path):
    with_triggers(tmp_path, BLOCK, 4000)
    assert TRACK.stream.signal(tmp_path).units[0] == "microvolts"
    array = np.array(eeg.open_recording(tmp_path / "test" / "sub081.pkl").signal)
    array[:32] *= 1e-6
    eeg.write_recording(array, tmp_path / "test" / "sub082.pkl")
    with pytest.raises(Refused, match="recordings in V and in µV"):
        TRACK.stream.signal(tmp_path)


def scored_rows(data, gaps=True):
    answers = perfect(data).with_columns(label=(pl.col("label") + pl.int_range(pl.len()) % 3) % 9)
    answers = answers.gather_every(2) if gaps else answers
    return score.score(TRACK, score.load(TRACK, data), answers, "me").rows


@pytest.mark.parametrize("gaps", [True, False])
def test_a_result_is_charted(data, gaps):
    rows = scored_rows(data, gaps)
    confusion, emotions, over_time, people = english(TRACK.display.charts(rows))
    assert all(chart.svg.startswith("<svg") for chart in (confusion, emotions, over_time))
    assert people.columns[1:] == [emotion.name for emotion in material.EMOTIONS]
    own = rows.filter(person="sub082", emotion="joy")
    expected = own.group_by("video").agg(pl.col("right").mean())["right"].mean()
    assert people.rows[1][0] == "sub082" and people.rows[1][8] == f"{100 * expected:.1f}"


def test_the_confusion_counts_every_second_once(data):
    from palestra.tracks.emotion_eeg.figures import _confusion_counts

    rows = scored_rows(data)
    counts, columns = _confusion_counts(rows)
    assert counts.sum() == rows.height and str(columns[-1]) == "no answer"
    assert counts[:, 9].sum() == rows["label"].null_count()
    assert np.trace(counts[:, :9]) == rows["right"].sum()
    assert counts[7, 8] == rows.filter(truth_label=7, label=8).height > 0
    assert _confusion_counts(scored_rows(data, gaps=False))[0].shape == (9, 9)


def test_a_result_of_which_nothing_was_answered_is_charted_too(data):
    rows = score.score(TRACK, score.load(TRACK, data), perfect(data).clear(), "me").rows
    assert len(TRACK.display.charts(rows)) == 4


def test_the_data_page_tells_nothing_of_the_test_people_s_triggers(data, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(data / "train", copy / "train")
    for name, file in eeg.recordings(data, "test").items():
        array = np.array(eeg.open_recording(file).signal)
        array[32] = 0
        eeg.write_recording(array, copy / "test" / f"{name}.pkl", np.float32)
    assert TRACK.dataset.describe(copy) == TRACK.dataset.describe(data)


def test_the_data_page_is_there_for_contestants_who_have_no_test_people(data, tmp_path):
    shutil.copytree(data / "train", tmp_path / "train")
    page = english(TRACK.dataset.describe(tmp_path))
    assert [type(block) for block in page].count(report.Table) == 3
    recordings = page[0]
    assert [row[1] for row in recordings.rows] == ["train"] * 3 and {row[5] for row in recordings.rows} == {28}
    with pytest.raises(Refused, match="test"):
        TRACK.trials(tmp_path)


def test_a_trial_is_pictured_with_and_without_its_truth(data):
    row = scored_rows(data).row(0, named=True)
    whole = TRACK.display.picture(data, row)
    bare = TRACK.display.picture(data, {"trial": row["trial"]})
    assert whole.dtype == np.uint8 and whole.shape == bare.shape and whole.shape[2] == 3
    assert not np.array_equal(whole, bare)
    other = TRACK.display.picture(data, {"trial": TRACK.trials(data)["trial"][0]})
    assert not np.array_equal(bare, other)


def test_contestants_do_not_get_the_test_people():
    assert TRACK.dataset.hidden == ("test", "captures")
