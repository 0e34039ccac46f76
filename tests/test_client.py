"""What contestants run: against a listener of ours, and as a server for openpi's own client and for ours."""

import http.client
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import Future
from contextlib import contextmanager

import msgpack
import numpy as np
import pytest
from websockets.sync.client import connect
from websockets.sync.server import serve as listen

from palestra import client
from palestra.client import play, serving
from palestra.entrants import websocket_messages
from palestra.entrants.dial_in_listener import Listening
from palestra.entrants.policy_server import Dialled
from palestra.errors import PalestraError
from palestra.records import Tick
from tests.entrants.talking import EEG, ENOUGH_S, free_port, hear, pump, running, tick
from tests.entrants.test_websocket_messages import openpi_pack, openpi_unpack

pytestmark = pytest.mark.filterwarnings("ignore:connect..:DeprecationWarning")  # openpi calls it as it used to be


@pytest.fixture
def listening():
    made = Listening("127.0.0.1", 0, "emotion-eeg-v1")
    yield made
    made.close()


@pytest.fixture
def red(listening):
    return listening.line("red")


@pytest.fixture
def playing(listening, red):
    """Plays in a thread, for as long as the test takes; what became of it is a future."""
    threads = []

    def start(answer, token=None, **settings):
        future = Future()

        def run():
            try:
                url = f"ws://127.0.0.1:{listening.port}"
                future.set_result(play(url, token or red.token, answer, **settings))
            except BaseException as error:
                future.set_exception(error)

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        return future

    yield start
    listening.close()
    for thread in threads:
        thread.join(ENOUGH_S)
        assert not thread.is_alive()


def answered(line, *ticks):
    """What is answered to ticks that are posted once somebody is there."""
    line.require_ready(ENOUGH_S)
    for one in ticks:
        line.post(one)
    return hear(line, sum(one.trial is not None for one in ticks))


def test_a_function_answers_until_the_run_is_over(listening, red, playing):
    got = []

    def answer(trial):
        got.append(trial)
        return int(trial.data["eeg"].sum())

    future = playing(answer, version="v1 é")
    replies = answered(red, tick("t1", person=3), tick(None), tick("t2", deadline_s=None))
    assert [(reply.trial, reply.answer) for reply in replies] == [("t1", 15), ("t2", 15)]
    assert [(one.trial, one.about, one.deadline_s) for one in got] == [("t1", {"person": 3}, 0.5), ("t2", {}, None)]
    assert np.array_equal(got[0].data["eeg"], EEG) and got[0].data["eeg"].flags.writeable
    assert red.version == "v1 é" and red.nonsense == 0
    listening.close()
    assert future.result(ENOUGH_S) is None


class MyAlgorithm:
    def __init__(self):
        self.seen = 0

    def get_data(self, eeg, more):
        assert eeg.shape == (2, 3) and more.shape == (1,)
        self.seen += 1

    def algorithm(self):
        return np.int64(self.seen)


@pytest.mark.parametrize("made", [MyAlgorithm, MyAlgorithm()], ids=["class", "object"])
def test_the_class_of_a_bundle_plays_as_it_is(red, playing, made):
    playing(made)
    ticks = [Tick(0.0, {"eeg": EEG, "more": np.zeros(1)}, trial, 0.5) for trial in (None, None, "t1", "t2")]
    assert [reply.answer for reply in answered(red, *ticks)] == [3, 4]


def test_an_object_may_take_what_comes_without_a_question(red, playing):
    class Taking:
        taken = 0

        def take(self, trial):
            assert trial.trial is None
            self.taken += 1

        def __call__(self, trial):
            return self.taken

    playing(Taking())
    assert [reply.answer for reply in answered(red, tick(None), tick(None), tick("t1"))] == [2]


def test_what_a_program_raises_or_returns_costs_that_answer_alone(red, playing):
    answers = iter([lambda: 1 / 0, lambda: {1, 2}, lambda: "\ud800", lambda: [1.5, 2]])
    playing(lambda trial: next(answers)())
    replies = answered(red, *(tick(f"t{number}") for number in range(4)))
    assert [reply.answer for reply in replies] == [None, None, None, [1.5, 2]]
    expected = ("ZeroDivisionError: division", "cannot carry set", "surrogates", "")
    assert all(words in reply.note for words, reply in zip(expected, replies, strict=True))


def test_what_is_raised_without_a_question_is_for_the_contestant_alone(red, playing, capfd):
    class Failing:
        def take(self, trial):
            raise ValueError("no room")

        def __call__(self, trial):
            return 1

    playing(Failing())
    assert answered(red, tick(None), tick("t1"))[0].answer == 1
    assert "no room" in capfd.readouterr().err and red.nonsense == 0


def test_after_a_break_the_current_trial_is_answered_and_not_computed_twice(red, playing):
    computed, go_on = [], threading.Event()

    def answer(trial):
        computed.append(trial.trial)
        go_on.wait(ENOUGH_S)
        return len(computed)

    playing(answer)
    red.require_ready(ENOUGH_S)
    red.post(tick("t1", deadline_s=None))
    pump([red], lambda: computed)
    red._peer.close()  # as when the network fails
    list(red.replies())
    go_on.set()
    assert [(reply.trial, reply.answer) for reply in hear(red)] == [("t1", 1)]
    assert computed == ["t1"] and len(red.deaths) == 1
    red.post(tick("t2"))
    assert hear(red)[0].answer == 2


def test_a_wrong_token_is_told_at_once(red, playing):
    future = playing(len, token="wrong")
    pump([red], future.done)
    with pytest.raises(PalestraError, match="Every team has its own"):
        future.result()


def test_of_two_clients_with_one_token_the_older_one_stops(red, playing):
    first = playing(lambda trial: "first")
    red.require_ready(ENOUGH_S)
    playing(lambda trial: "second")
    pump([red], first.done)
    with pytest.raises(PalestraError, match="Another client"):
        first.result()
    assert answered(red, tick("t1"))[0].answer == "second"


def test_who_comes_after_the_end_goes_home(listening, red, playing):
    other = listening.line("blue")
    red.close()
    future = playing(len)
    pump([other], future.done)
    assert future.result() is None


def test_a_server_that_is_not_there_is_not_tried_for_ever():
    with pytest.raises(PalestraError, match=r"has not been reached for 0.01 s: .*refused"):
        play(f"ws://127.0.0.1:{free_port()}", "x", len, retry_s=0.01)


@pytest.mark.parametrize("url", ["http://x", "ws://", "x"])
def test_what_is_no_address_is_told(url):
    with pytest.raises(PalestraError, match="is no address"):
        play(url, "x", len)


def test_what_is_no_program_is_told():
    with pytest.raises(PalestraError, match="int is no function and has no methods get_data and algorithm"):
        play("ws://x", "x", 3)


@pytest.mark.parametrize(("message", "words"), [("text", "said str"), (b"\xc1", "no msgpack"), (b"\x90", "said list")])
def test_a_server_that_speaks_something_else_is_told(message, words):
    server = listen(lambda connection: connection.send(message), "127.0.0.1", 0)
    with running(server) as url, pytest.raises(PalestraError, match=words):
        play(url, "x", len)


def test_a_normal_close_is_the_end_and_another_is_not():
    codes = iter([1011, 1001, 1000])

    def handle(connection):
        connection.send(websocket_messages.encode({"kind": "hello", "team": "red", "track": ""}))
        connection.close(next(codes))

    with running(listen(handle, "127.0.0.1", 0)) as url:
        assert play(url, "x", len) is None
    assert list(codes) == []


@contextmanager
def served(answer, **settings):
    with running(serving(answer, 0, **settings)) as url:
        yield url


class Policy:
    def __call__(self, trial):
        if "fail" in trial.about:
            raise ValueError("no such arm")
        return {"actions": trial.data["state"] * 2, "prompt": trial.about.get("prompt", "")}


def test_openpis_own_client_can_be_served():
    openpi = pytest.importorskip("openpi_client.websocket_client_policy")
    with served(Policy(), metadata={"robot": "two arms", "home": np.zeros(3)}) as url:
        policy = openpi.WebsocketClientPolicy(url)
        assert policy.get_server_metadata()["robot"] == "two arms"
        for scale in (1.0, 2.0):
            action = policy.infer({"state": np.arange(3.0) * scale, "prompt": "lift the cup"})
            assert action["actions"].tolist() == [0, 2 * scale, 4 * scale] and action["prompt"] == "lift the cup"
        with pytest.raises(RuntimeError, match="no such arm"):
            policy.infer({"state": np.zeros(3), "fail": True})
        assert policy.infer({"state": np.ones(1)})["actions"].tolist() == [2]
        policy._ws.close()


def test_a_client_that_does_as_openpis_does_can_be_served():
    """The same for who has not installed it: its requests, byte for byte, and its reading of the responses."""
    with served(Policy(), metadata={"robot": "two arms"}) as url, connect(url, compression=None, max_size=None) as peer:
        assert msgpack.unpackb(peer.recv(ENOUGH_S), object_hook=openpi_unpack) == {"robot": "two arms"}
        packer = msgpack.Packer(default=openpi_pack)
        peer.send(packer.pack({"state": np.arange(3.0), "prompt": "lift the cup"}))
        action = msgpack.unpackb(peer.recv(ENOUGH_S), object_hook=openpi_unpack)
        assert action["actions"].tolist() == [0, 2, 4]
        peer.send(packer.pack({"state": np.arange(3.0), "fail": True}))
        assert "ValueError: no such arm" in peer.recv(ENOUGH_S)
        peer.send(b"\xc1")
        assert "no msgpack" in peer.recv(ENOUGH_S)


def test_a_server_that_does_as_openpis_does_can_be_dialled():
    """openpi's WebsocketPolicyServer: metadata, a response to each request, a traceback as text and then code 1011."""

    def handle(connection):
        packer = msgpack.Packer(default=openpi_pack)
        connection.send(packer.pack({"robot": "two arms"}))
        while True:
            request = msgpack.unpackb(connection.recv(), object_hook=openpi_unpack)
            if request["trial"] == "t2":
                connection.send("Traceback (most recent call last):\nValueError: no such arm\n")
                connection.close(1011, "Internal server error. Traceback included in previous frame.")
                return
            response = {"actions": request["eeg"], "server_timing": {"infer_ms": np.float64(0.5)}}
            connection.send(packer.pack(response))

    with running(listen(handle, "127.0.0.1", 0, compression=None, max_size=None, close_timeout=0.1)) as url:
        line = Dialled("pi", url)
        line.require_ready(ENOUGH_S)
        replies = line.ask(tick("t1"), ENOUGH_S)[0] + line.ask(tick("t2"), ENOUGH_S)[0]
        pump([line], lambda: line.deaths)
        replies += line.ask(tick("t3"), ENOUGH_S)[0]
        line.close()
    assert line.metadata == {"robot": "two arms"}
    assert replies[0].answer == {"actions": EEG.tolist(), "server_timing": {"infer_ms": 0.5}}
    assert str(replies[1].note) == "the server failed: ValueError: no such arm"
    assert replies[2].answer == replies[0].answer and len(line.deaths) == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(lambda trial: 3, 3), (lambda trial: {"x": 1}, {"x": 1}), (lambda trial: {"answer": 4, "more": 1}, 4)],
    ids=["number", "map", "answer in a map"],
)
def test_what_serves_can_be_dialled(answer, expected):
    with served(answer) as url:
        line = Dialled("pi", url)
        replies, _ = line.ask(tick("t1"), ENOUGH_S)
        assert [reply.answer for reply in replies] == [expected]
        assert line.ask(tick(None), ENOUGH_S)[0] == []
        line.close()


def test_an_algorithm_is_served_one_packet_at_a_time():
    inside, most, lock = [], [], threading.Lock()

    class Slow:
        def get_data(self, eeg):
            with lock:
                inside.append(1)
                most.append(len(inside))

        def algorithm(self):
            with lock:
                inside.pop()
            return len(most)

    with served(Slow()) as url:
        lines = [Dialled(f"pi{number}", url) for number in range(4)]
        for line in lines:
            line.require_ready(ENOUGH_S)
        for _ in range(10):
            for line in lines:
                line.post(tick("t1"))
        heard = []
        pump(lines, lambda: len(heard) == 40, heard)
        for line in lines:
            line.close()
    assert set(most) == {1} and sorted(reply.answer for reply in heard) == list(range(1, 41))


def test_those_who_look_after_servers_are_told_that_it_is_well():
    with served(len) as url:
        connection = http.client.HTTPConnection(url.removeprefix("ws://"), timeout=ENOUGH_S)
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, b"OK\n")


def run_client(folder, *words):
    command = [sys.executable, "-m", "palestra.client", *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def bundle(tmp_path):
    (tmp_path / "Algorithm").mkdir()
    (tmp_path / "weights.txt").write_text("7")
    (tmp_path / "Algorithm" / "beside.py").write_text("START = 10\n")
    text = """
    from Algorithm.beside import START
    class MyAlgorithm:
        def __init__(self):
            self.seen = START + int(open("weights.txt").read())
        def get_data(self, eeg):
            self.seen += 1
        def algorithm(self):
            return self.seen
    """
    (tmp_path / "Algorithm" / "MyAlgorithm.py").write_text(textwrap.dedent(text))
    return tmp_path


def test_a_bundle_plays_from_the_command_line(listening, red, bundle):
    url = f"ws://127.0.0.1:{listening.port}"
    process = run_client(bundle, url, red.token, "Algorithm/MyAlgorithm.py:MyAlgorithm", "--version", "v7")
    assert [reply.answer for reply in answered(red, tick(None), tick("t1"))] == [19]
    assert red.version == "v7"
    listening.close()
    out, told = process.communicate(timeout=ENOUGH_S)
    assert out == "" and "the run is over; 1 answers were given" in told and process.returncode == 0


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("Algorithm/MyAlgorithm.py:Mine", "has no Mine"),
        ("nothing.py:X", "There is no 'nothing.py:X'"),
        ("MyAlgorithm.py", "FILE.py:NAME"),
    ],
)
def test_a_program_that_is_not_there_is_told_without_a_traceback(bundle, program, words):
    process = run_client(bundle, "ws://127.0.0.1:9", "x", program)
    out, err = process.communicate(timeout=ENOUGH_S)
    assert process.returncode == 1 and out == "" and words in err and "Traceback" not in err


def test_contestants_need_few_libraries():
    heavy = ("polars", "cv2", "matplotlib", "scipy", "torch", "rich", "typer", "msgpack")
    code = f"import sys; import palestra.client; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_codes_that_both_sides_know_are_the_same():
    from palestra.entrants import dial_in_listener as ours

    assert client.REPLACED == ours.REPLACED
