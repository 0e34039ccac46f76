"""Every key that a contest file may have: the reader follows these tables, and docs/contest-file.md is held to them."""

from __future__ import annotations

from dataclasses import dataclass

from palestra.contest.rules import value_parsers


@dataclass(frozen=True)
class Key:
    """One key of a table."""

    read: value_parsers.Reader
    field: str = ""  # what the rules call it, where that is something else
    needed: bool = False


AUDIENCES = value_parsers.choice("everyone", "teams", "organisers")

CONTEST = {
    "id": Key(value_parsers.identifier, needed=True),
    "name": Key(value_parsers.words, needed=True),
    "about": Key(value_parsers.words),
    "organiser": Key(value_parsers.words),
    "zone": Key(value_parsers.zone_name, needed=True),
    "team_limit": Key(value_parsers.whole(1, 1_000)),
    "declaration": Key(value_parsers.words),
    "holidays": Key(value_parsers.days),
    "working_weekends": Key(value_parsers.weekend_days),
    "notice": Key(value_parsers.length, field="notice_ms"),
}

# Of the file on a machine, and not of the rules: it is in no log, and nobody changes it from afar.
HERE = {"tracks": Key(value_parsers.track_places)}

REGISTRATION = {
    "opens": Key(value_parsers.opening, field="registration_opens"),
    "closes": Key(value_parsers.closing, field="registration_closes"),
}

PHASE = {
    "id": Key(value_parsers.identifier, needed=True),
    "title": Key(value_parsers.words, needed=True),
    "about": Key(value_parsers.words),
    "track": Key(value_parsers.identifier, needed=True),
    "settings": Key(value_parsers.settings),
    "data": Key(value_parsers.folder),
    "opens": Key(value_parsers.opening, needed=True),
    "closes": Key(value_parsers.closing, needed=True),
    "entry": Key(value_parsers.choice("everyone", "promoted")),
    "quota": Key(value_parsers.quota),
    "fault_quota": Key(value_parsers.quota),
    "limit": Key(value_parsers.size, field="limit_bytes"),
    "file_name": Key(value_parsers.file_name),
    "allow_missing": Key(value_parsers.truth_value),
    "board": Key(value_parsers.choice("best", "last")),
    "board_for": Key(AUDIENCES),
    "history_for": Key(AUDIENCES),
    "freeze": Key(value_parsers.opening),
    "freeze_own": Key(value_parsers.choice("hidden", "shown")),
    "scores": Key(value_parsers.scores),
    "split": Key(value_parsers.share),
    "ties": Key(value_parsers.ties),
    "pace": Key(value_parsers.choice("real", "fast")),
    "timing": Key(value_parsers.choice("track", "lockstep")),
    "allow_starving": Key(value_parsers.truth_value),
    "held": Key(value_parsers.choice("online", "on-stage")),
    "changes": Key(value_parsers.choice("everything", "weights")),
    "rehearsal": Key(value_parsers.folder),
    "licence": Key(value_parsers.words),
    "access": Key(value_parsers.choice("open", "requested")),
}

PROMOTION = {"to": Key(value_parsers.identifier, needed=True), "top": Key(value_parsers.whole(1, 100_000), needed=True)}

VERIFICATION = {
    "within": Key(value_parsers.working_days, field="working_days", needed=True),
    "name": Key(value_parsers.file_name),
    "limit": Key(value_parsers.size, field="limit_bytes"),
    "tolerance": Key(value_parsers.number),
}

MATCH = {
    "preset": Key(value_parsers.choice("seed", "english", "literal")),
    "draw": Key(value_parsers.choice("team", "all", "fixed")),
    "counts": Key(value_parsers.choice("last", "best")),
    "mean": Key(value_parsers.choice("cases", "groups")),
    "retries": Key(value_parsers.whole(0, 10)),
    "restarts": Key(value_parsers.whole(0, 10)),
    "referees": Key(value_parsers.whole(2, 10)),
    "appeal": Key(value_parsers.length, field="appeal_ms"),
    "slot": Key(value_parsers.length, field="slot_ms"),
    "gap": Key(value_parsers.length, field="gap_ms"),
}

AWARD = {
    "phase": Key(value_parsers.identifier),
    "title": Key(value_parsers.words, needed=True),
    "count": Key(value_parsers.whole(1, 10_000), needed=True),
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
