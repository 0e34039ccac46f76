"""Messages say what was meant, in the bytes that openpi's client writes, and nothing else is taken for one."""

import datetime
import tracemalloc

import hypothesis.extra.numpy as arrays
import msgpack
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.entrants import websocket_messages
from palestra.entrants.websocket_messages import BadMessage, decode, encode, plain

dtypes = st.sampled_from(sorted(websocket_messages.DTYPES)).map(np.dtype)
some_array = arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
scalars = dtypes.flatmap(lambda dtype: arrays.from_dtype(dtype)).filter(lambda value: not isinstance(value, float))
keys = st.text() | st.binary().filter(lambda key: not key.startswith(b"__"))
leaves = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary()
    | some_array | scalars
)  # fmt: skip
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=10
)


def openpi_pack(value):
    """How openpi_client.msgpack_numpy 0.1.2 packs what msgpack does not know."""
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    return value


def openpi_unpack(value):
    if b"__ndarray__" in value:
        return np.ndarray(buffer=value[b"data"], dtype=np.dtype(value[b"dtype"]), shape=value[b"shape"])
    if b"__npgeneric__" in value:
        return np.dtype(value[b"dtype"]).type(value[b"data"])
    return value


def same(one, other):
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or (one != one and other != other))


def an_array(**changes):
    return msgspec.msgpack.encode(
        {b"__ndarray__": True, b"data": b"12345678", b"dtype": "<f4", b"shape": [2]}
        | {key.encode(): value for key, value in changes.items()}
    )


def a_scalar(**changes):
    return msgspec.msgpack.encode(
        {b"__npgeneric__": True, b"data": 1, b"dtype": "<i4"} | {key.encode(): value for key, value in changes.items()}
    )


@given(values)
def test_what_is_encoded_is_what_is_decoded(value):
    assert same(decode(encode(value)), value)


@given(values)
def test_the_bytes_are_those_of_openpi_and_it_reads_ours(value):
    assert encode(value) == msgpack.packb(value, default=openpi_pack)
    assert same(msgpack.unpackb(encode(value), object_hook=openpi_unpack), value)


def test_the_bytes_are_those_of_the_installed_openpi_client():
    openpi = pytest.importorskip("openpi_client.msgpack_numpy")
    value = {"state": np.arange(8.0), "image": np.zeros((4, 5, 3), np.uint8), "n": np.int64(3), "f": np.float64(0.5)}
    value |= {"prompt": "lift the cup", "flag": np.bool_(True), "deep": [{"x": np.float32(1.5)}]}
    assert encode(value) == openpi.packb(value)
    assert same(openpi.unpackb(encode(value)), decode(openpi.packb(value)))


@settings(max_examples=500)
@given(st.binary(max_size=300))
def test_any_bytes_are_a_value_or_refused(data):
    for kind in (bytes, bytearray, memoryview):
        try:
            decode(kind(data))
        except BadMessage:
            continue


@given(st.data())
def test_a_message_with_one_byte_changed_is_a_message_or_refused(data):
    good = bytearray(encode({"x": np.ones((2, 3), np.float32), "n": np.int16(3), "l": [1, "y", None]}))
    good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    try:
        plain(decode(good))
    except BadMessage:
        return


@pytest.mark.parametrize("unit", [b"\x90", b"\x80", b"\xc0", b"\x91\xa0", b"\x81\xa0\xc0", b"\xdc\x00\x00"])
def test_a_million_values_are_refused_before_one_is_made(unit):
    count = (1 << 20) // len(unit)
    data = b"\xdd" + count.to_bytes(4, "big") + unit * count
    tracemalloc.start()
    try:
        with pytest.raises(BadMessage, match="more than 10,000 values"):
            decode(data)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@given(values)
def test_values_are_counted_as_the_decoder_finds_them(value):
    def count(value):
        if isinstance(value, dict):
            return 1 + sum(count(key) + count(item) for key, item in value.items())
        return 1 + sum(map(count, value)) if isinstance(value, list) else 1

    data = encode(value)
    items = count(msgspec.msgpack.decode(data))
    decode(data, max_items=items)
    with pytest.raises(BadMessage, match="more than"):
        decode(data, max_items=items - 1)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no msgpack"),
        (b"\xc1", "no msgpack"),
        (b"\x01\x01", "no msgpack"),
        (b"\xa1\xff", "no msgpack"),
        (b"\xc6\xff\xff\xff\xff", "no msgpack"),
        (b"\xdd\xff\xff\xff\xff", "more than 10,000 values"),
        (b"\x91" * 9_000, "no msgpack"),
        (b"\x91" * 40 + b"\xc0", "deeper than 32"),
        (b"\xd4\x01a", "extension"),
        (b"\xd6\xff\0\0\0\0", "extension"),
        (b"\x81\x01\x02", "key that is int"),
        (b"\x81\x91\x01\x02", "key that is tuple"),
        (an_array(dtype="|O"), "dtype '|O' is not taken"),
        (an_array(dtype=">f4"), "dtype '>f4' is not taken"),
        (an_array(dtype="<c8"), "dtype '<c8' is not taken"),
        (an_array(dtype="|V4"), "is not taken"),
        (an_array(dtype="f4,f4"), "is not taken"),
        (an_array(dtype="f4" * 10**6), "is not taken"),
        (an_array(dtype=4), "dtype int is not taken"),
        (an_array(dtype=None), "is not taken"),
        (an_array(data=b"1234567"), "has 8 bytes; the message has 7"),
        (an_array(data=b"123456789"), "has 8 bytes; the message has 9"),
        (an_array(data="12345678"), "not made of"),
        (an_array(more=1), "not made of"),
        (an_array(shape=[-2]), "is not one that an array"),
        (an_array(shape=[-1, -2]), "is not one that an array"),
        (an_array(shape=[True, 2]), "no list of whole numbers"),
        (an_array(shape=[2.0]), "no list of whole numbers"),
        (an_array(shape=2), "no list of whole numbers"),
        (an_array(shape=[1] * 8 + [2]), "is not one that an array"),
        (an_array(shape=[2**31, 2**31]), "the message has 8"),
        (an_array(shape=[0, 2**63], data=b""), "is not one that an array"),
        (an_array(shape=[0, 2**31, 2**31, 2**31], data=b""), "cannot be"),
        (a_scalar(data=2**40), "cannot be"),
        (a_scalar(data=True), "cannot hold bool"),
        (a_scalar(data=b"x" * 10**6), "cannot hold bytes"),
        (a_scalar(data=1.5), "cannot hold float"),
        (a_scalar(dtype="|O"), "is not taken"),
        (a_scalar(shape=[1]), "not made of"),
    ],
    ids=str,
)
def test_what_is_no_message_is_refused_in_words(data, words):
    with pytest.raises(BadMessage) as refusal:
        decode(data)
    assert words in str(refusal.value) and len(str(refusal.value)) < 400


def test_a_message_that_is_too_long_is_refused():
    with pytest.raises(BadMessage, match=r"1,005 bytes; at most 1,000"):
        decode(encode(b"x" * 1002), 1000)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, 2**64, "\ud800", {1: 2}, {None: 1}, datetime.datetime.now(), np.array([object()])]
    + [np.array(["text"]), np.zeros(2, "M8[s]"), np.zeros(2, complex), np.complex64(1), np.datetime64(1, "s")],
    ids=lambda value: type(value).__name__,
)
def test_what_messages_do_not_carry_is_refused_when_it_is_sent(value):
    with pytest.raises(BadMessage):
        encode({"x": [value]})


def test_a_list_within_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(BadMessage, match="deeper than 32"):
        encode(endless)


def test_arrays_that_are_not_contiguous_or_not_little_endian_arrive_as_their_values():
    grid = np.arange(12, dtype=">i4").reshape(3, 4)
    one, two = decode(encode([grid.T, grid[:, ::2]]))
    assert np.array_equal(one, grid.T) and np.array_equal(two, grid[:, ::2])


def test_arrays_that_arrive_can_be_written_to():
    array = decode(encode(np.zeros(3)))
    array[:] = 1
    assert array.tolist() == [1, 1, 1]


def test_an_answer_is_made_plain():
    answer = {"a": np.float32(0.5), "b": [np.arange(3), (np.True_)], "c": {"d": np.zeros((1, 2))}, "e": "text"}
    made = plain(decode(encode(answer)))
    assert made == {"a": 0.5, "b": [[0, 1, 2], True], "c": {"d": [[0.0, 0.0]]}, "e": "text"}
    assert type(made["a"]) is float and type(made["b"][0][0]) is int and type(made["b"][1]) is bool


def test_an_answer_of_very_many_numbers_is_refused():
    assert len(plain([np.zeros(4096)] * 2)[0]) == 4096
    with pytest.raises(BadMessage, match="more than 8,192 numbers"):
        plain([np.zeros(4096)] * 3)


def test_an_answer_with_keys_that_are_no_text_is_refused():
    with pytest.raises(BadMessage, match="must be text"):
        plain(decode(encode({"x": {b"a": 1}})))
