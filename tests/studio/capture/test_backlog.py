"""What does not fit into the queue is counted, and the next frame says so."""

import threading

import numpy as np

from palestra.studio.capture.backlog import Backlog
from palestra.studio.capture.source import Frame, Samples, notice

IMAGE = np.zeros((10, 10), np.uint8)


def frame(number):
    return Frame((IMAGE,), number)


def take_all(backlog):
    return [backlog.take(0) for _ in range(len(backlog))]


def test_frames_that_do_not_fit_are_counted_and_told_with_the_next_one():
    backlog = Backlog(most_items=2)
    for number in range(5):
        backlog.put(frame(number), may_wait=False)
    first, second = take_all(backlog)
    backlog.put(frame(5), may_wait=False)
    (third,) = take_all(backlog)
    assert [(one.arrived_ns, one.lost) for one in (first, second, third)] == [(0, 0), (1, 0), (5, 3)]
    assert backlog.dropped == 3


def test_the_queue_is_bounded_in_bytes_too():
    backlog = Backlog(most_bytes=150)
    for number in range(4):
        backlog.put(frame(number), may_wait=False)
    assert len(backlog) == 2 and backlog.dropped == 2


def test_words_are_never_dropped():
    backlog = Backlog(most_items=1)
    backlog.put(frame(0), may_wait=False)
    backlog.put(notice("unplugged"), may_wait=False)
    assert len(backlog) == 2


def test_each_sample_of_a_dropped_chunk_counts():
    backlog = Backlog(most_items=1)
    samples = Samples(np.zeros((7, 2)), np.zeros(7, np.int64), 0)
    backlog.put(samples, may_wait=False)
    backlog.put(samples, may_wait=False)
    assert backlog.dropped == 7


def test_a_source_that_can_wait_loses_nothing():
    backlog = Backlog(most_items=1)
    backlog.put(frame(0), may_wait=True)
    putting = threading.Thread(target=backlog.put, args=(frame(1), True))
    putting.start()
    assert backlog.take(60).arrived_ns == 0
    putting.join(60)
    assert backlog.take(60).arrived_ns == 1 and backlog.dropped == 0


def test_what_is_left_is_handed_out_after_the_end():
    backlog = Backlog()
    backlog.put(frame(0), may_wait=False)
    backlog.end()
    assert not backlog.is_done and backlog.take(0).arrived_ns == 0 and backlog.is_done
    assert backlog.take(60) is None  # at once
