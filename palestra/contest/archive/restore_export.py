"""A whole contest again, from an archive that export.py wrote, in an empty place; whoever may have had it meanwhile.

An archive is believed when all of it fits: the seal, the signature, every member's digest, the chain of the log. Until
then it is a stranger's file. Whose key signed it is for people to compare.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import msgspec
from sqlalchemy import Connection

from palestra.contest.archive.backup import count_on, open_empty, require_verified
from palestra.contest.archive.export import FORMAT, MOST_RULES_BYTES, RULES_FILE, Line, Manifest
from palestra.contest.archive.signature import fingerprint, key_of, same_fingerprint, verify
from palestra.contest.archive.verify_archive import (
    BESIDE,
    CHUNK_BYTES,
    LOG,
    MANIFEST,
    PUBLIC_KEY,
    SIGNATURE,
    lines_of,
    seal_faults,
)
from palestra.contest.log import Event, Head, State, apply, chain
from palestra.contest.log import events as e
from palestra.contest.queue import Task, queue, tasks_after
from palestra.contest.rules import NEVER
from palestra.contest.storage import DIGEST, Files, tables, writing
from palestra.errors import PalestraError, clip, refuse
from palestra.formats import BROKEN, open_members, regular_file, shown_name
from palestra.text import Text, human_bytes, joined, say

MOST_MEMBERS = 1_000_000
MOST_BYTES = 2_000_000_000_000  # of all members, unpacked
MOST_MANIFEST_BYTES = 300_000_000  # a million members need as much
MOST_LINE_BYTES = 16_000_000  # of one event
ROWS = 5_000  # that are put into the database at once

Advance = Callable[[int], None]  # told how many bytes more were looked at
LogRow = tuple[int, int, str, str, str]


class Verdict(msgspec.Struct, frozen=True):
    """What was found in an archive, and whether anybody vouched for its key."""

    contest: str
    head: Head
    files: int
    fingerprint: str
    trusted: bool  # the key is the one that was expected
    without: tuple[str, ...]
    lacking: dict[str, str]
    queued: int = 0  # submissions that were under way, and are again

    def __str__(self) -> str:
        whose = "which is the one you expected" if self.trusted else "ask the organiser whether it is theirs"
        lines = [
            f"{self.contest}: {self.head.seq:,} events, {self.files:,} files; signature, digests and log verify.",
            f"Signed with the key {self.fingerprint}; {whose}.",
            f"Head of the log: {self.head}",
        ]
        lines += [f"Exported without {', '.join(self.without)}."] if self.without else []
        lines += [f"{len(self.lacking):,} files were lost before the export."] if self.lacking else []
        return "\n".join(lines)


def rebuild(
    archive: Path,
    database_url: str,
    files_url: str,
    now: int,
    expected_key: str = "",
    known: Sequence[Head] = (),
    advance: Advance | None = None,
) -> Verdict:
    """Check an archive, then put its files and events where nothing is; events have the hashes that they had.

    Accounts come without passwords, which are not in an archive. What was under way is queued again.
    """
    with Archive(archive) as opened:
        verdict = opened.check(expected_key, known, advance)
        _require_room(opened, files_url)
        engine = open_empty(database_url)
        try:
            _put_files(opened, Files.open(files_url))
            with writing(engine) as connection:
                state = _put_events(connection, opened)
                waiting = list(unfinished(state))
                for task in waiting:
                    queue(connection, task.key, task.kind, msgspec.json.encode(task.order).decode(), now)
                count_on(connection)
                require_verified(connection, verdict.head)
        finally:
            engine.dispose()
    return msgspec.structs.replace(verdict, queued=len(waiting))


class Archive:
    """An exported archive, opened carefully: nothing of it is believed before it was looked at."""

    def __init__(self, file: Path, limit_bytes: int = MOST_BYTES) -> None:
        self.name = shown_name(file)
        regular_file(file, limit_bytes)
        for fault in seal_faults(file):
            self._wrong(fault)
        # The names, kinds and sizes of members, looked at as those of any stranger's archive are.
        with open_members(file, MOST_MEMBERS, limit_bytes, limit_bytes, strip_top=False) as members:
            self.sizes = {name: members.size(name) for name in members}
        try:
            self.zip = zipfile.ZipFile(file)
        except BROKEN as error:
            refuse(
                self.name,
                say("an archive that cannot be read ({error})", error=error),
                say("a .zip that an export wrote"),
            )
        try:
            self.manifest = self._manifest()
        except BaseException:
            self.zip.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.zip.close()

    def _manifest(self) -> Manifest:
        text, signature, pem = (self._small(name) for name in (MANIFEST, SIGNATURE, PUBLIC_KEY))
        try:
            self.public_key = key_of(pem)
        except ValueError:
            self._wrong(say("{file} holds no Ed25519 public key.", file=PUBLIC_KEY))
        if not verify(text, signature, self.public_key):
            self._wrong(say("the signature does not fit the manifest: it was changed, or signed with another key."))
        try:
            manifest = msgspec.json.decode(text, type=Manifest)
        except msgspec.MsgspecError as error:
            self._wrong(
                say(
                    "its manifest cannot be read ({error}). A newer version of Palestra may have written it.",
                    error=error,
                )
            )
        if manifest.format != FORMAT:
            self._wrong(
                say(
                    "found the format {found}, expected {expected}: use the version that wrote it.",
                    found=manifest.format,
                    expected=FORMAT,
                )
            )
        return manifest

    def _small(self, name: str, most: int = MOST_MANIFEST_BYTES) -> bytes:
        if name not in self.sizes:
            self._wrong(say("found no {name}, expected an export of a contest.", name=name))
        if self.sizes[name] > most:
            refuse(f"{self.name}: {name}", human_bytes(self.sizes[name]), say("at most {most}", most=human_bytes(most)))
        return b"".join(self.chunks(name))

    def _wrong(self, what: Text) -> NoReturn:
        raise PalestraError(joined([self.name, what], ": "))

    def chunks(self, name: str) -> Iterator[bytes]:
        """A member's bytes: never more than it says it has."""
        left = self.sizes[name]
        try:
            with self.zip.open(name) as stream:
                while chunk := stream.read(min(CHUNK_BYTES, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        self._wrong(say("{name} has more bytes than it says.", name=name))
                    yield chunk
        except (*BROKEN, KeyError) as error:  # KeyError: a name that is written in a roundabout way
            self._wrong(say("{name} cannot be unpacked ({error}).", name=name, error=clip(str(error), 90)))

    def rows(self) -> Iterator[LogRow]:
        """The events as they are kept."""
        for number, line in enumerate(lines_of(self._bounded(self.chunks(LOG))), 1):
            try:
                one = msgspec.json.decode(line, type=Line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                self._wrong(
                    say("line {number:,} of {file} cannot be read ({error}).", number=number, file=LOG, error=error)
                )
            strange = "\0" in one.by + one.body or len(one.by) > 80 or not DIGEST.fullmatch(one.hash)
            if strange or not max(one.at, one.seq) < NEVER:  # more than a database takes, or a calendar has
                self._wrong(say("line {number:,} of {file} is no event that a log can hold.", number=number, file=LOG))
            yield one.seq, one.at, one.by, one.body, one.hash

    def _bounded(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The same, unless a line is too long to be an event."""
        since = 0
        for chunk in chunks:
            first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
            if since + (len(chunk) if first < 0 else first) > MOST_LINE_BYTES:
                self._wrong(say("{file} has a line of more than {most}.", file=LOG, most=human_bytes(MOST_LINE_BYTES)))
            since = since + len(chunk) if last < 0 else len(chunk) - last - 1
            yield chunk

    def rules_text(self) -> bytes | None:
        """contest.toml, where it went along."""
        return self._small(RULES_FILE, MOST_RULES_BYTES) if RULES_FILE in self.sizes else None

    @property
    def files(self) -> list[str]:
        """Digests."""
        return [name.removeprefix("files/") for name in self.sizes if name.startswith("files/")]

    def check(self, expected_key: str, known: Sequence[Head], advance: Advance | None = None) -> Verdict:
        """All of it: members, chain, key."""
        found = fingerprint(self.public_key)
        if expected_key and not same_fingerprint(expected_key, found):
            self._wrong(
                say(
                    "found a signature by the key {found}, expected {expected}.",
                    found=found,
                    expected=clip(expected_key, 90),
                )
            )
        if self.manifest.public:
            self._wrong(say("found an export for the public, expected a whole one: it has no log to rebuild from."))
        self._check_members(advance or (lambda count: None))
        verdict = chain.verify_rows(self.rows(), known)
        if not verdict.ok:
            self._wrong(say("its log does not verify. {fault}", fault=verdict.faults[0]))
        if verdict.head != self.manifest.head:
            self._wrong(
                say(
                    "its log ends with event {found}, expected {expected}.",
                    found=verdict.head.seq,
                    expected=self.manifest.head.seq,
                )
            )
        manifest, trusted = self.manifest, bool(expected_key)
        return Verdict(
            manifest.contest, verdict.head, len(self.files), found, trusted, manifest.without, manifest.lacking
        )

    def _check_members(self, advance: Advance) -> None:
        listed = self.manifest.members
        if set(self.sizes) != set(listed) | set(BESIDE) or LOG not in listed:
            odd = sorted(set(self.sizes) ^ (set(listed) | set(BESIDE))) or [LOG]
            self._wrong(say("its members are not those of its manifest: {name}.", name=clip(odd[0], 120)))
        for name, member in listed.items():
            sha = hashlib.sha256()
            for chunk in self.chunks(name):
                sha.update(chunk)
                advance(len(chunk))
            if (sha.hexdigest(), self.sizes[name]) != (member.sha256, member.bytes):
                self._wrong(say("{name} is not what the manifest says: it was changed.", name=name))
            if name.startswith("files/") and name != f"files/{member.sha256}":
                self._wrong(say("{name} has another digest than its name says.", name=clip(name, 120)))


def _require_room(opened: Archive, files_url: str) -> None:
    """Of a bucket we do not know how much it takes."""
    if "://" in files_url:
        return
    folder = Path(files_url).absolute()
    while not folder.exists():
        folder = folder.parent
    needed, free = sum(opened.sizes[f"files/{digest}"] for digest in opened.files), shutil.disk_usage(folder).free
    if needed > free:
        refuse(
            str(folder),
            say("{free} free", free=human_bytes(free)),
            say("{needed} for the files of {name}", needed=human_bytes(needed), name=opened.name),
        )


def _put_files(opened: Archive, files: Files) -> None:
    for digest in opened.files:
        if not files.has(digest):
            files.put_stream(opened.chunks(f"files/{digest}"))


def _put_events(connection: Connection, opened: Archive) -> State:
    """Insert what is kept, and fold it: a log that no contest could have had is refused."""
    state, waiting = State(), list[dict[str, object]]()
    for seq, at, by, body, digest in opened.rows():
        try:
            apply(state, Event(seq, at, by, e.decode(body)))
        except (PalestraError, msgspec.MsgspecError, LookupError, ValueError) as error:
            raise PalestraError(
                say(
                    "{name}: event {seq} cannot have happened ({clip}).",
                    name=opened.name,
                    seq=seq,
                    clip=clip(str(error), 90),
                )
            ) from None
        waiting.append({"seq": seq, "at": at, "by": by, "body": body, "hash": digest})
        if len(waiting) == ROWS:
            connection.execute(tables.events.insert(), waiting)
            waiting = []
    if waiting:
        connection.execute(tables.events.insert(), waiting)
    connection.execute(tables.settings.insert().values(name=chain.HEAD, value=str(opened.manifest.head)))
    return state


def unfinished(state: State) -> Iterator[Task]:
    """The work that follows from a log and had not been done when it ended."""
    for one in state.submissions.values():
        if one.stage == "checking":
            yield from tasks_after(e.SubmissionMade(one.id, one.team, one.phase, one.file, one.name, one.bytes), state)
        elif one.stage in ("queued", "running"):
            yield from tasks_after(e.SubmissionAccepted(one.id), state)
    for bundle in state.bundles.values():
        if not bundle.outcome:
            made = e.BundleMade(bundle.id, bundle.team, bundle.phase, bundle.file, bundle.name, bundle.bytes)
            yield from tasks_after(made, state)
    for rescoring in state.rescorings.values():
        if rescoring.state == "open":
            left = tuple(name for name in rescoring.submissions if not _is_done(state, rescoring.id, name))
            proposed = e.RescoringProposed(rescoring.id, rescoring.phase, left, rescoring.reason)
            yield from tasks_after(proposed, state)


def _is_done(state: State, rescoring: str, submission: str) -> bool:
    scored = any(score.rescoring == rescoring for score in state.submissions[submission].scores)
    return scored or submission in state.rescorings[rescoring].failed
