"""Leaderboards of a contest: who stands where as of a time, from the state and the rules; kept up to date by event.

Changes published numbers: a board is a pure function of events, rules and time.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.boards import public_part, ranking
    from palestra.contest.boards.cache import Boards, judged_by
    from palestra.contest.boards.ranking import DrawsOf, Entry, FinalRow, Row, board, entry_of, exact, rankable
else:
    __getattr__ = lazy_exports(__name__)
