"""The client of a contest server, against one that runs, on a port of this machine, with connections that break."""
# ruff: noqa: F811 - fixtures are imported, and asked for by their names

import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st

from palestra import remote
from palestra.cli import submit
from palestra.contest.accounts import tokens
from palestra.contest.log import events as e
from palestra.contest.rules.model import Quota
from palestra.contest.storage import downloads
from palestra.contest.storage.database import writing
from palestra.contest.storage.downloads import Pack
from palestra.errors import PalestraError, Refused
from palestra.remote import PIECE_BYTES, Server
from palestra.web.models.public import UploadForm
from tests.contest.story import DAY
from tests.web.conftest import World, client, world  # noqa: F401 - fixtures

Waits = list[float]


@pytest.fixture
def address(world: World) -> Iterator[str]:
    """A server of the contest that runs in a thread."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # who calls before the server is up waits, and is not turned away
        config = uvicorn.Config(world.app, log_config=None, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def test_a_client_needs_nothing_of_the_server() -> None:
    heavy = ("litestar", "sqlalchemy", "jinja2", "polars", "uvicorn")
    code = f"import sys; import palestra.remote; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def token_of(world: World, account: str, *scopes: str) -> str:
    role = world.state.accounts[account].role
    with writing(world.contest.engine) as connection:
        chosen = scopes or tuple(sorted(tokens.POWERS[role]))
        return tokens.make(connection, "token", account, world.clock(), 30 * DAY, chosen)[0]


class Flaky(httpx.BaseTransport):
    """A network that breaks as it is told: `when(request)` says how, for each request that comes."""

    def __init__(self, when: Callable[[httpx.Request, int], str]) -> None:
        self.inner, self.when, self.seen = httpx.HTTPTransport(), when, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.seen += 1
        how = self.when(request, self.seen)
        if how == "before":
            raise httpx.ConnectError("the network is unreachable", request=request)
        if how == "away":
            return httpx.Response(503, text="starting", request=request)
        answer = self.inner.handle_request(request)
        if how == "after":
            answer.read()
            answer.close()
            raise httpx.ReadError("the connection was reset", request=request)
        if how == "middle":
            answer.stream = Broken(answer.stream)
        return answer


class Broken(httpx.SyncByteStream):
    """A body that ends before its end."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[bytes]:
        for count, chunk in enumerate(self.stream):
            if count:
                raise httpx.ReadError("the connection was reset")
            yield chunk[: len(chunk) // 2 + 1]

    def close(self) -> None:
        self.stream.close()


def connect(address: str, token: str, waits: Waits, when: Callable[[httpx.Request, int], str] | None = None) -> Server:
    server = Server(address, token, waits.append)
    if when:
        server._http.close()
        server._http = httpx.Client(base_url=address, headers=server._http.headers, transport=Flaky(when))
    return server


# What is there


def test_what_is_there_comes_as_records(address: str, world: World) -> None:
    with connect(address, token_of(world, "ann"), []) as server:
        assert server.contest().id == "test"
        assert server.me().team == "t1"
        assert [row.team for row in server.board("first").rows] == ["t1", "t2"]
        assert {row.id for row in server.submissions("first").rows} == {"s1", "s3"}
        assert server.submission("s1").state == "scored"
        assert server.data().phases[0].phase.id == "first"


def test_what_the_server_refuses_is_said_in_its_words(address: str, world: World) -> None:
    with connect(address, token_of(world, "ann"), []) as server:
        with pytest.raises(PalestraError, match="There is no such submission"):
            server.submission("s2")
        with pytest.raises(PalestraError, match="There is no final standing"):
            server.final()
        with pytest.raises(PalestraError, match="There is no such run"):
            server.run("nowhere")
    with connect(address, "plt_wrong", []) as server, pytest.raises(PalestraError, match="This token is unknown"):
        server.me()


def test_actions_are_done_and_their_faults_told(address: str, world: World) -> None:
    with connect(address, token_of(world, "olga"), []) as server:
        assert server.act("freeze", phase="first") == {"id": "first"}
        assert "first" in world.state.frozen
        with pytest.raises(PalestraError, match="frozen already"):
            server.act("freeze", phase="first")


def test_what_answers_and_is_no_such_server_is_told_apart(world: World) -> None:
    server = Server("http://127.0.0.1:9", wait=lambda _: None)
    server._http = httpx.Client(
        base_url="http://other.example",
        transport=httpx.MockTransport(lambda request: httpx.Response(200, text="<html>hello")),
    )
    with pytest.raises(PalestraError, match="no answer of a Palestra server"):
        server.contest()


# Lost connections


def test_a_server_that_is_away_for_a_moment_is_waited_for(address: str, world: World) -> None:
    waits: Waits = []
    ways = {1: "before", 2: "away", 3: "after"}
    with connect(address, token_of(world, "ann"), waits, lambda _, count: ways.get(count, "")) as server:
        assert server.me().account == "ann"
    assert waits == [0.5, 1.0, 2.0]


def test_a_server_that_stays_away_is_given_up(address: str, world: World) -> None:
    waits: Waits = []
    with (
        connect(address, "", waits, lambda *_: "before") as server,
        pytest.raises(PalestraError, match="does not answer"),
    ):
        server.contest()
    assert len(waits) == remote.TRIES - 1


@pytest.fixture
def large(tmp_path: Path) -> Path:
    file = tmp_path / "answers.csv"
    file.write_bytes(bytes(range(256)) * (10 << 12))  # three pieces of 4 MiB
    return file


@pytest.mark.parametrize("way", ["before", "after", "away"])
def test_an_upload_goes_on_after_a_lost_connection(address: str, world: World, large: Path, way: str) -> None:
    """Each piece is lost once: before it arrives, or so that nobody hears that it did."""
    lost: set[str] = set()
    told_bytes: list[int] = []

    def when(request: httpx.Request, _: int) -> str:
        key = f"{request.method} {request.headers.get('upload-offset')}"
        if request.method != "PATCH" or key in lost:
            return ""
        lost.add(key)
        return way

    with connect(address, token_of(world, "ann"), [], when) as server:
        name = server.upload("first", large, told_bytes.append)
    assert world.contest.files.read(world.state.submissions[name].file) == large.read_bytes()
    assert sum(told_bytes) == large.stat().st_size
    assert len(lost) == -(-large.stat().st_size // PIECE_BYTES)


def test_an_upload_that_is_handed_in_twice_is_one_submission(address: str, world: World, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("trial\n")
    lost: list[str] = []

    def when(request: httpx.Request, _: int) -> str:
        if request.url.path.endswith("/complete") and not lost:
            lost.append("once")
            return "after"
        return ""

    before = len(world.state.submissions)
    with connect(address, token_of(world, "ann"), [], when) as server:
        name = server.upload("first", file)
    assert lost
    assert name in world.state.submissions
    assert len(world.state.submissions) == before + 1


def test_what_would_be_refused_is_refused_before_it_is_sent(address: str, world: World, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    with connect(address, token_of(world, "ann"), []) as server:
        with pytest.raises(PalestraError, match="an empty file"):
            server.upload("first", tmp_path / "empty.csv")
        with pytest.raises(PalestraError, match="Only promoted teams"):
            (tmp_path / "a.csv").write_text("x")
            server.upload("second", tmp_path / "a.csv")


def test_a_wrong_kind_of_file_is_refused_before_a_byte_of_it_is_sent(
    address: str, world: World, tmp_path: Path
) -> None:
    file, asked = tmp_path / "answers.txt", []
    file.write_text("trial\n")

    def when(request: httpx.Request, _: int) -> str:
        asked.append(request.method)
        return ""

    before = len(world.state.submissions)
    told = r"answers\.txt: found a \.txt file, expected one that ends in \.csv"
    with connect(address, token_of(world, "ann"), [], when) as server, pytest.raises(Refused, match=told):
        server.submit("first", file)
    assert asked == ["GET"]
    assert len(world.state.submissions) == before


@given(st.text("abCSVzip.", max_size=12), st.integers(0, 100), st.integers(1, 100))
def test_what_fits_is_what_ends_well_and_is_not_too_large(name: str, size: int, limit_bytes: int) -> None:
    form = UploadForm(phase="first", suffixes=(".csv", ".zip"), limit_bytes=limit_bytes)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"x{name}"
        file.write_bytes(bytes(size))
        fits = name.lower().endswith((".csv", ".zip")) and size <= limit_bytes
        with nullcontext() if fits else pytest.raises(Refused, match="Nothing was sent"):
            remote.require_fit(form, file)


def test_a_name_that_the_rules_ask_for_is_left_to_the_server(tmp_path: Path) -> None:
    (tmp_path / "Fovea").write_text("x")
    form = UploadForm(phase="first", suffixes=(".csv",), limit_bytes=9, file_name="Fovea")
    remote.require_fit(form, tmp_path / "Fovea")


def test_what_a_faulty_submission_costs_is_said_exactly() -> None:
    form = UploadForm(phase="first", limit_bytes=1, quota=Quota(5, "day"), fault_quota=Quota(20, "day"), fault_left=19)
    assert submit.cost(form) == (
        "It cost none of your quota, and counts as a faulty one: at most 20 per calendar day, 19 left."
    )


def test_a_submission_is_followed_until_it_is_through(address: str, world: World, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text("trial\n")
    seen: list[str] = []
    with connect(address, token_of(world, "ann"), []) as server:
        name = server.upload("first", file)
        steps = iter([
            lambda: world.add(e.SubmissionAccepted(name), by="worker:w"),
            lambda: world.score(name, 1.0),
        ])  # fmt: skip
        server._wait = lambda _: next(steps)()
        page = server.follow(name, lambda page: seen.append(page.state))
    assert seen == ["checking", "queued"]
    assert page.state == "scored"
    assert page.metrics[0].value == 1.0


# Down


@pytest.fixture
def packed(world: World) -> Pack:
    """Data in several pieces, for the first team."""
    data = bytes(range(251)) * 100_000  # 25 MB: four pieces
    digest = world.contest.files.put(data)
    downloads.manifest(world.contest.files, digest)
    world.add(e.DataPacked("first", "view", digest, len(data)))
    return Pack(digest, len(data))


def test_a_download_is_what_was_packed(address: str, world: World, packed: Pack, tmp_path: Path) -> None:
    target = tmp_path / "view.zip"
    told_bytes: list[int] = []
    with connect(address, token_of(world, "ann"), []) as server:
        server.download("first", "view", target, told_bytes.append)
    assert target.read_bytes() == world.contest.files.read(packed.file)
    assert sum(told_bytes) == packed.bytes


def test_a_download_goes_on_where_it_was_cut(address: str, world: World, packed: Pack, tmp_path: Path) -> None:
    """Of the second try, only what is missing is asked for."""
    target, asked = tmp_path / "view.zip", []
    content = world.contest.files.read(packed.file)
    (tmp_path / f"view.zip.{packed.file[:8]}.part").write_bytes(content[: 9 << 20])  # one whole piece, and a part

    def when(request: httpx.Request, _: int) -> str:
        asked.append(request.headers.get("range", ""))
        return ""

    with connect(address, token_of(world, "ann"), [], when) as server:
        server.download("first", "view", target)
    assert target.read_bytes() == content
    assert asked == ["", f"bytes={8 << 20}-"]


def test_a_download_goes_on_by_itself_when_the_connection_breaks(
    address: str, world: World, packed: Pack, tmp_path: Path
) -> None:
    asked: list[str] = []
    waits: Waits = []

    def when(request: httpx.Request, _: int) -> str:
        if "range" not in request.headers:
            return ""
        asked.append(request.headers["range"])
        return {1: "middle", 2: "before"}.get(len(asked), "")

    target = tmp_path / "view.zip"
    with connect(address, token_of(world, "ann"), waits, when) as server:
        server.download("first", "view", target)
    assert target.read_bytes() == world.contest.files.read(packed.file)
    assert len(asked) == 3
    assert waits == [1.0, 1.0]


def test_a_download_that_never_comes_is_given_up_and_what_is_right_is_kept(
    address: str, world: World, packed: Pack, tmp_path: Path
) -> None:
    def when(request: httpx.Request, _: int) -> str:
        return "before" if "range" in request.headers else ""

    with connect(address, token_of(world, "ann"), [], when) as server, pytest.raises(PalestraError, match="try again"):
        server.download("first", "view", tmp_path / "view.zip")


def test_data_that_is_not_one_s_own_is_not_downloaded(address: str, world: World, packed: Pack, tmp_path: Path) -> None:
    with connect(address, token_of(world, "cleo"), []) as server, pytest.raises(PalestraError, match="no such file"):
        server.download("first", "view", tmp_path / "view.zip")
    assert not (tmp_path / "view.zip").exists()


def test_records_of_the_client_are_those_of_the_server(address: str, world: World) -> None:
    """What the server writes, the client reads back the same."""
    with connect(address, token_of(world, "ann"), []) as server:
        page = server.board("first")
        raw = server._ask("GET", "/api/boards/first").content
    assert msgspec.json.decode(msgspec.json.encode(page)) == msgspec.json.decode(raw)
