"""No program takes another's part of the processors, however it multiplies."""

import pytest

from tests.entrants.programs import until

BUSY = "while True: pass"
# Sessions of their own, by double forks: without groups the kernel would give each an equal part.
HOG = """
import os
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            while True: pass
        os._exit(0)
    os.wait()
while True: pass
"""


def test_a_program_of_many_sessions_leaves_another_its_part(ground):
    if "cpu" not in ground.backend.controls:
        pytest.skip("control groups do not divide processor time here")
    with ground.start(HOG, wall_s=60, cpu_s=60) as hog, ground.start(BUSY, wall_s=60, cpu_s=60) as other:
        until(lambda: hog.processor_time.used_s() > 0.5 and other.processor_time.used_s() > 0.1, 60)
        before = hog.processor_time.used_s(), other.processor_time.used_s()
        until(lambda: hog.processor_time.used_s() - before[0] > 1.0, 60)
        # On one core both have a half; where there are more, the hog also has those that the other cannot use.
        assert other.processor_time.used_s() - before[1] > 0.2


def test_a_program_that_is_ended_while_it_is_frozen_is_gone(any_ground, gone):
    with any_ground.start(HOG, wall_s=60, words=["frozen-word"]) as hog:
        until(lambda: hog.processor_time.used_s() > 0.1, 60)
        hog.freezer.freeze()
    assert hog.report is not None and hog.report.clean and gone("frozen-word")
