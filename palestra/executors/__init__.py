"""Where work runs that may fail without harm: processes of this machine, one kept for live runs, a Ray cluster.

May be touched freely; benchmarks and contest workers use it.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.executors import machine
    from palestra.executors.machine import Machine, differences, fingerprint
    from palestra.executors.processes import Crashed, Ended, Executor, PinnedExecutor, ProcessExecutor, Raised
    from palestra.executors.ray_cluster import RayExecutor
    from palestra.executors.stop_signals import (
        INTERRUPTED,
        answer_signals,
        came_of_stopping,
        held,
        raise_no_more,
        start_process,
    )
    from palestra.executors.worker_pool import HOW_TO_SEND, CannotSend, in_processes
else:
    __getattr__ = lazy_exports(__name__)
