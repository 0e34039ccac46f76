"""A contest's files in a bucket, over HTTP: moto's server speaks S3 as others do."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import obstore
import pytest
from moto.server import ThreadedMotoServer
from obstore.store import S3Store

from palestra.contest.storage import file_store as files_module
from palestra.contest.storage.file_store import DamagedFile, Files, MissingFile
from tests.cli.test_contest import held, serving  # noqa: F401 - a fixture

BUCKET = "contest"
NOTHING = "0" * 64
PART_BYTES = 5 << 20  # of an upload in parts: what is larger comes in several requests


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def account(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What an organiser sets, as docs/hosting.md says; and a bucket that is theirs."""
    settings = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    for name, value in {**settings, "AWS_ENDPOINT": endpoint, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    assert httpx.put(f"{endpoint}/{BUCKET}").status_code in (200, 409)
    return f"s3://{BUCKET}/files"


@pytest.fixture
def bucket(account: str) -> S3Store:
    """The same bucket, as somebody sees it who knows nothing of us."""
    return S3Store.from_url(account)


def names(bucket: S3Store) -> set[str]:
    return {one["path"] for part in obstore.list(bucket) for one in part}


def test_what_is_put_into_a_bucket_is_read_by_its_digest_from_another_process(account: str, bucket: S3Store) -> None:
    digest = Files.open(account).put(b"hello")
    store = Files.open(account)
    assert (store.has(digest), store.size(digest), store.read(digest)) == (True, 5, b"hello")
    store.verify(digest)
    assert f"{digest[:2]}/{digest}" in names(bucket)


def test_a_large_file_goes_in_parts_and_comes_in_ranges(
    account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.urandom(2 * PART_BYTES + 12_345)
    (tmp_path / "large").write_bytes(data)
    store = Files.open(account)
    digest = store.put_file(tmp_path / "large")
    assert digest == hashlib.sha256(data).hexdigest() and store.size(digest) == len(data)
    monkeypatch.setattr(files_module, "RANGE_BYTES", 4 << 20)
    chunks = list(store.stream(digest, 1_000, len(data) - 7))
    assert b"".join(chunks) == data[1_000:-7] and len(chunks) == 3
    with store.local(digest, "answers.csv") as copy:
        assert copy.name == "answers.csv" and copy.read_bytes() == data


def test_what_is_there_is_not_sent_again_and_what_is_derived_is_kept(account: str, bucket: S3Store) -> None:
    store = Files.open(account)
    digest = store.put(b"once")
    key = f"{digest[:2]}/{digest}"
    before = obstore.head(bucket, key)["last_modified"]
    assert store.put_stream([b"on", b"ce"])[0] == digest
    assert obstore.head(bucket, key)["last_modified"] == before
    made = [store.derived(digest, "upper", lambda: b"ONCE"), store.derived(digest, "upper", lambda: b"never")]
    assert made == [b"ONCE", b"ONCE"]


def test_what_was_taken_out_of_the_bucket_or_changed_there_is_found(account: str, bucket: S3Store) -> None:
    store = Files.open(account)
    gone, changed = store.put(b"to be removed"), store.put(b"to be changed")
    obstore.delete(bucket, f"{gone[:2]}/{gone}")
    obstore.put(bucket, f"{changed[:2]}/{changed}", b"to be CHANGED")
    assert not store.has(gone)
    with pytest.raises(MissingFile, match=gone):
        store.read(gone)
    with pytest.raises(DamagedFile, match="Restore it from a backup"):
        store.read(changed)
    with pytest.raises(MissingFile, match=NOTHING):
        store.size(NOTHING)


@pytest.mark.slow
def test_a_contest_is_held_with_its_files_in_a_bucket(cli, held, account, bucket, tmp_path, monkeypatch):  # noqa: F811
    """Files move there by a backup; then a team submits, and the organiser exports."""
    folder = held.copy(tmp_path / "c")
    monkeypatch.chdir(folder)
    assert cli("contest", "backup", "contest.toml", "backups").code == 0
    (folder / "contest.contest").rename(folder / "before")
    ran = cli("contest", "restore", "contest.toml", "backups", "--files", account)
    assert ran.code == 0, ran.err
    monkeypatch.setenv("PALESTRA_FILES", account)
    before = len(names(bucket))
    with serving(folder) as (server, address):
        sent = cli("submit", address, "near-eye-gaze", held.answers, "--token", held.token)
        assert sent.code == 0, sent.err
        assert server.stop() == 0, server.said
    assert len(names(bucket)) > before
    assert not (folder / "contest.contest" / "files").exists()
    assert cli("contest", "export", "contest.toml", "contest.zip").code == 0
