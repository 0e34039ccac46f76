"""Agent servers of the table's first contests, over HTTP: what people wrote for those runs unchanged.

    POST /agent/initialize              {"args": [], "kwargs": {}}       → the agent's name, or a map that has it
    POST /agent/{name}/reset            {"args": [], "kwargs": {}}       before each case
    POST /agent/{name}/step             {"args": [[observation]], …}     → [action], or {"result": [action]}

An array is {"type": "ndarray", "dtype": "float32", "shape": [2, 3], "data": base64 of its bytes}.
Only these three are ever called, what comes back is bounded and decoded by rule, and an observation holds nothing but
what every entrant is shown. HTTP waits, so it is spoken in a thread: one request at a time, and holds up nobody.
"""

import base64
import http.client
import json
import queue
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from palestra.entrants import websocket, websocket_messages
from palestra.errors import PalestraError, clean, refuse
from palestra.records import Reply, Tick
from palestra.sandbox.public_addresses import Place, places_of
from palestra.text import Text, say

REPLY_BYTES = 1 << 20
OPENING_S = 60.0  # to load a model
PATIENCE_S = 60.0  # for one answer, where nothing else is said
NAMES = ("name", "agent", "agent_name", "id")  # under which servers tell what they call their agent
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


class AgentLine:
    """One agent server."""

    version = ""

    def __init__(self, name: str, url: str, patience_s: float | None = None, private: bool = True) -> None:
        self.name, self.url = name, url
        self.deaths: list[Text] = []
        self.output = ""
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            refuse(url, parts.scheme or say("no scheme"), say("http://host:port of an agent server"))
        self._host, self._port, self._root = parts.hostname or "", parts.port or 80, parts.path.rstrip("/")
        self._private = private
        self._places: list[Place] = []
        self._patience_s = patience_s or PATIENCE_S
        self._agent = ""
        self._why: Text = ""
        self._orders: queue.SimpleQueue[Tick | None] = queue.SimpleQueue()
        self._come: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._open = 0
        self._ours, self._theirs = socket.socketpair()  # what a reply is waited for on
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def require_ready(self, within_s: float = OPENING_S) -> None:
        """Have the agent made; refuse it in words if it cannot be."""
        self._places = places_of(self._host, self._port, self._private)
        try:
            self._agent = _agent_name(self._call("initialize", [], min(within_s, OPENING_S)))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise PalestraError(
                say("{name}: {url} made no agent: {clean}.", name=self.name, url=self.url, clean=clean(str(error)))
            ) from None
        self._thread.start()

    def post(self, tick: Tick) -> None:
        self._open += tick.trial is not None
        self._orders.put(tick)

    def replies(self) -> list[Reply]:
        found = []
        while not self._come.empty():
            self._ours.recv(1)
            found.append(self._come.get())
            self._open -= 1
        return found

    def ask(self, tick: Tick, within_s: float) -> tuple[list[Reply], float]:
        return websocket.ask(self, tick, within_s)

    def settled(self) -> bool:
        return self._open == 0

    def give_up(self, why: Text) -> None:
        self._why = self._why or why
        self.deaths.append(why)

    def dead(self) -> Text:
        return self._why

    def fileno(self) -> int:
        return self._ours.fileno()

    def close(self) -> None:
        self._why = self._why or say("it was closed")
        self._orders.put(None)
        if self._thread.is_alive():
            self._thread.join(self._patience_s + 1)
        self._ours.close()
        self._theirs.close()

    def _serve(self) -> None:
        """The thread: one order after the other."""
        while (tick := self._orders.get()) is not None and not self._why:
            try:
                if tick.about.get("step") == 0:
                    self._call(f"{self._agent}/reset", [], self._patience_s)
                said = self._call(f"{self._agent}/step", [[_observation(tick)]], self._patience_s)
                reply = Reply(tick.trial or "", {"actions": _action(said)})
            except (OSError, http.client.HTTPException, ValueError) as error:
                reply = Reply(
                    tick.trial or "",
                    None,
                    say("the agent failed: {why}", why=clean(str(error) or type(error).__name__)),
                )
                self.deaths = [*self.deaths, reply.note][-100:]
            if tick.trial is not None:
                self._come.put(reply)
                self._theirs.send(b"!")

    def _dial(self, within_s: float) -> socket.socket:
        """A connection to where the host was when it was looked up: later its name may lead elsewhere."""
        for place in self._places[:-1]:
            with suppress(OSError):
                return socket.create_connection((place.ip, self._port), within_s)
        return socket.create_connection((self._places[-1].ip, self._port), within_s)

    def _call(self, method: str, args: list[Any], within_s: float) -> Any:
        """One request. The time is for the whole of it: who answers a byte a second is not waited for."""
        ends = time.monotonic() + within_s
        connection = http.client.HTTPConnection(self._host, self._port, timeout=within_s)
        try:
            body = json.dumps({"args": args, "kwargs": {}}).encode()
            connection.sock = self._dial(within_s)
            path = "/".join(quote(part, safe="") for part in method.split("/"))
            connection.request("POST", f"{self._root}/agent/{path}", body, {"content-type": "application/json"})
            response = connection.getresponse()
            found = _bounded(response, ends)
        finally:
            connection.close()
        if response.status != 200:
            self.output = found[-1000:].decode(errors="replace")
            raise ValueError(f"HTTP {response.status} to {method}")
        try:
            return json.loads(found or b"null")
        except RecursionError:
            raise ValueError("an answer nested too deep") from None


def _bounded(response: http.client.HTTPResponse, ends: float) -> bytes:
    found = bytearray()
    while piece := response.read1(65_536):
        found += piece
        if len(found) > REPLY_BYTES:
            raise ValueError(f"an answer of more than {REPLY_BYTES:,} bytes")
        if time.monotonic() > ends:
            raise TimeoutError("it took too long to answer")
    return bytes(found)


def _agent_name(said: Any) -> str:
    if isinstance(said, Mapping):
        said = next((said[key] for key in NAMES if key in said), None)
    if not isinstance(said, str) or not 0 < len(said) <= 100:
        raise ValueError("it did not tell the agent's name")
    return said


def _observation(tick: Tick) -> dict[str, Any]:
    return {**{name: encoded(array) for name, array in tick.payload.items()}, **tick.about}


def encoded(array: Any) -> dict[str, Any]:
    array = np.ascontiguousarray(array)
    data = base64.b64encode(array.tobytes()).decode()
    return {"type": "ndarray", "dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def decoded(said: Mapping[str, Any]) -> list[Any]:
    """An array as numbers. Types come from a short list, and the shape must account for every byte."""
    dtype, shape, data = said.get("dtype"), said.get("shape"), said.get("data")
    if dtype not in DTYPES or not isinstance(shape, list) or not isinstance(data, str):
        raise ValueError(f"an array that is not made of dtype ({', '.join(DTYPES)}), shape and data")
    if not all(type(side) is int and 0 <= side <= websocket_messages.MAX_NUMBERS for side in shape) or len(shape) > 4:
        raise ValueError("an array whose shape is no short list of whole numbers")
    flat = np.frombuffer(base64.b64decode(data, validate=True), np.dtype(dtype))
    if flat.size != int(np.prod(shape, dtype=np.int64)) or flat.size > websocket_messages.MAX_NUMBERS:
        raise ValueError(f"an array of the shape {shape} with {flat.size:,} numbers")
    numbers: list[Any] = flat.reshape(shape).tolist()
    return numbers


def _action(said: Any) -> Any:
    """The one action of the one observation."""
    if isinstance(said, Mapping) and "result" in said:
        said = said["result"]
    if isinstance(said, Mapping) and said.get("type") == "ndarray":
        said = decoded(said)
    if not isinstance(said, list) or not said:
        raise ValueError("an answer that is no list with an action in it")
    first = said[0]
    if isinstance(first, Mapping) and first.get("type") == "ndarray":
        return decoded(first)
    return said if isinstance(first, int | float) else first
