"""Every key that a contest file may have: the reader follows these tables, and docs/contest-file.md is held to them."""

from __future__ import annotations

from dataclasses import dataclass

from palestra.contest.rules import values


@dataclass(frozen=True)
class Key:
    """One key of a table."""

    read: values.Reader
    field: str = ""  # what the rules call it, where that is something else
    needed: bool = False


AUDIENCES = values.choice("everyone", "teams", "organisers")

CONTEST = {
    "id": Key(values.identifier, needed=True),
    "name": Key(values.words, needed=True),
    "about": Key(values.words),
    "organiser": Key(values.words),
    "zone": Key(values.zone_name, needed=True),
    "team_limit": Key(values.whole(1, 1_000)),
    "declaration": Key(values.words),
    "holidays": Key(values.days),
    "working_weekends": Key(values.weekend_days),
    "notice": Key(values.length, field="notice_ms"),
}

REGISTRATION = {
    "opens": Key(values.opening, field="registration_opens"),
    "closes": Key(values.closing, field="registration_closes"),
}

PHASE = {
    "id": Key(values.identifier, needed=True),
    "title": Key(values.words, needed=True),
    "about": Key(values.words),
    "track": Key(values.identifier, needed=True),
    "settings": Key(values.settings),
    "data": Key(values.folder),
    "opens": Key(values.opening, needed=True),
    "closes": Key(values.closing, needed=True),
    "entry": Key(values.choice("everyone", "promoted")),
    "quota": Key(values.quota),
    "fault_quota": Key(values.quota),
    "limit": Key(values.size, field="limit_bytes"),
    "file_name": Key(values.file_name),
    "allow_missing": Key(values.truth_value),
    "board": Key(values.choice("best", "last")),
    "board_for": Key(AUDIENCES),
    "history_for": Key(AUDIENCES),
    "freeze": Key(values.opening),
    "freeze_own": Key(values.choice("hidden", "shown")),
    "split": Key(values.share),
    "ties": Key(values.ties),
    "pace": Key(values.choice("real", "fast")),
    "timing": Key(values.choice("track", "lockstep")),
    "licence": Key(values.words),
    "access": Key(values.choice("open", "requested")),
}

PROMOTION = {"to": Key(values.identifier, needed=True), "top": Key(values.whole(1, 100_000), needed=True)}

VERIFICATION = {
    "within": Key(values.working_days, field="working_days", needed=True),
    "name": Key(values.file_name),
    "limit": Key(values.size, field="limit_bytes"),
    "tolerance": Key(values.number),
}

MATCH = {
    "preset": Key(values.choice("seed", "english", "literal")),
    "draw": Key(values.choice("team", "all", "fixed")),
    "counts": Key(values.choice("last", "best")),
    "mean": Key(values.choice("cases", "groups")),
    "retries": Key(values.whole(0, 10)),
    "restarts": Key(values.whole(0, 10)),
    "referees": Key(values.whole(2, 10)),
    "appeal": Key(values.length, field="appeal_ms"),
    "slot": Key(values.length, field="slot_ms"),
    "gap": Key(values.length, field="gap_ms"),
}

AWARD = {
    "phase": Key(values.identifier),
    "title": Key(values.words, needed=True),
    "count": Key(values.whole(1, 10_000), needed=True),
}

# As they are headed in the file. The keys of [weights] are the ids of phases.
TABLES: dict[str, dict[str, Key]] = {
    "[contest]": CONTEST,
    "[registration]": REGISTRATION,
    "[[phase]]": PHASE,
    "[phase.promotion]": PROMOTION,
    "[phase.verification]": VERIFICATION,
    "[phase.match]": MATCH,
    "[weights]": {},
    "[[award]]": AWARD,
}
