"""Where triggers go: markers of the lab streaming layer, and single bytes to a serial port."""

import importlib
import time
import uuid
from collections.abc import Callable
from typing import Protocol

from palestra.entrants import pylsl
from palestra.errors import PalestraError, brief
from palestra.studio.present.plans.plan import Plan
from palestra.studio.present.reports import Report
from palestra.text import say

BAUD = 115_200
WRITE_S = 0.5  # that a serial port may take
LATE_S = 0.25  # after which a trigger would rather mislead than help


class Way(Protocol):
    """One way that triggers are sent."""

    name: str

    def send(self, code: int, onset_s: float) -> None:
        """Send a code now; `onset_s` is when its event was shown, on time.monotonic's clock."""

    def close(self) -> None: ...


class LslMarkers:
    """A stream of markers. Each has the time at which its event was shown, not the one at which it was sent."""

    name = "lsl"

    def __init__(self, stream: str) -> None:
        self._lsl = pylsl()
        info = self._lsl.StreamInfo(
            stream, "Markers", 1, self._lsl.IRREGULAR_RATE, "int32", f"{stream}-{uuid.uuid4().hex}"
        )
        self._outlet = self._lsl.StreamOutlet(info)

    def send(self, code: int, onset_s: float) -> None:
        self._outlet.push_sample([code], self._lsl.local_clock() - (time.monotonic() - onset_s))

    def close(self) -> None:
        self._outlet = None  # the stream ends when it is let go of


class SerialPort:
    """One byte for each trigger, as amplifiers' trigger boxes read them."""

    name = "serial"

    def __init__(self, device: str) -> None:
        try:
            serial = importlib.import_module("serial")
        except ImportError:
            raise PalestraError(
                say("Triggers need pyserial, which is not installed: pip install 'palestra[studio]'")
            ) from None
        try:
            self._port = serial.Serial(device, BAUD, write_timeout=WRITE_S)
        except (OSError, ValueError) as error:  # pyserial's own errors are OSErrors
            raise PalestraError(
                say(
                    "The serial port {device} cannot be opened ({why}). Is it plugged in, and may you write to it?",
                    device=device,
                    why=brief(error),
                )
            ) from None

    def send(self, code: int, onset_s: float) -> None:
        self._port.write(bytes([code]))
        self._port.flush()

    def close(self) -> None:
        self._port.close()


class Triggers:
    """Sends the trigger of each event whose onset is reported, and logs what became of it."""

    def __init__(self, plan: Plan, ways: list[Way], write: Callable[..., None]) -> None:
        self._plan, self._ways, self._write = plan, ways, write
        self.unsent = 0
        self.why = ""  # of the newest that was not sent

    def send(self, report: Report, onset_s: float | None) -> None:
        code = self._plan.events[report.event].trigger if report.event is not None else None
        if code is None or not self._ways:
            return
        now = time.monotonic()
        late_s = 0.0 if onset_s is None else now - onset_s
        became = {way.name: self._sent_by(way, code, now if onset_s is None else onset_s, late_s) for way in self._ways}
        self._write("trigger", event=report.event, code=code, onset_s=onset_s, sent_s=now, **became)

    def _sent_by(self, way: Way, code: int, onset_s: float, late_s: float) -> str:
        if late_s > LATE_S:
            return self._missed(f"not sent: its onset was known {late_s:.3f} s too late")
        try:
            way.send(code, onset_s)
        except Exception as error:  # whatever a driver says: the run goes on, and the log has the onset
            return self._missed(f"not sent: {brief(error)}")
        return "sent"

    def _missed(self, why: str) -> str:
        self.unsent += 1
        self.why = why
        return why


def open_ways(serial: str, lsl: str) -> list[Way]:
    """The ways that were asked for."""
    ways: list[Way] = [SerialPort(serial)] if serial else []
    return [*ways, LslMarkers(lsl)] if lsl else ways
