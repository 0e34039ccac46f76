"""Uploads that go on where they broke off, as in the tus protocol: begin, append at an offset, complete.

Their bytes lie in a spool folder, one file for each, and its size is how much was received: a file that is only ever
appended to has no size before it has the bytes, even when the power goes. The row in the database says whose they are.
Each chunk is written under a lock at the offset that its sender believes in, so a sender whose connection hangs
never keeps a new one waiting: whoever comes second at an offset is told the right one.
"""

import fcntl
import os
import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from sqlalchemy import Connection, Engine, delete, insert, select, update

from palestra.contest.storage.database import reading, writing
from palestra.contest.storage.file_store import Files, digest_of, require_digest, sync
from palestra.contest.storage.tables import uploads as table
from palestra.errors import PalestraError, refuse
from palestra.formats import write_bytes
from palestra.text import human_bytes, say

Purpose = Literal["answers", "bundle"]
ID = re.compile(r"[0-9a-f]{32}")
SYNC_BYTES = 32 << 20  # after which the disk is waited for, and the row says how far it came
LONGEST_NAME = 120  # letters; four bytes each would still fit into a table and a header
UNNAMED = "unnamed"


class Upload(msgspec.Struct, frozen=True):
    """A file under way, as its table has it. Times are milliseconds since 1970, UTC."""

    id: str
    account: str
    team: str
    phase: str
    purpose: Purpose
    name: str
    bytes: int  # as declared
    received: int
    made_at: int
    touched_at: int
    submission: str = ""  # what it became


class UnknownUpload(PalestraError):
    """No upload of this id, or none any more."""

    def __init__(self, upload_id: str) -> None:
        super().__init__(
            say("There is no upload {id!a}. It was given up, or has lain too long: begin anew.", id=upload_id[:40])
        )


class WrongOffset(PalestraError):
    """Bytes that do not follow what was received. The sender goes on at `received`."""

    def __init__(self, offset: int, received: int) -> None:
        self.received = received
        super().__init__(
            say(
                "These bytes begin at {offset:,}, and {received:,} were received: go on at {received:,}.",
                offset=offset,
                received=received,
            )
        )


class Uploads:
    """The uploads of a contest. What may be uploaded by whom is for the caller to say, before."""

    def __init__(self, engine: Engine, spool: Path, files: Files, now: Callable[[], int]) -> None:
        spool.mkdir(parents=True, exist_ok=True)
        self.engine, self.spool, self.files, self.now = engine, spool, files, now

    def begin(self, account: str, team: str, phase: str, purpose: Purpose, name: str, size: int) -> Upload:
        """An upload of so many bytes, none of which is there yet."""
        if size < 1:
            refuse(
                clean_name(name),
                say("an empty file") if size == 0 else say("{size} bytes", size=size),
                say("a file with something in it"),
            )
        now = self.now()
        upload = Upload(secrets.token_hex(16), account, team, phase, purpose, clean_name(name), size, 0, now, now)
        with writing(self.engine) as connection:
            connection.execute(insert(table).values(msgspec.structs.asdict(upload)))
        return upload

    def find(self, upload_id: str) -> Upload:
        """An upload, with what its file has received."""
        if not ID.fullmatch(upload_id):
            raise UnknownUpload(upload_id)
        with reading(self.engine) as connection:
            row = connection.execute(select(table).where(table.c.id == upload_id)).first()
        if row is None:
            raise UnknownUpload(upload_id)
        return self._as_it_is(Upload(*row))

    def under_way(self, account: str) -> list[Upload]:
        """What an account has begun and not submitted, the oldest first."""
        mine = select(table).where(table.c.account == account, table.c.submission == "").order_by(table.c.made_at)
        with reading(self.engine) as connection:
            rows = connection.execute(mine).all()
        return [self._as_it_is(Upload(*row)) for row in rows]

    def append(self, upload_id: str, offset: int, chunks: Iterable[bytes]) -> int:
        """Write what follows the first `offset` bytes; how many there are then. What came before an error is kept."""
        upload = self.find(upload_id)
        if upload.received != offset:
            raise WrongOffset(offset, upload.received)
        if self._kept(upload.id):  # its file has gone to the store: there is nothing left to append to
            return self._append_nothing(upload, chunks)
        with self._part(upload.id) as part:
            return self._write(part, upload, offset, chunks)

    def _append_nothing(self, upload: Upload, chunks: Iterable[bytes]) -> int:
        for chunk in chunks:
            _require_room(upload, upload.bytes, chunk)
        return upload.bytes

    def _write(self, part: int, upload: Upload, at: int, chunks: Iterable[bytes]) -> int:
        synced = at
        try:
            for chunk in chunks:
                with _alone(part):
                    _require_here(part, upload.id, at)
                    _require_room(upload, at, chunk)
                    at += _write_all(part, chunk)
                if at - synced >= SYNC_BYTES:
                    synced = self._settle(part, upload.id)
        finally:
            self._settle(part, upload.id)
        return at

    def _settle(self, part: int, upload_id: str) -> int:
        """Wait for the disk, then say in the database how far the upload has come."""
        os.fsync(part)
        received = os.fstat(part).st_size
        with writing(self.engine) as connection:
            change = update(table).where(table.c.id == upload_id).values(received=received, touched_at=self.now())
            if connection.execute(change).rowcount == 0:
                raise UnknownUpload(upload_id)  # it was given up while bytes were coming
        return received

    def complete(self, upload_id: str) -> str:
        """The digest of the whole file, which is now in the store. Asked again, it says the same."""
        upload = self.find(upload_id)
        if digest := self._kept(upload.id):
            return digest
        with self._part(upload.id) as part, _alone(part):
            return self._hand_over(part, upload)

    def _hand_over(self, part: int, upload: Upload) -> str:
        """The digest is noted before the file moves: after a crash in between, the move is done again."""
        if digest := self._kept(upload.id):  # somebody else did it while we waited for the lock
            return digest
        received = os.fstat(part).st_size
        if received != upload.bytes:
            missing = human_bytes(upload.bytes - received)
            raise PalestraError(
                say(
                    "{name} is not whole: {received:,} of {bytes:,} bytes were received. Send the other "
                    "{missing}, from byte {received:,} on.",
                    name=upload.name,
                    received=received,
                    bytes=upload.bytes,
                    missing=missing,
                )
            )
        _require_here(part, upload.id, received)
        file = self._file(upload.id)
        digest = digest_of(file)
        write_bytes(self._note(upload.id), digest.encode())
        sync(self.spool)
        self.files.take(file, digest)
        return digest

    def bind(self, connection: Connection, upload_id: str, submission: str) -> str:
        """The submission that an upload became: the first that was ever given. To be asked in the transaction that
        writes the submission's event, so that a request that comes twice makes one submission."""
        unbound = update(table).where(table.c.id == upload_id, table.c.submission == "")
        connection.execute(unbound.values(submission=submission, touched_at=self.now()))
        found = connection.execute(select(table.c.submission).where(table.c.id == upload_id)).scalar()
        if found is None:
            raise UnknownUpload(upload_id)
        return str(found)

    def abandon(self, upload_id: str) -> None:
        """Give an upload up. A sender that is at it hears of it with its next bytes."""
        upload = self.find(upload_id)
        with writing(self.engine) as connection:
            connection.execute(delete(table).where(table.c.id == upload.id))
        self._remove(upload.id)

    def sweep(self, older_than: int) -> int:
        """Forget uploads that nothing came for since that time (ms), and files that belong to none; how many."""
        with writing(self.engine) as connection:
            old = connection.execute(select(table.c.id).where(table.c.touched_at < older_than)).scalars().all()
            connection.execute(delete(table).where(table.c.touched_at < older_than))
            known = set(connection.execute(select(table.c.id)).scalars())
        lost = {path.stem for path in self.spool.iterdir() if path.stat().st_mtime_ns < older_than * 1_000_000} - known
        for upload_id in {*old, *lost}:
            self._remove(upload_id)
        return len({*old, *lost})

    def _remove(self, upload_id: str) -> None:
        self._file(upload_id).unlink(missing_ok=True)
        self._note(upload_id).unlink(missing_ok=True)

    def _as_it_is(self, upload: Upload) -> Upload:
        """What the file says of how much was received, whatever the row says: a crash may have come between."""
        if self._kept(upload.id):
            return msgspec.structs.replace(upload, received=upload.bytes)
        file = self._file(upload.id)
        received = file.stat().st_size if file.is_file() else 0
        return msgspec.structs.replace(upload, received=received)

    def _kept(self, upload_id: str) -> str:
        """The digest of an upload whose file is in the store; empty before."""
        note = self._note(upload_id)
        digest = require_digest(note.read_text()) if note.is_file() else ""
        return digest if digest and self.files.has(digest) else ""

    def _file(self, upload_id: str) -> Path:
        return self.spool / f"{upload_id}.part"

    def _note(self, upload_id: str) -> Path:
        return self.spool / f"{upload_id}.digest"

    @contextmanager
    def _part(self, upload_id: str) -> Iterator[int]:
        """The upload's file, made where it is not there: then the sender is told to begin at 0."""
        part = os.open(self._file(upload_id), os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            sync(self.spool)
            yield part
        finally:
            os.close(part)


@contextmanager
def _alone(part: int) -> Iterator[None]:
    """One at a time, in this process and in others; a process that dies lets go."""
    fcntl.flock(part, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(part, fcntl.LOCK_UN)


def _require_here(part: int, upload_id: str, at: int) -> None:
    status = os.fstat(part)
    if status.st_size != at:
        raise WrongOffset(at, status.st_size)
    if status.st_nlink == 0:  # it was given up, and what is written to it would be lost
        raise UnknownUpload(upload_id)


def _require_room(upload: Upload, at: int, chunk: bytes) -> None:
    if at + len(chunk) > upload.bytes:
        refuse(
            upload.name,
            say("more than the {bytes:,} bytes that were declared", bytes=upload.bytes),
            say("no more than those"),
        )


def _write_all(part: int, chunk: bytes) -> int:
    """All of a chunk: the system may take less at once, or none where the disk is full."""
    left = memoryview(chunk)
    while left:
        left = left[os.write(part, left) :]
    return len(chunk)


def clean_name(name: str) -> str:
    """The name of a stranger's file: its last part, in one line that can be shown, no longer than a table holds."""
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1]
    shown = " ".join("".join(map(_seen, last)).split())
    if len(shown) > LONGEST_NAME:
        stem, dot, suffix = shown.rpartition(".")
        kept = f"{dot}{suffix}" if stem and len(suffix) <= 10 else ""
        shown = shown[: LONGEST_NAME - len(kept)] + kept
    return shown if shown.strip(". ") else UNNAMED


def _seen(letter: str) -> str:
    """A letter that can be shown: others turn the rest of a line around, or are not there at all."""
    kind = unicodedata.category(letter)
    return " " if kind == "Cc" else "" if kind.startswith("C") else letter
