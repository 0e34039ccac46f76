"""Which files of the store a log names, and copies of them that are known to be whole."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Literal

from palestra.contest.log import events as e
from palestra.contest.match import cases_of
from palestra.contest.match import events as m
from palestra.contest.storage import DIGEST, DamagedFile, Files
from palestra.text import say

Group = Literal["scores", "traces", "submissions", "reports", "data", "recordings"]


def files_named(body: e.Body) -> Iterator[tuple[str, Group]]:
    """Digests in an event that stand for files, and what they are. Digests of texts and secrets are no files."""
    return ((digest, group) for digest, group in _named(body) if digest)


def _named(body: e.Body) -> Iterator[tuple[str, Group]]:
    match body:
        case e.DataPacked():
            yield body.file, "data"
        case e.SubmissionMade() | e.BundleMade():
            yield body.file, "submissions"
        case e.SubmissionRefused() | e.AttemptFailed() | e.RescoringFailed():
            yield body.trace, "traces"
        case e.ResultMade():
            yield from ((digest, "scores") for digest in (body.result, body.draws, body.shown_draws))
            yield body.report, "reports"
            yield from ((digest, _group_of(name)) for name, digest in sorted(body.files.items()))
        case e.ReportMade():
            yield from ((digest, "reports") for digest in (body.report, body.full))
        case e.VerificationMade():
            yield body.report, "reports"
        case e.RunEnded():
            yield body.recording, "recordings"
        case m.MatchOpened():
            yield from ((digest, "data") for digest in _kept(case.layout for _, case in cases_of(body.groups)))
        case m.SceneChecked():
            yield from ((digest, "recordings") for digest in _kept([body.photo]))


def _kept(digests: Iterable[str]) -> Iterator[str]:
    """Those that are digests: a rehearsal has no photo, and a layout may be recorded on paper."""
    return (digest for digest in digests if DIGEST.fullmatch(digest))


def _group_of(name: str) -> Group:
    """Of what else came of a result: scores, fingerprint, organiser-report, recording."""
    if "report" in name:
        return "reports"
    return "recordings" if "recording" in name else "scores"


def all_named(bodies: Iterable[e.Body]) -> list[str]:
    """All files that events name, in the order that they were first named."""
    return list(dict.fromkeys(digest for body in bodies for digest, _ in files_named(body)))


def checked(files: Files, digest: str) -> Iterator[bytes]:
    """A file's bytes; whoever has taken all of them has been told if they were not what the digest says."""
    sha = hashlib.sha256()
    for chunk in files.stream(digest):
        sha.update(chunk)
        yield chunk
    if sha.hexdigest() != digest:
        raise DamagedFile(
            say(
                "The file {digest} of the store is damaged: its bytes have the digest {found}.",
                digest=digest,
                found=sha.hexdigest(),
            )
        )
