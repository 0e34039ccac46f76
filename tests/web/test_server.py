"""Starting the server."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from palestra.contest.setup.init import begin
from palestra.contest.setup.location import Place
from palestra.errors import PalestraError
from palestra.web import server as serving
from palestra.web.server import Serve, run


def test_a_port_that_is_taken_is_told_before_anything_is_made(tmp_path: Path) -> None:
    said: list[str] = []
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PalestraError, match=rf"port {port}: .*--port"):
            run(Serve(Place(tmp_path / "contest.toml"), port=port), said.append)
    assert said == []
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_missing_is_named_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    with pytest.raises(PalestraError, match=r"needs authlib.*pip install 'palestra\[server\]'"):
        run(Serve(Place(tmp_path / "contest.toml"), port=0), print)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("host", "address", "shown"),
    [
        ("127.0.0.1", "", "http://127.0.0.1:80"),
        ("0.0.0.0", "", "http://127.0.0.1:80"),
        ("::", "", "http://[::1]:80"),
        ("fe80::1", "", "http://[fe80::1]:80"),
        ("0.0.0.0", "https://contest.example.org/", "https://contest.example.org"),
    ],
)
def test_the_address_that_is_printed_can_be_opened(tmp_path: Path, host: str, address: str, shown: str) -> None:
    assert serving._shown(Serve(Place(tmp_path / "contest.toml"), host=host, port=80, address=address)) == shown


def test_a_starter_kit_is_packed_where_no_tiny_data_was_ever_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data is made in several processes, which the packing process must be allowed to start."""
    monkeypatch.setenv("PALESTRA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PALESTRA_WORKERS", "2")
    place = Place(tmp_path / "contest.toml")
    begin(place.file, ["gaze-prediction-v1"], "UTC", "tiny")
    packing = serving._start_packing(place)
    packing.join()
    assert packing.exitcode == 0
    assert "starter" in place.open().state.packs["gaze-prediction"]


def server_that(run: Callable[[uvicorn.Server], None], monkeypatch: pytest.MonkeyPatch) -> serving._Server:
    monkeypatch.setattr(uvicorn.Server, "run", run)
    return serving._Server(uvicorn.Config(lambda: None))


def test_a_server_that_is_stopped_while_it_starts_has_no_code_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(server: uvicorn.Server) -> None:
        raise KeyboardInterrupt

    serving._run_to_the_end(server_that(interrupted, monkeypatch))


def test_a_server_that_cannot_start_is_refused_in_words() -> None:
    async def broken(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(PalestraError, match="could not start"):
        serving._run_to_the_end(serving._Server(uvicorn.Config(broken, port=0, log_config=None)))
