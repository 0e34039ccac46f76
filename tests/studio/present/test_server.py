"""The page's server: this machine alone, its own files alone, and films in parts."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from litestar.exceptions import WebSocketDisconnect
from litestar.testing import TestClient

from palestra.studio.present.film_files import FilmFile
from palestra.studio.present.page_words import page_words
from palestra.studio.present.plans.films import FILMS
from palestra.studio.present.plans.geometry import Screen
from palestra.studio.present.plans.plan import Plan
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.plans.stimuli import Stimuli, Targets
from palestra.studio.present.run import LOG, Run
from palestra.studio.present.run_log import read_log
from palestra.studio.present.server import PAGE, Presenter

LIMIT_S = 60.0
HERE = "http://127.0.0.1:8123"
FILM = bytes(range(256)) * 4000


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run.open(tmp_path / "run", plan_of(Stimuli(Screen(531, 299, 600), (Targets(count=3),))), "")
    yield run
    run.close()


@pytest.fixture
def client(run: Run, tmp_path: Path) -> Iterator[TestClient]:
    video, subtitles = tmp_path / "01.mp4", tmp_path / "01.vtt"
    video.write_bytes(FILM)
    subtitles.write_text("WEBVTT\n")
    films = {1: FilmFile(FILMS[0], video, subtitles), 2: FilmFile(FILMS[1], video, None)}
    with TestClient(Presenter(run, films, "en", lambda: None).app(), base_url=HERE) as client:
        yield client


def test_the_page_and_all_that_it_names_are_served(client):
    assert "<canvas" in client.get("/").text
    for file in PAGE.iterdir():
        assert client.get(f"/page/{file.name}").status_code == 200


@pytest.mark.parametrize(
    "path", ["/page/../server.py", "/page/%2e%2e%2fserver.py", "/page/none.js", "/films/9", "/etc"]
)
def test_nothing_else_is_served(client, path):
    assert client.get(path).status_code == 404


def test_the_page_gets_the_plan_and_its_words(client, run):
    setup = client.get("/setup.json").json()
    assert msgspec.convert(setup["plan"], Plan) == run.plan
    assert setup["captioned"] == [1]
    assert setup["words"] == page_words("en")


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example:8123"}, {"host": "127.0.0.1.evil.example"}, {"origin": "http://evil.example"}]
)
def test_pages_of_other_sites_do_not_reach_in(client, headers):
    assert client.get("/setup.json", headers=headers).status_code == 403
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/link/any", headers=headers) as socket:
        socket.receive_text()


@pytest.mark.parametrize(
    ("wanted", "first", "end"),
    [("bytes=0-", 0, len(FILM)), ("bytes=100-199", 100, 200), ("bytes=-50", len(FILM) - 50, len(FILM))],
)
def test_a_film_comes_in_the_part_that_was_asked_for(client, wanted, first, end):
    got = client.get("/films/1", headers={"range": wanted})
    assert (got.status_code, got.content) == (206, FILM[first:end])
    assert got.headers["content-range"] == f"bytes {first}-{end - 1}/{len(FILM)}"


@pytest.mark.parametrize("wanted", [None, "bytes=-", "bytes=a-b", "lines=1-2"])
def test_a_film_comes_whole_where_no_part_is_named(client, wanted):
    got = client.get("/films/1", headers={"range": wanted} if wanted else {})
    assert (got.status_code, got.content) == (200, FILM)


@pytest.mark.parametrize("wanted", [f"bytes={len(FILM)}-", "bytes=5-4"])
def test_a_part_that_a_film_does_not_have_is_refused(client, wanted):
    assert client.get("/films/1", headers={"range": wanted}).status_code == 416


def test_subtitles_are_served_where_there_are_some(client):
    assert client.get("/subtitles/1").text == "WEBVTT\n"
    assert client.get("/subtitles/2").status_code == 404


def report(seq: int, **fields: object) -> dict[str, object]:
    return {"type": "report", "page": "page-of-a-test", "seq": seq, "at_ms": 1.0, **fields}


def logged(run: Run, last: str) -> list[str]:
    """The kinds of all records, once the last one is there: the server hears of an end in its own time."""
    until = time.monotonic() + LIMIT_S
    while (kinds := [record["kind"] for record in read_log(run.folder / LOG)])[-1] != last:
        assert time.monotonic() < until, kinds
        time.sleep(0.01)
    return kinds


def test_reports_are_answered_once_they_are_logged_and_the_run_goes_on_after_them(client, run):
    with client.websocket_connect(f"/link/{run.id}") as socket:
        socket.send_json({"type": "ping", "at_ms": 5})
        pong = socket.receive_json()
        assert (pong["type"], pong["at_ms"]) == ("pong", 5) and pong["host_s"] > 0
        socket.send_json(report(0, kind="onset", event=0, planned_ms=1.0, frame_ms=2.0, frame=3))
        assert socket.receive_json() == {"type": "taken", "page": "page-of-a-test", "seq": 0}
        socket.send_json({"type": "where"})
        assert socket.receive_json() == {"type": "where", "next": 1, "finished": False}
    assert logged(run, "left") == ["opened", "joined", "onset", "left"]


@pytest.mark.parametrize(
    "said",
    [
        "{",
        "",
        {"type": "none"},
        report(0, kind="none"),
        report(0, kind="onset", more=1),
        report(0, kind="answer", values={"a": [1]}),
    ],
)
def test_what_is_no_report_is_refused_and_the_link_stays(client, run, said):
    with client.websocket_connect(f"/link/{run.id}") as socket:
        socket.send_text(said if isinstance(said, str) else json.dumps(said))
        assert socket.receive_json()["type"] == "refused"
        socket.send_json({"type": "where"})
        assert socket.receive_json()["next"] == 0
    logged(run, "left")


def test_a_full_disk_is_told_and_the_report_is_asked_for_again(client, run, monkeypatch):
    def full(record: object) -> None:
        raise OSError(28, "No space left on device")

    with client.websocket_connect(f"/link/{run.id}") as socket:
        with monkeypatch.context() as patch:
            patch.setattr(run._log, "append", full)
            socket.send_json(report(0, kind="finished"))
            answer = socket.receive_json()
        assert (answer["type"], answer["seq"]) == ("later", 0) and "No space left" in answer["why"]
        socket.send_json(report(0, kind="finished"))
        assert socket.receive_json()["type"] == "taken"
    logged(run, "left")
    assert run.is_finished


def test_a_page_of_another_run_is_not_listened_to(client, run):
    with client.websocket_connect("/link/another") as socket, pytest.raises(WebSocketDisconnect):
        socket.receive_text()
    assert [record["kind"] for record in run.close()] == ["opened"]
