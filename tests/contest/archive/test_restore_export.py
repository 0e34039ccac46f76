"""A contest again from its export: what comes back is the same, and what was changed does not come back."""

import hashlib
import json
import zipfile
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palestra import registry
from palestra.contest.archive import export, recompute_results
from palestra.contest.archive import restore_export as rebuilding
from palestra.contest.archive.export import Manifest
from palestra.contest.archive.signature import open_key, pem_of
from palestra.contest.archive.verify_archive import SEAL, SEAL_BYTES
from palestra.contest.archive.zip_writer import Member, seal
from palestra.contest.boards.ranking import board
from palestra.contest.contest import Contest
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.log.chain import Head
from palestra.contest.queue import jobs
from palestra.contest.storage.database import open_database, reading, sqlite_address
from palestra.contest.storage.file_store import Files
from palestra.errors import PalestraError, Refused
from palestra.records import Estimate
from tests import postgres
from tests.contest.leaving import TRACKS, contents, small, told

__all__ = ["small", "told"]  # fixtures


def check(archive, known=()):
    """Look at an archive and write nothing."""
    with rebuilding.Archive(archive) as opened:
        return opened.check("", known)


@pytest.fixture
def key(tmp_path):
    return open_key(tmp_path / "contest.key")


@pytest.fixture
def archive(small, key, tmp_path):
    export.export(small.engine, small.files, key, tmp_path / "blinks.zip", small.clock())
    return tmp_path / "blinks.zip"


@pytest.fixture
def elsewhere(tmp_path, database_url):
    """An empty database of the same sort."""
    if database_url.startswith("sqlite"):
        yield sqlite_address(tmp_path / "elsewhere.db")
        return
    with postgres.fresh_database() as address:
        yield address


def rebuild(archive, database, tmp_path, **wishes):
    return rebuilding.rebuild(archive, database, str(tmp_path / "files2"), 5, **wishes)


@pytest.fixture(scope="session")
def original(told, tmp_path_factory):
    """An archive that is looked at and not changed, and its bytes."""
    folder = tmp_path_factory.mktemp("original")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(registry.OUTSIDE, str(TRACKS))
        key = open_key(folder / "contest.key")
        export.export(told.engine, told.files, key, folder / "blinks.zip", told.clock(), without=["reports"])
    return folder / "blinks.zip"


def rewritten(archive, target, key, change, head=None):
    """The same archive with other members, signed and sealed as whoever holds a key can."""
    with zipfile.ZipFile(archive) as source:
        found = {name: source.read(name) for name in source.namelist()}
    manifest = msgspec.json.decode(found["manifest.json"], type=Manifest)
    change(found)
    listed = {
        name: Member(hashlib.sha256(data).hexdigest(), len(data))
        for name, data in found.items()
        if name not in ("manifest.json", "manifest.sig", "public.pem")
    }
    manifest = msgspec.structs.replace(manifest, members=listed, head=head or manifest.head)
    text = found.pop("other manifest", None) or msgspec.json.encode(manifest)
    found |= {"manifest.json": text, "manifest.sig": key.sign(text), "public.pem": pem_of(key.public)}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in found.items():
            out.writestr(name, data)
        out.comment = SEAL.ljust(SEAL_BYTES, b"0")
    seal(target)
    return target


# The way back


def test_a_rebuilt_contest_has_the_same_events_hashes_files_and_boards(small, archive, key, elsewhere, tmp_path):
    verdict = rebuild(archive, elsewhere, tmp_path)
    engine, files = open_database(elsewhere), Files.open(str(tmp_path / "files2"))
    with reading(engine) as connection:
        assert list(chain.rows(connection)) == small.rows()
        assert chain.verify(connection, [verdict.head]).ok
    contest = Contest(engine, files, small.clock)
    assert contest.state == Contest(small.engine, small.files, small.clock).state
    rows = board(contest.state, "open", small.clock(), "whole", files.read)
    assert rows == board(small.state(), "open", small.clock(), "whole", small.files.read)
    assert (verdict.contest, verdict.fingerprint, verdict.trusted) == ("blinks", key.fingerprint, False)
    assert files.read(small.state().submissions["s1"].file) == small.files.read(small.state().submissions["s1"].file)
    contest.act("acc-ada", lambda state, now: [e.TeamRenamed("ada", "Goes on")])
    engine.dispose()


def test_an_export_of_the_rebuilt_contest_has_the_same_bytes(archive, key, elsewhere, tmp_path):
    rebuild(archive, elsewhere, tmp_path)
    engine = open_database(elsewhere)
    export.export(engine, Files.open(str(tmp_path / "files2")), key, tmp_path / "again.zip", 0)
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()
    engine.dispose()


def test_no_secret_comes_back_and_what_was_under_way_is_queued(archive, elsewhere, tmp_path):
    assert rebuild(archive, elsewhere, tmp_path).queued == 1
    engine = open_database(elsewhere)
    assert [(job.key, job.state) for job in jobs.listed(engine)] == [("score:s8:", "queued")]
    found = contents(engine)
    assert [name for name, rows in found.items() if rows] == ["events", "jobs", "settings"]
    engine.dispose()


def test_every_kind_of_unfinished_work_is_found(small):
    small.say(e.SubmissionMade("s9", "ada", "open", "a" * 64, "x.csv", 1))
    small.say(e.BundleMade("b1", "ada", "open", "b" * 64, "x.zip", 1))
    small.say(e.RescoringProposed("r1", "open", ("s1", "s2", "s6"), "new truth"))
    small.score("s1", rescoring="r1")
    small.say(e.RescoringFailed("r1", "s6", "no"))
    assert [task.key for task in rebuilding.unfinished(small.state())] == [
        "score:s8:", "check:s9", "verify:b1", "score:s2:r1",
    ]  # fmt: skip


def test_an_archive_is_rebuilt_in_an_empty_database_only(archive, database_url, small, tmp_path):
    with pytest.raises(Refused, match="expected an empty database"):
        rebuild(archive, database_url, tmp_path)
    assert small.rows()


def test_a_rebuild_that_was_broken_off_can_be_begun_again(archive, elsewhere, tmp_path, monkeypatch):
    def fail(connection, head):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rebuilding, "require_verified", fail)
        with pytest.raises(KeyboardInterrupt):
            rebuild(archive, elsewhere, tmp_path)
    rebuild(archive, elsewhere, tmp_path)


def test_the_key_that_was_expected_is_asked_for(archive, key, elsewhere, tmp_path):
    with pytest.raises(PalestraError, match=f"found a signature by the key {key.fingerprint}"):
        rebuild(archive, elsewhere, tmp_path, expected_key="lusab-babad")
    assert rebuild(archive, elsewhere, tmp_path, expected_key=key.fingerprint.upper()).trusted


def test_a_head_that_was_kept_elsewhere_is_asked_for(small, archive):
    for row in (small.rows()[4], small.rows()[-1]):
        known = Head(row[0], row[4])
        assert check(archive, known=[known]).head.seq == len(small.rows())
        with pytest.raises(PalestraError, match="rewritten"):
            check(archive, known=[Head(row[0], "f" * 64)])
    with pytest.raises(PalestraError, match="the end is missing"):
        check(archive, known=[Head(10_000, "f" * 64)])


def test_an_export_for_the_public_is_refused_in_words(small, key, tmp_path):
    export.export(small.engine, small.files, key, tmp_path / "public.zip", small.clock(), public=True)
    with pytest.raises(PalestraError, match="expected a whole one"):
        check(tmp_path / "public.zip")


def test_the_file_of_the_rules_can_be_had(small, key, tmp_path):
    (tmp_path / "contest.toml").write_text("# rules")
    planned = export.plan(small.engine, small.files, small.clock(), rules_file=tmp_path / "contest.toml")
    export.write(planned, small.engine, small.files, key, tmp_path / "x.zip")
    with rebuilding.Archive(tmp_path / "x.zip") as opened:
        assert opened.rules_text() == b"# rules"


# What was changed


def flipped(data, place, change):
    return data[:place] + bytes([data[place] ^ change]) + data[place + 1 :]


PLACES = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@PLACES
@given(st.data())
def test_one_changed_byte_anywhere_is_refused(original, tmp_path, data):
    whole = original.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    (tmp_path / "x.zip").write_bytes(flipped(whole, place, data.draw(st.integers(1, 255))))
    with pytest.raises(PalestraError):
        check(tmp_path / "x.zip")


@PLACES
@given(st.data())
def test_one_changed_byte_under_a_new_seal_is_refused_or_changes_nothing(original, tmp_path, data):
    whole = original.read_bytes()[:-SEAL_BYTES]
    end = data.draw(st.booleans())  # the zip's own directory at the end is small, and has most of what can go wrong
    place = data.draw(st.integers(len(whole) - 5000 if end else 0, len(whole) - 1))
    changed = flipped(whole, place, data.draw(st.integers(1, 255)))
    (tmp_path / "x.zip").write_bytes(changed + SEAL + hashlib.sha256(changed).hexdigest().encode())
    try:
        found = check(tmp_path / "x.zip")
    except PalestraError:
        return
    assert found == check(original)
    with rebuilding.Archive(tmp_path / "x.zip") as one, rebuilding.Archive(original) as other:
        assert list(one.rows()) == list(other.rows())
        assert one.sizes == other.sizes


@PLACES
@given(st.data())
def test_a_cut_or_lengthened_archive_is_refused(original, tmp_path, data):
    whole = original.read_bytes()
    cut = data.draw(st.integers(0, len(whole) - 1))
    more = data.draw(st.binary(min_size=1, max_size=50))
    for changed in (whole[:cut], whole + more, more + whole):
        (tmp_path / "x.zip").write_bytes(changed)
        with pytest.raises(PalestraError):
            check(tmp_path / "x.zip")


def lines(found):
    return [json.loads(line) for line in found["log.jsonl"].splitlines()]


def put(found, events):
    found["log.jsonl"] = b"".join(json.dumps(event).encode() + b"\n" for event in events)


def edit(found):
    events = lines(found)
    events[5]["by"] = "somebody else"
    put(found, events)


def drop(found):
    put(found, lines(found)[:4] + lines(found)[5:])


def swap(found):
    events = lines(found)
    put(found, [*events[:4], events[5], events[4], *events[6:]])


def cut(found):
    put(found, lines(found)[:-1])


def double(found):
    events = lines(found)
    put(found, [*events[:4], events[3], *events[4:]])


@pytest.mark.parametrize("change", [edit, drop, swap, cut, double])
def test_an_edited_log_is_refused_even_when_it_is_signed(archive, key, tmp_path, change):
    with pytest.raises(PalestraError, match="its log"):
        check(rewritten(archive, tmp_path / "x.zip", key, change))


def rename_file(found):
    name = next(name for name in found if name.startswith("files/"))
    found["files/" + "0" * 64] = found.pop(name)


def climb(found):
    found["files/../../evil"] = b"x"


def absolute(found):
    found["/etc/evil"] = b"x"


def no_log(found):
    del found["log.jsonl"]


def not_json(found):
    found["log.jsonl"] = b"[1, 2\n"


def with_nul(found):
    events = lines(found)
    events[2]["by"] = "a\0b"
    put(found, events)


def long_name(found):
    events = lines(found)
    events[2]["by"] = "a" * 81
    put(found, events)


def surrogate(found):
    found["log.jsonl"] = found["log.jsonl"].replace(b'"by":"system"', b'"by":"\\ud800"')


def nonsense_manifest(found):
    found["other manifest"] = b'{"format": "x"}'


def deep_manifest(found):
    found["other manifest"] = b"[" * 100_000


CHANGES = [
    rename_file, climb, absolute, no_log, not_json, with_nul, long_name, surrogate, nonsense_manifest, deep_manifest,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_hostile_archive_is_refused_in_words_and_nothing_is_written(archive, key, tmp_path, change):
    database = tmp_path / "elsewhere.db"
    with pytest.raises(PalestraError):
        rebuild(rewritten(archive, tmp_path / "x.zip", key, change), sqlite_address(database), tmp_path)
    assert not database.exists()
    assert not (tmp_path / "files2").exists()


@pytest.mark.parametrize("at", [2**63, 2**60])
def test_a_log_of_times_that_no_clock_shows_is_refused_in_words(archive, key, tmp_path, at):
    body = e.encode(e.AccountMade("a1", "Ada", "member"))
    head = Head(1, chain.linked(chain.NOTHING, 1, at, "x", body), at)

    def change(found):
        put(found, [{"seq": 1, "at": at, "by": "x", "body": body, "hash": head.hash}])

    with pytest.raises(PalestraError, match="no event that a log can hold"):
        check(rewritten(archive, tmp_path / "x.zip", key, change, head))


def test_a_log_that_no_contest_could_have_is_refused_and_nothing_stays(archive, key, tmp_path):
    body = '{"kind":"team.renamed","team":"nobody","name":"x"}'
    head = Head(1, chain.linked(chain.NOTHING, 1, 1, "x", body), 1)

    def change(found):
        put(found, [{"seq": 1, "at": 1, "by": "x", "body": body, "hash": head.hash}])

    path = rewritten(archive, tmp_path / "x.zip", key, change, head)
    with pytest.raises(PalestraError, match="event 1 cannot have happened"):
        rebuild(path, sqlite_address(tmp_path / "elsewhere.db"), tmp_path)
    engine = open_database(sqlite_address(tmp_path / "elsewhere.db"))
    assert not any(contents(engine).values())
    engine.dispose()


def test_a_bomb_is_refused_before_it_is_unpacked(archive, key, tmp_path):
    def change(found):
        found["files/" + "0" * 64] = bytes(50_000_000)

    path = rewritten(archive, tmp_path / "x.zip", key, change)
    with pytest.raises(Refused, match="at most"):
        rebuilding.Archive(path, 10_000_000)


def test_a_line_without_end_is_refused(archive, key, tmp_path, monkeypatch):
    monkeypatch.setattr(rebuilding, "MOST_LINE_BYTES", 2_000_000)

    def change(found):
        found["log.jsonl"] = b"x" * 5_000_000

    with pytest.raises(PalestraError, match="a line of more than"):
        check(rewritten(archive, tmp_path / "x.zip", key, change))


def test_a_full_disk_is_told_before_anything_is_written(archive, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(Refused, match=r"1\.0 kB free"):
        rebuild(archive, sqlite_address(tmp_path / "elsewhere.db"), tmp_path)


@pytest.mark.parametrize("data", [b"", b"not an archive", SEAL + b"0" * 64])
def test_what_is_no_export_is_told_in_words(tmp_path, data):
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(PalestraError):
        check(tmp_path / "x.zip")


def test_a_folder_or_nothing_is_told_in_words(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.zip"):
        with pytest.raises(PalestraError):
            check(path)


# Results computed again


def outcomes(found):
    return {one.submission: one.outcome for one in found}


def test_results_are_the_same_byte_for_byte_from_the_kept_scores(archive, elsewhere, tmp_path, small):
    rebuild(archive, elsewhere, tmp_path)
    found = recompute_results.reverify(small.state(), Files.open(str(tmp_path / "files2")))
    assert outcomes(found) == dict.fromkeys(["s1", "s2", "s3", "s4", "s5", "s6"], "same bytes")
    assert {one.how for one in found} == {"scores"}
    assert recompute_results.told(found) == "6 equal byte for byte"


def test_results_are_the_same_from_what_was_submitted_where_the_data_is_at_hand(small):
    found = recompute_results.reverify(small.state(), small.files, small.home)
    assert {(one.how, one.outcome) for one in found} == {("answers", "same bytes")}


def test_some_submissions_can_be_chosen(small):
    assert outcomes(recompute_results.reverify(small.state(), small.files, submissions=["s2"])) == {"s2": "same bytes"}
    with pytest.raises(PalestraError, match="no submission"):
        recompute_results.reverify(small.state(), small.files, submissions=["s99"])


def with_metrics(state, name, change):
    score = state.submissions[name].scores[0]
    score.metrics = {key: change(value) for key, value in score.metrics.items()}


def test_a_number_in_the_log_that_is_not_what_comes_out_is_found(small):
    state = small.state()
    with_metrics(state, "s1", lambda one: Estimate(one.value - 1, one.low, one.high))
    one = recompute_results.reverify(state, small.files, submissions=["s1"])[0]
    assert (one.outcome, "mean_error (value)" in one.message) == ("differs", True)
    with_metrics(state, "s2", lambda one: Estimate(one.value, one.low, None))
    assert outcomes(recompute_results.reverify(state, small.files, submissions=["s2"])) == {"s2": "differs"}


def test_a_number_that_another_machine_rounds_otherwise_is_equal_in_numbers(small):
    state = small.state()
    with_metrics(state, "s1", lambda one: Estimate(one.value * (1 + 1e-14), one.low, one.high))
    one = recompute_results.reverify(state, small.files, submissions=["s1"])[0]
    assert (one.outcome, 0 < one.worst < 1e-12) == ("same numbers", True)


def test_the_shown_part_of_a_split_board_is_computed_again_as_well(small):
    state = small.state()
    score = state.submissions["s3"].scores[0]
    score.shown = {name: Estimate(one.value + 1) for name, one in score.shown.items()}
    assert "shown part" in recompute_results.reverify(state, small.files, submissions=["s3"])[0].message


def test_other_resamples_are_found(small):
    state = small.state()
    state.submissions["s1"].scores[0].draws = state.submissions["s2"].scores[0].draws
    one = recompute_results.reverify(state, small.files, submissions=["s1"])[0]
    assert (one.outcome, "resamples" in one.message) == ("differs", True)


def test_other_data_is_found_though_the_numbers_are_equal(small):
    clips = small.home / "data" / "clips.csv"
    clips.write_text(clips.read_text().replace("p7", "p9"))
    one = recompute_results.reverify(small.state(), small.files, small.home, ["s1"])[0]
    assert (one.outcome, one.message) == ("differs", "the numbers are equal, but they are of other data.")


def test_other_truth_gives_other_numbers(small):
    truth = small.home / "data" / "truth" / "clips.csv"
    truth.write_text(truth.read_text().replace("c3,3", "c3,9"))
    assert outcomes(recompute_results.reverify(small.state(), small.files, small.home, ["s1"])) == {"s1": "differs"}


def test_truth_that_cannot_be_read_is_not_checked_against(small):
    truth = small.home / "data" / "truth" / "clips.csv"
    truth.write_text(truth.read_text() + truth.read_text().splitlines()[-1] + "\n")
    one = recompute_results.reverify(small.state(), small.files, small.home, ["s1"])[0]
    assert one.outcome == "not checked" and one.message


def test_what_cannot_be_computed_again_says_why(small):
    score = small.state().submissions["s1"].scores[0]
    (small.folder / "files" / score.files["scores"][:2] / score.files["scores"]).unlink()
    one = recompute_results.reverify(small.state(), small.files, submissions=["s1"])[0]
    assert (one.outcome, "no file" in one.message) == ("not checked", True)
    state = small.state()
    state.submissions["s2"].scores[0].files = {}
    one = recompute_results.reverify(state, small.files, submissions=["s2"])[0]
    assert (one.outcome, "not kept" in one.message) == ("not checked", True)
    assert "s2, attempt 1: its scores were not kept" in recompute_results.told([one])
