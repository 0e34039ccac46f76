"""A contest as one signed archive: the log, the rules, the tables and the files, or what the public may see of it.

Passwords, keys and tokens are in tables that are never read here. The same log with the same files gives the same
bytes. An archive appears whole or not at all; one that was broken off is begun again.
"""

from __future__ import annotations

import glob
import os
import shutil
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

import msgspec
import polars as pl
from sqlalchemy import Engine

from palestra.contest import NOBODY, Viewer
from palestra.contest.archive import tables, verify_archive
from palestra.contest.archive.folder_lock import turn
from palestra.contest.archive.readme import readme
from palestra.contest.archive.referenced_files import Group, files_named
from palestra.contest.archive.signature import Key, pem_of
from palestra.contest.archive.verify_archive import LOG, MANIFEST, PUBLIC_KEY, SIGNATURE
from palestra.contest.archive.zip_writer import Advance, Member, SealedZip, seal
from palestra.contest.log import Event, Head, State, apply, chain, events
from palestra.contest.rules import model as rulebook
from palestra.contest.storage import Files, reading, sync
from palestra.errors import PalestraError, UnknownName, refuse
from palestra.formats import read_bytes
from palestra.text import human_bytes, say

FORMAT = 1
GROUPS: tuple[Group, ...] = ("submissions", "reports", "data", "recordings")  # that an export can be made without
RULES_FILE = "rules/contest.toml"
MOST_RULES_BYTES = 1_000_000
ORGANISER = Viewer(role="organiser")
SAMPLE_BYTES = 1 << 16  # of a file, by which is told whether packing it is worth the time
LogRow = tuple[int, int, str, str, str]  # seq, at, by, body, hash
ROOM = 1.1  # what is not counted beforehand: tables, the archive's own directory


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is in an archive. This is what is signed."""

    format: int
    palestra: str  # the version that wrote it
    contest: str
    public: bool
    as_of: int  # ms
    head: Head
    without: tuple[str, ...] = ()
    lacking: dict[str, str] = {}  # files that the log names and the store had not, or not whole, and why
    members: dict[str, Member]


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event in log.jsonl. Its body is a text, so that its hash can be computed from what was kept."""

    seq: int
    at: int
    by: str
    body: str
    hash: str


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What will be in an archive."""

    state: State
    head: Head
    as_of: int
    public: bool
    without: tuple[str, ...]
    files: dict[str, int]  # digests and bytes
    lacking: dict[str, str]
    log_bytes: int
    rules_text: bytes | None = None  # contest.toml

    @property
    def bytes(self) -> int:
        """About how much will be written, before it is packed."""
        return self.log_bytes + sum(self.files.values())


class Exported(msgspec.Struct, frozen=True):
    """An archive that was written."""

    file: str
    bytes: int
    members: int
    head: Head
    fingerprint: str
    lacking: dict[str, str]

    def __str__(self) -> str:
        lines = [
            f"{self.file}: {self.members:,} members, {human_bytes(self.bytes)}.",
            f"Signed with the key {self.fingerprint}: publish it, so that others can compare.",
            f"Head of the log: {self.head}",
            *self.lacking.values(),
        ]
        return "\n".join(lines)


def export(
    engine: Engine, files: Files, key: Key, target: Path, now: int, without: Collection[str] = (), public: bool = False
) -> Exported:
    """Write a contest to an archive. Servers and workers may go on meanwhile."""
    return write(plan(engine, files, now, without, public), engine, files, key, target)


def plan(
    engine: Engine,
    files: Files,
    now: int,
    without: Collection[str] = (),
    public: bool = False,
    rules_file: Path | None = None,
) -> Plan:
    """Look what is to be exported. A log that does not verify is not signed. The rules in force are in the log; their
    file goes along, with what its writer noted in it."""
    if unknown := [name for name in without if name not in GROUPS]:
        raise UnknownName(say("part that an export can be made without"), unknown[0], GROUPS)
    with reading(engine) as connection:
        verdict = chain.verify(connection)
        if not verdict.ok:
            raise PalestraError(say("The log does not verify, so it is not signed. {faults}", faults=verdict.faults[0]))
        state, named, size = _folded(chain.rows(connection, upto=verdict.head.seq), without)
    if not state.versions:
        raise PalestraError(say("There is nothing to export: this contest has not been opened yet."))
    sizes, lacking = _looked_up(files, [] if public else named)
    _forget_draws(state, files, lacking)
    return Plan(
        state=state,
        head=verdict.head,
        as_of=now if public else verdict.head.at,
        public=public,
        without=() if public else tuple(sorted(set(without))),
        files=sizes,
        lacking=lacking,
        log_bytes=0 if public else size,
        rules_text=None if public or rules_file is None else read_bytes(rules_file, MOST_RULES_BYTES),
    )


def _folded(rows: Iterable[LogRow], without: Collection[str]) -> tuple[State, list[str], int]:
    """The state that a log ends with, the files that it names, and about how many bytes it has."""
    state, named, size = State(), dict[str, None](), 0
    for seq, at, by, text, digest in rows:
        body = events.decode(text)
        apply(state, Event(seq, at, by, body))
        named.update((file, None) for file, group in files_named(body) if group not in without)
        size += len(text) + len(by) + len(digest)
    return state, list(named), size


def _looked_up(files: Files, digests: Iterable[str]) -> tuple[dict[str, int], dict[str, str]]:
    """The sizes of files, and why some cannot be had. A lost report is no reason to keep a contest from leaving."""
    sizes, lacking = dict[str, int](), dict[str, str]()
    for digest in digests:
        try:
            files.verify(digest)
            sizes[digest] = files.size(digest)
        except PalestraError as error:
            lacking[digest] = str(error)
    return sizes, lacking


def _forget_draws(state: State, files: Files, lacking: dict[str, str]) -> None:
    """Boards without the resamples that are lost have no bands, but they are boards."""
    for submission in state.submissions.values():
        for score in submission.scores:
            score.draws = "" if score.draws in lacking or not _has(files, score.draws) else score.draws
            score.shown_draws = "" if not _has(files, score.shown_draws) else score.shown_draws


def _has(files: Files, digest: str) -> bool:
    return bool(digest) and files.has(digest)


# Writing


def write(
    planned: Plan, engine: Engine, files: Files, key: Key, target: Path, advance: Advance | None = None
) -> Exported:
    """Write what was planned. Nothing has the target's name before all of it is on the disk."""
    folder, part = target.absolute().parent, f".{target.name}.part"
    with turn(folder, glob.escape(part)):
        _require_room(planned, folder)
        with _replacing(target, folder / part, 0o644 if planned.public else 0o600) as out:
            with SealedZip(out, planned.as_of, advance) as archive:
                _write(archive, planned, engine, files, key)
            out.flush()
            seal(folder / part)
        sync(folder)
    size = target.stat().st_size
    return Exported(str(target), size, len(archive.members), planned.head, key.fingerprint, planned.lacking)


def _write(archive: SealedZip, planned: Plan, engine: Engine, files: Files, key: Key) -> None:
    zone = planned.state.rules(planned.as_of).zone
    with reading(engine) as connection:
        if not planned.public:
            archive.add(LOG, _lines(chain.rows(connection, upto=planned.head.seq)))
            table = tables.events(chain.rows(connection, upto=planned.head.seq), zone)
            _add_table(archive, "events", table)
    for name, text in _rules(planned):
        archive.add(name, [text])
    viewer = NOBODY if planned.public else ORGANISER
    for name, table in tables.tables(planned.state, viewer, planned.as_of, files.read).items():
        _add_table(archive, name, table)
    for digest in sorted(planned.files):
        if archive.add(f"files/{digest}", files.stream(digest), _shrinks(files, digest)).sha256 != digest:
            raise PalestraError(
                say(
                    "The file {digest} was damaged while it was exported. Look at the disk, begin again.", digest=digest
                )
            )
    rules = planned.state.rules(planned.as_of)
    about = (planned.head, planned.as_of, key.fingerprint, version("palestra"), planned.public, planned.without)
    archive.add("README.md", [readme(rules, *about).encode()])
    archive.add("verify.py", [Path(verify_archive.__file__).read_bytes()])
    manifest = _manifest(planned, rules.id, dict(archive.members))
    for name, data in ((MANIFEST, manifest), (SIGNATURE, key.sign(manifest)), (PUBLIC_KEY, pem_of(key.public))):
        archive.add(name, [data])


def _manifest(planned: Plan, contest: str, members: dict[str, Member]) -> bytes:
    manifest = Manifest(
        format=FORMAT,
        palestra=version("palestra"),
        contest=contest,
        public=planned.public,
        as_of=planned.as_of,
        head=planned.head,
        without=planned.without,
        lacking=planned.lacking,
        members=members,
    )
    return msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=1) + b"\n"


def _lines(rows: Iterable[LogRow]) -> Iterator[bytes]:
    for row in rows:
        yield msgspec.json.encode(Line(*row)) + b"\n"


def _rules(planned: Plan) -> Iterator[tuple[str, bytes]]:
    """Each version, by its number and the day from which it holds. Where data lies is the organiser's business."""
    if planned.rules_text is not None:
        yield RULES_FILE, planned.rules_text
    for i, one in enumerate(planned.state.versions):
        rules = one.rules
        if planned.public:
            phases = tuple(msgspec.structs.replace(phase, data="") for phase in rules.phases)
            rules = msgspec.structs.replace(rules, phases=phases)
        day = datetime.fromtimestamp(one.counts_from / 1000, UTC).date()
        yield f"rules/{i + 1:03}-from-{day}.json", msgspec.json.format(rulebook.encode(rules)).encode() + b"\n"


def _add_table(archive: SealedZip, name: str, table: pl.DataFrame) -> None:
    archive.add(f"tables/{name}.csv", tables.csv_parts(table))
    archive.add(f"tables/{name}.parquet", [tables.as_parquet(table)], deflate=False)


def _shrinks(files: Files, digest: str) -> bool:
    sample = b"".join(files.stream(digest, 0, min(files.size(digest), SAMPLE_BYTES)))
    return len(zlib.compress(sample, 1)) < 0.9 * len(sample)


def _require_room(planned: Plan, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if planned.bytes * ROOM > free:
        refuse(
            str(folder),
            say("{free} free", free=human_bytes(free)),
            say("{human_bytes} for the archive", human_bytes=human_bytes(int(planned.bytes * ROOM))),
        )


@contextmanager
def _replacing(target: Path, part: Path, mode: int) -> Iterator[BinaryIO]:
    """A file that takes the target's name when it is whole and on the disk, and is gone if it never is."""
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "w+b") as out:
            yield out
        sync(part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
