"""A disk that is full, for real: nothing acknowledged is lost, it is said in words, and goes on when there is room.

The disk is a small tmpfs. Where none may be mounted (not root, or a container), these tests are left out, and say so.
"""

import errno
import hashlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from palestra.contest import Contest
from palestra.contest.archive import backup
from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.queue import jobs
from palestra.contest.setup import Place
from palestra.contest.storage import Files, Uploads, is_full, open_database, reading, sqlite_address, trouble, why_not
from palestra.contest.workers.score import Failure, Outcome
from palestra.contest.workers.settle import Desk
from palestra.live.recording import Recorder, Recording
from palestra.text import Words
from tests.contest.rules.test_reader import SMALL
from tests.contest.story import a_phase, some_rules
from tests.live import test_recording as runs

MB = 1 << 20
DISK = 8 * MB


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture
def contest(disk: Path) -> Iterator[Contest]:
    from palestra.contest.rules import model

    contest = Contest(open_database(sqlite_address(disk / "contest.db")), Files.open(str(disk / "files")))
    contest.act("system", lambda state, now: [e.ContestOpened(model.encode(some_rules(a_phase())), "test")])
    yield contest
    contest.engine.dispose()


def fill(disk: Path) -> Callable[[], None]:
    """Leave no byte; what makes room again."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as out:
        for size in (MB, 4096, 1):
            try:
                while True:
                    out.write(b"x" * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC
    return filler.unlink


def account(number: int) -> e.Body:
    return e.AccountMade(f"a{number}", f"name{number}" + "x" * 2000, "member")


def test_the_log_on_a_full_disk_keeps_what_it_has_and_goes_on(disk: Path, contest: Contest) -> None:
    number = 0
    room = fill(disk)
    with pytest.raises(OperationalError) as caught:
        for number in range(5000):  # SQLite has some room of its own left
            contest.act("system", lambda state, now, number=number: [account(number)])
    assert is_full(caught.value) and "disk is full" in str(why_not(caught.value))
    assert f"a{number}" not in contest.state.accounts and len(contest.state.accounts) == number
    room()
    contest.act("system", lambda state, now: [account(number)])
    with reading(contest.engine) as connection:
        verdict = chain.verify(connection)
    assert verdict.ok and verdict.head.seq == contest.state.seq == number + 2


def test_an_upload_on_a_full_disk_says_so_and_goes_on_where_it_was(disk: Path, contest: Contest) -> None:
    uploads = Uploads(contest.engine, disk / "uploads", contest.files, contest.now)
    data = bytes(range(256)) * 4096
    upload = uploads.begin("a1", "t1", "first", "submission", "a.csv", len(data))
    uploads.append(upload.id, 0, [data[:1000]])
    room = fill(disk)
    with pytest.raises((OSError, OperationalError)) as caught:
        uploads.append(upload.id, 1000, [data[1000:]])
    assert is_full(caught.value) and "disk is full" in str(why_not(caught.value))
    room()
    received = uploads.find(upload.id).received
    assert 1000 <= received < len(data)
    uploads.append(upload.id, received, [data[received:]])
    assert uploads.complete(upload.id) == hashlib.sha256(data).hexdigest()


def test_a_file_that_does_not_fit_into_the_store_leaves_nothing_there(disk: Path, contest: Contest) -> None:
    room = fill(disk)
    with pytest.raises(OSError) as caught:
        contest.files.put(b"scores" * 100_000)
    assert is_full(caught.value)
    room()
    assert [path for path in (disk / "files").rglob("*") if path.is_file()] == []
    assert contest.files.read(contest.files.put(b"scores")) == b"scores"


def test_a_score_that_found_no_room_costs_no_attempt_and_waits(
    disk: Path, contest: Contest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "ROOM_BYTES", MB)
    desk = Desk(contest, disk)
    assert not desk.lacking_room()
    sent = e.SubmissionMade("s1", "", "first", "0" * 64, "a.csv", 1, baseline="blank")
    contest.act("system", lambda state, now: [sent])
    job = jobs.lease(contest.engine, "w1", ["check"], contest.now())
    assert job
    seq, room = contest.state.seq, fill(disk)
    (disk / "filler").open("r+b").truncate(7 * MB)  # room for the queue, and too little to begin anything
    assert "are free on the disk" in str(desk.lacking_room())
    full = Outcome(failure=Failure("platform", Words("x", "x"), "OSError: No space left on device", full=True))
    desk.settle(job, full)
    assert contest.state.seq == seq, "nothing failed, so nothing is written down"
    room()
    assert not desk.lacking_room()
    again = jobs.lease(contest.engine, "w2", ["check"], contest.now())
    assert again and (again.id, again.attempt) == (job.id, 1)


def test_a_backup_that_does_not_fit_is_none_and_the_next_is_whole(disk: Path, contest: Contest, tmp_path: Path) -> None:
    contest.files.put(b"x" * MB)
    target = disk / "backups"
    room = fill(disk)
    with pytest.raises((OSError, OperationalError)) as caught:
        backup.backup(contest.engine, contest.files, target, contest.now())
    assert is_full(caught.value)
    room()
    assert not list(target.glob("*.sqlite")), "half a backup is not there to be relied on"
    saved = backup.backup(contest.engine, contest.files, target, contest.now())
    assert saved.verdict.ok and Path(saved.file).is_file()


def test_the_command_backup_says_that_the_disk_is_full_and_not_that_something_broke(
    cli: Callable[..., Any], disk: Path, tmp_path: Path
) -> None:
    file = tmp_path / "contest.toml"
    file.write_text(SMALL)
    Place(file).open(needs_tracks=False).close()
    room = fill(disk)
    ran = cli("contest", "backup", file, disk / "backups")
    assert ran.code == 1 and ran.err.count("\n") == 1, ran
    assert "full" in ran.err or "No space left on device" in ran.err, ran
    room()
    assert cli("contest", "backup", file, disk / "backups").code == 0


def test_a_recording_on_a_full_disk_is_whole_up_to_there_and_goes_on_with_room(disk: Path) -> None:
    recorder = Recorder(disk / "run", runs.head())
    recorder.decided(runs.decided("red", "t0", "x" * 5000))
    room, written = fill(disk), 1
    with pytest.raises(OSError) as caught:
        for written in range(1, 100):
            recorder.decided(runs.decided("red", f"t{written}", "x" * 5000))
    assert is_full(caught.value)
    room()
    recorder.decided(runs.decided("red", "with room", "y"))
    recorder.close()
    read = [one.decision.trial for one in Recording(disk / "run").decisions("red")]
    assert read == [*(f"t{number}" for number in range(written)), "with room"]
