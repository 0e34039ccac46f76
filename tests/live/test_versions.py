"""Registered versions, at made-up times."""

import hashlib
import json
import os
import stat
import threading

import pytest

from palestra.errors import PalestraError, Refused, UnknownName
from palestra.live import versions as module
from palestra.live.versions import Versions, Window, digest_of, windows
from palestra.records import Sitting

HOUR = 3600.0
PLAN = [Window("T1", 0.0, HOUR), Window("T2", HOUR + 58.5, 2 * HOUR + 58.5)]


def sitting(name, window_s=HOUR, seconds=58.5):
    return Sitting(name, list, 30, 30, seconds, window_s)


@pytest.fixture
def bundle(tmp_path):
    """A way to write a program that says something."""

    def write(says="hello", name="bundle"):
        folder = tmp_path / name
        (folder / "Algorithm").mkdir(parents=True, exist_ok=True)
        (folder / "Algorithm" / "MyAlgorithm.py").write_text(f"SAYS = {says!r}\n")
        (folder / "start.sh").write_text("#!/bin/sh\n")
        (folder / "start.sh").chmod(0o700)
        return folder

    return write


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def logged(run):
    return [json.loads(line) for line in (run / "versions.jsonl").read_text().splitlines()]


def test_each_sitting_follows_its_window_and_the_next_window_follows_the_sitting():
    assert windows([sitting("T1"), sitting("T2")]) == PLAN
    assert windows([sitting("T1")], starts_s=10.0) == [Window("T1", 10.0, HOUR + 10.0)]


def test_a_sitting_without_a_window_only_takes_its_time():
    found = windows([sitting("a", 0.0, 100.0), sitting("b", 60.0, 100.0)])
    assert found == [Window("b", 100.0, 160.0)]


def test_a_version_is_copied_numbered_and_logged_with_its_digest(run, bundle):
    versions = Versions(run, PLAN)
    first, second = versions.register("red", bundle("one"), 5.0), versions.register("red", bundle("two"), 6.0)
    assert [(one.number, one.window, one.at_s) for one in (first, second)] == [(1, "T1", 5.0), (2, "T1", 6.0)]
    assert first.digest != second.digest == digest_of(bundle("two"))
    assert first.folder == run / "versions" / "red" / "1"
    assert (first.folder / "Algorithm" / "MyAlgorithm.py").read_text() == "SAYS = 'one'\n"
    assert logged(run) == [
        {"team": "red", "number": 1, "digest": first.digest, "at_s": 5.0, "window": "T1"},
        {"team": "red", "number": 2, "digest": second.digest, "at_s": 6.0, "window": "T1"},
    ]


def test_teams_count_their_versions_apart(run, bundle):
    versions = Versions(run, PLAN)
    assert [versions.register(team, bundle(), 1.0).number for team in ("red", "blue", "red")] == [1, 1, 2]


def test_everybody_may_read_a_copy_and_its_programs_still_start(run, bundle):
    source = bundle()
    (source / "Algorithm").chmod(0o700)
    (source / "Algorithm" / "MyAlgorithm.py").chmod(0o600)
    source.chmod(0o700)
    before = os.umask(0o077)
    try:
        copy = Versions(run, PLAN).register("red", source, 1.0).folder
    finally:
        os.umask(before)
    modes = {
        str(path.relative_to(run)): stat.S_IMODE(path.stat().st_mode) for path in [copy.parent, copy, *copy.rglob("*")]
    }
    assert modes == {
        "versions/red": 0o755, "versions/red/1": 0o755, "versions/red/1/Algorithm": 0o755,
        "versions/red/1/Algorithm/MyAlgorithm.py": 0o644, "versions/red/1/start.sh": 0o755,
    }  # fmt: skip


def test_an_archive_is_kept_as_the_file_that_it_is(run, tmp_path):
    (tmp_path / "bundle.zip").write_bytes(b"PK")
    version = Versions(run, PLAN).register("red", tmp_path / "bundle.zip", 1.0)
    assert version.folder.read_bytes() == b"PK"
    assert version.digest == f"sha256:{hashlib.sha256(b'PK').hexdigest()}"


@pytest.mark.parametrize(
    ("at_s", "message"),
    [
        (HOUR, r"It is 1:00:00 .* until the window before T2, from 1:00:58 to 2:00:58"),  # closed on the dot
        (HOUR + 30, "until the window before T2"),
        (-5.0, "until the window before T1, from 0:00:00 to 1:00:00"),
        (3 * HOUR, "no other window opens in this run"),
    ],
)
def test_outside_a_window_versions_are_frozen_and_the_next_window_is_told(run, bundle, at_s, message):
    with pytest.raises(PalestraError, match=message):
        Versions(run, PLAN).register("red", bundle(), at_s)
    assert not list(run.iterdir())


def test_a_window_is_open_from_its_first_moment(run, bundle):
    versions = Versions(run, PLAN)
    assert versions.register("red", bundle(), 0.0).window == "T1"
    assert versions.register("red", bundle(), HOUR + 58.5).window == "T2"


def test_the_last_version_before_a_sitting_is_in_force(run, bundle):
    versions = Versions(run, PLAN)
    versions.register("red", bundle("one"), 1.0)
    versions.register("red", bundle("two"), 2.0)
    versions.register("red", bundle("three"), 2 * HOUR)
    versions.register("blue", bundle("other"), 2 * HOUR)
    assert versions.in_force("red", "T1").number == 2
    assert versions.in_force("red", "T2").number == 3
    assert versions.in_force("blue", "T1") is None
    assert versions.in_force("blue", "T2").number == 1
    assert versions.in_force("../green", "T2") is None


def test_a_version_stays_in_force_until_there_is_another(run, bundle):
    versions = Versions(run, PLAN)
    version = versions.register("red", bundle(), 1.0)
    assert versions.in_force("red", "T2") == version


def test_an_unknown_sitting_gets_a_hint(run):
    with pytest.raises(UnknownName, match="Did you mean 'T1'"):
        Versions(run, PLAN).in_force("red", "T11")


def test_another_process_sees_what_was_registered(run, bundle):
    version = Versions(run, PLAN).register("red", bundle(), 1.0)
    assert Versions(run, PLAN).in_force("red", "T1") == version
    assert Versions(run, PLAN).all() == [version]


def test_a_line_that_a_kill_cut_short_is_no_version_and_spoils_none(run, bundle):
    versions = Versions(run, PLAN)
    first = versions.register("red", bundle("one"), 1.0)
    with (run / "versions.jsonl").open("ab") as log:
        log.write(b'{"team":"red","number":2,"dig')
    assert versions.all() == [first]
    second = versions.register("red", bundle("two"), 2.0)
    assert second.number == 2
    assert [line["number"] for line in logged(run)] == [1, 2]
    assert Versions(run, PLAN).all() == [first, second]


def test_a_copy_that_a_kill_left_unlogged_is_replaced(run, bundle):
    stale = run / "versions" / "red" / "1"
    stale.mkdir(parents=True)
    (stale / "old.py").write_text("")
    version = Versions(run, PLAN).register("red", bundle(), 1.0)
    assert version.number == 1
    assert not (version.folder / "old.py").exists()


def test_a_log_that_was_edited_is_told_with_its_line(run, bundle):
    versions = Versions(run, PLAN)
    versions.register("red", bundle(), 1.0)
    text = (run / "versions.jsonl").read_text()
    (run / "versions.jsonl").write_text(text + text.replace('"number":1', '"number":"x"'))
    with pytest.raises(Refused, match=r"versions\.jsonl, line 2"):
        versions.in_force("red", "T1")


def test_versions_registered_at_once_get_numbers_of_their_own(run, bundle):
    source, versions = bundle(), Versions(run, PLAN)
    threads = [threading.Thread(target=versions.register, args=("red", source, 1.0)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(line["number"] for line in logged(run)) == list(range(1, 9))
    assert sorted(path.name for path in (run / "versions" / "red").iterdir()) == [str(i) for i in range(1, 9)]


@pytest.mark.parametrize("team", ["", ".", "..", "../x", "a/b", ".hidden", "a\nb", "a\0b", "x" * 41, "-rf", " red"])
def test_a_name_that_is_no_safe_file_name_is_refused(run, bundle, team):
    with pytest.raises(Refused, match="letters, digits"):
        Versions(run, PLAN).register(team, bundle(), 1.0)
    assert not list(run.iterdir())


@pytest.mark.parametrize("team", ["red", "Team 7", "眼动队", "a.b-c_d", "x" * 40])
def test_names_that_people_have_are_taken(run, bundle, team):
    assert Versions(run, PLAN).register(team, bundle(), 1.0).folder.is_dir()


def make_link(folder):
    (folder / "secret").symlink_to("/etc/passwd")


def make_folder_link(folder):
    (folder / "all").symlink_to("/etc")


def make_pipe(folder):
    os.mkfifo(folder / "pipe")


def make_deep(folder):
    folder.joinpath(*["d"] * 17).mkdir(parents=True)


def make_odd_name(folder):
    (folder / "a\nb").write_text("")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (make_link, "secret.*a link"),
        (make_folder_link, "all.*a link"),
        (make_pipe, "pipe.*neither a file nor a folder"),
        (make_deep, "too deep"),
        (make_odd_name, "unprintable"),
    ],
)
def test_what_is_no_plain_file_is_refused_and_nothing_is_kept(run, bundle, change, message):
    source = bundle()
    change(source)
    with pytest.raises(Refused, match=message):
        Versions(run, PLAN).register("red", source, 1.0)
    with pytest.raises(Refused, match=message):
        digest_of(source)
    assert not list((run / "versions" / "red").iterdir())
    assert not (run / "versions.jsonl").exists()


def test_a_link_to_a_bundle_is_refused(run, bundle, tmp_path):
    (tmp_path / "link").symlink_to(bundle())
    with pytest.raises(Refused, match="a link"):
        Versions(run, PLAN).register("red", tmp_path / "link", 1.0)


def test_a_bundle_that_is_too_large_is_refused_and_nothing_is_kept(run, bundle):
    source = bundle()
    (source / "weights.bin").write_bytes(bytes(1000))
    with pytest.raises(Refused, match="at most 1,000"):
        Versions(run, PLAN, most_bytes=1000).register("red", source, 1.0)
    assert not list((run / "versions" / "red").iterdir())
    assert Versions(run, PLAN, most_bytes=2000).register("red", source, 1.0).number == 1


def test_too_many_files_are_refused(run, bundle, monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 3)
    with pytest.raises(Refused, match="more than 3 files"):
        Versions(run, PLAN).register("red", bundle(), 1.0)


def test_an_empty_folder_is_no_bundle(run, tmp_path):
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    with pytest.raises(Refused, match="without files"):
        Versions(run, PLAN).register("red", tmp_path / "empty", 1.0)


def test_a_digest_is_of_names_and_contents_alone(bundle):
    one, same = bundle("x", "one"), bundle("x", "same")
    (same / "start.sh").chmod(0o644)
    os.utime(same / "start.sh", (0, 0))
    (same / "nothing").mkdir()
    assert digest_of(one) == digest_of(same)
    (same / "start.sh").rename(same / "stop.sh")
    assert digest_of(one) != digest_of(same)
    assert digest_of(one) != digest_of(bundle("y", "other"))


def test_contents_that_move_from_one_file_to_the_next_change_the_digest(tmp_path):
    for name, parts in (("one", ("ab", "c")), ("two", ("a", "bc"))):
        (tmp_path / name).mkdir()
        for file, text in zip("xy", parts, strict=True):
            (tmp_path / name / file).write_text(text)
    assert digest_of(tmp_path / "one") != digest_of(tmp_path / "two")


def test_the_digest_is_the_one_that_a_started_bundle_has(bundle):
    """So that the log and the record of a run can be compared."""
    from palestra.entrants.bundle import unpacked

    source = bundle()
    (source / "a.txt").write_text("before a/b by its letters, and after it by its folders")
    (source / "a").mkdir()
    (source / "a" / "b").write_text("")
    with unpacked(source, None) as started:
        assert started.digest == digest_of(source)
