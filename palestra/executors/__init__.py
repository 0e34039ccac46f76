"""Where work runs that may fail without harm: processes of this machine, one kept for live runs, a Ray cluster.

May be touched freely; benchmarks and contest workers use it.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.executors.processes import Crashed, Ended, Executor, PinnedExecutor, ProcessExecutor, Raised
    from palestra.executors.ray_cluster import RayExecutor
else:
    __getattr__ = lazy_exports(__name__)
