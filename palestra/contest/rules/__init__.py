"""contest.toml: its keys, values, checks, reader, writer and editor; days and quotas in the contest's time zone.

May be touched only compatibly: files of running contests must stay readable (docs/contest-file.md).
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.rules import calendar, model, reader, value_parsers
    from palestra.contest.rules.calendar import NEVER, as_ms, day_told, duration, expected_name, local, quota_told, told
    from palestra.contest.rules.editor import edited, edited_file
    from palestra.contest.rules.keys import CONTEST, MATCH, PHASE, PROMOTION, REGISTRATION, TABLES, VERIFICATION, Key
    from palestra.contest.rules.model import (
        Audience,
        MatchPlan,
        Phase,
        Quota,
        Role,
        Rules,
        Verification,
        encode,
        held_on_stage,
        track_of,
    )
    from palestra.contest.rules.new_file import template
    from palestra.contest.rules.reader import named_tracks, parse_sent, read
    from palestra.contest.rules.text import require_reason
    from palestra.contest.rules.track_places import find_tracks
    from palestra.contest.rules.value_parsers import Unfit, opening
    from palestra.contest.rules.writer import in_toml, written
else:
    __getattr__ = lazy_exports(__name__)
