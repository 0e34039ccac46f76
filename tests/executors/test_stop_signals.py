"""How a process answers Ctrl-C and SIGTERM, with real signals."""

import signal
import subprocess
import sys
import textwrap

import pytest

from palestra.executors.stop_signals import AT_ONCE, INTERRUPTED, came_of_stopping

PATIENCE_S = 60.0


def ran(text: str) -> tuple[int, str, str]:
    """A process that says how it wants to be stopped."""
    head = """
    import os, signal, sys, time
    from palestra.executors import stop_signals

    def tell(number=signal.SIGTERM):
        os.kill(os.getpid(), number)
        for _ in range(100):  # Python looks for signals between its own instructions
            pass

    stop_signals.answer_signals()
    """
    code = textwrap.dedent(head) + textwrap.dedent(text)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    return done.returncode, done.stdout, done.stderr


def test_what_comes_right_after_the_first_signal_does_not_disturb_the_clean_up():
    code, out, err = ran("""
    try:
        tell(signal.SIGINT)
    except KeyboardInterrupt:
        tell()
        tell(signal.SIGINT)
        print("in order")
    """)
    assert (code, out, err) == (0, "in order\n", "")


def test_an_impatient_one_is_not_kept_waiting():
    code, out, err = ran("""
    try:
        tell()
    except KeyboardInterrupt:
        stop_signals.time.monotonic = lambda: 1e12  # much later
        tell()
        print("never")
    """)
    assert (code, out, err) == (INTERRUPTED, "", AT_ONCE.decode())


def test_what_must_be_done_whole_is_done_first():
    code, out, err = ran("""
    try:
        with stop_signals.held():
            with stop_signals.held():
                tell()
                print("one")
            print("two")
        print("never")
    except KeyboardInterrupt:
        print("stopped")
    """)
    assert (code, out, err) == (0, "one\ntwo\nstopped\n", "")


def test_a_signal_that_comes_in_a_finaliser_is_not_lost():
    code, out, err = ran("""
    class Odd:
        def __del__(self):
            tell()

    try:
        Odd()
        signal.pause()
    except KeyboardInterrupt:
        print("stopped")
    """)
    assert (code, out, err) == (0, "stopped\n", "")


def test_a_burst_of_signals_ends_a_command_as_one_does():
    """In whatever moment they come: while it waits for a lock, cleans up, or is ended by Python."""
    code = textwrap.dedent("""
    import threading
    from palestra.cli import app

    def wait():
        print("waits", flush=True)
        threading.Event().wait()

    app.app = wait
    app.main()
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "waits\n"
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
    assert (process.returncode, process.communicate()[1]) == (INTERRUPTED, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_process_that_cleans_up_at_its_end_shows_no_traceback(number):
    code, _, err = ran(f"""
    import atexit
    atexit.register(tell, {int(number)})
    stop_signals.raise_no_more()
    """)
    assert (code, err) == (INTERRUPTED, AT_ONCE.decode())


def test_an_error_that_came_of_stopping_is_told_from_others():
    try:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")  # as a lock says that was interrupted
    except RuntimeError as error:
        assert came_of_stopping(error)
    assert not came_of_stopping(RuntimeError("release unlocked lock"))


def test_processes_are_started_with_signals_blocked_and_ours_stay_as_they_were():
    """Though the tracker of multiprocessing, which starts with the first of them, unblocks them."""
    code, out, err = ran("""
    from multiprocessing import get_context
    from threading import Thread

    def blocked():
        return sorted(signal.Signals(n).name for n in signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    class Looks:
        def start(self):
            print(blocked())

    def lane():
        signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals.STOPPING)
        stop_signals.start_process(Looks())
        print(blocked())

    thread = Thread(target=lane)
    thread.start()
    thread.join()
    stop_signals.start_process(Looks())
    print(blocked())
    """)
    both = "['SIGINT', 'SIGTERM']"
    assert (code, out.splitlines(), err) == (0, [both, both, both, "[]"], "")
