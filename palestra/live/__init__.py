"""Live runs: a stream or a world played to entrants against the clock, recorded, scored, told as a timeline.

The rules of time are in stream.py and know no model, metric or format. Changes published numbers; recordings of older
versions stay readable.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.live import episode_run, run
    from palestra.live.answers import Heard, answers_of
    from palestra.live.entrant_history import Story, story_of
    from palestra.live.episode import Action, Step, Wish
    from palestra.live.follower import Keep, Moment, Stopped
    from palestra.live.live_data import LiveData, read_live_data, require_live, sittings_of, with_captured
    from palestra.live.recording import Recording, is_run
    from palestra.live.rehearsal import Rehearsed, rehearse
    from palestra.live.run import READY_S, NotReady, Play, Played
    from palestra.live.scored_run import ScoredRun, hear_recorded, require_sent, rescore
    from palestra.live.session import Guests, Replayed, play_live, register_version, replay_live
    from palestra.live.standings import Standing
    from palestra.live.stream import Clock, FastLine, Line, VirtualClock, spoiled
    from palestra.live.terminal_summary import summary_lines
    from palestra.live.timeline_page import write_run
    from palestra.live.wall_clock import WallClock
else:
    __getattr__ = lazy_exports(__name__)
