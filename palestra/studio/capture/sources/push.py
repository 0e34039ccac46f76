"""Frames that a phone, laptop or headset pushes: `push:8443`, or `push:127.0.0.1:8080` for this machine alone."""

import ipaddress
import queue
import secrets
import ssl
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from palestra.errors import PalestraError
from palestra.studio.capture.source import About, Frame, Item, Lost, Notice, Offset, notice
from palestra.studio.capture.sources.certificate import address_seen_from_outside, write_certificate
from palestra.studio.capture.sources.picture_bytes import decoded
from palestra.studio.capture.sources.push_meeting import Inbox, Pushed
from palestra.studio.capture.sources.push_server import PushServer
from palestra.text import Text, say

EVERYWHERE = "0.0.0.0"
MOST_WAITING = 16  # frames that are not yet decoded; MOST_BYTES each
MOST_WORDS = 1000  # offsets and notices among them
LOOK_S = 0.25
RESHAPED_NS = 1_000_000_000  # the least time between two changes of the pictures' size


def source_of(rest: str) -> "Push":
    return Push(rest)


class Push:
    """A server whose address has a token in it. The recording goes on while nobody is connected."""

    waits = False

    def __init__(self, rest: str) -> None:
        self.spec = f"push:{rest}"
        self._host, self._port = _place(rest)
        self._waiting: queue.Queue[Pushed | Offset | Notice] = queue.Queue(MOST_WAITING + MOST_WORDS)
        self._inbox = Inbox(self._take)
        self._shape: tuple[int, ...] = ()
        self._reshaped_ns = -RESHAPED_NS
        self._server: PushServer | None = None
        self.address = self._fingerprint = ""

    def open(self) -> About:
        token = secrets.token_urlsafe(16)
        outside = self._host == EVERYWHERE or not _is_loopback(self._host)
        host = address_seen_from_outside() if self._host == EVERYWHERE else self._host
        encrypted = self._encrypted(host) if outside else None
        self._server = PushServer(self._host, self._port, token, encrypted, self._inbox)
        self._server.start()
        self.address = f"{'https' if outside else 'http'}://{host}:{self._server.port}/{token}"
        return About("pictures", own_clock="the device's performance.now()", measures_offset=True)

    def _encrypted(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            key, certificate, self._fingerprint = write_certificate(Path(folder), host)
            context.load_cert_chain(certificate, key)
        return context

    def _take(self, item: Pushed | Offset | Notice) -> bool:
        """Called by the server's thread: it never waits."""
        if isinstance(item, Pushed) and self._waiting.qsize() >= MOST_WAITING:
            return False
        try:
            self._waiting.put_nowait(item)
        except queue.Full:
            return False
        return True

    def items(self, stop: threading.Event) -> Iterator[Item]:
        yield notice(self._invitation())
        while not stop.is_set():
            try:
                item = self._waiting.get(timeout=LOOK_S)
            except queue.Empty:
                pass  # nobody pushes just now
            else:
                if isinstance(item, Pushed):
                    yield from self._frame(item)
                else:
                    yield item
            if lost := self._inbox.lost_until_now():
                yield Lost(lost)

    def _frame(self, pushed: Pushed) -> Iterator[Frame]:
        image = decoded(pushed.data)
        if image is None or not self._may_have(image.shape, pushed.arrived_ns):
            self._inbox.lose(1 + pushed.left_out)
        else:
            lost = pushed.left_out + self._inbox.lost_until_now()
            yield Frame((image,), pushed.arrived_ns, pushed.taken_ns, lost)

    def _may_have(self, shape: tuple[int, ...], at_ns: int) -> bool:
        """Each other size begins a segment with files of its own: a device that is turned may, a flood may not."""
        if shape != self._shape:
            if at_ns - self._reshaped_ns < RESHAPED_NS:
                return False
            self._shape, self._reshaped_ns = shape, at_ns
        return True

    def _invitation(self) -> Text:
        if not self._fingerprint:
            return say("Open {address} in a browser of this machine.", address=self.address)
        return say(
            "Open {address} on the device. Its browser warns of the certificate, which was made for this recording "
            "alone; its SHA-256 fingerprint is {fingerprint}.",
            address=self.address,
            fingerprint=self._fingerprint,
        )

    def close(self) -> None:
        if self._server:
            self._server.close()


def _place(rest: str) -> tuple[str, int]:
    host, _, port = rest.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise PalestraError(
            say("push:{rest} names no port; expected for example push:8443 or push:127.0.0.1:8080.", rest=rest)
        )
    return host or EVERYWHERE, int(port)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
