"""A Ray cluster as an executor."""

from __future__ import annotations

import os
import signal
import socket
import threading
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from palestra.errors import PalestraError
from palestra.executors.processes import Answer, Crashed, Ended, Raised, Work, attempt, settle
from palestra.text import say

REACHED_S = 5.0  # how long a cluster may take to answer at all


class RayExecutor:
    """A Ray cluster: each job is a task on one of its CPUs. Ray retries nothing: attempts are counted by the caller.

    A node that is lost takes its tasks with it; they fail with Crashed.
    """

    name = "ray"

    def __init__(
        self, address: str | None = None, capacity: int | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        try:
            import ray  # heavy, and not installed everywhere
        except ImportError:
            raise PalestraError(say("Ray is not installed. To get it: pip install 'palestra[ray]'")) from None
        if address:
            _require_reachable(address)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a hall has no internet, and what runs there is private
        self._ray: Any = ray
        words: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": capacity}
        if environment:  # of every process that works for us, from its start
            words["runtime_env"] = {"env_vars": dict(environment)}
        try:
            with _keeping_our_answer_to_sigterm():
                self._ray.init(**words, include_dashboard=False, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError) as error:
            where = f"at {address}" if address else "can be started here"
            hint = say(" Where a cluster asks for its token, set RAY_AUTH_MODE=token here as well.") if address else ""
            raise PalestraError(
                say(
                    "No Ray cluster {where}: {splitlines}.{hint}",
                    where=where,
                    splitlines=str(error).splitlines()[0],
                    hint=hint,
                )
            ) from None
        self.capacity = capacity or max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
        self._task = self._ray.remote(max_retries=0)(attempt)
        self._tasks: dict[Future[Any], Any] = {}
        self._ended: set[Future[Any]] = set()

    def submit(self, work: Work, argument: Any, gpus: int = 0) -> Future[Any]:
        """What will come of the work. It has `gpus` cards for itself, unless no machine of the cluster has any."""
        future: Future[Any] = Future()
        try:
            cards = gpus if gpus and self._ray.cluster_resources().get("GPU") else 0
            task = self._task.options(num_gpus=cards).remote(work, argument)
        except Exception:  # it cannot be pickled, or the cluster is gone
            future.set_exception(Raised(traceback.format_exc()))
            return future
        self._tasks[future] = task
        task.future().add_done_callback(lambda done: self._done(future, done))
        return future

    def end(self, future: Future[Any]) -> None:
        task = self._tasks.get(future)
        if task is not None:
            self._ended.add(future)
            self._ray.cancel(task, force=True)  # by ending the process

    def close(self) -> None:
        for future in list(self._tasks):
            self.end(future)
        self._ray.shutdown()
        for future in list(self._tasks):
            self._settle(future, Ended("it was stopped"))

    def _done(self, future: Future[Any], done: Future[Any]) -> None:
        error = done.exception()
        if error is None:
            self._settle(future, done.result())
        else:
            self._settle(future, Ended("it was stopped") if future in self._ended else Crashed(str(error)))

    def _settle(self, future: Future[Any], came: Answer | Exception) -> None:
        if self._tasks.pop(future, None) is not None:  # whoever is first
            self._ended.discard(future)
            settle(future, came)


@contextmanager
def _keeping_our_answer_to_sigterm() -> Iterator[None]:
    """Ray lets a SIGTERM end the process by `sys.exit`, with a code of its own, from its start on."""
    if threading.current_thread() is not threading.main_thread():  # there it does not
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as ended:
        if ended.code == signal.SIGTERM:
            raise KeyboardInterrupt from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _require_reachable(address: str) -> None:
    """Ray itself would try for minutes, and not say why."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # "auto": Ray looks for one on this machine
        return
    try:
        socket.create_connection((host, int(port)), REACHED_S).close()
    except (OSError, OverflowError) as error:
        raise PalestraError(
            say("No Ray cluster at {address}: {error}. `ray start --head` starts one.", address=address, error=error)
        ) from None
