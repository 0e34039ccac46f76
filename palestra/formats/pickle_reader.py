"""Pickles of arrays and plain containers, read by an interpreter of our own that can call nothing.

A pickle is a program for a stack machine, and Python's own reader runs whatever it names. This one knows the opcodes
that protocols 2 to 5 use for numbers, texts, bytes, containers and numpy arrays; the few functions that such pickles
name are carried out in pickle_numpy.py, on checked arguments. Anything else is refused. Memory stays under four
times the file and 256 bytes for each of at most MAX_STEPS opcodes.
"""

import pickletools
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from palestra.errors import clip, refuse
from palestra.formats.pickle_numpy import Calls, Global, Unfit, check_key, known_global
from palestra.formats.plain_files import read_bytes, shown_name
from palestra.text import Text, human_bytes, say

MAX_STEPS = 2_000_000
INTEGER_BYTES = 64
GLOBAL_CHARS = 200
NAMES = {ord(known.code): known.name for known in pickletools.opcodes}
EXPECTED = "a pickle of numpy arrays and plain containers (protocol 2 to 5)"
BROKEN_PICKLE = (IndexError, KeyError, ValueError, TypeError, AttributeError, OverflowError, MemoryError)

# Opcodes that stand for a value, or for a fixed number of bytes, or for a length and what is so long.
CONSTANTS: dict[int, Any] = {ord("N"): None, 0x88: True, 0x89: False}
EMPTY: dict[int, Callable[[], Any]] = {ord("]"): list, ord("}"): dict, ord(")"): tuple, 0x8F: set}
NUMBERS = {ord("J"): "<i", ord("K"): "<B", ord("M"): "<H", ord("G"): ">d"}


def _text(data: bytes) -> str:
    return data.decode("utf-8")


def _text_of_python_2(data: bytes) -> str:
    return data.decode("latin-1")


def _integer(data: bytes) -> int:
    if len(data) > INTEGER_BYTES:
        raise Unfit(say("an integer of {number:,} bytes", number=len(data)))
    return int.from_bytes(data, "little", signed=True)


SIZED: dict[int, tuple[int, Callable[[bytes], Any]]] = {
    0x8C: (1, _text), ord("X"): (4, _text), 0x8D: (8, _text),
    ord("C"): (1, bytes), ord("B"): (4, bytes), 0x8E: (8, bytes), 0x96: (8, bytearray),
    ord("U"): (1, _text_of_python_2), ord("T"): (4, _text_of_python_2),
    0x8A: (1, _integer), 0x8B: (4, _integer),
}  # fmt: skip


def read_pickle(source: str | Path | bytes, max_bytes: int) -> Any:
    """What a pickle holds: None, bool, int, float, complex, str, bytes, list, tuple, dict, set, numpy arrays."""
    if isinstance(source, bytes):
        where, data = "pickle", source
        if len(data) > max_bytes:
            refuse(where, human_bytes(len(data)), say("at most {max_bytes}", max_bytes=human_bytes(max_bytes)))
    else:
        where, data = shown_name(source), read_bytes(source, max_bytes)
    machine = _Machine(data)
    try:
        return machine.run()
    except (Unfit, *BROKEN_PICKLE) as error:
        found: Text = (
            error.text
            if isinstance(error, Unfit)
            else say("a broken pickle ({kind}: {why})", kind=type(error).__name__, why=clip(str(error)))
        )
        refuse(say("{where}: byte {value:,}", where=where, value=machine.began + 1), found, EXPECTED)


class _Machine:
    """The stack and the memo. `MARK` sets the stack aside and begins a new one, as in Python's own reader."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = self.began = 0
        self.stack: list[Any] = []
        self.aside: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.calls = Calls(budget=2 * len(data) + 65536, members=min(len(data), MAX_STEPS))
        self.ops: dict[int, Callable[[], None]] = {
            0x80: self._protocol, 0x95: self._frame, ord("("): self._mark,
            ord("0"): self._drop, ord("1"): self._drop_marked,
            ord("a"): self._append, ord("e"): self._appends, ord("s"): self._set_item, ord("u"): self._set_items,
            0x90: self._add_items, 0x91: self._frozen, ord("t"): self._tuple,
            0x85: lambda: self._last(1), 0x86: lambda: self._last(2), 0x87: lambda: self._last(3),
            ord("q"): lambda: self._put(self._number(1)), ord("r"): lambda: self._put(self._number(4)),
            0x94: lambda: self._put(len(self.memo)),
            ord("h"): lambda: self._get(self._number(1)), ord("j"): lambda: self._get(self._number(4)),
            ord("c"): self._global, 0x93: self._stack_global, ord("R"): self._reduce, ord("b"): self._build,
        }  # fmt: skip

    def run(self) -> Any:
        for _ in range(MAX_STEPS):
            self.began = self.at
            op = self._take(1)[0]
            if op == ord("."):
                return self._result()
            self._step(op)
        raise Unfit(say("more than {max_steps:,} steps", max_steps=MAX_STEPS))

    def _step(self, op: int) -> None:
        if op in self.ops:
            self.ops[op]()
        elif op in SIZED:
            width, make = SIZED[op]
            self.stack.append(make(self._take(self._number(width))))
        elif op in NUMBERS:
            form = NUMBERS[op]
            self.stack.append(struct.unpack(form, self._take(struct.calcsize(form)))[0])
        elif op in CONSTANTS:
            self.stack.append(CONSTANTS[op])
        elif op in EMPTY:
            self.stack.append(EMPTY[op]())
        else:
            raise Unfit(
                say("the opcode {names}", names=NAMES[op])
                if op in NAMES
                else say("the byte 0x{op:02x}, which is no opcode", op=op)
            )

    def _result(self) -> Any:
        if len(self.stack) != 1 or self.aside or isinstance(self.stack[0], Global):
            raise Unfit(say("an end without an object"))
        if self.at != len(self.data):
            raise Unfit(say("{value:,} bytes after the end", value=len(self.data) - self.at))
        return self.stack[0]

    def _take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise Unfit(say("a pickle that is cut short"))
        self.at += size
        return self.data[self.at - size : self.at]

    def _number(self, width: int) -> int:
        return int.from_bytes(self._take(width), "little")

    def _protocol(self) -> None:
        if not 2 <= (version := self._number(1)) <= 5:
            raise Unfit(say("the pickle protocol {version}", version=version))

    def _frame(self) -> None:
        self._take(8)  # frames are for streams; the length of the whole is known

    def _mark(self) -> None:
        self.aside.append(self.stack)
        self.stack = []

    def _marked(self) -> list[Any]:
        values, self.stack = self.stack, self.aside.pop()
        return values

    def _drop(self) -> None:
        self.stack.pop()

    def _drop_marked(self) -> None:
        self._marked()

    def _append(self) -> None:
        self._extend([self.stack.pop()])

    def _appends(self) -> None:
        self._extend(self._marked())

    def _extend(self, values: Iterable[Any]) -> None:
        self._top(list).extend(values)

    def _set_item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._top(dict)[check_key(key)] = value

    def _set_items(self) -> None:
        values = self._marked()
        target = self._top(dict)
        for key, value in zip(values[::2], values[1::2], strict=True):
            target[check_key(key)] = value

    def _add_items(self) -> None:
        values = self._marked()
        self._top(set).update(map(check_key, values))

    def _frozen(self) -> None:
        values = frozenset(map(check_key, self._marked()))  # first: it puts the older stack back
        self.stack.append(values)

    def _tuple(self) -> None:
        values = tuple(self._marked())
        self.stack.append(values)

    def _last(self, count: int) -> None:
        if len(self.stack) < count:
            raise Unfit(say("{number} values where {count} belong", number=len(self.stack), count=count))
        self.stack[-count:] = [tuple(self.stack[-count:])]

    def _top(self, kind: type) -> Any:
        if type(self.stack[-1]) is not kind:
            raise Unfit(say("{name} where a {name2} belongs", name=type(self.stack[-1]).__name__, name2=kind.__name__))
        return self.stack[-1]

    def _put(self, number: int) -> None:
        self.memo[number] = self.stack[-1]  # a dict: a large number takes no more room than a small one

    def _get(self, number: int) -> None:
        self.stack.append(self.memo[number])

    def _global(self) -> None:
        names = []
        for _ in range(2):
            end = self.data.find(b"\n", self.at, self.at + GLOBAL_CHARS)
            if end < 0:
                raise Unfit(say("a global without a name"))
            names.append(self._take(end + 1 - self.at)[:-1].decode())
        self.stack.append(known_global(*names))

    def _stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.stack.append(known_global(module, name))

    def _reduce(self) -> None:
        arguments, function = self.stack.pop(), self.stack.pop()
        self.stack.append(self.calls.call(function, arguments))

    def _build(self) -> None:
        state = self.stack.pop()
        self.calls.build(self.stack[-1], state)
