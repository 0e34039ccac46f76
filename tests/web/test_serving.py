"""Starting the server."""

import socket
from pathlib import Path

import pytest

from palestra.contest.place import Place
from palestra.errors import PalestraError
from palestra.web.serving import Serve, run


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
