"""Workers: they take jobs, check, score, play and verify submissions in processes of their own, and settle results.

Changes published numbers. Hostile input: everything that contestants hand in is opened here.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.workers.baselines import write_bundle
    from palestra.contest.workers.lanes import start_lanes
    from palestra.contest.workers.score import Assignment, OursToMend, data_of, sheet_of, submitted
    from palestra.contest.workers.setup import worker_of
else:
    __getattr__ = lazy_exports(__name__)
