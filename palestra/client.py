"""For contestants: play against a Palestra elsewhere with a program of your own.

    from palestra.client import play

    def answer(trial):                  # trial.data: arrays by name; trial.trial, trial.about, trial.deadline_s
        return int(trial.data["packet"].mean() > 0)

    play("ws://host:port", "TOKEN", answer)

The same from a shell, with the class of a bundle:

    python -m palestra.client ws://host:port TOKEN Algorithm/MyAlgorithm.py:MyAlgorithm

Or wait to be dialled, as policy servers are (`palestra play TRACK ws://host:8000`, and any `openpi-client`):

    from palestra.client import serve

    serve(answer, 8000)

`answer` is a function, an object that can be called and may have `take(trial)` for what comes without a question, or an
object with `get_data(*arrays)` and `algorithm()`, or one that acts in a world, with `reset(about)` and
`act(observation)`. What it raises costs that one answer, and the run goes on.
"""

import argparse
import contextlib
import importlib.util
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.frames import CloseCode
from websockets.http11 import Request, Response
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import Server, ServerConnection
from websockets.sync.server import serve as listen

from palestra.entrants import websocket_messages
from palestra.errors import PalestraError
from palestra.text import say

RETRY_S = 60.0  # without a connection before we give up
FIRST_WAIT_S, LONGEST_WAIT_S = 0.05, 5.0  # between two tries
REPLACED = 4001  # the code that the older of two connections with one token is closed with
REFUSALS = range(400, 500)  # HTTP codes that another try does not change
GONE = 410  # the one of them that says that the run is over
LONGEST_NOTE = 200
INTERRUPTED = 130  # the exit code after Ctrl-C
KEEP_ALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 4}  # where the system has them
OF_A_TICK = frozenset({"kind", "number", "trial", "ask", "deadline_s", "data"})


@dataclass(frozen=True)
class Trial:
    """What came, and what is asked of it."""

    trial: str | None  # what is to be decided, if anything is
    data: dict[str, NDArray[Any]]
    about: dict[str, Any]  # what else is told
    deadline_s: float | None = None  # how long that may take, from when it was sent


@dataclass(frozen=True)
class Player:
    """A contestant's program, whatever it looks like."""

    answer: Callable[[Trial], Any]
    take: Callable[[Trial], Any]

    def say(self, trial: Trial, ask: bool) -> dict[str, Any]:
        """What it says: an answer, or a note of why there is none, where it is asked."""
        try:
            if not ask:
                self.take(trial)
                return {}
            return {"answer": self.answer(trial)}
        except Exception as error:
            traceback.print_exc()
            return {"note": _words(error)} if ask else {}


def player(answer: Any) -> Player:
    """A function, an object that can be called, one with get_data and algorithm, or with reset and act; or a class."""
    made = answer() if isinstance(answer, type) else answer
    get_data, algorithm = getattr(made, "get_data", None), getattr(made, "algorithm", None)
    if callable(get_data) and callable(algorithm):

        def take(trial: Trial) -> None:
            get_data(*trial.data.values())

        def answered(trial: Trial) -> Any:
            take(trial)
            return algorithm()

        return Player(answered, take)
    reset, act = getattr(made, "reset", None), getattr(made, "act", None)
    if callable(reset) and callable(act):

        def acted(trial: Trial) -> Any:
            if trial.about.get("step") == 0:
                reset(dict(trial.about))
            found = act({**trial.data, **trial.about})
            return found if isinstance(found, Mapping) else {"actions": found}

        return Player(acted, lambda trial: None)
    if not callable(made):
        raise PalestraError(
            say(
                "{name} is no function and has no methods get_data and algorithm, nor reset and act.",
                name=type(made).__name__,
            )
        )
    return Player(made, getattr(made, "take", lambda trial: None))


def play(url: str, token: str, answer: Any, version: str = "", retry_s: float = RETRY_S) -> None:
    """Answer until the run is over. A connection that breaks is made anew, and goes on with the current trial."""
    game = _Game(player(answer))
    headers = {"Authorization": f"Bearer {token}"} | ({"Palestra-Version": quote(version)} if version else {})
    tries, lost_at = 0, time.monotonic()
    while True:
        try:
            # No pings: while the program computes nobody may read their answers. The system finds a dead host out.
            with connect(
                url,
                additional_headers=headers,
                compression=None,
                max_size=websocket_messages.MAX_BYTES,
                ping_interval=None,
            ) as connection:
                _keep_alive(connection.socket)
                _say(f"connected to {url}")
                why = game.sit(connection)
                tries, lost_at = 0, time.monotonic()
        except InvalidURI as error:
            raise PalestraError(
                say("{url} is no address ({error}); expected ws://host:port.", url=url, error=error)
            ) from None
        except InvalidStatus as error:
            why = _refused(url, error.response)
        except (OSError, InvalidHandshake) as error:
            why = str(error) or type(error).__name__
        if not why:
            _say(f"the run is over; {game.answered:,} answers were given")
            return
        _say(f"{why}; trying again")
        wait_s = min(FIRST_WAIT_S * 2.0**tries, LONGEST_WAIT_S)
        tries += 1
        if time.monotonic() + wait_s - lost_at > retry_s:
            raise PalestraError(
                say("{url} has not been reached for {retry_s:g} s: {why}.", url=url, retry_s=retry_s, why=why)
            )
        time.sleep(wait_s)


def _say(text: str) -> None:
    print(f"palestra.client: {text}", file=sys.stderr, flush=True)


class _Game:
    """A run, from the contestant's side, over any number of connections."""

    def __init__(self, player: Player) -> None:
        self._player = player
        self.answered = 0
        self._number, self._reply = 0, b""  # the newest tick that was dealt with, and what was said to it

    def sit(self, connection: ClientConnection) -> str:
        """Answer what comes; why the connection ended, or nothing when the run is over."""
        try:
            while True:
                message = _read(connection.recv())
                if message.get("kind") == "bye":
                    return ""
                if message.get("kind") == "tick":
                    connection.send(self._said(message))
        except ConnectionClosed as error:
            code = error.rcvd.code if error.rcvd else CloseCode.ABNORMAL_CLOSURE
            if code == REPLACED:
                raise PalestraError(say("Another client has connected with this token, and plays on.")) from None
            return "" if code == CloseCode.NORMAL_CLOSURE else str(error)

    def _said(self, tick: Mapping[str, Any]) -> bytes:
        """The reply to a tick. One that comes again after a break gets the same reply: programs have a memory."""
        number = tick["number"]
        if number != self._number:
            about = {key: value for key, value in tick.items() if key not in OF_A_TICK}
            trial = Trial(tick["trial"], tick["data"], about, tick["deadline_s"])
            self._reply = _encoded({"kind": "done", "number": number}, self._player.say(trial, tick["ask"]))
            self._number = number
            self.answered += bool(tick["ask"])
        return self._reply


def serve(answer: Any, port: int, host: str = "127.0.0.1", metadata: Mapping[str, Any] | None = None) -> None:
    """Be a policy server in the protocol of `openpi`, for ever."""
    with serving(answer, port, host, metadata) as server:
        server.serve_forever()


def serving(answer: Any, port: int, host: str = "127.0.0.1", metadata: Mapping[str, Any] | None = None) -> Server:
    """The same server, for who wants to start and end it."""
    found, one_at_a_time, greeting = player(answer), threading.Lock(), websocket_messages.encode(dict(metadata or {}))

    def handle(connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            connection.send(greeting)
            while True:
                request = connection.recv()
                with one_at_a_time:
                    response = _inferred(found, request)
                connection.send(response)

    return listen(
        handle,
        host,
        port,
        compression=None,
        max_size=websocket_messages.MAX_BYTES,
        ping_interval=None,
        process_request=_health,
    )


def _inferred(player: Player, request: str | bytes) -> str | bytes:
    """The response to a request: a map; or text, which is an error."""
    try:
        message = _read(request)
        arrays = {key: value for key, value in message.items() if isinstance(value, np.ndarray)}
        about = {key: value for key, value in message.items() if key not in arrays and key not in ("trial", "ask")}
        trial = Trial(message.get("trial"), arrays, about)
        if not message.get("ask", True):
            player.take(trial)
            return websocket_messages.encode({})
        answer = player.answer(trial)
        return websocket_messages.encode(answer if isinstance(answer, Mapping) else {"answer": answer})
    except Exception:
        text = traceback.format_exc()
        print(text, file=sys.stderr)
        return text


def _health(connection: ServerConnection, request: Request) -> Response | None:
    """Who asks whether we are well, as those do who look after openpi's servers, is told."""
    return connection.respond(200, "OK\n") if request.path == "/healthz" else None


def _read(message: str | bytes) -> dict[str, Any]:
    found = websocket_messages.decode(message) if isinstance(message, bytes) else message
    if not isinstance(found, dict):
        raise PalestraError(say("The other end said {name}, expected a map.", name=type(found).__name__))
    return found


def _encoded(head: dict[str, Any], said: dict[str, Any]) -> bytes:
    try:
        return websocket_messages.encode({**head, **said})
    except websocket_messages.BadMessage as error:
        return websocket_messages.encode({**head, "note": _words(error)})


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST_NOTE].encode(errors="replace").decode()


def _refused(url: str, response: Response) -> str:
    """Why a server did not let us in, for another try; raises where none would help, and says nothing at the end."""
    words = bytes(response.body).decode(errors="replace").strip() or response.reason_phrase
    if response.status_code == GONE:
        return ""
    if response.status_code in REFUSALS:
        raise PalestraError(say("{url} does not let us in: {words}", url=url, words=words))
    return f"HTTP {response.status_code}: {words}"


def _keep_alive(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # where it is closed already, reading it says why
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEP_ALIVE.items():
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def load(place: str) -> Any:
    """The class or function that FILE.py:NAME names. Files that it opens or imports are found from this folder."""
    file, _, name = place.rpartition(":")
    path = Path(file)
    if not name or not path.is_file():
        raise PalestraError(
            say(
                "There is no {place!r}; expected FILE.py:NAME, such as Algorithm/MyAlgorithm.py:MyAlgorithm.",
                place=place,
            )
        )
    sys.path.insert(0, str(Path.cwd()))
    inside = not path.is_absolute() and ".." not in path.parts
    module_name = ".".join(path.with_suffix("").parts) if inside else path.stem
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise PalestraError(say("{file} is no Python file.", file=file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if found is None:
        raise PalestraError(say("{file} has no {name}.", file=file, name=name))
    return found


def main() -> NoReturn:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m palestra.client", description="Play in a run of Palestra's.")
    parser.add_argument("url", help="where the run is: ws://host:port")
    parser.add_argument("token", help="your team's own")
    parser.add_argument("program", help="FILE.py:NAME of a class or a function")
    parser.add_argument("--version", default="", help="what you play with, for the run's log")
    words = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # which ends it as Ctrl-C does
    try:
        play(words.url, words.token, load(words.program), words.version)
    except PalestraError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        _say("stopped; connect again with the same token, and the run goes on")
        sys.exit(INTERRUPTED)
    sys.exit(0)


if __name__ == "__main__":
    main()
