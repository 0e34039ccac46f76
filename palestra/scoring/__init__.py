"""Trials, truth and answers in, one Result out; scores kept in a file; Results ordered on a leaderboard.

Changes published numbers: changed scoring of a challenge is a new version of its track. The only room that joins truth.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.scoring import judged, leaderboard, score, score_file
    from palestra.scoring.judged import Ended, Judged, answers, of_team, table
    from palestra.scoring.leaderboard import Place, board, placed
    from palestra.scoring.score import ABOUT, RESAMPLES, Scored, Sheet, code_digest, draw, look_into, summarise, whole
    from palestra.scoring.submission import collect, most_bytes, require_template
    from palestra.scoring.truth_table import require_scored
else:
    __getattr__ = lazy_exports(__name__)
