"""Exports: whole or not at all, the same bytes each time, checked without Palestra, without what must not leave."""

import json
import stat
import subprocess
import sys
import zipfile
from itertools import pairwise
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from palestra.contest.archive import export as exporting
from palestra.contest.archive import referenced_files
from palestra.contest.archive import verify_archive as verify_export
from palestra.contest.archive.signature import open_key, verify
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.rules import model as rulebook
from palestra.contest.storage import tables
from palestra.contest.storage.database import writing
from palestra.errors import PalestraError, Refused, UnknownName
from palestra.records import Estimate
from tests.contest.leaving import (
    DAY_MS,
    EMAIL,
    PASSWORD_HASH,
    RULES,
    TOKEN_DIGEST,
    TRACE,
    TRUTH_PACK,
    VIEW_PACK,
    amended,
    small,
    told,
)

__all__ = ["small", "told"]  # fixtures


@pytest.fixture
def key(tmp_path):
    return open_key(tmp_path / "contest.key")


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "blinks.zip"


def export(small, key, out, **wishes):
    return exporting.export(small.engine, small.files, key, out, small.clock(), **wishes)


def members(file):
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def run_verify(*words, cwd, **settings):
    done = subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True, **settings)
    return done.returncode, done.stdout + done.stderr


def unpacked(file, folder):
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)
    return folder


# What is in it


def test_an_export_has_the_log_as_kept_the_rules_the_files_and_the_tables(small, key, out):
    exported = export(small, key, out)
    found = members(out)
    lines = [msgspec.json.decode(line, type=exporting.Line) for line in found["log.jsonl"].splitlines()]
    assert [(one.seq, one.at, one.by, one.body, one.hash) for one in lines] == small.rows()
    assert rulebook.decode(found["rules/001-from-2022-11-09.json"].decode()) == RULES
    assert found[f"files/{small.state().submissions['s1'].file}"].startswith(b"trial,blinks")
    assert {TRACE, TRUTH_PACK, VIEW_PACK} <= set(found.values())
    assert {
        f"tables/{name}.{kind}" for name in ("board-open", "events", "final") for kind in ("csv", "parquet")
    } <= set(found)
    assert (exported.members, exported.bytes, exported.lacking) == (len(found), out.stat().st_size, {})


def test_the_manifest_names_the_head_and_every_member_and_is_signed(small, key, out):
    exported = export(small, key, out)
    found = members(out)
    manifest = msgspec.json.decode(found["manifest.json"], type=exporting.Manifest)
    assert set(manifest.members) == set(found) - {"manifest.json", "manifest.sig", "public.pem"}
    assert str(manifest.head) == str(exported.head) == f"{small.rows()[-1][0]}:{small.rows()[-1][4]}"
    assert (manifest.contest, manifest.public) == ("blinks", False)
    assert verify(found["manifest.json"], found["manifest.sig"], key.public)


def test_every_file_that_the_log_names_is_there(small, key, out):
    export(small, key, out)
    text = "".join(body for _, _, _, body, _ in small.rows())
    kept = {name.removeprefix("files/") for name in members(out) if name.startswith("files/")}
    stored = {path.name for path in (small.folder / "files").glob("??/*") if "." not in path.name}
    assert kept == {digest for digest in stored if digest in text}


def test_the_file_of_the_rules_goes_along_when_it_is_given(small, key, out, tmp_path):
    (tmp_path / "contest.toml").write_text("# mine")
    planned = exporting.plan(small.engine, small.files, small.clock(), rules_file=tmp_path / "contest.toml")
    exporting.write(planned, small.engine, small.files, key, out)
    assert members(out)["rules/contest.toml"] == b"# mine"


@pytest.mark.parametrize("group", ["submissions", "reports", "data"])
def test_parts_can_be_left_out(small, key, out, group):
    digests = {
        digest
        for _, _, _, body, _ in small.rows()
        for digest, of in referenced_files.files_named(e.decode(body))
        if of == group
    }
    assert digests
    export(small, key, out, without=[group])
    found = members(out)
    assert not any(f"files/{digest}" in found for digest in digests)
    assert json.loads(found["manifest.json"])["without"] == [group]
    assert f"Left out: {group}." in found["README.md"].decode()


def test_a_file_that_is_two_things_stays_when_one_of_them_does(small, key, out):
    small.say(e.DataPacked("split", "view", small.state().submissions["s1"].file, 1))
    export(small, key, out, without=["data"])
    assert f"files/{small.state().submissions['s1'].file}" in members(out)


def test_an_unknown_part_is_refused(small, key, out):
    with pytest.raises(UnknownName, match="submissions"):
        export(small, key, out, without=["submission"])


def test_secrets_never_leave(small, key, out):
    for public in (False, True):
        export(small, key, out, public=public)
        everything = b"\n".join(members(out).values())
        private = (small.folder / "contest.key").read_bytes().split(b"\n")[1]
        for secret in (PASSWORD_HASH.encode(), TOKEN_DIGEST.encode(), private):
            assert secret not in everything


def test_a_whole_export_is_for_its_owner_alone(small, key, out):
    export(small, key, out)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


# For the public


def test_the_public_gets_no_log_no_files_no_addresses_and_no_data_folder(small, key, out):
    export(small, key, out, public=True)
    found = members(out)
    assert {name.split("/")[0] for name in found} == {
        "rules", "tables", "README.md", "verify.py", "manifest.json", "manifest.sig", "public.pem",
    }  # fmt: skip
    everything = b"\n".join(found.values())
    for hidden in (EMAIL.encode(), TRACE, TRUTH_PACK, b"acc-ada", b"s7.csv", b'"data": "data"', b"board-secret"):
        assert hidden not in everything


def test_the_public_gets_a_frozen_board_as_it_stood(small, key, out):
    before = small.clock()
    export(small, key, out, public=True)
    board = members(out)["tables/board-open.csv"]
    small.clock.at = RULES.phases[0].freeze + 1
    small.submit("late", "ada", "open", 0)
    small.score("late")
    small.clock.advance(DAY_MS)
    export(small, key, out, public=True)
    assert members(out)["tables/board-open.csv"] == board
    assert b"late" not in b"".join(data for name, data in members(out).items() if name.endswith(".csv"))
    assert json.loads(members(out)["manifest.json"])["as_of"] > before


# How it is written


def test_the_same_log_gives_the_same_bytes_at_any_time(small, key, out):
    export(small, key, out)
    first = out.read_bytes()
    small.clock.advance(DAY_MS)
    export(small, key, out.with_name("again.zip"))
    assert out.with_name("again.zip").read_bytes() == first


def test_what_is_broken_off_leaves_the_old_archive_and_nothing_else(small, key, out):
    out.write_bytes(b"an older export")
    planned = exporting.plan(small.engine, small.files, small.clock())

    def break_off(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        exporting.write(planned, small.engine, small.files, key, out, break_off)
    assert [path.name for path in out.parent.iterdir()] == ["blinks.zip"]
    assert out.read_bytes() == b"an older export"


def test_what_a_killed_export_left_is_removed_by_the_next(small, key, out):
    (out.parent / ".blinks.zip.part").write_bytes(b"half")
    export(small, key, out)
    assert [path.name for path in out.parent.iterdir()] == ["blinks.zip"]


def test_progress_tells_of_all_bytes(small, key, out):
    planned = exporting.plan(small.engine, small.files, small.clock())
    told_bytes = []
    exporting.write(planned, small.engine, small.files, key, out, told_bytes.append)
    assert sum(told_bytes) == sum(len(data) for data in members(out).values())
    assert sum(told_bytes) > planned.bytes > sum(planned.files.values())


def test_events_that_come_while_it_is_written_are_not_in_it(small, key, out):
    planned = exporting.plan(small.engine, small.files, small.clock())
    small.say(e.TeamRenamed("ada", "Late name"))
    exporting.write(planned, small.engine, small.files, key, out)
    assert b"Late name" not in b"\n".join(members(out).values())
    assert run_verify(verify_export.__file__, out, cwd=out.parent)[0] == 0


def test_a_full_disk_is_told_before_anything_is_written(small, key, out, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(Refused, match=r"1\.0 kB free"):
        export(small, key, out)


def test_a_missing_or_damaged_file_is_reported_and_the_rest_exported(small, key, out):
    score, other = small.state().submissions["s1"].scores[0], small.state().submissions["s2"].scores[0]
    path = small.folder / "files" / score.report[:2] / score.report
    path.unlink()
    damaged = small.folder / "files" / other.draws[:2] / other.draws
    damaged.chmod(0o644)
    damaged.write_bytes(b"rot")
    exported = export(small, key, out)
    assert set(exported.lacking) == {score.report, other.draws}
    assert f"The file {other.draws} of the store is damaged" in str(exported)
    assert set(json.loads(members(out)["manifest.json"])["lacking"]) == {score.report, other.draws}
    assert run_verify(verify_export.__file__, out, cwd=out.parent)[0] == 0


def test_a_log_that_does_not_verify_is_not_signed(small, key, out):
    with writing(small.engine) as connection:
        connection.execute(update(tables.events).where(tables.events.c.seq == 3).values(by="somebody"))
    with pytest.raises(PalestraError, match="Event 3 does not fit"):
        export(small, key, out)


def test_a_contest_that_was_not_opened_is_not_exported(engine, tmp_path, key, out):
    from palestra.contest.storage.file_store import Files

    with pytest.raises(PalestraError, match="nothing to export"):
        exporting.plan(engine, Files.open(str(tmp_path / "files")), 0)


def test_amended_rules_are_all_there(small, key, out):
    other = amended(team_limit=3)
    small.say(e.RulesAmended(rulebook.encode(other), small.clock() + DAY_MS, "smaller teams"))
    export(small, key, out)
    found = members(out)
    assert rulebook.decode(found["rules/002-from-2022-11-10.json"].decode()).team_limit == 3


# verify.py


def test_verify_py_finds_a_whole_export_whole_with_the_standard_library_alone(small, key, out, tmp_path):
    export(small, key, out)
    folder = unpacked(out, tmp_path / "unpacked")
    code, said = run_verify("-I", "-S", "verify.py", cwd=folder)  # -S: no installed packages
    assert code == 0
    assert "NOT checked" in said
    code, said = run_verify("verify.py", cwd=folder)
    assert (code, "Signature: checked" in said, key.fingerprint in said) == (0, True, True)
    assert run_verify("verify.py", out, cwd=folder)[0] == 0


def test_verify_py_checks_a_public_export(small, key, out, tmp_path):
    export(small, key, out, public=True)
    assert run_verify("verify.py", cwd=unpacked(out, tmp_path / "unpacked"))[0] == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("log.jsonl", "Event 1 does not fit its hash"),
        ("tables/board-open.csv", "it was changed"),
        ("manifest.json", "signature does not fit"),
        ("manifest.sig", "signature does not fit"),
        ("README.md", "it was changed"),
    ],
)
def test_verify_py_finds_what_was_changed(small, key, out, tmp_path, name, words):
    export(small, key, out)
    folder = unpacked(out, tmp_path / "unpacked")
    data = (folder / name).read_bytes()
    place = data.index(b"system") if name == "log.jsonl" else data.rindex(b"0") if b"0" in data else 5
    (folder / name).write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    code, said = run_verify("verify.py", cwd=folder)
    assert code == 1
    assert words in said


def test_verify_py_finds_what_is_missing_and_what_was_added(small, key, out, tmp_path):
    export(small, key, out)
    folder = unpacked(out, tmp_path / "unpacked")
    next((folder / "files").iterdir()).unlink()
    (folder / "extra").write_text("x")
    code, said = run_verify("verify.py", cwd=folder)
    assert code == 1
    assert "is missing" in said
    assert "extra is not in the manifest" in said


@pytest.mark.parametrize("data", [b"", b"no zip at all", b"PK\x03\x04"])
def test_verify_py_says_in_words_that_something_is_no_export(tmp_path, data):
    (tmp_path / "x.zip").write_bytes(data)
    code, said = run_verify(verify_export.__file__, tmp_path / "x.zip", cwd=tmp_path)
    assert code == 1
    assert "Traceback" not in said


@given(st.text(), st.integers(), st.integers(), st.text(), st.text())
def test_verify_py_chains_events_as_the_log_does(before, seq, at, by, body):
    assert verify_export.linked(before, seq, at, by, body) == chain.linked(before, seq, at, by, body)
    assert verify_export.NOTHING == chain.NOTHING


@given(st.lists(st.binary(max_size=9)), st.lists(st.integers(0, 60)))
def test_lines_are_found_however_they_are_cut(lines, cuts):
    lines = [line.replace(b"\n", b"") for line in lines]
    data = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[a:b] for a, b in pairwise(places)]
    assert list(verify_export.lines_of(chunks)) == lines


# Which files a log names


def test_every_digest_of_a_result_is_a_file_but_no_other_digest_is():
    body = e.ResultMade(
        "s", 1, {"m": Estimate(1.0)}, "1" * 64, "2" * 64, {}, "", "3" * 64,
        {"scores": "4" * 64, "organiser-report": "5" * 64, "recording": "6" * 64},
    )  # fmt: skip
    groups = {digest[0]: group for digest, group in referenced_files.files_named(body)}
    assert groups == {"1": "scores", "2": "scores", "3": "reports", "4": "scores", "5": "reports", "6": "recordings"}
    for other in (
        e.MemberInvited("t", "a" * 64),
        e.AccessRequested("t", "p", "b" * 64),
        e.TeamMade("t", "n", "c", "d"),
    ):
        assert not list(referenced_files.files_named(other))
