"""An entrant of the lab streaming layer (LSL), as a line of the stream: what a lab runs beside its amplifier.

Three streams, all named after the signal: `NAME` has the samples, `NAME-asks` says what is to be decided, and on
`NAME-answers` the entrant says what it decided. LSL sends and receives in threads of its own, so nothing here waits;
what an entrant has not taken yet queues in LSL for it. LSL has no passwords: it is for a network that is trusted.
"""

import importlib
import math
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import msgspec
import numpy as np

from palestra.errors import PalestraError, clip
from palestra.records import Reply, Signal, Tick
from palestra.text import Text, message, say

QUEUE_S = 360  # of samples that wait for an entrant that takes nothing; then the oldest are dropped
ANSWER_BYTES = 4096  # of one answer
AT_ONCE = 100  # answers that are taken in one go; a flood holds up nobody
STRAYS = 1000  # answers to nothing that was open that are handed on; the rest of a flood is counted
HELD = 1  # answers that LSL keeps for us meanwhile, in hundreds
AGAIN_S = 0.5  # between two tries to connect to a stream that was lost
READY_S = 120.0
LOOK_S = 0.02  # between two looks while it is waited for
ASKS_S = 1.0  # for an entrant that is ready to connect to the asks as well, if it will
NO_UNIT = "none"  # of a channel that measures nothing: a trigger
EXPECTED = message(
    'a number, a text in quotes, true, false, a list of these, or {{"trial": …, "answer": …}} with one of them'
)

Value = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | float | str | bool
Answer = Value | list[Value]


class Named(msgspec.Struct, forbid_unknown_fields=True):
    """An answer that says what it answers."""

    trial: str
    answer: msgspec.Raw


BARE = msgspec.json.Decoder(Answer)
EITHER = msgspec.json.Decoder(Answer | Named)


class LslLine:
    """One entrant that is spoken to by LSL."""

    version = output = ""  # LSL tells neither

    def __init__(
        self, name: str, signal: Signal, now: Callable[[], float] | None = None, patience_s: float | None = None
    ) -> None:
        self.deaths: list[Text] = []  # streams come and go, and none of that is an end
        lsl = pylsl()
        self.name, self._signal = name, signal
        self._now = now or lsl.local_clock  # LSL's own clock, unless a test has another
        self._patience_s = patience_s  # for one answer, where the rules have no deadline
        run = uuid.uuid4().hex  # another run is another source: nobody is to carry on with it by mistake
        asks = lsl.StreamInfo(f"{signal.name}-asks", "Markers", 1, lsl.IRREGULAR_RATE, "string", f"{run}-asks")
        self._samples = lsl.StreamOutlet(_described(lsl, signal, run), max_buffered=QUEUE_S)
        self._asks = lsl.StreamOutlet(asks)
        self._answers = _Answers(lsl, f"{signal.name}-answers")
        self._open: dict[str, tuple[float, bool]] = {}  # trial → until when, and whether the stream waits for it
        self.strays = 0  # answers to nothing that was open
        self._why: Text = ""

    def require_ready(self, within_s: float = READY_S) -> None:
        """Wait until somebody takes the samples and has a stream of answers; say in words what is missing."""
        end = time.monotonic() + within_s
        while missing := self._missing():
            if time.monotonic() > end:
                raise PalestraError(
                    say(
                        "{name}: not ready after {within_s:g} s: {missing}. {to_do}",
                        name=self.name,
                        within_s=within_s,
                        missing=missing,
                        to_do=self._to_do(),
                    )
                )
            time.sleep(LOOK_S)
        self._asks.wait_for_consumers(ASKS_S)

    def _missing(self) -> str:
        name = self._signal.name
        taken = "" if self._samples.have_consumers() else f"nobody has connected to the stream {name!r}"
        return "; ".join(filter(None, [taken, self._answers.missing()]))

    def _to_do(self) -> str:
        return (
            f"Start the program in the same network: it opens an inlet on {self._signal.name!r} and publishes one "
            f"stream {self._answers.name!r} of the type Markers, with one channel of strings (docs/lsl.md)."
        )

    def post(self, tick: Tick) -> None:
        """Publish a packet as if its last sample had been taken now, and then what is asked on it."""
        if self._why:
            return
        now = self._now()
        samples = tick.payload[self._signal.array].T  # samples × channels
        ages_s = np.arange(len(samples) - 1, -1, -1) / self._signal.rate_hz
        # Each sample's own time is sent: what LSL would work out from the rate misses the ask's by a rounding error.
        self._samples.push_chunk(samples, (now - ages_s).tolist())
        if tick.trial is not None:
            ask = msgspec.json.encode({"trial": tick.trial, "deadline_s": tick.deadline_s})
            self._asks.push_sample([ask.decode()], now)
            self._ask(tick.trial, tick.deadline_s, now)

    def _ask(self, trial: str, deadline_s: float | None, now: float) -> None:
        self._open = {key: (end, waits) for key, (end, waits) in self._open.items() if waits or end >= now}
        limit_s = deadline_s if deadline_s is not None else self._patience_s
        self._open[trial] = (math.inf if limit_s is None else now + limit_s, deadline_s is None)
        self._answers.follow()

    def replies(self) -> Iterator[Reply]:
        """What has come, and what has been waited for too long."""
        if self._why:
            return
        for raw in self._answers.pull():
            reply = self._reply(raw)
            open_till = self._open.pop(reply.trial, None)
            self.strays += open_till is None
            if open_till is not None or self.strays <= STRAYS:
                yield reply
        for trial in [trial for trial, (end, waits) in self._open.items() if waits and end < self._now()]:
            del self._open[trial]
            yield Reply(trial, None, say("no answer within {limit:g} s", limit=self._patience_s))

    def _reply(self, raw: bytes) -> Reply:
        """An answer that names no trial is for the newest that is open, and so is what cannot be read."""
        reply = read_answer(raw)
        if reply.trial:
            return reply
        newest = self._newest()
        return Reply(newest, reply.answer, reply.note or ("" if newest else say("it came when nothing was asked")))

    def _newest(self) -> str:
        now = self._now()
        return next((trial for trial, (end, _) in reversed(self._open.items()) if end >= now), "")

    def dead(self) -> Text:
        """A program may come back, and is found again: only we end it."""
        return self._why

    def fileno(self) -> int:
        return -1  # LSL receives in threads of its own, and gives nothing to wait on

    def close(self) -> None:
        """End the streams. Who listens to them is told so by LSL."""
        self._why = say("the line is closed")
        self._samples = self._asks = None  # each ends when it is let go of
        self._answers.close()


def read_answer(raw: bytes) -> Reply:
    """What was said, to the trial that it names, else to ""; with a note if it cannot be read."""
    if len(raw) > ANSWER_BYTES:
        return Reply("", None, say("sent {size} bytes, expected at most {most}", size=len(raw), most=ANSWER_BYTES))
    trial = ""
    try:
        said = EITHER.decode(raw)
        if isinstance(said, Named):
            trial = said.trial
            said = BARE.decode(said.answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Reply(
            trial,
            None,
            say("sent {text}, expected {expected}", text=clip(raw.decode(errors="replace")), expected=say(EXPECTED)),
        )
    return Reply(trial, said)


class _Answers:
    """The entrant's stream of answers. It may come and go: it is looked for all the time, in LSL's own thread."""

    def __init__(self, lsl: Any, name: str) -> None:
        self._lsl, self.name = lsl, name
        self._resolver = lsl.ContinuousResolver(prop="name", value=name)
        self._inlet: Any = None
        self._uid = ""  # of the stream that we listen to, or did last
        self._tried_at = -math.inf
        self._left: list[Any] = []  # inlets whose stream vanished: ending one may take LSL half a second

    def missing(self) -> str:
        """Why nobody can be heard; empty if somebody can."""
        found = self._resolver.results()
        if len(found) != 1:
            return f"{len(found)} streams are named {self.name!r}" if found else f"there is no stream {self.name!r}"
        if fault := _fault(self._lsl, found[0]):
            return f"the stream {self.name!r} {fault}"
        self._turn_to(found)
        try:
            connected = self._inlet is not None and self._inlet.open_stream(LOOK_S) is None
        except RuntimeError as error:  # what all of pylsl's errors are
            connected = False
            self._drop_if_lost(error)
        return "" if connected else f"the stream {self.name!r} was found, and cannot be connected to"

    def follow(self) -> None:
        """Listen to a stream that is there, if ours is not: a machine may vanish without a word."""
        self._turn_to([info for info in self._resolver.results() if not _fault(self._lsl, info)])

    def _turn_to(self, infos: list[Any]) -> None:
        found = {info.uid(): info for info in infos}
        if self._inlet is not None and (self._uid in found or not found):
            return
        last = found.pop(self._uid, None)  # LSL still lists, for a while, what has ended: any other is better
        self._uid, info = found.popitem() if found else (self._uid, last)
        if info is not None:
            self._left += [self._inlet] if self._inlet is not None else []
            self._inlet = self._connect(info)

    def _connect(self, info: Any) -> Any:
        try:
            # LSL's own way to recover is off: it waits for the same source, and a program started anew may be another.
            return self._lsl.StreamInlet(info, max_buflen=HELD, recover=False, as_numpy=True)
        except RuntimeError:  # it speaks a later LSL than ours: it is not heard
            return None

    def pull(self) -> Iterator[bytes]:
        """What has come, as it came."""
        if self._inlet is None and time.monotonic() - self._tried_at > AGAIN_S:
            self._tried_at = time.monotonic()
            self.follow()
        for _ in range(AT_ONCE):
            sample = self._take()
            if sample is None:
                return
            yield bytes(sample[0])

    def _take(self) -> Any:
        if self._inlet is None:
            return None
        try:
            return self._inlet.pull_sample(timeout=0.0)[0]
        except RuntimeError as error:
            self._drop_if_lost(error)
            return None

    def _drop_if_lost(self, error: RuntimeError) -> None:
        if isinstance(error, self._lsl.util.LostError):  # the program closed its stream, or ended
            self._inlet = None

    def close(self) -> None:
        self._resolver = self._inlet = None
        self._left.clear()


def _fault(lsl: Any, info: Any) -> str:
    """Why a stream cannot be one of answers; empty if it can."""
    kind, count, form = info.type(), info.channel_count(), lsl.lib.fmt2string[info.channel_format()]
    if (kind, count, form) == ("Markers", 1, "string"):
        return ""
    return f"has the type {clip(kind)} and {count} channel{'s' if count != 1 else ''} of {form}"


def _described(lsl: Any, signal: Signal, source: str) -> Any:
    """What the stream of samples is, laid out as the recommendations for EEG in XDF and LSL have it."""
    info = lsl.StreamInfo(signal.name, signal.kind, len(signal.channels), signal.rate_hz, "float32", source)
    units = [unit or NO_UNIT for unit in signal.units]
    info.set_channel_labels(list(signal.channels))
    info.set_channel_types(["stim" if unit == NO_UNIT else signal.kind for unit in units])
    info.set_channel_units(units)
    acquisition = info.desc().append_child("acquisition")
    acquisition.append_child_value("manufacturer", "Palestra")
    acquisition.append_child_value("model", "a recording, sent as if it were taken now")
    return info


def pylsl() -> Any:
    """The library, or in words why it is not there."""
    try:
        return importlib.import_module("pylsl")
    except ImportError:
        raise PalestraError(say("LSL needs pylsl, which is not installed: pip install 'palestra[lsl]'")) from None
    except RuntimeError as error:  # it is there, and the library that it calls is not
        raise PalestraError(say("pylsl does not find liblsl on this machine: {error}", error=error)) from None
