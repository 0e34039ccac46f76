"""Frames arrive as they were sent, and nothing else is taken for one."""

import socket
import struct
import threading
import time
import tracemalloc

import hypothesis.extra.numpy as arrays
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palestra.entrants import socket_frames
from palestra.entrants.socket_frames import BadFrame, Header, Receiver, Sender, send
from palestra.text import say

PAST = 0.0  # a deadline that takes only what is there
dtypes = st.sampled_from(sorted(socket_frames.DTYPES)).map(np.dtype)
some_arrays = st.lists(
    arrays.arrays(dtypes, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6)), max_size=4
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def pair():
    left, right = socket.socketpair()
    with left, right:
        yield left, right


def packed(header: bytes, body: bytes = b"", total: int | None = None, length: int | None = None) -> bytes:
    length = len(header) if length is None else length
    return struct.pack("<II", 4 + len(header) + len(body) if total is None else total, length) + header + body


def joined(header: Header, sent: list[np.ndarray]) -> bytes:
    return b"".join(bytes(part) for part in socket_frames.pack(header, sent)[0])


def header_of(*heads: dict[str, object], **changes: object) -> bytes:
    return msgspec.msgpack.encode({"kind": "a", "number": 1, "data": {}, "arrays": list(heads)} | changes)


@given(st.text(), st.integers(-(2**63), 2**64 - 1), st.dictionaries(st.text(), plain, max_size=4), some_arrays)
def test_what_is_sent_is_what_arrives(kind, number, data, sent):
    left, right = socket.socketpair()
    with left, right:
        send(left, Header(kind, number, data), sent)
        frame = Receiver(right).receive(PAST)
    assert (frame.header.kind, frame.header.number, frame.header.data) == (kind, number, data)
    assert len(frame.arrays) == len(sent)
    for one, other in zip(sent, frame.arrays, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        assert other.flags.writeable


@settings(max_examples=200)
@given(st.binary(max_size=200), st.integers(0, 400))
def test_any_bytes_at_all_are_a_frame_or_refused_and_cost_no_memory(data, limit):
    left, right = socket.socketpair()
    with left, right:
        left.sendall(data)
        left.close()
        receiver = Receiver(right, limit)
        say("The stream ended in the middle of a frame.")  # loads the catalogue, once, if no test before did
        tracemalloc.start()
        try:
            with pytest.raises((BadFrame, EOFError)):
                while True:
                    receiver.receive(time.monotonic() + 5)
            assert tracemalloc.get_traced_memory()[1] < 200_000
        finally:
            tracemalloc.stop()


@given(st.data())
def test_a_frame_with_one_byte_changed_is_a_frame_or_refused(data):
    good = joined(Header("packet", 3, {"x": [1, "y"]}), [np.ones((2, 3), np.float32)])
    place = data.draw(st.integers(0, len(good) - 1))
    bad = good[:place] + bytes([data.draw(st.integers(0, 255))]) + good[place + 1 :]
    left, right = socket.socketpair()
    with left, right:
        left.sendall(bad)
        left.close()
        receiver = Receiver(right, 1 << 20)
        with pytest.raises((BadFrame, EOFError)):
            while True:
                receiver.receive(time.monotonic() + 5)


def test_arrays_that_are_not_contiguous_or_not_little_endian_arrive_as_their_values(pair):
    grid = np.arange(12, dtype=">i4").reshape(3, 4)
    send(pair[0], Header("a"), [grid.T, grid[:, ::2]])
    one, two = Receiver(pair[1]).receive(PAST).arrays
    assert np.array_equal(one, grid.T) and np.array_equal(two, grid[:, ::2])


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["text"]), np.zeros(2, "M8[s]"), np.zeros((1,) * 9)])
def test_other_arrays_are_not_sent(pair, array):
    with pytest.raises(BadFrame, match="Frames carry no array"):
        send(pair[0], Header("a"), [array])


def test_a_length_of_4_gb_is_refused_before_anything_else_is_sent(pair):
    pair[0].sendall(b"\xff\xff\xff\xff")
    with pytest.raises(BadFrame, match="4,294,967,295 bytes is announced; at most 1,000"):
        Receiver(pair[1], 1000).receive(PAST)


F4 = {"dtype": "<f4", "shape": [2]}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (packed(b"\xc1\xc1"), "not what a frame has"),
        (packed(b""), "not what a frame has"),
        (packed(b"\x91" * 100_000), "not what a frame has"),
        (packed(header_of(data={"x": 1}, kind=3)), "not what a frame has"),
        (packed(header_of() + b"\0"), "not what a frame has"),
        (packed(b"abc", total=4), "A header of 3 bytes in a frame of 4"),
        (packed(b"", total=3), "A header of 0 bytes in a frame of 3"),
        (packed(b"x" * 10, length=2**32 - 1), "A header of 4,294,967,295 bytes"),
        (packed(header_of({"dtype": "|O", "shape": [1]}), b"12345678"), "dtype '|O' is not taken"),
        (packed(header_of({"dtype": ">f4", "shape": [1]}), b"1234"), "dtype '>f4' is not taken"),
        (packed(header_of({"dtype": "f4,f4", "shape": [1]}), b"12345678"), "is not taken"),
        (packed(header_of(F4), b"1234567"), "announced have 8 bytes; the frame has 7"),
        (packed(header_of(F4), b"123456789"), "announced have 8 bytes; the frame has 9"),
        (packed(header_of(), b"1"), "announced have 0 bytes; the frame has 1"),
        (packed(header_of({"dtype": "<f4", "shape": [-2]}), b"12345678"), "is not one that an array"),
        (packed(header_of({"dtype": "<f4", "shape": [1] * 9}), b"1234"), "is not one that an array"),
        (packed(header_of({"dtype": "<f4", "shape": [0, 2**63]})), "is not one that an array"),
        (packed(header_of({"dtype": "<f4", "shape": [2**31, 2**31]})), "the frame has 0"),
        (packed(header_of(*[F4] * 65), b"12345678" * 65), "65 arrays is announced"),
    ],
)
def test_what_is_no_frame_is_refused_in_words(pair, data, words):
    pair[0].settimeout(5)
    threading.Thread(target=pair[0].sendall, args=(data,), daemon=True).start()
    with pytest.raises(BadFrame) as refusal:
        Receiver(pair[1]).receive(time.monotonic() + 5)
    assert words in str(refusal.value)


def test_sides_that_numpy_cannot_hold_are_refused(pair):
    pair[0].sendall(packed(header_of({"dtype": "<f8", "shape": [0, 2**31, 2**31, 2**31]})))
    with pytest.raises(BadFrame):
        Receiver(pair[1]).receive(PAST)


def test_a_deadline_interrupts_and_the_next_call_goes_on(pair):
    data = joined(Header("a", 5), [np.arange(1000)])
    receiver = Receiver(pair[1])
    for place in range(0, len(data), 1000):
        with pytest.raises(TimeoutError):
            receiver.receive(PAST)
        pair[0].sendall(data[place : place + 1000])
    assert receiver.receive(PAST).arrays[0].tolist() == list(range(1000))


def test_a_deadline_is_kept_while_bytes_trickle_in(pair):
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        Receiver(pair[1]).receive(started + 0.05)
    assert 0.05 <= time.monotonic() - started < 60  # and not for ever, as without one


def test_frames_that_came_together_are_read_one_by_one(pair):
    for number in range(20):
        send(pair[0], Header("a", number), [np.full(number, number)])
    receiver = Receiver(pair[1])
    assert [receiver.receive(PAST).header.number for _ in range(20)] == list(range(20))
    with pytest.raises(TimeoutError):
        receiver.receive(PAST)


def test_arrays_of_one_frame_do_not_change_with_the_next(pair):
    receiver = Receiver(pair[1])
    send(pair[0], Header("a"), [np.ones(4)])
    first = receiver.receive(PAST).arrays[0]
    send(pair[0], Header("a"), [np.zeros(4)])
    receiver.receive(PAST)
    assert first.tolist() == [1, 1, 1, 1]


def test_a_header_longer_than_what_is_read_ahead_arrives(pair):
    text = "x" * 300_000
    thread = threading.Thread(target=send, args=(pair[0], Header("a", 1, {"text": text}), [np.ones(3)]))
    thread.start()
    receiver = Receiver(pair[1])
    assert receiver.receive().header.data["text"] == text
    thread.join()
    send(pair[0], Header("b", 2))
    assert receiver.receive(PAST).header.kind == "b"


@pytest.mark.parametrize("timeout", [None, 0.0, 5.0])
def test_blocking_and_other_sockets_serve_alike(pair, timeout):
    for sock in pair:
        sock.settimeout(timeout)
    big = np.arange(1_000_000)
    thread = threading.Thread(target=send, args=(pair[0], Header("a"), [big], time.monotonic() + 5))
    thread.start()
    frame = Receiver(pair[1]).receive(time.monotonic() + 5)
    thread.join()
    assert np.array_equal(frame.arrays[0], big)


def test_the_end_of_a_stream_is_told_from_a_broken_frame(pair):
    send(pair[0], Header("a"))
    pair[0].sendall(b"\x10\0\0\0\x08")
    pair[0].close()
    receiver = Receiver(pair[1])
    receiver.receive()
    with pytest.raises(BadFrame, match="in the middle of a frame"):
        receiver.receive()


def test_the_end_of_a_stream_is_the_end(pair):
    pair[0].close()
    with pytest.raises(EOFError):
        Receiver(pair[1]).receive(time.monotonic() + 5)


def test_sending_to_one_who_does_not_read_ends_at_the_deadline(pair):
    with pytest.raises(TimeoutError):
        send(pair[0], Header("a"), [np.zeros(10_000_000)], time.monotonic() + 0.05)


def test_a_sender_never_waits_and_loses_nothing(pair):
    sender = Sender(pair[0])
    for number in range(50):
        sender.post(Header("a", number), [np.full(20_000, number)])
        sender.flush()
    assert sender.waiting_bytes > 0 and not sender.flush()
    receiver = Receiver(pair[1])
    for number in range(50):
        while True:
            try:
                frame = receiver.receive(PAST)
                break
            except TimeoutError:
                sender.flush()
        assert frame.header.number == number and (frame.arrays[0] == number).all()
    assert sender.flush() and sender.waiting_bytes == 0


def test_sending_to_one_who_is_gone_raises_and_does_not_kill_us(pair):
    pair[1].close()
    with pytest.raises(OSError):
        send(pair[0], Header("a"), [np.zeros(10)])
