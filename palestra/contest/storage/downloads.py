"""What teams download: a phase's data without its truth, its truth once it is released, and starter kits.

Before a view is packed, what would be in it is laid out in a folder of links, and the track is asked for the truth of
that folder. A pack from which the truth could be read is never made.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from palestra.datasets import redact
from palestra.errors import PalestraError, refuse
from palestra.records import Track
from palestra.text import OR, joined, say

if TYPE_CHECKING:
    from palestra.contest.storage.file_store import Files

ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".7z", ".rar")
PIECE_BYTES = 8 << 20
MOST_PIECE_BYTES = 64 << 20  # a piece is held in memory by whoever fetches it
TRIES = 3  # at one piece

Advance = Callable[[int], None]  # told how much more was done: files of a pack, bytes of a download


class Pack(msgspec.Struct, frozen=True):
    """An archive in the file store."""

    file: str  # digest
    bytes: int


class Manifest(msgspec.Struct, frozen=True):
    """What a download is checked against, piece by piece and as a whole."""

    digest: str
    bytes: int
    piece_bytes: int
    pieces: tuple[str, ...]  # digests, in order

    def size_of(self, piece: int) -> int:
        return min(self.piece_bytes, self.bytes - piece * self.piece_bytes)


# Packing


def pack_view(track: Track, data: Path, files: Files, progress: Advance) -> Pack:
    """Everything of a data set but what is hidden. Refused where the truth could be had from it."""
    shown = [path for path in redact.shown(track, data) if not _hides_itself(path.relative_to(data))]
    _refuse_links_to_folders(track, data)
    _refuse_look_alikes(track, data, shown)
    partly = {data / place for place in redact.shown_in_part(track, data)}
    _refuse_copies(data, (path for path in shown if path not in partly), _hidden_files(track, data))
    with files.aside() as folder:
        view = folder / "view"
        _lay_out(shown, data, view)
        for place, content in redact.shown_in_part(track, data).items():
            if content is not None:
                (view / place).unlink()  # a link to the whole of it
                (view / place).write_bytes(content)
        if track.dataset.hidden:
            _refuse_readable_truth(track, data, view)
        return _keep(track, view, files, progress)


def pack_truth(track: Track, data: Path, files: Files, progress: Advance = lambda count: None) -> Pack:
    """What is hidden of a data set, for teams that it is released to."""
    hidden = _hidden_files(track, data)
    if not hidden:
        expected = say(
            "{hidden} in this folder: name the folder around the release", hidden=joined(track.dataset.hidden, OR)
        )
        refuse(str(data), say("nothing of what its track hides"), expected)
    with files.aside() as folder:
        _lay_out(hidden, data, folder / "truth")
        return _keep(track, folder / "truth", files, progress)


def pack_starter(track: Track, files: Files) -> Pack:
    """The starter kit, in a folder of its own: made-up practice data with its truth, and what to begin with."""
    from palestra.datasets import write_kit

    with files.aside() as folder:
        write_kit(track, folder / "kit" / track.id)
        return _keep(track, folder / "kit", files, lambda count: None)


def _keep(track: Track, folder: Path, files: Files, progress: Advance) -> Pack:
    """All of a folder as an archive in the store, with the manifest that downloads will ask for."""
    from palestra.contest.storage.file_store import digest_of

    archive = folder.with_name("pack.zip")
    redact.pack(replace(track, dataset=replace(track.dataset, hidden=(), in_part=None)), folder, archive, progress)
    pack = Pack(digest_of(archive), archive.stat().st_size)
    files.take(archive, pack.file)
    manifest(files, pack.file)
    return pack


def _hidden_files(track: Track, data: Path) -> list[Path]:
    """Files in what is hidden; a hidden folder may be a link to where it is kept."""
    walks = (os.walk(data / name, followlinks=True) for name in track.dataset.hidden)
    inside = {Path(place, name) for walk in walks for place, _, names in walk for name in names}
    alone = {data / name for name in track.dataset.hidden if (data / name).is_file()}
    partly = {data / place for place in redact.shown_in_part(track, data)}
    return sorted(path for path in inside | alone | partly if not _hides_itself(path.relative_to(data)))


def _hides_itself(path: Path) -> bool:
    """.DS_Store, .git and their like, in which anything may lie."""
    return any(part.startswith(".") for part in path.parts)


def _lay_out(paths: Iterable[Path], data: Path, folder: Path) -> None:
    """Links to files, and their folders, so that they can be looked at as a data set of their own."""
    folder.mkdir()
    home = data.resolve()
    for path in paths:
        place = path.relative_to(data)
        if path.is_dir():
            (folder / place).mkdir(parents=True, exist_ok=True)
        else:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).symlink_to(home / place)


def _refuse_links_to_folders(track: Track, data: Path) -> None:
    """What lies behind them would be missing from the pack, without a word."""
    for place, names, _ in os.walk(data):
        for path in (Path(place, name) for name in names):
            hidden = any(path.relative_to(data).is_relative_to(name) for name in track.dataset.hidden)
            if path.is_symlink() and not hidden and not _hides_itself(path.relative_to(data)):
                refuse(
                    str(path), say("a link to a folder"), say("the folder itself: what is behind a link is not packed")
                )


def _refuse_look_alikes(track: Track, data: Path, shown: Iterable[Path]) -> None:
    """Truth/, truth.bak, old/truth, and archives: nobody looked what is in them."""
    hidden = re.compile(
        "|".join(rf"(?:^|/){re.escape(name.casefold())}(?![a-z])" for name in track.dataset.hidden) or r"$^"
    )
    for path in shown:
        name = path.relative_to(data).as_posix().casefold()
        if hidden.search(name):
            expected = say(
                "truth in {hidden} alone; rename it, or move it out of the data set",
                hidden=joined(track.dataset.hidden, OR),
            )
            refuse(str(path), say("something that would be shown, by the name of what is hidden"), expected)
        if name.endswith(ARCHIVES):
            refuse(str(path), say("an archive"), say("files as the track reads them: truth may lie in an archive"))


def _refuse_copies(data: Path, shown: Iterable[Path], hidden: Iterable[Path]) -> None:
    """A hidden file under a second path: a link to it, or a copy by the same name.

    Other files with the same bytes are let pass: of labels without anything in them, one may be given and one hidden.
    """
    inodes, named = {}, defaultdict(list)
    for path in hidden:
        status = path.stat()
        inodes[status.st_dev, status.st_ino] = path
        named[path.name, status.st_size].append(path)
    digest_of = cache(_digest_of)  # of hidden files that a shown one is called like, and of no others
    for path in shown:
        status = path.stat()
        twin = inodes.get((status.st_dev, status.st_ino))
        alike = named.get((path.name, status.st_size), []) if path.is_file() else []
        twin = twin or next((other for other in alike if digest_of(other) == digest_of(path)), None)
        if twin:
            refuse(
                str(path),
                say("the same as {relative_to}, which is hidden", relative_to=twin.relative_to(data)),
                say("hidden files in one place"),
            )


def _refuse_readable_truth(track: Track, data: Path, view: Path) -> None:
    """The last and the only sure check: the track, asked for the truth of what would be given out, must have none.

    It is asked for the truth of the whole data set first: else any other fault would look like truth well hidden.
    """
    from palestra.scoring import score

    whole = score.load(track, data).truth["trial"]
    try:
        told = score.load(track, view).truth["trial"]
    except (PalestraError, OSError):
        return
    if whole.is_in(told.implode()).sum() == 0:  # of other trials: there are some to practise on
        return
    refuse(
        str(data),
        say("truth that can be read from what contestants would get"),
        say("truth in {hidden} alone; move it there", hidden=joined(track.dataset.hidden, OR)),
    )


# Downloading


def manifest(files: Files, digest: str, piece_bytes: int = PIECE_BYTES) -> Manifest:
    """The digests of a file's pieces; computed once and kept beside it."""

    def make() -> bytes:
        size = files.size(digest)
        starts = range(0, size, piece_bytes)
        pieces = tuple(_digest(files.stream(digest, at, min(at + piece_bytes, size))) for at in starts)
        return msgspec.json.encode(Manifest(digest, size, piece_bytes, pieces))

    return msgspec.json.decode(files.derived(digest, f"pieces-{piece_bytes}", make), type=Manifest)


def fetch(
    open_range: Callable[[int], Iterator[bytes]],
    manifest: Manifest,
    target: Path,
    advance: Advance = lambda count: None,
) -> None:
    """Download to a file, going on where an earlier download of the same file broke off.

    `open_range` gives the bytes from an offset on. A piece is written once it is right, and asked for again where it
    is not; the file gets its name when all of it is right.
    """
    _require_sound(manifest)
    if target.exists():
        if target.stat().st_size != manifest.bytes or _digest_of(target) != manifest.digest:
            raise PalestraError(
                say("{target} is there, and is another file. Move it away, or choose another name.", target=target)
            )
        advance(manifest.bytes)
        return
    part = target.with_name(f"{target.name}.{manifest.digest[:8]}.part")
    part.touch()
    with part.open("r+b") as out:
        _fill(open_range, manifest, out, _missing(manifest, out, advance), advance)
        out.truncate(manifest.bytes)
        out.flush()
        os.fsync(out.fileno())
    if _digest_of(part) != manifest.digest:
        raise PalestraError(
            say(
                "{name}: every piece is right, and the whole is not: the list of pieces is of another "
                "file. Tell the organiser. What was received lies in {part}.",
                name=target.name,
                part=part,
            )
        )
    part.replace(target)


def _require_sound(manifest: Manifest) -> None:
    """A manifest comes over the network: it must not make us fill memory, nor wait for ever."""
    count = -(-manifest.bytes // max(manifest.piece_bytes, 1))
    sound = 1 <= manifest.piece_bytes <= MOST_PIECE_BYTES and manifest.bytes >= 0 and len(manifest.pieces) == count
    if not sound or not re.fullmatch("[0-9a-f]{64}", manifest.digest):
        found = say(
            "{number:,} pieces of {piece_bytes:,} bytes for {bytes:,} bytes",
            number=len(manifest.pieces),
            piece_bytes=manifest.piece_bytes,
            bytes=manifest.bytes,
        )
        refuse(
            say("the list of pieces"),
            found,
            say(
                "{count:,} pieces of at most {most_piece_bytes:,} bytes", count=count, most_piece_bytes=MOST_PIECE_BYTES
            ),
        )


def _missing(manifest: Manifest, out: BinaryIO, advance: Advance) -> list[int]:
    """The pieces that an earlier download did not leave, or not as they should be."""
    missing = []
    for piece, digest in enumerate(manifest.pieces):
        data = out.read(manifest.size_of(piece))
        if hashlib.sha256(data).hexdigest() == digest:
            advance(len(data))
        else:
            missing.append(piece)
    return missing


def _fill(
    open_range: Callable[[int], Iterator[bytes]],
    manifest: Manifest,
    out: BinaryIO,
    missing: list[int],
    advance: Advance,
) -> None:
    tries = 0
    while missing:
        done = 0
        for data in _right_pieces(open_range, manifest, missing):
            out.seek(missing[done] * manifest.piece_bytes)
            out.write(data)
            advance(len(data))
            done += 1
        missing, tries = missing[done:], 0 if done else tries + 1
        if tries == TRIES:
            raise PalestraError(
                say(
                    "Piece {value} of {number} came wrong or not at all, {tries} times. What is right is "
                    "kept: try again later, and it goes on from there.",
                    value=missing[0] + 1,
                    number=len(manifest.pieces),
                    tries=TRIES,
                )
            )


def _right_pieces(
    open_range: Callable[[int], Iterator[bytes]], manifest: Manifest, missing: list[int]
) -> Iterator[bytes]:
    """The first missing pieces that follow one another, in one request, until one is wrong or the stream ends."""
    stream, held = open_range(missing[0] * manifest.piece_bytes), bytearray()
    following = (piece for i, piece in enumerate(missing) if piece == missing[0] + i)
    try:
        for piece in following:
            size = manifest.size_of(piece)
            while len(held) < size and (chunk := next(stream, b"")):
                held += chunk
            data = bytes(held[:size])
            if hashlib.sha256(data).hexdigest() != manifest.pieces[piece]:
                return
            del held[:size]
            yield data
    finally:
        if isinstance(stream, Generator):
            stream.close()  # a connection that nobody reads from any more


def _digest(chunks: Iterable[bytes]) -> str:
    sha = hashlib.sha256()
    for chunk in chunks:
        sha.update(chunk)
    return sha.hexdigest()


def _digest_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
