"""Benchmarks: protocols and their folds, learners trained and tested anew in each, reference solutions on files.

Changes published numbers.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.evaluation import protocol_data, result_table, run, solve
    from palestra.evaluation.fold_job import ONE_THREAD
    from palestra.evaluation.protocols import CROSS_DATA, OTHER, SAME, k_fold, leave_one_out
    from palestra.evaluation.report import write_bench
    from palestra.evaluation.run import Bench, Contender
else:
    __getattr__ = lazy_exports(__name__)
