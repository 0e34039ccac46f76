"""The page's clock (performance.now) on the server's (time.monotonic): the offset that the shortest round trip found.

Half of that round trip is the most by which it can be wrong.
"""

from collections.abc import Iterable

from palestra.studio.present.run_log import Record


class PageClocks:
    """Each page that is opened has a clock of its own."""

    def __init__(self) -> None:
        self._best: dict[str, tuple[float, float]] = {}  # page → round trip in ms, offset in s

    @classmethod
    def of(cls, records: Iterable[Record]) -> "PageClocks":
        clocks = cls()
        for record in records:
            if record["kind"] == "clock":
                clocks.note(record["page"], record["values"])
        return clocks

    def note(self, page: str, values: Record) -> None:
        sample = float(values["round_trip_ms"]), float(values["offset_s"])
        self._best[page] = min(sample, self._best.get(page, sample))

    def on_host(self, page: str, at_ms: float) -> float | None:
        """A time of the page in seconds of the server's clock; None as long as nothing was measured."""
        best = self._best.get(page)
        return None if best is None else at_ms / 1000 + best[1]
