import os
import pickle
import re
import struct
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from palestra.formats.pickle_reader import read_pickle
from tests.formats.strangers import refusal, result_or_refusal, says

LIMIT = 10_000_000
quick = settings(deadline=None, max_examples=200)
every_protocol = pytest.mark.parametrize("protocol", [2, 3, 4, 5])


def same(one: Any, other: Any) -> bool:
    """Equal in value and in type, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | np.generic):
        return bool(one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes())
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) or one != one


def comes_back(value: Any, protocol: int) -> None:
    data = pickle.dumps(value, protocol)
    assert same(read_pickle(data, LIMIT), pickle.loads(data))


@every_protocol
def test_masks_by_name_come_back_as_the_release_has_them(tmp_path: Path, protocol: int) -> None:
    masks = {f"S_{number}/54.npy": np.full((40, 64), number % 4, np.uint8) for number in range(20)}
    file = tmp_path / "test_sampleName_GT.pkl"
    file.write_bytes(pickle.dumps(masks, protocol))
    assert same(read_pickle(file, LIMIT), masks)


@every_protocol
@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -1, 255, 65536, -(2**31), 2**80, 0.5, 1j, "", "é漢", b"", b"\0\xff", bytearray(b"ab"),
        bytearray(),
        [], (), {}, set(), frozenset(), [1, [2]], (1, 2, 3, 4), {"a": {"b": (1,)}}, {1, 2}, frozenset("ab"),
        "x" * 70000,
        np.arange(5.0), np.float32(2.5), np.int64(7), np.bool_(True), np.array(3.0), np.zeros((0, 3)),
        np.array(["ab", "ç"]),
        np.array([b"ab"]), np.array([True, False]), np.array([1 + 2j]), np.array([1, 2], ">i4"), np.arange(10)[::2],
        np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
        np.array([1.5, 2], np.float16), {"x": [np.ones(3)] * 2}, list(range(3000)),
    ],
    ids=lambda value: type(value).__name__,  # the order of a set in an id would differ between processes
)  # fmt: skip
def test_plain_values_and_arrays_come_back(value: Any, protocol: int) -> None:
    comes_back(value, protocol)


def test_pickles_of_python_2_and_older_numpy_are_read() -> None:
    old = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89U\x02\x01\xfftb."
    )
    assert same(read_pickle(old, LIMIT), np.array([1, 255], np.uint8))


class Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.plan = function, arguments

    def __reduce__(self) -> Any:
        return self.plan


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    ("value", "found"),
    [
        (Evil(os.system, "touch /tmp/pwned"), "the global posix.system"),
        (Evil(eval, "1"), "eval"),
        (Evil(getattr, "", "x"), "getattr"),
        (Evil(np.load, "x"), "the global numpy.load"),
        (Path("x"), "the global pathlib.PosixPath"),
        (Evil, "the global tests.formats.test_pickle_reader.Evil"),
        (np.array([{}], object), "objects"),
        (np.zeros(2, [("a", "f8")]), "the dtype V8"),
        (np.datetime64("2020-01-01"), "the dtype M8"),
        (np.ma.zeros(3), "the global numpy.ma"),
        ({(1, 2): 3}, "tuple as a key"),
        ({2**70: 3}, "int as a key"),
        (1 << 9000, "an integer of 1,126 bytes"),
    ],
)
def test_other_objects_are_refused_by_name(value: Any, found: str, protocol: int) -> None:
    refused = refusal(read_pickle, pickle.dumps(value, protocol), LIMIT)
    if protocol >= 2:
        says(refused, "pickle: byte", found, "a pickle of numpy arrays and plain containers")
    assert not Path("/tmp/pwned").exists()


ARRAY = b"\x80\x02cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
DTYPE = b"cnumpy\ndtype\nX\x02\0\0\0f8\x89\x88\x87R"
STATE = b"(K\x03X\x01\0\0\0<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
HUGE = b"\x8a\x06" + (10**12).to_bytes(6, "little")
NEW = b"K\x00\x85C\x01b\x87R"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "cut short"),
        (b".", "an end without an object"),
        (b"\x80\x02(.", "an end without an object"),
        (b"\x80\x02NN.", "an end without an object"),
        (b"\x80\x02N.x", "1 bytes after the end"),
        (b"\x80\x09N.", "the pickle protocol 9"),
        (b"\x80\x02\xff", "the byte 0xff, which is no opcode"),
        (b"\x80\x02cnumpy\nndarray\n.", "an end without an object"),
        (b"\x80\x02cos\n" + b"x" * 500, "a global without a name"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "the global os.system"),
        (b"\x80\x04K\x01K\x02\x93.", "the global 1.2"),
        (b"\x80\x02(i__main__\nX\n.", "the opcode INST"),
        (b"\x80\x02Pabc\n.", "the opcode PERSID"),
        (b"\x80\x02\x82\x01.", "the opcode EXT1"),
        (b"\x80\x05\x97.", "the opcode NEXT_BUFFER"),
        (b"\x80\x02)\x81.", "the opcode NEWOBJ"),
        (b"\x80\x02X\xff\xff\xff\xff.", "cut short"),
        (b"\x80\x04\x8e" + b"\xff" * 8, "cut short"),
        (b"\x80\x05\x96" + b"\xff" * 7 + b"\x0f", "cut short"),
        (b"\x80\x02Nj\xff\xff\xff\xff.", "a broken pickle (KeyError"),
        (b"\x80\x02\x85.", "0 values where 1 belong"),
        (b"\x80\x02K\x01)R.", "a call of 1"),
        (b"\x80\x02cnumpy\nndarray\n" + HUGE + b"\x85R.", "a call of numpy.ndarray"),
        (b"\x80\x02c__builtin__\nbytearray\n" + HUGE + b"\x85R.", "a call of bytearray with 1000000000000"),
        (b"\x80\x02c__builtin__\nbytes\n" + HUGE + b"\x85R.", "a broken pickle (TypeError"),
        (b"\x80\x02c__builtin__\nset\nK\x01\x85R.", "a call of set with 1"),
        (b"\x80\x02c__builtin__\ncomplex\nX\x01\0\0\x001K\x01\x86R.", "a call of complex"),
        (b"\x80\x02c_codecs\nencode\nX\x01\0\0\0aX\x03\0\0\0hex\x86R.", "bytes written as hex"),
        (ARRAY + HUGE + b"\x85C\x01b\x87R.", "an array to be filled in, of the class Global"),
        (ARRAY + NEW + b"(K\x01" + HUGE + b"\x85" + DTYPE + STATE + b"\x89C\x00tb.", "0 bytes for an array"),
        (ARRAY + NEW + b"(K\x01" + HUGE * 3 + b"\x87" + DTYPE + STATE + b"\x89C\x00tb.", "0 bytes for an array"),
        (ARRAY + NEW + b"(K\x01J\xff\xff\xff\xff\x85" + DTYPE + STATE + b"\x89C\x00tb.", "the shape (-1)"),
        (ARRAY + NEW + b"(K\x01K\x00\x85" + DTYPE + b"\x89C\x00tb.", "an array without its type"),
        (ARRAY + NEW + b"(K\x01K\x00\x85" + DTYPE + STATE + b"\x89]tb.", "an array of objects"),
        (ARRAY + NEW + b"NbNb.", "a state for ndarray"),
        (b"\x80\x02" + DTYPE + STATE.replace(b"NNN", b"N)N") + b".", "the dtype <f8 with the state"),
        (b"\x80\x02" + DTYPE + STATE.replace(b"J\xff\xff\xff\xff", HUGE, 1) + b".", "the dtype <f8 with the state"),
        (b"\x80\x02" + DTYPE + STATE + STATE + b".", "a state for"),
        (b"\x80\x02cnumpy\ndtype\nX\x02\0\0\0S0\x89\x88\x87R.", "the dtype S0"),
        (b"\x80\x02cnumpy\ndtype\nX\x03\0\0\x003f8\x89\x88\x87R.", "the dtype 3f8"),
        (b"\x80\x02}]Ns.", "list as a key"),
        (b"\x80\x02](K\x01u.", "list where a dict belongs"),
        (b"\x80\x02}K\x01a.", "dict where a list belongs"),
        (b"\x80\x04\x8f(]\x90.", "list as a key of a dict or a member of a set"),
    ],
)  # fmt: skip
def test_crafted_pickles_are_refused_with_what_was_found(data: bytes, found: str) -> None:
    says(refusal(read_pickle, data, LIMIT), "pickle", found, "a pickle of numpy arrays and plain containers")


def test_values_that_do_not_exist_are_refused() -> None:
    text = pickle.dumps(np.array(["a"]), 4).replace(b"a\0\0\0", b"\xff\xff\xff\xff")
    says(refusal(read_pickle, text, LIMIT), "pickle", "characters that do not exist", "")
    truth = pickle.dumps(np.array([True, False, True]), 4).replace(b"\x01\x00\x01", b"\x01\x02\x01")
    says(refusal(read_pickle, truth, LIMIT), "pickle", "truth values other than 0 and 1", "")


def test_the_size_is_limited(tmp_path: Path) -> None:
    says(refusal(read_pickle, pickle.dumps(b"x" * 2000), 1000), "pickle", "2.0 kB", "at most 1.0 kB")
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(b"x" * 2000))
    says(refusal(read_pickle, tmp_path / "a.pkl", 1000), "a.pkl", "2.0 kB", "at most 1.0 kB")
    (tmp_path / "a.pkl").write_bytes(b"cos\nsystem\n")
    says(refusal(read_pickle, tmp_path / "a.pkl", 1000), "a.pkl: byte 1", "os.system", "")


def repeated_arrays() -> bytes:
    body = b"C\x01bX\x00\x00\x00\x00B" + struct.pack("<I", 800_000) + bytes(800_000) + b"q\x01"
    make = ARRAY[2:] + NEW + b"(K\x01" + b"J" + struct.pack("<i", 100_000) + b"\x85" + DTYPE + STATE + b"\x89h\x01tb"
    return b"\x80\x02" + body + make * 2000 + b"."


def repeated_sets() -> bytes:
    numbers = b"](" + b"".join(b"J" + struct.pack("<i", number) for number in range(50_000)) + b"eq\x01"
    return b"\x80\x02" + numbers + b"c__builtin__\nset\nh\x01\x85R" * 2000 + b"."


def repeated_texts() -> bytes:
    text = b"X" + struct.pack("<I", 500_000) + b"x" * 500_000 + b"q\x01"
    return b"\x80\x02" + text + b"c_codecs\nencode\nh\x01X\x06\0\0\0latin1\x86R" * 4000 + b"."


def shared_tuples(use: bytes) -> bytes:
    """A tuple of twice a tuple of twice a tuple …, which takes for ever to hash, to compare or to print."""
    doubling = b"".join(
        b"h" + bytes([level]) * 1 + b"h" + bytes([level]) + b"\x86q" + bytes([level + 1]) for level in range(80)
    )
    return b"\x80\x02)q\x00" + doubling + use


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (repeated_arrays(), "more memory asked for than the file accounts for"),
        (repeated_sets(), "more memory asked for than the file accounts for"),
        (repeated_texts(), "more memory asked for than the file accounts for"),
        (b"\x80\x02N" + b"r\xff\xff\xff\xffr\xff\xff\xff\x7f" * 1000 + b"}Ns.", ""),
        (shared_tuples(b"}h\x50Ns."), "tuple as a key"),
        (shared_tuples(b"h\x50h\x50\x93."), "the global"),
        (shared_tuples(b"h\x50h\x50R."), "a call of"),
        (shared_tuples(b"cnumpy\ndtype\nh\x50\x85R."), "the dtype"),
        (shared_tuples(ARRAY[2:] + b"h\x50C\x01b\x87R."), "an array to be filled in"),
        (shared_tuples(b"c_codecs\nencode\nh\x50h\x50\x86R."), "bytes written as"),
        (shared_tuples(DTYPE + b"h\x50b."), ""),
        (b"\x80\x02" + b"]" * 2_500_000, "more than 2,000,000 steps"),
        (b"\x80\x02" + b"(" * 2_500_000, "more than 2,000,000 steps"),
    ],
    ids=range(13),
)
def test_tricks_take_neither_memory_nor_time(data: bytes, found: str) -> None:
    tracing = len(data) < 2_000_000  # which is slow
    if tracing:
        tracemalloc.start()
    began = time.process_time()
    says(refusal(read_pickle, data, LIMIT), "pickle", found, "")
    assert time.process_time() - began < 10
    if tracing:
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
        tracemalloc.stop()


@quick
@given(
    st.binary(max_size=200), st.sampled_from([b"", b"\x80\x02", b"\x80\x04", ARRAY, ARRAY + NEW, b"\x80\x02" + DTYPE])
)
def test_arbitrary_bytes_are_read_or_refused(data: bytes, start: bytes) -> None:
    result_or_refusal(read_pickle, start + data, LIMIT)


opcodes = st.sampled_from(
    [bytes([byte]) for byte in b"().01NR}]abcehjqrstuKJX\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94"]
)


@quick
@given(
    st.lists(opcodes | st.sampled_from([ARRAY, NEW, DTYPE, STATE, b"K\x01", b"C\x00", b"h\x00", b"q\x00"]), max_size=30)
)
def test_arbitrary_programs_are_read_or_refused(program: list[bytes]) -> None:
    result_or_refusal(read_pickle, b"\x80\x04" + b"".join(program) + b".", LIMIT)


@quick
@given(st.data())
def test_mutated_pickles_are_read_or_refused(data: st.DataObject) -> None:
    value = {"S_0/1.npy": np.arange(12, dtype=np.uint8).reshape(3, 4), "x": [1, 2.5, "é", b"y", (None, {3})]}
    mutated = bytearray(pickle.dumps(value, data.draw(st.integers(2, 5))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutated) - 1))
        mutated[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    result_or_refusal(read_pickle, bytes(mutated), LIMIT)


keys = st.text(max_size=5) | st.integers(-(2**40), 2**40) | st.booleans() | st.none() | st.binary(max_size=5)
plain = keys | st.floats() | st.integers().filter(lambda number: abs(number) < 2**400)
plain_arrays = arrays.arrays(
    arrays.boolean_dtypes()
    | arrays.integer_dtypes()
    | arrays.floating_dtypes(sizes=(16, 32, 64))
    | arrays.unicode_string_dtypes(),
    arrays.array_shapes(min_dims=0, min_side=0, max_side=4),
).filter(lambda array: array.dtype.kind != "U" or not re.search("[\ud800-\udfff]", "".join(array.ravel().tolist())))
values = st.recursive(
    plain | plain_arrays,
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@quick
@given(values, st.integers(2, 5))
def test_generated_values_come_back(value: Any, protocol: int) -> None:
    comes_back(value, protocol)
