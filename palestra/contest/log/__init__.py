"""The log: events, the hash chain over them, the clock that dates them, and the fold from events to the state.

Only as new events: kinds and fields are added with defaults, never changed, because old logs stay readable forever.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.log import chain, clock, events
    from palestra.contest.log.chain import Head, Verdict, last_seq, parse_head
    from palestra.contest.log.clock import ClockSet, Now, for_writing, new_id, take_over, wall_clock, watched
    from palestra.contest.log.events import Body, Event, Promoted
    from palestra.contest.log.reducer import VERSION, apply, fold
    from palestra.contest.log.state import (
        UNDER_WAY,
        Account,
        Bundle,
        Copy,
        Promotion,
        Rescoring,
        Run,
        Score,
        Shelf,
        Stage,
        State,
        Submission,
        Taken,
        Team,
        Version,
        unpacked,
    )
else:
    __getattr__ = lazy_exports(__name__)
