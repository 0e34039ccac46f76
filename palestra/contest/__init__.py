"""A contest: who may submit what and when, what happened, who stands where, and how it is kept.

`Contest` is one that runs; every change goes through its `act`, every look through visibility. Rules, storage, match,
log and queue stand below it; boards, decisions, setup, workers and archive use it. May be touched only compatibly: the
log of a contest is read forever.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest import rounding, visibility
    from palestra.contest.contest import LIVE_CHANNEL, LOG_CHANNEL, Also, Contest, Decide
    from palestra.contest.rehearsal import Attempt, Logged, Paper, Player, Rehearsal
    from palestra.contest.snapshot import snapshot_fits
    from palestra.contest.visibility import (
        NOBODY,
        Part,
        Sight,
        Viewer,
        frozen_since,
        is_partial,
        is_rounded,
        is_sealed,
        result_seen,
        score_seen,
        sees,
        sees_awards,
        sees_bench,
        sees_case,
        sees_data,
        sees_marks,
        sees_submission,
        sees_truth,
        sees_turn,
        sight_of_board,
        takes_part,
        viewer_of,
    )
else:
    __getattr__ = lazy_exports(__name__)
