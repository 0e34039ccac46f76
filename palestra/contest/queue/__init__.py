"""Jobs: what is to be done, queued in the transaction of the event that asks for it, and leased by workers.

May be touched only compatibly: workers of another version may share the database.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.queue import jobs
    from palestra.contest.queue.jobs import BEAT_MS, Job, Seen, queue
    from palestra.contest.queue.triggers import Order, Task, tasks_after
else:
    __getattr__ = lazy_exports(__name__)
