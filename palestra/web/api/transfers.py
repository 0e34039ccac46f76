"""Files that come and go: uploads in pieces, downloads in ranges."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

from litestar import HttpMethod, MediaType, Request, Response, delete, get, patch, post, route
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from palestra.contest import score_seen, sees_data, sees_submission, sees_truth
from palestra.contest.decisions import submissions
from palestra.contest.log import new_id
from palestra.contest.storage import UnknownUpload, Upload, clean_name, downloads
from palestra.errors import Missing, PalestraError
from palestra.text import say
from palestra.web.auth import caller_of, needs, viewer_from
from palestra.web.models import Begin, Progress, Submitted, missing, there
from palestra.web.site import Site, in_thread
from palestra.web.views import result_written

PIECE_BYTES = 8 << 20  # the most that one request may bring
UNDER_WAY = 5  # uploads that an account may have begun
READING = [HttpMethod.GET, HttpMethod.HEAD]


def _progress(upload: Upload) -> Progress:
    return Progress(upload.id, upload.received, upload.bytes, upload.submission)


@post("/api/uploads", guards=[needs("submit")], tags=["uploads"])
async def begin(site: Site, request: Request[Any, Any, Any], data: Begin) -> Progress:
    """Begin an upload. What would be refused afterwards is refused now."""
    viewer = caller_of(request).viewer

    def start() -> Upload:
        _require_allowed(site, viewer.team, data.phase, data.purpose, clean_name(data.name), data.bytes)
        if len(site.uploads.under_way(viewer.account)) >= UNDER_WAY:
            raise PalestraError(
                say("You have {under_way} uploads under way. Finish one, or give it up, first.", under_way=UNDER_WAY)
            )
        return site.uploads.begin(viewer.account, viewer.team, data.phase, data.purpose, data.name, data.bytes)

    return _progress(await in_thread(start))


def _require_allowed(site: Site, team: str, phase_id: str, purpose: str, name: str, size: int) -> None:
    state, now = site.state, site.now
    phase = state.phase(phase_id, now)
    if purpose == "bundle":
        submissions.require_bundle(state, phase, team, name, size, now)
        return
    submissions.require_open(state, phase, team, now)
    submissions.require_file(state, phase, team, name, size, now)


def _mine(site: Site, request: Request[Any, Any, Any], upload: str) -> Upload:
    found = site.uploads.find(upload)
    if found.account != caller_of(request).viewer.account:
        raise UnknownUpload(upload)
    return found


# Routes that share an address are async: Litestar wraps a function for threads once for each of them.
@get("/api/uploads/{upload:str}", guards=[needs("submit")], tags=["uploads"])
async def progress(site: Site, request: Request[Any, Any, Any], upload: str) -> Progress:
    """How much of an upload has been received: where to go on after a lost connection."""
    return _progress(await in_thread(lambda: _mine(site, request, upload)))


@patch("/api/uploads/{upload:str}", guards=[needs("submit")], tags=["uploads"])
async def append(site: Site, request: Request[Any, Any, Any], upload: str) -> Progress:
    """The next bytes, at most 8 MiB, with the header `Upload-Offset`."""
    found = await in_thread(lambda: _mine(site, request, upload))
    offset = request.headers.get("upload-offset", "")
    if not offset.isdecimal() or len(offset) > 15:
        raise PalestraError(say("The header Upload-Offset says at which byte this piece begins."))
    piece = bytearray()
    async for chunk in request.stream():
        piece += chunk
        if len(piece) > PIECE_BYTES:
            raise PalestraError(
                say(
                    "A piece has at most {piece_bytes:,} bytes. Send the rest in the next one.", piece_bytes=PIECE_BYTES
                )
            )
    await in_thread(lambda: site.uploads.append(found.id, int(offset), [bytes(piece)]))
    return _progress(await in_thread(lambda: site.uploads.find(upload)))


@post("/api/uploads/{upload:str}/complete", guards=[needs("submit")], status_code=200, tags=["uploads"])
async def complete(site: Site, request: Request[Any, Any, Any], upload: str) -> Submitted:
    """Hand in what was uploaded. Asked twice, it is handed in once."""
    found = await in_thread(lambda: _mine(site, request, upload))
    if found.team != caller_of(request).viewer.team:
        raise PalestraError(say("You are not in the team any more that this was uploaded for."))
    return Submitted(await in_thread(lambda: hand_in(site, found)))


def hand_in(site: Site, found: Upload) -> str:
    """Turn an upload into a submission, once."""
    if found.submission:
        return found.submission
    digest = site.uploads.complete(found.id)
    name = new_id("b" if found.purpose == "bundle" else "s")
    receive = submissions.receive_bundle if found.purpose == "bundle" else submissions.receive
    sent = submissions.Sent(name, found.team, found.phase, digest, found.name, found.bytes)
    bound: list[str] = []

    def once(connection: Any, _: object) -> bool:
        bound.append(site.uploads.bind(connection, found.id, name))
        return bound[0] == name

    try:
        site.contest.act(found.account, lambda state, now: receive(state, now, sent), once)
    except PalestraError:
        if before := site.uploads.find(found.id).submission:  # by a request that came at the same moment
            return before
        raise
    return bound[0]


@delete("/api/uploads/{upload:str}", guards=[needs("submit")], tags=["uploads"])
async def abandon(site: Site, request: Request[Any, Any, Any], upload: str) -> None:
    """Give an upload up."""
    found = await in_thread(lambda: _mine(site, request, upload))
    await in_thread(lambda: site.uploads.abandon(found.id))


# Downloads


@route("/api/data/{phase:str}/{part:str}", http_method=READING, sync_to_thread=False, tags=["data"],
       media_type="application/zip")  # fmt: skip
def data_file(site: Site, request: Request[Any, Any, Any], phase: str, part: str) -> Response[Any]:
    """A phase's data, starter kit, or released truth. Ranges resume a download that was cut off."""
    digest = _pack(site, request, phase, part)
    return ranged(site, request, digest, f"{phase}-{part}.zip", "application/zip")


@get("/api/data/{phase:str}/{part:str}/manifest", sync_to_thread=True, tags=["data"])
def data_manifest(site: Site, request: Request[Any, Any, Any], phase: str, part: str) -> downloads.Manifest:
    """Digests of the file and of each piece of it, to check a download by."""
    return downloads.manifest(site.contest.files, _pack(site, request, phase, part))


def _pack(site: Site, request: Request[Any, Any, Any], phase_id: str, part: str) -> str:
    """The digest of a pack that this viewer gets."""
    state, viewer, now = site.state, viewer_from(request), site.now
    phase = state.phase(phase_id, now)
    may = {
        "view": sees_data(state, phase, viewer, now) and viewer.may("read"),
        "truth": sees_truth(state, phase, viewer) and viewer.may("read"),
        "starter": True,
    }
    packed = state.packs.get(phase_id, {}).get(part)
    if packed is None or not may.get(part, False):
        raise Missing(say("There is no such file for you. What there is: /data"))
    return packed[0]


@route("/api/submissions/{submission:str}/{what:str}", http_method=READING, sync_to_thread=False,
       guards=[needs("read")], tags=["submissions"], media_type="application/octet-stream")  # fmt: skip
def submission_file(site: Site, request: Request[Any, Any, Any], submission: str, what: str) -> Response[Any]:
    """What was handed in (`file`), or what came of it (`result`)."""
    viewer, found = viewer_from(request), site.state.submissions.get(submission)
    one = there(found if found and sees_submission(found, viewer) else None, missing.SUBMISSION)
    score = score_seen(site.state, one, viewer, site.now)
    if what == "file":
        return ranged(site, request, one.file, one.name, "application/octet-stream")
    if what == "result" and score and score.result:
        if written := result_written(site, one, score, viewer):
            headers = {"content-disposition": f"attachment; filename*=UTF-8''{one.id}.json",
                       "cache-control": "private, no-cache"}  # fmt: skip
            return Response(written, media_type=MediaType.JSON, headers=headers)
        return ranged(site, request, score.result, f"{one.id}.json", MediaType.JSON)
    raise Missing(say("There is no such file of this submission."))


def ranged(site: Site, request: Request[Any, Any, Any], digest: str, name: str, kind: str) -> Response[Any]:
    """A file from the store, or the part of it that was asked for; of a HEAD request, all but the file itself."""
    size = site.contest.files.size(digest)
    headers = {
        "accept-ranges": "bytes",
        "etag": f'"{digest}"',
        "content-disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "cache-control": "private, no-cache",
        "digest": f"sha-256={digest}",
    }
    asked = request.headers.get("range", "")
    if request.headers.get("if-range", f'"{digest}"') != f'"{digest}"':
        asked = ""
    start, end = _range(asked, size)
    if start is None:
        return Response(b"", status_code=416, media_type=kind, headers={"content-range": f"bytes */{size}"})
    status = 206 if asked else 200
    if asked:
        headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
    headers["content-length"] = str(end - start)
    chunks = site.contest.files.stream(digest, start, end) if request.method != "HEAD" else iter(())
    return Stream(_in_threads(chunks), status_code=status, headers=headers, media_type=kind)


def _range(text: str, size: int) -> tuple[int | None, int]:
    """The one range that a header asks for, as start and end; nothing where it cannot be had."""
    if not text:
        return 0, size
    unit, _, spec = text.partition("=")
    first, dash, last = spec.strip().partition("-")
    plain = all(part == "" or (part.isdecimal() and len(part) < 16) for part in (first, last))
    if unit.strip() != "bytes" or not dash or not plain or (first == "" and last == ""):
        return None, size
    if first == "":
        return (max(size - int(last), 0), size) if int(last) else (None, size)
    start, end = int(first), min(int(last) + 1, size) if last else size
    return (start, end) if start < end else (None, size)


async def _in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk


TRANSFERS: list[HTTPRouteHandler] = [
    begin, progress, append, complete, abandon, data_file, data_manifest, submission_file,
]  # fmt: skip
