"""Whole live runs in which one program would live at the expense of another."""

import msgspec
import pytest

from palestra.live import session
from palestra.live.recording import Recording
from palestra.live.run import CannotShare
from palestra.sandbox import backends
from palestra.sandbox.launch import Limits
from tests.live import hall
from tests.live.hall import program

# A process of its own thinks without end; what it was asked is right only if it has thought for long enough meanwhile.
THINKS = {
    "top": """
        import mmap
        THOUGHT = mmap.mmap(-1, 8)
        if os.fork() == 0:
            while True: THOUGHT[:] = struct.pack("d", time.process_time())
        """,
    "take": 'if self.number % 5 == 0: self.since = struct.unpack("d", THOUGHT)[0]',
    "answer": 'if struct.unpack("d", THOUGHT)[0] - self.since < 0.15: answer = (answer + 1) % 9',
}
SLOW = {"take": "until = time.monotonic() + 0.2\nwhile time.monotonic() < until: time.sleep(0.01)"}
HOG = """
for _ in range(60):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        while True: pass
"""
WORKS = "until = time.thread_time() + 0.05\nwhile time.thread_time() < until: pass"
MANY = Limits(memory_bytes=1 << 30, pids=200, wall_s=300, cpu_s=300, tmp_bytes=1 << 20, output_bytes=4096)


@pytest.fixture(autouse=True)
def _prepare(monkeypatch):
    hall.prepare(monkeypatch)


def require(control):
    if control not in backends.choose().controls:
        pytest.skip(f"control groups have no {control} here")


def write_data(folder, **changes):
    from ticking_v1 import write_data

    return write_data(folder, **changes)


def bundles(tmp_path, **texts):
    return {name: hall.write_bundle(tmp_path / name, text) for name, text in texts.items()}


def test_in_virtual_time_nobody_thinks_while_another_is_asked(tmp_path):
    require("freezer")
    data = write_data(tmp_path / "data", sittings=1, ticks=10)
    ran = hall.play(data, tmp_path / "run", bundles(tmp_path, thinks=program(**THINKS), slow=program(**SLOW)))
    assert ran.accuracy("thinks") == 0.0 and ran.unanswered("thinks") == {}
    assert ran.accuracy("slow") == 1.0


def without_groups(monkeypatch):
    """The sandbox as it is on machines without control groups."""
    bare = msgspec.structs.replace(backends.choose(), groups=False, controls=())
    monkeypatch.setattr(backends, "choose", lambda trusted=False: bare)


def test_several_programs_do_not_play_in_real_time_where_one_could_starve_another(tmp_path, monkeypatch):
    without_groups(monkeypatch)
    data = write_data(tmp_path / "data", sittings=1, ticks=5, every_s=0.01, deadline_s=1.0)
    both = bundles(tmp_path, red=program(), blue=program())
    with pytest.raises(CannotShare, match=r"2 programs .* have no `cpu` .*--allow-starving"):
        hall.play(data, tmp_path / "run", both, pace="real")
    assert not (tmp_path / "run").exists()
    alone = hall.play(data, tmp_path / "alone", {"red": both["red"]}, pace="real")
    assert not alone.played.recording.head.allow_starving


def test_an_organiser_may_allow_it_and_the_recording_says_so(tmp_path, monkeypatch, cli):
    without_groups(monkeypatch)
    data = write_data(tmp_path / "data", sittings=1, ticks=5, every_s=0.01, deadline_s=1.0)
    words = ["play", "ticking-v1", *bundles(tmp_path, red=program(), blue=program()).values(), "--data", data]
    refused = cli(*words, "--run", tmp_path / "refused")
    assert refused.code == 1 and "nothing here keeps one from starving the others" in refused.err
    assert cli(*words, "--run", tmp_path / "run", "--allow-starving").code == 0
    assert Recording(tmp_path / "run").head.allow_starving


def test_what_each_program_used_and_waited_is_recorded_with_every_decision(tmp_path):
    data = write_data(tmp_path / "data", sittings=1, ticks=10, every_s=0.01, deadline_s=1.0)
    both = bundles(tmp_path, works=program(answer=WORKS), rests=program())
    ran = hall.play(data, tmp_path / "run", both, pace="real")
    for one in ran.decisions("works"):
        assert one.wait is not None and one.wait.used_s > 0.0
        assert one.answered_s is None or one.wait.used_s >= 0.04  # it has then worked for 50 ms
    ran.require_same_again()


@pytest.mark.slow
def test_a_bystander_misses_nothing_beside_sixty_busy_sessions(tmp_path):
    require("cpu")
    data = write_data(tmp_path / "data", sittings=1, ticks=30, every_s=0.2, deadline_s=0.8)
    both = bundles(tmp_path, works=program(answer=WORKS), hog=program(top=HOG))
    ran = hall.play(data, tmp_path / "run", both, pace="real", limits=MANY)
    result = ran.played.scored["works"].result
    assert ran.unanswered("works") == {} or not result.valid, "what the machine's other work does is told"


@pytest.mark.slow
def test_one_that_is_starved_where_that_is_allowed_does_not_count_and_is_told_by_whom(tmp_path, monkeypatch):
    without_groups(monkeypatch)
    from palestra.live import run as playing

    usual = playing.Play
    monkeypatch.setattr(hall, "Play", lambda *words, **more: usual(*words, **more, allow_starving=True))
    data = write_data(tmp_path / "data", sittings=1, ticks=30, every_s=0.2, deadline_s=0.3)
    both = bundles(tmp_path, works=program(answer=WORKS), hog=program(top=HOG))
    ran = hall.play(data, tmp_path / "run", both, pace="real", limits=MANY)
    scored = ran.played.scored
    assert len(ran.unanswered("works")) > 0
    assert not scored["works"].result.valid
    (told,) = (why.en for why in scored["works"].result.reasons if "kept waiting for a processor" in why.en)
    assert "hog used" in told or "no entrant's used" in told  # which of both, is up to what else the machine does
    assert not any("works used" in why.en for why in scored["hog"].result.reasons)
    assert session.replay_live(ran.folder, None).same
