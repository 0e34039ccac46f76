"""A stream of the lab streaming layer (LSL): an amplifier's samples, or another program's markers.

LSL measures how the sender's clock stands to its own here; how that one stands to ours is measured beside it.
"""

import ctypes
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from palestra.entrants import pylsl
from palestra.errors import PalestraError
from palestra.studio.capture.source import About, Item, Offset, Samples, Values, notice, now_ns
from palestra.text import say

FIND_S = 5.0
PULL_S = 0.05
AT_ONCE = 4096  # samples of one pull
BUFFER_S = 360  # that LSL keeps for us
OFFSET_EVERY_NS = 5_000_000_000
SILENT_NS = 2_000_000_000  # after which a stream with a rate is told to be lost
OFFSET_S = 5.0  # for the first estimate
READS = 5  # of both clocks, of which the quickest counts


def source_of(rest: str) -> "LslStream":
    return LslStream(rest)


class LslStream:
    """One stream, by its name."""

    waits = False

    def __init__(self, name: str) -> None:
        self.spec = f"lsl:{name}"
        self._name = name
        self._inlet: Any = None

    def open(self) -> About:
        self._lsl = pylsl()
        found = self._lsl.resolve_byprop("name", self._name, 1, FIND_S)
        if len(found) != 1:
            raise PalestraError(
                say("{count} LSL streams are named {name!r}, expected one. Start the program that sends it, in the "
                    "same network.", count=len(found), name=self._name)
            )  # fmt: skip
        self._inlet = self._lsl.StreamInlet(found[0], max_buflen=BUFFER_S, as_numpy=True)
        try:
            info = self._inlet.info(FIND_S)
            self._inlet.open_stream(FIND_S)
        except (RuntimeError, TimeoutError) as error:
            raise PalestraError(
                say("The LSL stream {name!r} was found and cannot be connected to ({error}).",
                    name=self._name, error=error)
            ) from None  # fmt: skip
        self._is_regular = float(info.nominal_srate()) > 0
        self._kind = self._lsl.lib.fmt2string[info.channel_format()]
        labels = info.get_channel_labels() or []
        channels = [str(labels[i] or "") if i < len(labels) else "" for i in range(info.channel_count())]
        named = [label or f"channel {i + 1}" for i, label in enumerate(channels)]
        rate = float(info.nominal_srate()) or None
        return About("signal", [], rate, None, "LSL's clock at the sender", True, named, self._kind, str(info.as_xml()))

    def items(self, stop: threading.Event) -> Iterator[Item]:
        measured_ns, came_ns, is_silent = -OFFSET_EVERY_NS, now_ns(), False
        while not stop.is_set():
            if now_ns() - measured_ns >= OFFSET_EVERY_NS:
                measured_ns = now_ns()
                yield from self._offset()
            try:
                values, times = self._inlet.pull_chunk(timeout=PULL_S, max_samples=AT_ONCE)
            except self._lsl.util.LostError:
                yield notice(say("The LSL stream ended: its program closed it."))
                return
            if len(times):
                if is_silent:
                    yield notice(say("Samples come again."))
                came_ns, is_silent = now_ns(), False
                yield Samples(self._values(values), np.rint(np.asarray(times) * 1e9).astype(np.int64), now_ns())
            elif self._is_regular and not is_silent and now_ns() - came_ns > SILENT_NS:
                is_silent = True  # LSL looks for a stream that it lost by itself, and does not tell
                yield notice(say("No samples come: its program ended, or the network was cut. LSL looks for it again."))
            if self._inlet.was_clock_reset():
                yield notice(say("The sender's clock began anew: its program or machine was started again."))

    def _values(self, values: Any) -> Values:
        if self._kind != "string":
            return np.array(values)
        return [[bytes(value).decode(errors="replace") for value in row] for row in values]

    def _offset(self) -> Iterator[Item]:
        """How the sender's clock stands to ours; nothing for now where LSL cannot tell yet."""
        remote, uncertain, error = ctypes.c_double(), ctypes.c_double(), ctypes.c_int()
        ask = self._lsl.lib.lib.lsl_time_correction_ex
        ask.restype = ctypes.c_double
        found_s = ask(
            self._inlet.obj,
            ctypes.byref(remote),
            ctypes.byref(uncertain),
            ctypes.c_double(OFFSET_S),
            ctypes.byref(error),
        )
        if error.value:
            yield notice(say("LSL could not measure the sender's clock; it is tried again."))
            return
        ours_ns, spread_ns = self._lsl_clock()
        yield Offset(now_ns(), round(found_s * 1e9) + ours_ns, round(uncertain.value * 1e9) + spread_ns)

    def _lsl_clock(self) -> tuple[int, int]:
        """How LSL's clock here stands to ours, and give or take how much."""
        reads = []
        for _ in range(READS):
            before_ns = time.monotonic_ns()
            lsl_s = self._lsl.local_clock()
            after_ns = time.monotonic_ns()
            reads.append((after_ns - before_ns, (before_ns + after_ns) // 2 - round(lsl_s * 1e9)))
        took_ns, offset_ns = min(reads)
        return offset_ns, took_ns // 2

    def close(self) -> None:
        self._inlet = None  # it ends when it is let go of
