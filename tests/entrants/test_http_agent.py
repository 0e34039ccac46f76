"""Agent servers over HTTP: what they were written for runs, and what they say is bounded."""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from palestra.entrants.http_agent import REPLY_BYTES, AgentLine, decoded, encoded
from palestra.errors import PalestraError
from palestra.records import Tick


class Agent(ThreadingHTTPServer):
    """A server as those contestants have, with what it is to answer to a step."""

    daemon_threads = True

    def __init__(self, step, named=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.step, self.named, self.calls = step, named or {"name": "arm 1"}, []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.calls.append((self.path, body))
        method = self.path.rsplit("/", 1)[1]
        answers = {"initialize": lambda: self.server.named, "reset": lambda: None}
        code, said = 200, answers.get(method, lambda: self.server.step(body))()
        if isinstance(said, int):
            code, said = said, "Traceback: it broke"
        sent = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(code)
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *words):
        """Nobody reads it."""


@pytest.fixture
def line():
    opened = []

    def start(step, named=None):
        server = Agent(step, named)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        made = AgentLine("team", f"http://127.0.0.1:{server.server_port}", 20.0)
        opened.append((server, thread, made))
        return made, server

    yield start
    for server, thread, made in opened:
        made.close()
        server.shutdown()
        server.server_close()
        thread.join(10)


def tick(step=0):
    payload = {"joints": np.arange(7.0), "rgb_top": np.ones((2, 3, 3), np.uint8)}
    return Tick(0.0, payload, f"case/{step}", None, {"step": step, "instruction": "抓取"})


def test_it_is_made_reset_before_a_case_and_then_stepped(line):
    made, server = line(lambda body: [encoded(np.full(8, 0.5))])
    made.require_ready()
    replies = [made.ask(tick(step), 20)[0][0] for step in (0, 1, 0)]
    assert [reply.answer for reply in replies] == [{"actions": [0.5] * 8}] * 3
    paths = [path for path, _ in server.calls]
    arm = "/agent/arm%201"
    assert paths == ["/agent/initialize", f"{arm}/reset", f"{arm}/step", f"{arm}/step", f"{arm}/reset", f"{arm}/step"]
    observation = server.calls[2][1]["args"][0][0]
    assert observation["instruction"] == "抓取"
    assert np.array_equal(decoded(observation["joints"]), np.arange(7.0))
    assert set(observation) == {"joints", "rgb_top", "step", "instruction"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (500, "HTTP 500"),
        (b"no json", "Expecting value"),
        ({"result": "left"}, "no list"),
        ([{"type": "ndarray", "dtype": "object", "shape": [1], "data": "AAAA"}], "dtype"),
        ([{"type": "ndarray", "dtype": "float32", "shape": [3], "data": "AAAAAAAAAAA="}], "shape"),
        (b"[" * 100_000, "nested too deep"),
        (b"1" * (REPLY_BYTES + 1), "more than"),
    ],
    ids=["fault", "no-json", "text", "objects", "shape", "deep", "large"],
)
def test_what_cannot_be_taken_costs_one_answer_and_is_told(line, said, why):
    made, _ = line(lambda body: said)
    made.require_ready()
    (reply,), _ = made.ask(tick(), 20)
    assert reply.answer is None
    assert why in str(reply.note)
    assert not made.dead()


@pytest.mark.parametrize(
    "said",
    [[[0.1] * 8], {"result": [[0.1] * 8]}, [0.1] * 8, {"type": "ndarray", **encoded(np.full((1, 8), 0.1))}],
    ids=["list", "map", "bare", "array"],
)
def test_an_action_is_taken_in_the_ways_that_servers_write_it(line, said):
    made, _ = line(lambda body: said)
    made.require_ready()
    (reply,), _ = made.ask(tick(), 20)
    assert reply.answer == {"actions": [0.1] * 8}


def test_a_server_that_is_not_there_or_names_no_agent_is_refused(line):
    made, _ = line(lambda body: [], named={"nothing": 1})
    with pytest.raises(PalestraError, match="name"):
        made.require_ready()
    with pytest.raises(PalestraError, match="made no agent"):
        AgentLine("team", "http://127.0.0.1:9").require_ready(5)
    with pytest.raises(PalestraError, match="http://host"):
        AgentLine("team", "ftp://x")


def test_arrays_come_back_as_they_went():
    array = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32)
    assert decoded(encoded(array)) == array.tolist()
    with pytest.raises(ValueError):
        decoded({"dtype": "float32", "shape": [10**9], "data": base64.b64encode(bytes(4)).decode()})
