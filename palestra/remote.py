"""A contest server, spoken to from Python: what is there, what became of a submission, files up and down.

    from palestra.remote import Server

    with Server("https://contest.example.org", token="plt_…") as server:
        page = server.submit("preliminary", Path("answers.csv"))
        print(page.state, page.metrics)

A token is made on the site, under your account. Records are those of `palestra.web.models.public` and `api_views`.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import httpx
import msgspec

from palestra.contest.storage import Manifest, fetch
from palestra.errors import PalestraError, refuse
from palestra.formats import shown_name
from palestra.text import OR, Text, human_bytes, joined, say
from palestra.web.models import Begin, Contest, Me, Progress, Submitted
from palestra.web.models import live as lv
from palestra.web.models import public as v

T = TypeVar("T")
PIECE_BYTES = 4 << 20
PATIENCE_S = 30.0  # for one answer
TRIES = 6  # of one request, while the connection fails
OVER = ("ready", "scored", "hidden", "refused", "failed", "platform", "withdrawn", "cancelled")
Advance = Callable[[int], None]


class Server:
    """One contest server, as the owner of a token reaches it."""

    def __init__(self, address: str, token: str = "", wait: Callable[[float], None] = time.sleep) -> None:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=address.rstrip("/"), headers=headers, timeout=PATIENCE_S)
        self._wait = wait

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    # What is there

    def contest(self) -> Contest:
        return self._get("/api/contest", Contest)

    def me(self) -> Me:
        return self._get("/api/me", Me)

    def board(self, phase: str) -> v.BoardPage:
        return self._get(f"/api/boards/{phase}", v.BoardPage)

    def final(self) -> v.FinalPage:
        return self._get("/api/final", v.FinalPage)

    def submissions(self, phase: str) -> v.SubmissionsPage:
        return self._get(f"/api/phases/{phase}/submissions", v.SubmissionsPage)

    def submission(self, submission: str) -> v.SubmissionPage:
        return self._get(f"/api/submissions/{submission}", v.SubmissionPage)

    def data(self) -> v.DataPage:
        return self._get("/api/data", v.DataPage)

    def run(self, run: str) -> lv.LivePage:
        """A live run, as far as it has come."""
        return self._get(f"/api/runs/{run}", lv.LivePage)

    def act(self, action: str, **fields: Any) -> dict[str, Any]:
        """Do what the action of this name does; the API's description lists them with their fields."""
        answer = self._ask("POST", f"/api/actions/{action}", json=fields)
        found: dict[str, Any] = msgspec.json.decode(answer.content)
        return found

    # Files

    def submit(
        self, phase: str, file: Path, advance: Advance | None = None, purpose: str = "answers"
    ) -> v.SubmissionPage:
        """Send a file, in pieces that are sent again where the connection fails, and wait for what becomes of it."""
        if form := self.form(phase, purpose):
            require_fit(form, file)
        return self.follow(self.upload(phase, file, advance, purpose))

    def form(self, phase: str, purpose: str = "answers") -> v.UploadForm | None:
        """What may be handed in: kinds of files, their size, what is left of the quotas. Nothing: none of this purpose
        is asked of your team."""
        return next((form for form in self.submissions(phase).forms if form.purpose == purpose), None)

    def upload(self, phase: str, file: Path, advance: Advance | None = None, purpose: str = "answers") -> str:
        """Send a file; the id of the submission that it became."""
        size = file.stat().st_size
        begun = Begin(phase, file.name, size, purpose)  # type: ignore[arg-type]
        upload = self._decoded(self._ask("POST", "/api/uploads", json=msgspec.to_builtins(begun)), Progress)
        with file.open("rb") as source:
            while upload.received < size:
                source.seek(upload.received)
                upload = self._append(upload, source.read(PIECE_BYTES), advance)
        answer = self._ask("POST", f"/api/uploads/{upload.upload}/complete")
        return self._decoded(answer, Submitted).submission

    def _append(self, upload: Progress, piece: bytes, advance: Advance | None) -> Progress:
        address = f"/api/uploads/{upload.upload}"
        headers = {"upload-offset": str(upload.received), "content-type": "application/octet-stream"}
        try:
            after = self._decoded(self._ask("PATCH", address, content=piece, headers=headers), Progress)
        except _Moved:  # an earlier try came through though we did not hear of it
            after = self._get(address, Progress)
        if advance:
            advance(after.received - upload.received)
        return after

    def follow(self, submission: str, told: Callable[[v.SubmissionPage], None] | None = None) -> v.SubmissionPage:
        """Wait until a submission is through."""
        pause = 0.2
        while (page := self.submission(submission)).state not in OVER:
            if told:
                told(page)
            self._wait(pause)
            pause = min(pause * 1.3, 5.0)
        return page

    def download(self, phase: str, part: str, target: Path, advance: Advance | None = None) -> None:
        """A phase's data (`view`), starter kit (`starter`) or released truth (`truth`); a part of it that is there is
        gone on from, and everything is checked by its digests."""
        address = f"/api/data/{phase}/{part}"
        manifest = self._get(f"{address}/manifest", Manifest)
        fetch(lambda start: self._range(address, start), manifest, target, advance or (lambda count: None))

    def _range(self, address: str, start: int) -> Iterator[bytes]:
        try:
            with self._http.stream("GET", address, headers={"range": f"bytes={start}-"}) as answer:
                if answer.is_error:
                    answer.read()
                    _require_good(answer)
                yield from answer.iter_bytes(1 << 16)
        except httpx.TransportError:  # what has not come is asked for again
            self._wait(1.0)

    # Requests

    def _get(self, address: str, kind: type[T]) -> T:
        return self._decoded(self._ask("GET", address), kind)

    def _decoded(self, answer: httpx.Response, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(answer.content, type=kind)
        except msgspec.MsgspecError as error:
            raise PalestraError(
                say("{url}: no answer of a Palestra server ({error}).", url=answer.url, error=error)
            ) from None

    def _ask(self, method: str, address: str, **what: Any) -> httpx.Response:
        """One request, tried again while the connection fails or the server is away. All that we send may come twice:
        pieces of an upload have their offset, and an upload is handed in once."""
        for i in range(TRIES):
            try:
                answer = self._http.request(method, address, **what)
            except httpx.TransportError as error:
                if i == TRIES - 1:
                    raise PalestraError(
                        say(
                            "{base_url}: the server does not answer ({error}).",
                            base_url=self._http.base_url,
                            error=error,
                        )
                    ) from None
            else:
                if answer.status_code not in (429, 502, 503, 504) or i == TRIES - 1:
                    _require_good(answer)
                    return answer
            self._wait(0.5 * 2**i)
        raise AssertionError


def require_fit(form: v.UploadForm, file: Path) -> None:
    """Refuse a file that the server would refuse after it was sent: a submission that is refused counts as a faulty
    one. Where the rules ask for a name, the server says so before anything is sent."""
    name, size, free = shown_name(file), file.stat().st_size, say("Nothing was sent, and nothing counts against you")
    if form.suffixes and not form.file_name and not file.name.lower().endswith(form.suffixes):
        found = say("a {suffix} file", suffix=file.suffix) if file.suffix else say("a file without an ending")
        refuse(name, found, say("one that ends in {suffixes}. {free}", suffixes=joined(form.suffixes, OR), free=free))
    if size > form.limit_bytes:
        refuse(
            name,
            human_bytes(size),
            say("{limit_bytes} at most. {free}", limit_bytes=human_bytes(form.limit_bytes), free=free),
        )


class _Moved(PalestraError):
    """The upload is elsewhere than we thought."""


def _require_good(answer: httpx.Response) -> None:
    """Raise what the server says, in its words."""
    if not answer.is_error:
        return
    try:
        told = msgspec.json.decode(answer.content)
        text: Text = "\n".join([str(told["error"]), *map(str, told.get("faults", [])[1:])])
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
        text = say("{url}: the server answered {status_code}.", url=answer.url, status_code=answer.status_code)
        told = {}
    raise _Moved(text) if isinstance(told, dict) and told.get("received") is not None else PalestraError(text)
