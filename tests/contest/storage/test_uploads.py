import hashlib
import os
import subprocess
import sys
import threading
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from palestra.contest.storage import uploads as uploads_module
from palestra.contest.storage.database import reading, writing
from palestra.contest.storage.file_store import Files
from palestra.contest.storage.tables import uploads as table
from palestra.contest.storage.uploads import LONGEST_NAME, UnknownUpload, Uploads, WrongOffset, clean_name
from palestra.errors import PalestraError, Refused

DATA = bytes(range(256)) * 4


class Killed(BaseException):
    """What nobody catches, as a process that ends."""


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def store(tmp_path):
    return Files.open(str(tmp_path / "store"))


@pytest.fixture
def uploads(engine, spool, store, clock):
    return Uploads(engine, spool, store, clock)


def begin(uploads, data=DATA, name="answers.csv", account="ann"):
    return uploads.begin(account, "team1", "final", "answers", name, len(data)).id


def row_of(engine, upload_id):
    with reading(engine) as connection:
        return connection.execute(select(table).where(table.c.id == upload_id)).mappings().one()


def in_chunks(data, size=100):
    return [data[at : at + size] for at in range(0, len(data), size)]


def breaking(chunks, error=ConnectionError):
    yield from chunks
    raise error("the line broke")


def test_an_upload_in_one_piece_is_kept_under_its_digest(uploads, store, clock):
    upload = uploads.begin("ann", "team1", "final", "bundle", "team1_Test.zip", len(DATA))
    assert (upload.received, upload.bytes, upload.made_at) == (0, len(DATA), clock())
    assert uploads.append(upload.id, 0, [DATA]) == len(DATA)
    digest = uploads.complete(upload.id)
    assert digest == hashlib.sha256(DATA).hexdigest()
    assert store.read(digest) == DATA
    assert uploads.find(upload.id).received == len(DATA)


@pytest.mark.parametrize("point", [0, 1, 99, 100, 101, 512, len(DATA) - 1, len(DATA)])
def test_an_upload_goes_on_where_the_line_broke(uploads, store, point):
    upload = begin(uploads)
    with pytest.raises(ConnectionError):
        uploads.append(upload, 0, breaking(in_chunks(DATA[:point])))
    assert uploads.find(upload).received == point
    assert uploads.append(upload, point, in_chunks(DATA[point:])) == len(DATA)
    assert store.read(uploads.complete(upload)) == DATA


@pytest.mark.parametrize("point", [0, 300, len(DATA)])
def test_bytes_on_the_disk_count_when_the_server_died_before_it_said_so(
    engine, spool, store, clock, uploads, monkeypatch, point
):
    upload = begin(uploads)

    def killed(*_):
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Uploads, "_settle", killed)
        uploads.append(upload, 0, in_chunks(DATA[:point]))
    assert row_of(engine, upload)["received"] == 0
    again = Uploads(engine, spool, store, clock)
    assert again.find(upload).received == point
    again.append(upload, point, [DATA[point:]])
    assert row_of(engine, upload)["received"] == len(DATA)
    assert store.read(again.complete(upload)) == DATA


DIES = """
import os, sys
from pathlib import Path
from palestra.contest.storage.database import connect
from palestra.contest.storage.file_store import Files
from palestra.contest.storage.uploads import Uploads

url, folder, upload = sys.argv[1:]

def chunks():
    yield b"a" * 300
    yield b"b" * 212
    os._exit(9)  # as kill -9 does: nothing is tidied up

uploads = Uploads(connect(url), Path(folder, "spool"), Files.open(folder + "/store"), lambda: 5)
uploads.append(upload, 0, chunks())
"""


def test_an_upload_goes_on_after_its_server_was_killed(uploads, store, database_url, tmp_path):
    data = b"a" * 300 + b"b" * 212 + b"c" * 100
    upload = begin(uploads, data)
    ended = subprocess.run([sys.executable, "-c", DIES, database_url, str(tmp_path), upload], check=False, timeout=60)
    assert ended.returncode == 9
    assert uploads.find(upload).received == 512
    uploads.append(upload, 512, [b"c" * 100])
    assert store.read(uploads.complete(upload)) == data


def test_a_server_that_dies_in_the_middle_of_a_chunk_keeps_what_was_written(uploads, store, monkeypatch):
    upload = begin(uploads)
    real_write, calls = os.write, []

    def write(descriptor, data):
        calls.append(1)
        if len(calls) == 3:
            raise Killed
        return real_write(descriptor, bytes(data[:7]))  # the system may take less than it is given

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(uploads_module.os, "write", write)
        uploads.append(upload, 0, [DATA])
    assert uploads.find(upload).received == 14
    uploads.append(upload, 14, [DATA[14:]])
    assert store.read(uploads.complete(upload)) == DATA


def test_a_full_disk_is_told_and_what_was_written_is_kept(uploads, monkeypatch):
    upload = begin(uploads)
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(uploads_module, "_write_all", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        uploads.append(upload, 0, [DATA])
    assert uploads.find(upload).received == 0
    assert uploads.append(upload, 0, [DATA]) == len(DATA)


def test_when_the_spool_was_lost_the_sender_begins_anew(uploads, spool, store):
    upload = begin(uploads)
    uploads.append(upload, 0, [DATA[:500]])
    (spool / f"{upload}.part").unlink()
    with pytest.raises(WrongOffset, match="go on at 0"):
        uploads.append(upload, 500, [DATA[500:]])
    uploads.append(upload, 0, [DATA])
    assert store.read(uploads.complete(upload)) == DATA


@pytest.mark.parametrize("offset", [-1, 0, 499, 501, len(DATA), 10**15])
def test_a_wrong_offset_is_refused_with_the_right_one(uploads, offset):
    upload = begin(uploads)
    uploads.append(upload, 0, [DATA[:500]])
    with pytest.raises(WrongOffset, match="go on at 500") as refused:
        uploads.append(upload, offset, [b"x"])
    assert refused.value.received == 500
    assert uploads.find(upload).received == 500


def test_more_than_declared_is_refused_and_not_written(uploads, spool, store):
    upload = begin(uploads)
    with pytest.raises(Refused, match=r"more than the 1,024 bytes"):
        uploads.append(upload, 0, [DATA[:1000], b"x" * 25])
    assert (spool / f"{upload}.part").stat().st_size == 1000
    uploads.append(upload, 1000, [DATA[1000:]])
    with pytest.raises(Refused):
        uploads.append(upload, len(DATA), [b"x"])
    assert store.read(uploads.complete(upload)) == DATA


def test_too_little_cannot_be_completed_and_says_what_is_missing(uploads, store):
    upload = begin(uploads)
    with pytest.raises(PalestraError, match=r"0 of 1,024 bytes"):
        uploads.complete(upload)
    uploads.append(upload, 0, [DATA[:1000]])
    with pytest.raises(PalestraError, match=r"Send the other 24 bytes, from byte 1,000 on"):
        uploads.complete(upload)
    uploads.append(upload, 1000, [DATA[1000:]])
    assert store.has(uploads.complete(upload))


@pytest.mark.parametrize("size", [0, -5])
def test_an_empty_file_is_refused_before_it_begins(uploads, size):
    with pytest.raises(Refused, match="something in it"):
        uploads.begin("ann", "team1", "final", "answers", "a.csv", size)


def test_of_two_writers_at_one_offset_the_second_is_told_where_to_go_on(uploads, store):
    upload = begin(uploads)
    other = []

    def hanging():
        """A sender whose second chunk comes after a new connection took over."""
        yield DATA[:100]
        other.append(uploads.append(upload, 100, [DATA[100:300]]))
        yield DATA[100:200]

    with pytest.raises(WrongOffset) as refused:
        uploads.append(upload, 0, hanging())
    assert other == [300] and refused.value.received == 300
    uploads.append(upload, 300, [DATA[300:]])
    assert store.read(uploads.complete(upload)) == DATA


def test_many_writers_at_once_never_mix_their_bytes(uploads, store):
    data = os.urandom(50_000)
    upload, faults = begin(uploads, data), []

    def send():
        try:
            while (at := uploads.find(upload).received) < len(data):
                try:
                    uploads.append(upload, at, in_chunks(data[at:], 997))
                except WrongOffset as refused:
                    assert at <= refused.received <= len(data)
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert store.read(uploads.complete(upload)) == data


def test_completing_again_says_the_same(uploads, store, spool):
    upload = begin(uploads)
    uploads.append(upload, 0, [DATA])
    assert uploads.complete(upload) == uploads.complete(upload)
    assert uploads.append(upload, len(DATA), []) == len(DATA)
    with pytest.raises(Refused):
        uploads.append(upload, len(DATA), [b"x"])
    assert not (spool / f"{upload}.part").exists()


def test_many_who_complete_at_once_are_told_the_same(uploads):
    upload, told = begin(uploads), []
    uploads.append(upload, 0, [DATA])
    threads = [threading.Thread(target=lambda: told.append(uploads.complete(upload))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [hashlib.sha256(DATA).hexdigest()] * 8


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_dies_while_it_completes_does_it_the_next_time(uploads, store, monkeypatch, when):
    upload = begin(uploads)
    uploads.append(upload, 0, [DATA])
    take = store.take

    def killed(file, digest):
        if when == "after":
            take(file, digest)
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(store, "take", killed)
        uploads.complete(upload)
    assert uploads.find(upload).received == len(DATA)
    assert store.read(uploads.complete(upload)) == DATA


def test_an_upload_whose_file_the_store_lost_can_be_sent_again(uploads, store, tmp_path):
    upload = begin(uploads)
    uploads.append(upload, 0, [DATA])
    digest = uploads.complete(upload)
    (tmp_path / "store" / digest[:2] / digest).unlink()
    assert uploads.find(upload).received == 0
    uploads.append(upload, 0, [DATA])
    assert store.read(uploads.complete(upload)) == DATA


def test_two_uploads_of_the_same_bytes_are_one_file(uploads, store):
    first, second = begin(uploads), begin(uploads, name="other.csv")
    for upload in (first, second):
        uploads.append(upload, 0, [DATA])
    assert uploads.complete(first) == uploads.complete(second)


def test_an_upload_becomes_one_submission_however_often_it_is_asked(engine, uploads):
    upload = begin(uploads)
    with writing(engine) as connection:
        assert uploads.bind(connection, upload, "s1") == "s1"
    with writing(engine) as connection:
        assert uploads.bind(connection, upload, "s2") == "s1"
        with pytest.raises(UnknownUpload):
            uploads.bind(connection, "0" * 32, "s3")
    assert uploads.find(upload).submission == "s1"


def test_an_account_sees_what_it_has_under_way(engine, uploads, clock):
    first = begin(uploads)
    clock.advance(1)
    second, submitted = begin(uploads), begin(uploads)
    begin(uploads, account="bob")
    uploads.append(first, 0, [DATA[:10]])
    with writing(engine) as connection:
        uploads.bind(connection, submitted, "s1")
    assert [(one.id, one.received) for one in uploads.under_way("ann")] == [(first, 10), (second, 0)]


def test_an_abandoned_upload_is_gone(uploads, spool):
    upload = begin(uploads)
    uploads.append(upload, 0, [DATA])
    uploads.abandon(upload)
    assert not list(spool.iterdir())
    for ask in (uploads.find, uploads.complete, uploads.abandon):
        with pytest.raises(UnknownUpload, match="begin anew"):
            ask(upload)


def test_a_sender_hears_that_its_upload_was_abandoned(uploads, spool):
    upload = begin(uploads)

    def sending():
        yield DATA[:10]
        uploads.abandon(upload)
        yield DATA[10:20]

    with pytest.raises(UnknownUpload):
        uploads.append(upload, 0, sending())
    assert not list(spool.iterdir())


def test_who_completes_an_upload_while_it_is_abandoned_hears_of_it(uploads, monkeypatch):
    upload, asked, real = begin(uploads), [], uploads._kept
    uploads.append(upload, 0, [DATA])

    def kept(upload_id):
        asked.append(upload_id)
        if len(asked) == 3:  # under the lock of its file
            monkeypatch.undo()
            uploads.abandon(upload_id)
        return real(upload_id)

    monkeypatch.setattr(uploads, "_kept", kept)
    with pytest.raises(UnknownUpload):
        uploads.complete(upload)
    assert len(asked) == 3


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "x" * 32, "0" * 31, "0" * 33, "0" * 32 + "\n", "\0"])
def test_an_id_that_is_none_never_becomes_a_path(uploads, name):
    for ask in (uploads.find, uploads.complete, uploads.abandon, lambda one: uploads.append(one, 0, [])):
        with pytest.raises(UnknownUpload):
            ask(name)


def test_a_sweep_removes_what_lies_too_long(engine, uploads, spool, clock):
    old = begin(uploads)
    uploads.append(old, 0, [DATA[:10]])
    before = clock.advance(60_000)
    new = begin(uploads)
    uploads.append(new, 0, [DATA[:10]])
    lost = spool / f"{'a' * 32}.part"
    lost.write_bytes(b"of no row")
    os.utime(lost, (before / 1000 - 1, before / 1000 - 1))
    assert uploads.sweep(older_than=before) == 2
    assert [path.stem for path in spool.iterdir()] == [new]
    with pytest.raises(UnknownUpload):
        uploads.find(old)
    assert uploads.find(new).received == 10
    with reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(table)).scalar() == 1


def test_bytes_that_come_keep_an_upload_from_the_sweep(engine, uploads, clock):
    upload = begin(uploads)
    later = clock.advance(60_000)
    uploads.append(upload, 0, [DATA[:10]])
    assert row_of(engine, upload)["touched_at"] == later
    assert uploads.sweep(older_than=later) == 0


def test_a_long_upload_says_on_its_way_how_far_it_has_come(engine, uploads, monkeypatch):
    monkeypatch.setattr(uploads_module, "SYNC_BYTES", 100)
    upload, seen = begin(uploads), []

    def watched():
        for chunk in in_chunks(DATA[:500], 50):
            yield chunk
            seen.append(row_of(engine, upload)["received"])

    uploads.append(upload, 0, watched())
    assert seen == [0, 100, 100, 200, 200, 300, 300, 400, 400, 500]


def test_the_row_never_says_more_than_was_synced(engine, uploads, monkeypatch):
    upload, synced = begin(uploads), []
    real_fsync = os.fsync

    def fsync(descriptor):
        real_fsync(descriptor)
        synced.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(uploads_module.os, "fsync", fsync)
    uploads.append(upload, 0, [DATA[:500]])
    assert row_of(engine, upload)["received"] == 500 and 500 in synced


def test_a_row_that_says_too_much_is_not_believed(engine, uploads):
    upload = begin(uploads)
    uploads.append(upload, 0, [DATA[:10]])
    with writing(engine) as connection:
        connection.execute(update(table).where(table.c.id == upload).values(received=999))
    assert uploads.find(upload).received == 10


VISIT = st.tuples(st.booleans(), st.lists(st.integers(0, 100), max_size=4))  # whether the line breaks; its chunks


@given(st.binary(min_size=1, max_size=400), st.lists(VISIT, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
def test_any_chunking_with_any_breaks_gives_the_file(uploads, store, data, visits):
    upload = begin(uploads, data)
    for breaks, sizes in visits:
        at = uploads.find(upload).received
        ends = [min(at + sum(sizes[: i + 1]), len(data)) for i in range(len(sizes))]
        chunks = [data[start:end] for start, end in pairwise([at, *ends])]
        if breaks:
            with pytest.raises(ConnectionError):
                uploads.append(upload, at, breaking(chunks))
        else:
            uploads.append(upload, at, chunks)
        assert uploads.find(upload).received == [at, *ends][-1]
    at = uploads.find(upload).received
    uploads.append(upload, at, [data[at:]])
    assert store.read(uploads.complete(upload)) == data


@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        ("answers.csv", "answers.csv"),
        ("第一队_结果 (2).csv", "第一队_结果 (2).csv"),
        ("<b>team & co</b>.csv", "b>.csv"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\a.zip", "a.zip"),
        ("a\nb\tc.csv", "a b c.csv"),
        ("evil\u202egpj.exe", "evilgpj.exe"),
        ("", "unnamed"),
        ("..", "unnamed"),
        ("folder/", "unnamed"),
        ("\x00\x1b", "unnamed"),
        ("\ud800.csv", ".csv"),
        ("=1+1.csv", "=1+1.csv"),
    ],
)
def test_names_are_shown_as_given_where_that_is_harmless(given_name, shown):
    assert clean_name(given_name) == shown


def test_a_long_name_keeps_its_ending():
    assert clean_name("x" * 500 + ".tar.gz") == "x" * (LONGEST_NAME - 3) + ".gz"
    assert len(clean_name("x." + "y" * 500)) == LONGEST_NAME


@given(st.text(max_size=300))
def test_a_clean_name_is_one_printable_part_of_a_path(name):
    shown = clean_name(name)
    assert 0 < len(shown) <= LONGEST_NAME
    assert not set(shown) & set("/\\\n\r\0") and shown.strip(". ")
    assert shown.encode()
    assert clean_name(shown) == shown
