"""A run: its folder, what has been reported of it, and where it goes on."""

import uuid
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Self

import msgspec

from palestra.errors import PalestraError
from palestra.studio.present.clock import PageClocks
from palestra.studio.present.plans.plan import Plan, next_event
from palestra.studio.present.reports import Report
from palestra.studio.present.run_log import Record, RunLog, read_log, stamp
from palestra.text import say

STIMULI, PLAN, LOG = "stimuli.toml", "plan.json", "log.jsonl"
TIMED = ("onset", "ended")


class Run:
    """Takes reports and appends them to the log. What it knows, it knows from the log."""

    def __init__(self, folder: Path, plan: Plan, log: RunLog, records: list[Record]) -> None:
        self.folder, self.plan = folder, plan
        self.clocks = PageClocks.of(records)
        self.on_onset: Callable[[Report], None] = lambda report: None
        self.is_finished = self.is_aborted = False
        self._log = log
        self._last: int | None = None
        self._has_ended = False
        self._seen: dict[str, set[int]] = {}
        self._told: set[tuple[str, int]] = set()  # onsets whose triggers have gone out
        self._unwritten: list[Record] = []  # of this side, until there is room for them
        self.id = next((record["run"] for record in records if record["kind"] == "opened"), uuid.uuid4().hex)
        for record in records:
            self._note(record)

    @classmethod
    def open(cls, folder: Path, plan: Plan, text: str) -> Self:
        """Begin a run in a new folder, or go on with the one that is there."""
        planned = msgspec.json.encode(plan)
        if (folder / PLAN).is_file():
            _require_same(folder, planned)
        else:
            _begin(folder, planned, text)
        log = RunLog(folder / LOG)
        try:
            run = cls(folder, plan, log, read_log(folder / LOG))
            run.require_unfinished()
            run.write(
                "opened", run=run.id, seed=plan.seed, version=version("palestra"), next=run.next, cut_bytes=log.cut
            )
        except BaseException:
            log.close()
            raise
        run.is_aborted = False  # whoever opens it again wants to go on
        return run

    def require_unfinished(self) -> None:
        if self.is_finished:
            raise PalestraError(say("The run in {folder} is complete. Choose another --out.", folder=self.folder))

    @property
    def next(self) -> int:
        """The event that the run goes on with."""
        return next_event(self.plan, self._last, self._has_ended)

    def take(self, report: Report) -> bool:
        """Log a report, unless it was logged before. Raises OSError where the log cannot be written."""
        if report.seq in self._seen.get(report.page, ()):
            return False
        if report.event is not None and not 0 <= report.event < len(self.plan.events):
            raise PalestraError(
                say("The page reports event {event}, which the plan does not have.", event=report.event)
            )
        record = msgspec.to_builtins(report)
        del record["type"]
        if report.kind == "onset" and (report.page, report.seq) not in self._told:
            self._told.add((report.page, report.seq))
            self.on_onset(report)  # before it is written: a trigger must not wait for a disk
        self._flush()
        self._log.append(record)
        self._note(record)
        if report.kind == "clock":
            self.clocks.note(report.page, record["values"])
        return True

    def write(self, kind: str, **values: object) -> None:
        """Log something that happened on this side; on a full disk, as soon as there is room."""
        self._unwritten.append({**stamp(), "kind": kind, **values})
        with suppress(OSError):  # the page is told when its next report cannot be written
            self._flush()

    def _flush(self) -> None:
        while self._unwritten:
            self._log.append(self._unwritten[0])
            del self._unwritten[0]

    def close(self) -> list[Record]:
        """All records, now that there will be no more."""
        try:
            self._flush()
        finally:
            self._log.close()
        return read_log(self.folder / LOG)

    def _note(self, record: Record) -> None:
        kind = record["kind"]
        if "seq" in record:
            self._seen.setdefault(record["page"], set()).add(record["seq"])
        if kind in TIMED:
            self._last, self._has_ended = record["event"], kind == "ended"
        self.is_finished = self.is_finished or kind == "finished"
        self.is_aborted = kind == "aborted" or (self.is_aborted and kind != "resumed")


def _begin(folder: Path, planned: bytes, text: str) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise PalestraError(
            say("{folder} is neither empty nor a run of the studio. Choose another --out.", folder=folder)
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / STIMULI).write_text(text, encoding="utf-8")
    (folder / PLAN).write_bytes(planned)


def _require_same(folder: Path, planned: bytes) -> None:
    if (folder / PLAN).read_bytes() != planned:
        raise PalestraError(
            say(
                "{folder} holds a run of other stimuli: the file or its seed has changed since. Go on with "
                "{folder}/{kept}, or choose another --out.",
                folder=folder,
                kept=STIMULI,
            )
        )
