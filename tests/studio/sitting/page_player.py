"""What the page in the browser says to its server, without a browser: every event on time, every question answered."""

import threading
import time
from typing import Any

import httpx
import msgspec
from websockets.sync.client import connect

LIMIT_S = 60.0
LEAD_S = 0.3


class PagePlayer(threading.Thread):
    """Shows so many people their block, one after the other; it says that it has finished, or is closed just before."""

    def __init__(self, port: int, people: int, finishes: bool = True) -> None:
        super().__init__(daemon=True)
        self._at, self._people, self._finishes = f"127.0.0.1:{port}", people, finishes
        self.runs: list[str] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for _ in range(self._people):
                self._play(self._setup())
        except BaseException as error:
            self.failure = error

    def _setup(self) -> dict[str, Any]:
        """What the server has to show next, as soon as it has something new."""
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            try:
                found: dict[str, Any] = httpx.get(f"http://{self._at}/setup.json").json()
            except httpx.HTTPError:
                found = {}
            if found and found["run"] not in self.runs:
                self.runs.append(found["run"])
                return found
            time.sleep(0.02)
        raise TimeoutError("nothing to show")

    def _play(self, setup: dict[str, Any]) -> None:
        self._page, self._seq = f"page-of-{setup['run']}"[:64], 0
        with connect(f"ws://{self._at}/link/{setup['run']}") as self._socket:
            self._say("clock", values={"round_trip_ms": 0.01, "offset_s": 0.0})
            zero = time.monotonic() + LEAD_S
            self._say("started", block=0, event=0, values={"zero_ms": zero * 1000, "period_ms": 16.7})
            for event in setup["plan"]["events"]:
                due = zero + event["onset_s"]
                time.sleep(max(due - time.monotonic(), 0))
                self._say("onset", event=event["number"], block=0, planned_ms=due * 1000, frame_ms=due * 1000, frame=1)
                if event.get("ends") == "answer":  # at once: what follows comes earlier
                    zero -= event["length_s"]
                    self._say("ended", event=event["number"])
                if event.get("ends") == "video":
                    time.sleep(max(due + event["length_s"] - time.monotonic(), 0))
                    self._say("ended", event=event["number"])
            last = setup["plan"]["events"][-1]
            time.sleep(max(zero + last["onset_s"] + last["length_s"] - time.monotonic(), 0))
            if self._finishes:
                self._say("finished")

    def _say(self, kind: str, **fields: Any) -> None:
        report = {"type": "report", "page": self._page, "seq": self._seq, "kind": kind, "at_ms": time.monotonic() * 1e3}
        self._socket.send(msgspec.json.encode({**report, **fields}).decode())
        self._seq += 1
        taken = msgspec.json.decode(self._socket.recv(LIMIT_S))
        assert taken["type"] == "taken", taken
