"""What pages of streams and of worlds say alike."""

from palestra.live.recording import Recording
from palestra.text import Text, Words, message, say

NOTES = 20  # that a table lists
PACES = {"real": message("the wall clock"), "fast": message("virtual time")}


def ended(why: Text) -> Words:
    return say("the program ended: {why}", why=why)


def of_all(count: int, total: int) -> Words:
    return say("{count} of {total}", count=f"{count:,}", total=f"{total:,}")


def pace(recording: Recording) -> Text:
    name = recording.head.pace
    return say(PACES[name]) if name in PACES else name


def stopped(recording: Recording) -> Text:
    return "" if recording.end else say("The run was stopped before its end.")
