"""`palestra studio sync`: two recordings on one clock, by LEDs or by events; the second is brought to the first."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palestra.errors import PalestraError
from palestra.studio.sync.alignment import Alignment
from palestra.studio.sync.brightness import Readings, read_places
from palestra.studio.sync.event_sources import events_of
from palestra.studio.sync.led_clock import LedClock, led_clock
from palestra.studio.sync.led_places import Places
from palestra.studio.sync.led_sync import align_clocks
from palestra.studio.sync.match_events import align_events
from palestra.studio.sync.resample import NONE, frames_for, require_free, require_video_name, write_resampled
from palestra.studio.sync.resample import write_table as write_timed
from palestra.studio.sync.tables import TABLES, is_table, read_table
from palestra.studio.sync.video import frame_times, in_recording, started_ns
from palestra.text import Text, say

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Synced:
    """How B stands to A, and when the frames of each were taken."""

    a: Path
    b: Path
    aligned: Alignment
    clocks: tuple[LedClock, LedClock] | None  # where LEDs were read

    def row(self) -> dict[str, object]:
        """What there is to show, on one line."""
        one = self.aligned
        found: dict[str, object] = {
            "offset_s": round(one.offset_s, 5),
            "error_ms": round(1e3 * one.offset_sd_s, 3),
            "drift_ppm": round(one.drift_ppm, 2),
            "error_ppm": round(one.drift_sd_ppm, 2),
            "overlap_s": round(one.overlap_s[1] - one.overlap_s[0], 2),
            "confidence": round(one.confidence, 4),
            "matched": one.matched,  # steps of the code, or events
        }
        for name, clock in zip("ab", self.clocks or (), strict=False):
            found[f"lost_{name}"] = int(clock.lost.max() - clock.lost.min())
            found[f"wrong_{name}"] = round(float(clock.wrong.mean()), 3)
        return found

    def told(self) -> Text:
        """The same in a sentence."""
        one = self.aligned
        return say(
            "{b} begins at {offset:+.4f} s of {a} (± {error:.1f} ms), and its clock is off by {drift:+.1f} ppm "
            "(± {drift_error:.1f}).",
            a=self.a,
            b=self.b,
            offset=one.offset_s,
            error=2e3 * one.offset_sd_s,
            drift=one.drift_ppm,
            drift_error=2 * one.drift_sd_ppm,
        )

    def frames(self) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
        """When A's frames are shown, when they were taken, when B's were, and which of B belongs to each of A."""
        shown_a = frame_times(self.a)
        taken_a, taken_b = (self.clocks[0].at_s, self.clocks[1].at_s) if self.clocks else (shown_a, frame_times(self.b))
        return shown_a, taken_a, taken_b, frames_for(self.aligned, taken_a, taken_b)


def align_recordings(a: Path, b: Path, leds: Sequence[str], by: Sequence[str], near_s: float | None = None) -> Synced:
    """Align B to A. LEDs and ways are named once for both, or once for each."""
    ways = _for_each(list(by) or ["leds"], "--by")
    near_s = _near(a, b) if near_s is None else near_s
    if ways == ["leds", "leds"]:
        if not leds:
            raise PalestraError(
                say(
                    "Name the places of the LEDs with --leds, once for each video. `palestra studio leds {a}` finds "
                    "them.",
                    a=a,
                )
            )
        places = [Places.parse(text) for text in _for_each(list(leds), "--leds")]
        clocks = led_clock(read_leds(a, places[0]), places[0]), led_clock(read_leds(b, places[1]), places[1])
        return Synced(a, b, align_clocks(*clocks, near_s), clocks)
    if "leds" in ways or leds:
        raise PalestraError(say("LEDs are read in both videos or in none: name --by once for each other way."))
    return Synced(a, b, align_events(events_of(a, ways[0]), events_of(b, ways[1]), near_s), None)


def read_leds(path: Path, places: Places) -> Readings:
    """Brightness of LEDs; their number is looked at before the video is gone through."""
    places.require_code()
    return read_places(path, places)


def _for_each(given: list[str], option: str) -> list[str]:
    if len(given) > 2:
        raise PalestraError(say("Found {option} {count} times, expected at most 2.", option=option, count=len(given)))
    return given if len(given) == 2 else given * 2


def _near(a: Path, b: Path) -> float | None:
    """Where B begins in A, where both are of one recording and so on one clock."""
    of_a, of_b = in_recording(a), in_recording(b)
    if not of_a or not of_b or of_a[0].resolve() != of_b[0].resolve():
        return None
    start_a, start_b = (int(read_table(path)[0]["at_ns"][0]) if is_table(path) else started_ns(path) for path in (a, b))
    return None if start_a is None or start_b is None else (start_b - start_a) / 1e9


def require_writable(b: Path, out: Path | None, table: Path | None) -> None:
    """Names of files that are to be written, before anything is read."""
    if out:
        if not is_table(b):
            require_video_name(out)
        elif out.suffix not in TABLES:
            raise PalestraError(say("{out}: expected a name that ends in .csv or .parquet.", out=out))
        require_free(out)
    if table:
        require_free(table)


def write_aligned(synced: Synced, out: Path) -> tuple[int, int]:
    """Write B on A's clock; how many frames or rows, and how many frames of A have none of B."""
    if is_table(synced.b):
        table, at_s = read_table(synced.b)
        write_timed(table, synced.aligned, at_s, out)
        return len(table), 0
    if is_table(synced.a):
        raise PalestraError(
            say("A video cannot have the frames of {a}, which has none. Name the video first.", a=synced.a)
        )
    shown_s, _, _, numbers = synced.frames()
    write_resampled(synced.b, out, shown_s, numbers)
    return len(numbers), int((numbers == NONE).sum())


def write_frame_table(synced: Synced, out: Path) -> int:
    """Write which frame of B belongs to each frame of A, with the times of both on A's clock."""
    if is_table(synced.a) or is_table(synced.b):
        raise PalestraError(say("--table joins the frames of two videos. Use --out for samples and markers."))
    _, taken_a, taken_b, numbers = synced.frames()
    there = np.where(numbers == NONE, np.nan, synced.aligned.in_a(taken_b)[numbers])
    table = pl.DataFrame(
        {
            "frame_a": np.arange(len(taken_a)),
            "time_s": taken_a,
            "frame_b": pl.Series(numbers).replace(NONE, None),
            "frame_b_time_s": pl.Series(there).fill_nan(None),
        }
    )
    table.write_csv(out)
    return len(table)
