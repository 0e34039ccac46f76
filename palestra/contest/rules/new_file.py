"""A contest file to begin with, all of it explained."""

import re
from collections.abc import Collection, Sequence
from datetime import timedelta

from palestra.contest.rules import calendar
from palestra.contest.rules import value_parsers as rule_values
from palestra.contest.rules.track_places import shown_places
from palestra.contest.rules.writer import in_toml
from palestra.errors import PalestraError, clip
from palestra.text import Words, say

_TEMPLATE = """\
# The rules of a contest. docs/contest-file.md explains every key; what is commented out may stay so.

[contest]
id = "my-contest"  # in addresses: small letters, digits, hyphens
name = {name}
about = {about}
organiser = {organiser}
zone = "{zone}"  # days, weeks and times below are in it
{tracks}# team_limit = 10  # members of a team
# declaration = {declaration}
# holidays = [2026-10-01, 2026-10-02]  # no working days
# working_weekends = [2026-10-10]  # a Saturday or Sunday that is one
# notice = "3 days"  # how long before it counts a changed rule is announced

# [registration]
# opens = 2026-06-01
# closes = 2026-07-31  # the end of that day
{phases}
# The first teams of a board get awards, best first.
[[award]]
phase = "{last}"
title = {award}
count = 1
"""

_PHASE = """
[[phase]]
id = "{id}"
title = {title}
track = "{track}"
data = "data/{id}"  # a folder beside this file
opens = {opens}
closes = {closes}  # the end of that day
# pace = "fast"  # of a live track: virtual time; or "real"
# quota = "5 per day"  # or "1 per week", "10 per phase", "5 per 24 h"
# limit = "200 MB"  # of one submission
# board = "best"  # or "last"
{split}
# freeze = {closes}  # from the start of that day the public sees the board as it stood
# access = "requested"  # or "open": who gets the data
# licence = {licence}
"""


_SPLIT = "split = 0.5  # the share of the people that the board shows until the end; all of them decide"


def template(
    track_ids: Sequence[str], now_ms: int, zone: str, places: Sequence[str] = (), splits: Collection[str] = ()
) -> str:
    """A contest file to begin with: one phase for each track, open from now on for 30 days. `places`: of tracks from
    outside; `splits`: tracks whose data can be split into a part that is shown and one that decides."""
    if not track_ids:
        raise PalestraError(say("A contest needs a track. Name one or more; `palestra tracks` lists them."))
    try:
        rule_values.zone_name(zone, zone)
    except rule_values.Unfit as unfit:
        raise PalestraError(
            say("Found the zone {zone}, expected {expected}", zone=clip(zone), expected=unfit.expected)
        ) from None
    names = [re.sub(r"-v[0-9]+$", "", track) for track in track_ids]
    ids = [f"{name}-{names[:i].count(name) + 1}" if name in names[:i] else name for i, name in enumerate(names)]
    opens = calendar.local(now_ms, zone).replace(second=0, microsecond=0)
    closes = opens.date() + timedelta(days=30)
    phases = [
        _PHASE.format(
            id=phase,
            title=in_toml(Words(_title(phase), say("Phase {number}", number=i).zh)),
            track=track,
            opens=opens.isoformat(),
            closes=closes,
            split=("" if track in splits else "# ") + _SPLIT,
            licence=in_toml(say("The data is for this contest only.")),
        )
        for i, (phase, track) in enumerate(zip(ids, track_ids, strict=True), start=1)
    ]
    tracks = f"{shown_places(tuple(places))}  # where tracks lie, beside this file\n" if places else ""
    return _TEMPLATE.format(
        zone=zone,
        tracks=tracks,
        phases="".join(phases),
        last=ids[-1],
        name=in_toml(say("My contest")),
        about=in_toml(say("What it is about, for whom, and why.")),
        organiser=in_toml(say("Who holds it")),
        declaration=in_toml(say("We are independent of all other teams.")),
        award=in_toml(say("First prize")),
    )


def _title(phase_id: str) -> str:
    return phase_id.replace("-", " ").capitalize()
