import errno
import hashlib
import os
import threading

import obstore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.storage import file_store as files_module
from palestra.contest.storage.file_store import DamagedFile, Files, MissingFile, require_digest
from palestra.errors import PalestraError, Refused

NOTHING = "0" * 64


def sha(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(params=["folder", "memory"])
def store(request, tmp_path):
    return Files.open(str(tmp_path / "store") if request.param == "folder" else "memory://")


@pytest.fixture
def folder(tmp_path):
    return Files.open(str(tmp_path / "store"))


def path_of(tmp_path, digest):
    return tmp_path / "store" / digest[:2] / digest


def test_what_was_put_is_read_by_its_digest(store):
    digest = store.put(b"hello")
    assert digest == sha(b"hello")
    assert store.has(digest)
    assert store.size(digest) == 5
    assert store.read(digest) == b"hello"
    store.verify(digest)


def test_an_empty_file_can_be_kept(store):
    digest = store.put(b"")
    assert (store.read(digest), store.size(digest), list(store.stream(digest))) == (b"", 0, [])


def test_a_file_is_kept_in_chunks_and_stays_where_it_was(store, tmp_path):
    data = os.urandom(3_000_000)
    (tmp_path / "file").write_bytes(data)
    digest = store.put_file(tmp_path / "file")
    assert store.read(digest) == (tmp_path / "file").read_bytes() == data


def test_a_stream_tells_its_digest_and_its_length(store):
    assert store.put_stream(iter([b"ab", b"", b"cde"])) == (sha(b"abcde"), 5)


def test_the_same_content_is_there_once(folder, tmp_path):
    digests = {folder.put(b"x"), folder.put(b"x"), folder.put_stream([b"", b"x"])[0]}
    assert len(digests) == 1
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file()] == [path_of(tmp_path, *digests)]


@given(st.binary(max_size=300), st.data())
def test_any_range_of_a_file_can_be_streamed(data, draw):
    store = Files.open("memory://")
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    assert b"".join(store.stream(store.put(data), start, end)) == data[start:end]


def test_ranges_longer_than_a_chunk_are_whole(store, monkeypatch):
    monkeypatch.setattr(files_module, "CHUNK_BYTES", 7)
    monkeypatch.setattr(files_module, "RANGE_BYTES", 7)
    data = bytes(range(100))
    digest = store.put(data)
    chunks = list(store.stream(digest, 3, 90))
    assert b"".join(chunks) == data[3:90] and max(map(len, chunks)) == 7
    assert store.read(digest) == data


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (0, 6), (6, 6), (3, 2)])
def test_a_range_outside_of_the_file_is_refused_at_once(store, start, end):
    digest = store.put(b"hello")
    with pytest.raises(Refused, match="a range within its 5 bytes"):
        store.stream(digest, start, end)


def test_a_missing_file_is_named(store):
    assert not store.has(NOTHING)
    for ask in (store.size, store.read, store.stream, store.verify):
        with pytest.raises(MissingFile, match=NOTHING):
            ask(NOTHING)
    with pytest.raises(MissingFile), store.local(NOTHING):
        pass


@pytest.mark.parametrize(
    "name", ["", "..", "../../etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "\n", "a" * 62 + "/x", "０" * 64, "\0" * 64]
)
def test_what_is_no_digest_never_becomes_a_path(store, name):
    for ask in (store.has, store.size, store.read, store.stream, store.verify, require_digest):
        with pytest.raises(Refused, match="hexadecimal"):
            ask(name)


@given(st.text(max_size=70))
def test_only_64_hexadecimal_digits_are_a_digest(text):
    if len(text) == 64 and set(text) <= set("0123456789abcdef"):
        assert require_digest(text) == text
    else:
        with pytest.raises(Refused):
            require_digest(text)


def test_reading_more_than_the_limit_is_refused(store):
    digest = store.put(b"hello")
    assert store.read(digest, 5) == b"hello"
    with pytest.raises(Refused, match="at most 4 bytes"):
        store.read(digest, 4)


def test_a_damaged_file_is_found(folder, tmp_path):
    digest = folder.put(b"hello")
    path_of(tmp_path, digest).chmod(0o644)
    path_of(tmp_path, digest).write_bytes(b"hellp")
    for ask in (folder.read, folder.verify):
        with pytest.raises(DamagedFile, match=digest):
            ask(digest)


def test_putting_a_file_again_mends_a_damaged_one(folder, tmp_path):
    digest = folder.put(b"hello")
    path_of(tmp_path, digest).chmod(0o644)
    path_of(tmp_path, digest).write_bytes(b"hellp")
    folder.put(b"hello")
    assert folder.read(digest) == b"hello"


def test_a_stream_that_breaks_off_leaves_nothing(store, tmp_path):
    def broken():
        yield b"hel"
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        store.put_stream(broken())
    assert not store.has(sha(b"hel"))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_digest_is_told_only_after_file_and_folders_are_on_the_disk(folder, tmp_path, monkeypatch):
    done = []
    real_sync = files_module.sync

    def sync(path):
        done.append((path, path_of(tmp_path, sha(b"hello")).exists()))
        real_sync(path)

    monkeypatch.setattr(files_module, "sync", sync)
    folder.put(b"hello")
    (first, visible_first), *names = done
    assert first.name == "incoming" and not visible_first
    assert names == [(tmp_path / "store" / sha(b"hello")[:2], True), (tmp_path / "store", True)]


def test_a_file_from_another_disk_is_copied_and_then_gone(folder, tmp_path, monkeypatch):
    real_replace = files_module._replace
    file = tmp_path / "elsewhere"
    file.write_bytes(b"hello")

    def replace(source, target):
        if source == file:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        real_replace(source, target)

    monkeypatch.setattr(files_module, "_replace", replace)
    folder.take(file, sha(b"hello"))
    assert folder.read(sha(b"hello")) == b"hello"
    assert not file.exists() and not list((tmp_path / "store" / "incoming").iterdir())


def test_many_writers_of_the_same_content_do_not_disturb_readers(folder):
    data = os.urandom(200_000)
    digest, faults = folder.put(data), []

    def work(act):
        try:
            for _ in range(20):
                act()
        except Exception as error:
            faults.append(error)

    acts = [lambda: folder.put(data)] * 2 + [lambda: folder.verify(digest)] * 2
    threads = [threading.Thread(target=work, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_a_local_path_has_the_content_and_the_name_that_readers_go_by(store):
    digest = store.put(b"hello")
    with store.local(digest) as path:
        assert path.read_bytes() == b"hello"
    with store.local(digest, "team one.csv") as path:
        assert (path.name, path.read_bytes()) == ("team one.csv", b"hello")
    assert not path.exists()
    assert store.read(digest) == b"hello"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "/etc/passwd", "a\0b"])
def test_a_local_name_with_folders_is_refused(store, name):
    digest = store.put(b"hello")
    with pytest.raises(Refused, match="without folders"), store.local(digest, name):
        pass


def test_a_local_copy_of_a_damaged_object_is_refused():
    store = Files.open("memory://")
    digest = store.put(b"hello")
    obstore.put(store._place.store, f"{digest[:2]}/{digest}", b"hellp")
    with pytest.raises(DamagedFile), store.local(digest):
        pass


def test_what_is_derived_is_made_once(store):
    digest, made = store.put(b"hello"), []

    def make():
        made.append(1)
        return b"HELLO"

    assert [store.derived(digest, "loud", make) for _ in range(3)] == [b"HELLO"] * 3
    assert len(made) == 1
    with pytest.raises(Refused):
        store.derived(digest, "../x", make)


def test_a_sweep_removes_what_dead_writers_left_and_no_more(folder, tmp_path):
    digest = folder.put(b"hello")
    for name, at_ms in (("old", 1_000), ("new", 5_000)):
        left = tmp_path / "store" / "incoming" / name
        left.mkdir()
        (left / "incoming").write_bytes(b"half")
        os.utime(left, (at_ms / 1000, at_ms / 1000))
    assert folder.sweep(older_than=3_000) == 1
    assert [path.name for path in (tmp_path / "store" / "incoming").iterdir()] == ["new"]
    assert folder.read(digest) == b"hello"


def test_a_store_is_opened_again_by_where_it_is(tmp_path):
    first = Files.open(str(tmp_path / "a folder"))
    digest = first.put(b"hello")
    assert Files.open(first.where).read(digest) == b"hello"
    assert Files.open((tmp_path / "a folder").as_uri()).read(digest) == b"hello"


@pytest.mark.parametrize("address", ["ftp://somewhere/x", "s3://", "nothing://x"])
def test_an_address_that_is_no_store_is_refused_in_words(address):
    with pytest.raises(PalestraError, match="Expected a folder, s3://"):
        Files.open(address)


def test_a_file_in_place_of_the_folder_is_refused_in_words(tmp_path):
    (tmp_path / "store").write_bytes(b"")
    with pytest.raises(PalestraError, match="no place for a contest's files"):
        Files.open(str(tmp_path / "store"))
