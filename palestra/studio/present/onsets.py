"""What a run came to: a table of onsets, and how well they kept to the plan."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec

from palestra.studio.present.clock import PageClocks
from palestra.studio.present.plans.geometry import Place, to_angles
from palestra.studio.present.plans.paths import position
from palestra.studio.present.plans.plan import Event, Plan
from palestra.studio.present.run_log import Record

TABLE = "onsets.parquet"


class Summary(msgspec.Struct, frozen=True):
    """A run in few numbers."""

    events: int  # of the plan
    shown: int  # of them, at least once
    onsets: int
    frame_period_ms: float | None  # as the page measured it
    off_median_ms: float | None  # from the planned time to the frame's
    off_most_ms: float | None
    within_a_frame: int  # of the onsets
    dropped_frames: int
    triggers_sent: int
    triggers_unsent: int


def onset_rows(plan: Plan, records: Sequence[Record]) -> list[Record]:
    """A row for each onset, in the order in which they were shown. An event that was shown again has several."""
    clocks = PageClocks.of(records)
    sent = {record["event"]: record for record in records if record["kind"] == "trigger"}
    return [
        _row(plan.events[record["event"]], plan, record, clocks, sent)
        for record in records
        if record["kind"] == "onset"
    ]


def _row(event: Event, plan: Plan, record: Record, clocks: PageClocks, sent: dict[int, Record]) -> Record:
    trigger = sent.get(event.number, {})
    start, end = (position(event.path, share) if event.path else None for share in (0, 1))
    return {
        "event": event.number,
        "block": event.block,
        "kind": plan.blocks[event.block].kind,
        "shows": event.shows,
        "video": event.video,
        "onset_s": clocks.on_host(record["page"], record["frame_ms"]),
        "page": record["page"],
        "planned_ms": record["planned_ms"],
        "frame_ms": record["frame_ms"],
        "off_ms": record["frame_ms"] - record["planned_ms"],
        "frame": record["frame"],
        "length_s": event.length_s,
        **_places(plan, start, end),
        "trigger": event.trigger,
        "trigger_sent_s": trigger.get("sent_s"),
    }


def _places(plan: Plan, start: Place | None, end: Place | None) -> dict[str, float | None]:
    """Where a target is at its onset, and at its end. plan.json has its path between them."""
    yaw, pitch = to_angles(plan.screen, start) if start else (None, None)
    x, y = start or (None, None)
    end_x, end_y = end or (None, None)
    return {"x_mm": x, "y_mm": y, "end_x_mm": end_x, "end_y_mm": end_y, "yaw_deg": yaw, "pitch_deg": pitch}


def summary_of(plan: Plan, records: Sequence[Record]) -> Summary:
    onsets = [record for record in records if record["kind"] == "onset"]
    off = [record["frame_ms"] - record["planned_ms"] for record in onsets]
    periods = [record["values"]["period_ms"] for record in records if record["kind"] == "started"]
    period = statistics.median(periods) if periods else None
    triggers = [record for record in records if record["kind"] == "trigger"]
    ways = [record[name] for record in triggers for name in ("serial", "lsl") if name in record]
    return Summary(
        events=len(plan.events),
        shown=len({record["event"] for record in onsets}),
        onsets=len(onsets),
        frame_period_ms=period,
        off_median_ms=statistics.median(off) if off else None,
        off_most_ms=max(off, key=abs) if off else None,
        within_a_frame=sum(abs(one) <= (period or 0) for one in off),
        dropped_frames=sum(int(record["values"]["count"]) for record in records if record["kind"] == "dropped"),
        triggers_sent=ways.count("sent"),
        triggers_unsent=len(ways) - ways.count("sent"),
    )


def write_onsets(folder: Path, plan: Plan, records: Sequence[Record]) -> Path:
    """The table beside the log. It can be made again from the log at any time."""
    import polars as pl

    rows = onset_rows(plan, records)
    schema = {
        **dict.fromkeys(("event", "block", "video", "frame", "trigger"), pl.Int64),
        **dict.fromkeys(("kind", "shows", "page"), pl.String),
    }
    names = rows[0] if rows else {**schema, "onset_s": None}
    table = pl.DataFrame(rows, schema={name: schema.get(name, pl.Float64) for name in names})
    aside = folder / f"{TABLE}.new"
    table.write_parquet(aside)
    return aside.replace(folder / TABLE)
