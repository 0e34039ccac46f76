"""What pickles of numpy arrays ask to be called, carried out on checked arguments.

Each function here does what the one of the same name in numpy, codecs or builtins would do, for the arguments that
pickle writes, and refuses all others. No object of the pickle is ever called.
"""

import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from palestra.errors import clip
from palestra.text import Text, say

GLOBALS = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): "_reconstruct" for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): "_scalar" for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): "_frombuffer" for core in ("core", "_core")},
    ("numpy", "ndarray"): "",  # named, never called
    ("numpy", "dtype"): "_dtype",
    ("_codecs", "encode"): "_encode",
    **{(module, name): f"_{name}" for module in ("builtins", "__builtin__")
       for name in ("set", "frozenset", "complex", "bytes", "bytearray")},
}  # fmt: skip
KINDS = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248]|c8|c16|[SU][1-9]\d{0,5})", re.ASCII)
KEY_TYPES = (str, bytes, int, float, bool, type(None), np.int64, np.int32, np.uint8, np.float64)
MAX_DIMENSIONS = 32


class Unfit(Exception):
    """Something that such a pickle does not have, in words."""

    def __init__(self, text: Text) -> None:
        super().__init__(str(text))
        self.text = text


@dataclass(frozen=True)
class Global:
    """A name in a module, which stands for nothing but itself."""

    module: str
    name: str


def known_global(module: Any, name: Any) -> Global:
    if not (isinstance(module, str) and isinstance(name, str) and (module, name) in GLOBALS):
        raise Unfit(say("the global {shown}.{shown2}", shown=_shown(module), shown2=_shown(name)))
    return Global(module, name)


def check_key(key: Any) -> Any:
    """A key that is cheap to hash: tuples can be built that take for ever, integers that all collide."""
    if type(key) not in KEY_TYPES or (type(key) is int and abs(key) >= 2**64):
        raise Unfit(say("{name} as a key of a dict or a member of a set", name=type(key).__name__))
    return key


class Calls:
    """Carries out calls, and keeps count of the memory they take: a pickle can ask for the same bytes many times."""

    def __init__(self, budget: int, members: int) -> None:
        self.budget = budget  # bytes that arrays and texts may still take
        self.members = members  # values that may still be put into sets
        self.unbuilt: dict[int, Any] = {}  # arrays and types whose state is still to come, by id

    def call(self, function: Any, arguments: Any) -> Any:
        if not isinstance(function, Global) or not isinstance(arguments, tuple):
            raise Unfit(say("a call of {shown}", shown=_shown(function)))
        role = GLOBALS[function.module, function.name]
        if not role:
            raise Unfit(say("a call of {module}.{name}", module=function.module, name=function.name))
        return getattr(self, role)(*arguments)

    def build(self, target: Any, state: Any) -> None:
        if self.unbuilt.pop(id(target), None) is None or not isinstance(state, tuple):
            raise Unfit(say("a state for {shown}", shown=_shown(target)))
        if isinstance(target, np.dtype):
            self._build_dtype(target, *state)
        else:
            self._build_array(target, *state)

    def _reconstruct(self, kind: Any, shape: Any, code: Any) -> Any:
        if kind != Global("numpy", "ndarray") or shape != (0,):
            raise Unfit(
                say(
                    "an array to be filled in, of the class {shown} and the shape {shown2}",
                    shown=_shown(kind),
                    shown2=_shown(shape),
                )
            )
        return self._wait_for_state(np.ndarray((0,), np.int8))

    def _dtype(self, kind: Any, align: Any = False, copy: Any = True) -> Any:
        if isinstance(kind, str) and kind.lstrip("<>|=").startswith("O"):
            raise Unfit(say("an array of objects (dtype {shown})", shown=_shown(kind)))
        if not isinstance(kind, str) or not KINDS.fullmatch(kind):
            raise Unfit(say("the dtype {shown}", shown=_shown(kind)))
        return self._wait_for_state(np.dtype(kind, copy=True))

    def _build_dtype(self, target: Any, version: Any, order: Any, *rest: Any) -> None:
        *none, size, alignment, flags = rest
        plain = version == 3 and none == [None] * 3 and type(flags) is int and order in ("<", ">", "|", "=")
        if not plain or size not in (-1, target.itemsize) or alignment not in (-1, target.alignment):
            raise Unfit(
                say("the dtype {str} with the state {shown}", str=target.str, shown=_shown((version, order, *rest)))
            )
        target.__setstate__((3, order, None, None, None, size, alignment, target.flags))

    def _build_array(self, target: Any, version: Any, shape: Any, dtype: Any, fortran: Any, raw: Any) -> None:
        if isinstance(raw, list):
            raise Unfit(say("an array of objects"))
        data = raw.encode("latin-1") if isinstance(raw, str) else raw  # Python 2 has bytes as texts
        self._check_array(shape, dtype, data)
        target.__setstate__((1, shape, dtype, bool(fortran), bytes(data)))

    def _frombuffer(self, data: Any, dtype: Any, shape: Any, order: Any, axes: Any = None) -> Any:
        self._check_array(shape, dtype, data)
        flat = np.frombuffer(data, dtype) if data else np.empty(0, dtype)
        if order == "K" and isinstance(axes, tuple):
            return flat.reshape(shape).transpose(axes)
        if order not in ("C", "F"):
            raise Unfit(say("the order {shown}", shown=_shown(order)))
        return flat.reshape(shape, order=order)

    def _scalar(self, dtype: Any, data: Any) -> Any:
        data = data.encode("latin-1") if isinstance(data, str) else data
        self._check_array((1,), dtype, data)
        return np.frombuffer(data, dtype)[0]

    def _check_array(self, shape: Any, dtype: Any, data: Any) -> None:
        """Refuse an array whose bytes are not all there: numpy would make room for it first."""
        if not isinstance(dtype, np.dtype) or id(dtype) in self.unbuilt or type(data) not in (bytes, bytearray):
            raise Unfit(say("an array without its type or bytes"))
        sides = isinstance(shape, tuple) and len(shape) <= MAX_DIMENSIONS
        if not sides or not all(type(side) is int and 0 <= side < 2**48 for side in shape):
            raise Unfit(say("the shape {shown}", shown=_shown(shape)))
        if math.prod(shape) * dtype.itemsize != len(data):
            found = say(
                "{number:,} bytes for an array of the shape {shown} and the dtype {str}",
                number=len(data),
                shown=_shown(shape),
                str=dtype.str,
            )
            raise Unfit(found)
        self._charge(len(data))
        _check_values(dtype, data)

    def _encode(self, text: Any, encoding: Any) -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise Unfit(say("bytes written as {shown}", shown=_shown(encoding)))
        self._charge(len(text))
        return text.encode("latin-1")

    def _bytes(self) -> bytes:
        return b""  # protocol 2 calls for no others

    def _bytearray(self, data: Any = b"", encoding: Any = "latin-1") -> bytearray:
        if isinstance(data, str):
            data = self._encode(data, encoding)
        if not isinstance(data, bytes):
            _refuse_arguments("bytearray", data)  # of an integer: so many bytes, out of nothing
        self._charge(len(data))
        return bytearray(data)

    def _complex(self, real: Any, imaginary: Any) -> complex:
        if type(real) is not float or type(imaginary) is not float:
            _refuse_arguments("complex", (real, imaginary))
        return complex(real, imaginary)

    def _set(self, values: Any = ()) -> set[Any]:
        if type(values) not in (list, tuple):
            _refuse_arguments("set", values)
        self.members -= len(values)
        self._charge(0)
        return set(map(check_key, values))

    def _frozenset(self, values: Any = ()) -> frozenset[Any]:
        return frozenset(self._set(values))

    def _charge(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0 or self.members < 0:
            raise Unfit(say("more memory asked for than the file accounts for"))

    def _wait_for_state(self, target: Any) -> Any:
        self.unbuilt[id(target)] = target
        return target


def _check_values(dtype: np.dtype[Any], data: bytes) -> None:
    """Refuse bytes that are no values of their type, which later code would trip over."""
    if dtype.kind == "b" and len(data) and np.frombuffer(data, np.uint8).max() > 1:
        raise Unfit(say("truth values other than 0 and 1"))
    if dtype.kind == "U" and len(data):
        codes = np.frombuffer(data, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any():
            raise Unfit(say("a text with characters that do not exist"))


def _shown(value: Any) -> str:
    """A value for a message. What contains itself many times over would take for ever to print, so it is not."""
    if isinstance(value, str) and len(value) <= 100 and value.isprintable():
        return value
    if isinstance(value, str | bytes | int | float | Global | type(None)):
        return clip(value)
    if isinstance(value, tuple) and len(value) <= 12:
        return f"({', '.join(_shown(part) if not isinstance(part, tuple) else 'tuple' for part in value)})"
    return type(value).__name__


def _refuse_arguments(name: str, arguments: Any) -> NoReturn:
    raise Unfit(say("a call of {name} with {shown}", name=name, shown=_shown(arguments)))
