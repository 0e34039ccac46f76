"""A contest as tables, each as somebody may see it, and their bytes as CSV and Parquet.

The same table has the same bytes each time. In CSV, a text that a spreadsheet program would take for a formula gets an
apostrophe before it; numbers stay numbers.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import polars as pl

from palestra.contest import Sight, Viewer, visibility
from palestra.contest.boards import DrawsOf, Entry, FinalRow, Row, ranking
from palestra.contest.log import State, Submission, Team
from palestra.contest.match import outcomes
from palestra.contest.rules import Phase, track_of
from palestra.errors import UnknownName
from palestra.scoring import Judged
from palestra.scoring import table as judged_table
from palestra.text import joined, say_as

# What spreadsheet programs run, and what they strip before they look; full-width signs are taken for their like.
FORMULA = r"^[\s\u0000]*[=+\-@＝＋－＠]|^[\t\r\n]"
BOM = b"\xef\xbb\xbf"  # without it, some spreadsheet programs read UTF-8 as Latin-1
AT_ONCE = 50_000  # rows
BOARD = "board-"  # before the phase, in the name of a table
CASES = "cases-"  # the same: what referees judged, case by case

Make = Callable[[DrawsOf], pl.DataFrame]


# Bytes


def as_csv(table: pl.DataFrame, bom: bool = False) -> bytes:
    """A table for people and spreadsheet programs; `bom` for those that take UTF-8 for something else without it."""
    return b"".join(csv_parts(table, bom))


def csv_parts(table: pl.DataFrame, bom: bool = False) -> Iterator[bytes]:
    """The same, piece by piece. Texts are in quotes, so that programs that part cells by semicolons read them whole."""
    names = pl.DataFrame({str(i): [name] for i, name in enumerate(table.columns)})
    yield (BOM if bom else b"") + _text(harmless(names))
    for part in table.iter_slices(AT_ONCE):
        yield _text(harmless(part))


def _text(table: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    table.write_csv(out, include_header=False, quote_style="non_numeric")
    return out.getvalue()


def harmless(table: pl.DataFrame) -> pl.DataFrame:
    """A table in which no text is a formula."""
    return table.with_columns(_harmless(pl.col(name)) for name, kind in table.schema.items() if kind == pl.String)


def _harmless(text: pl.Expr) -> pl.Expr:
    return pl.when(text.str.contains(FORMULA)).then("'" + text).otherwise(text).name.keep()


def as_parquet(table: pl.DataFrame) -> bytes:
    """A table for programs: texts as they are, numbers with all their digits."""
    out = io.BytesIO()
    table.write_parquet(out, compression="zstd", compression_level=3, row_group_size=AT_ONCE)
    return out.getvalue()


# Tables


def tables(state: State, viewer: Viewer, now: int, draws_of: DrawsOf) -> dict[str, pl.DataFrame]:
    """Everything that someone may see of a contest now, by name: board-PHASE, cases-PHASE where referees judged, final,
    awards, teams, submissions."""
    return {name: taken(state, viewer, now, name)(draws_of) for name in names(state, viewer, now)}


def names(state: State, viewer: Viewer, now: int) -> list[str]:
    """The tables that someone may see."""
    seen, weights = _sights(state, viewer, now), state.rules(now).weights
    found = [f"{BOARD}{phase}" for phase in seen]
    found += [f"{CASES}{phase}" for phase in seen if state.phase(phase, now).match]
    found += ["final"] if weights and all(phase in seen for phase in weights) else []
    return [*found, "awards", "teams", *(["submissions"] if viewer.is_organiser or viewer.team else [])]


def taken(state: State, viewer: Viewer, now: int, name: str) -> Make:
    """One of these tables, in two steps: what it needs of the state is taken now, while nobody changes that; files are
    opened and teams ranked when it is made, and nobody has to wait for it."""
    if name not in (known := names(state, viewer, now)):
        raise UnknownName(say_as("kind", "table"), name, known)
    if name.startswith(BOARD):
        return _board_taken(state, viewer, now, name.removeprefix(BOARD))
    if name.startswith(CASES):
        return _cases_taken(state, viewer, now, name.removeprefix(CASES))
    if name == "final":
        return _final_taken(state, viewer, now)
    if name == "awards":
        in_full = {
            phase for phase, one in _sights(state, viewer, now).items() if one.frozen_at is None and not one.partial
        }
        table = awards(state, in_full, now)
    elif name == "teams":
        table = teams(state, _teams_seen(state, viewer, now), viewer, state.rules(now).zone)
    else:
        sent = [one for one in state.submissions.values() if visibility.sees_submission(one, viewer)]
        table = submissions(state, sent, viewer, now)
    return lambda draws_of: table


def _sights(state: State, viewer: Viewer, now: int) -> dict[str, Sight]:
    """The boards that someone sees, each as of when they may and with the people whom they may see."""
    phases = [state.phase(phase.id, now) for phase in state.rules(now).phases]
    found = {phase.id: visibility.sight_of_board(state, phase, viewer, now) for phase in phases}
    return {phase: sight for phase, sight in found.items() if sight}


def _entries(state: State, phase_id: str, sight: Sight) -> tuple[Phase, list[Entry]]:
    as_of = state.at if sight.as_of is None else sight.as_of
    phase = state.phase(phase_id, as_of)
    return phase, ranking.entries(state, phase, as_of, sight.part, sight.rounded)


def _rows(phase: Phase, found: Sequence[Entry], draws_of: DrawsOf) -> list[Row]:
    return ranking.rows(phase, track_of(phase), found, draws_of)


def _board_taken(state: State, viewer: Viewer, now: int, phase_id: str) -> Make:
    then, found = _entries(state, phase_id, _sights(state, viewer, now)[phase_id])
    phase, zone = state.phase(phase_id, now), state.rules(now).zone
    return lambda draws_of: board(_rows(then, found, draws_of), phase, zone)


def _final_taken(state: State, viewer: Viewer, now: int) -> Make:
    sights, rules = _sights(state, viewer, now), state.rules(now)
    weights, judged = list(rules.weights), any(rules.phase(phase).match for phase in rules.weights)
    found = {phase: _entries(state, phase, sights[phase]) for phase in weights}
    # Of the rest, the rules and the teams' names are all that a final standing asks for.
    on_site = {phase: {team: list(kept) for team, kept in teams.items()} for phase, teams in state.on_site.items()}
    kept = State(
        at=state.at, versions=list(state.versions), moved=dict(state.moved), teams=dict(state.teams), on_site=on_site
    )

    def make(draws_of: DrawsOf) -> pl.DataFrame:
        boards = {phase: _rows(*one, draws_of) for phase, one in found.items()}
        return final(ranking.final(kept, now, boards), weights, judged)

    return make


def _cases_taken(state: State, viewer: Viewer, now: int, phase_id: str) -> Make:
    """Of each team whose result is on the board: the cases that it comes from."""
    _, found = _entries(state, phase_id, _sights(state, viewer, now)[phase_id])
    rows = {
        (entry.match, entry.name): outcomes.outcomes_of(state.matches[entry.match], entry.team, entry.at)
        for entry in found
    }
    table = cases(rows)
    return lambda draws_of: table


def _teams_seen(state: State, viewer: Viewer, now: int) -> list[Team]:
    """The teams on the boards that someone sees, and their own."""
    if viewer.is_organiser:
        return list(state.teams.values())
    sights = _sights(state, viewer, now)
    shown = {entry.team for phase, sight in sights.items() for entry in _entries(state, phase, sight)[1]}
    return [team for team in state.teams.values() if team.id in shown | {viewer.team}]


def board(rows: Sequence[Row], phase: Phase, zone: str) -> pl.DataFrame:
    """A phase's board: each metric with its interval."""
    entries = [row.entry for row in rows]
    columns: dict[str, tuple[Any, list[Any]]] = {
        "rank": (pl.Int64, [row.rank for row in rows]),
        "band": (pl.Int64, [row.band for row in rows]),
        "team": (pl.String, [entry.name for entry in entries]),
        "team_id": (pl.String, [entry.team or None for entry in entries]),  # null for a baseline
        "submission": (pl.String, [entry.submission or None for entry in entries]),
    }
    for metric in track_of(phase).metrics:
        numbers = [entry.metrics.get(metric.name) for entry in entries]
        columns[metric.name] = pl.Float64, [one and one.value for one in numbers]
        columns[f"{metric.name}_low"] = pl.Float64, [one and one.low for one in numbers]
        columns[f"{metric.name}_high"] = pl.Float64, [one and one.high for one in numbers]
    if phase.match:
        columns["match"] = pl.String, [entry.match for entry in entries]
        for metric in track_of(phase).metrics:
            columns[f"{metric.name}_exact"] = pl.String, [entry.exact.get(metric.name) for entry in entries]
    columns["count"] = pl.Int64, [entry.count for entry in entries]
    return with_times(_table(columns), "sent", [entry.at for entry in entries], zone)


def cases(judged: Mapping[tuple[str, str], Sequence[Judged]]) -> pl.DataFrame:
    """What referees decided, by match and team: one row for each case, numbers whole or as exact fractions."""
    whose = [name for name, rows in judged.items() for _ in rows]
    rows = [row for found in judged.values() for row in found]
    found = judged_table(rows).rename({"team": "team_id", "trial": "case"})
    return found.select(
        pl.Series("match", [match for match, _ in whose], pl.String),
        pl.Series("team", [team for _, team in whose], pl.String),
        *found.columns,
        pl.Series("score_exact", [str(row.score) for row in rows], pl.String),
    )


def final(rows: Sequence[FinalRow], phases: Sequence[str], exact: bool = False) -> pl.DataFrame:
    """The final standing: the weighted score, and each phase's part in it; as fractions as well, where referees judged
    in a phase."""
    columns: dict[str, tuple[Any, list[Any]]] = {
        "rank": (pl.Int64, [row.rank for row in rows]),
        "team": (pl.String, [row.name for row in rows]),
        "team_id": (pl.String, [row.team for row in rows]),
        "score": (pl.Float64, [row.score for row in rows]),
    }
    parts = {phase: (pl.Float64, [row.parts.get(phase) for row in rows]) for phase in phases}
    fractions = {f"{phase}_exact": (pl.String, [row.shares.get(phase) for row in rows]) for phase in phases}
    fractions |= {"score_exact": (pl.String, [row.exact for row in rows])}
    return _table(columns | parts | (fractions if exact else {}))


def awards(state: State, shown: set[str], now: int) -> pl.DataFrame:
    """Who got what. An award tells of a board, so it is shown where its board, or all of them, are shown in full."""
    rules, found = state.rules(now), []
    for i, award in enumerate(rules.awards):
        told = {award.phase} if award.phase else set(rules.weights)
        if told <= shown:
            found += [(i, award, team, seq) for team, seq in state.awards.get(str(i), {}).items()]
    return _table(
        {
            "award": (pl.Int64, [i + 1 for i, *_ in found]),
            "title_en": (pl.String, [award.title.in_language("en") for _, award, *_ in found]),
            "title_zh": (pl.String, [award.title.in_language("zh") for _, award, *_ in found]),
            "phase": (pl.String, [award.phase or None for _, award, *_ in found]),
            "team": (pl.String, [state.teams[team].name for *_, team, _ in found]),
            "team_id": (pl.String, [team for *_, team, _ in found]),
            "event": (pl.Int64, [seq for *_, seq in found]),  # that gave it, with the reason
        }
    )


def teams(state: State, chosen: Sequence[Team], viewer: Viewer, zone: str) -> pl.DataFrame:
    """Teams; who is in them is seen by themselves and by the organiser."""
    columns: dict[str, tuple[Any, list[Any]]] = {
        "team": (pl.String, [team.name for team in chosen]),
        "team_id": (pl.String, [team.id for team in chosen]),
    }
    if viewer.is_organiser or viewer.team:
        own = [visibility.sees_team(team.id, viewer) for team in chosen]
        columns["captain"] = pl.String, _where(own, [_name(state, team.captain) for team in chosen])
        columns["members"] = pl.String, _where(own, ["; ".join(_name(state, one) for one in t.members) for t in chosen])
        columns["disqualified"] = pl.String, _where(own, [_disqualified(team) for team in chosen])
    return with_times(_table(columns), "made", [team.made_at for team in chosen], zone)


def submissions(state: State, sent: Sequence[Submission], viewer: Viewer, now: int) -> pl.DataFrame:
    """What was sent in, what became of it, and the metric that ranks, as the viewer may see it now."""
    ranks = {name: track_of(state.phase(name, now)).ranks.name for name in {one.phase for one in sent}}
    numbers = [visibility.numbers_seen(state, one, viewer, now).get(ranks[one.phase]) for one in sent]
    columns: dict[str, tuple[Any, list[Any]]] = {
        "submission": (pl.String, [one.id for one in sent]),
        "phase": (pl.String, [one.phase for one in sent]),
        "team": (pl.String, [one.baseline or state.teams[one.team].name for one in sent]),
        "team_id": (pl.String, [one.team or None for one in sent]),
        "file_name": (pl.String, [one.name for one in sent]),
        "bytes": (pl.Int64, [one.bytes for one in sent]),
        "sha256": (pl.String, [one.file for one in sent]),
        "stage": (pl.String, [one.stage for one in sent]),
        "attempt": (pl.Int64, [one.attempt for one in sent]),
        "message": (pl.String, [str(one.message or joined(one.faults, "\n")) for one in sent]),
        "metric": (
            pl.String,
            [ranks[one.phase] if number else None for one, number in zip(sent, numbers, strict=True)],
        ),
        "value": (pl.Float64, [number and number.value for number in numbers]),
        "low": (pl.Float64, [number and number.low for number in numbers]),
        "high": (pl.Float64, [number and number.high for number in numbers]),
    }
    return with_times(_table(columns), "sent", [one.at for one in sent], state.rules(now).zone)


def events(rows: Iterable[tuple[int, int, str, str, str]], zone: str) -> pl.DataFrame:
    """The log: every event as it is kept."""
    rows, parts = iter(rows), []
    while part := list(islice(rows, AT_ONCE)):
        seq, at, by, body, digest = zip(*part, strict=True)
        kinds = [msgspec.json.decode(text, type=_Kind).kind for text in body]
        table = pl.DataFrame({"seq": seq, "kind": kinds, "by": by, "body": body, "hash": digest})
        parts.append(with_times(table, "at", at, zone))
    names = ("kind", "by", "body", "hash", "at_utc", "at_local")
    empty = pl.DataFrame(schema={"seq": pl.Int64, **dict.fromkeys(names, pl.String)})
    return pl.concat([empty, *parts])


class _Kind(msgspec.Struct):
    kind: str


def with_times(table: pl.DataFrame, name: str, at: Sequence[int], zone: str) -> pl.DataFrame:
    """Two more columns: times (ms) as ISO 8601, in UTC and in the contest's zone."""
    times = pl.from_epoch(pl.Series(at, dtype=pl.Int64), "ms").dt.replace_time_zone("UTC")
    local = times.dt.convert_time_zone(zone)
    return table.with_columns(
        times.dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").alias(f"{name}_utc"),
        local.dt.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").alias(f"{name}_local"),
    )


def _table(columns: dict[str, tuple[Any, list[Any]]]) -> pl.DataFrame:
    """Kinds are given, so that an empty table has the same columns."""
    return pl.DataFrame([pl.Series(name, values, dtype=kind) for name, (kind, values) in columns.items()])


def _where(own: Sequence[bool], values: Sequence[str]) -> list[str | None]:
    return [value if mine else None for mine, value in zip(own, values, strict=True)]


def _name(state: State, account: str) -> str:
    return state.accounts[account].name


def _disqualified(team: Team) -> str:
    """Why a team is out, and of which phase, if it still is."""
    found = [(phase, one.reason) for phase, outs in team.out.items() for one in outs if one.until is None]
    return "; ".join(f"{phase or 'all phases'}: {reason}" for phase, reason in found)
