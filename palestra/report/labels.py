"""How reports write cells of tables, and what people call columns, their values, metrics and units."""

from collections.abc import Mapping
from types import MappingProxyType

from palestra.records import Cell, Metric, Track
from palestra.text import NONE, Message, Text, Words, joined, message, number, say, say_as, words_of

# Names in tables that several challenges have: of columns and groups, and of their values.
LABELS: dict[str, Message] = {
    "person": message("person", "label"),
    "people": message("people", "label"),
    "tester": message("tester", "label"),
    "sequence": message("sequence", "label"),
    "sequences": message("sequences", "label"),
    "session": message("session", "label"),
    "case": message("case", "label"),
    "cases": message("cases", "label"),
    "unit": message("unit", "label"),
    "group": message("group", "label"),
    "groups": message("groups", "label"),
    "step": message("step", "label"),
    "movement": message("movement", "label"),
    "fixation": message("fixation", "label"),
    "saccade": message("saccade", "label"),
    "pursuit": message("pursuit", "label"),
    "blink": message("blink", "label"),
    "pattern": message("pattern", "label"),
    "random": message("random", "label"),
    "ring": message("ring", "label"),
    "glasses": message("glasses", "label"),
    "makeup": message("makeup", "label"),
    "sex": message("sex", "label"),
    "female": message("female", "label"),
    "male": message("male", "label"),
    "eye_colour": message("eye colour", "label"),
    "blue": message("blue", "label"),
    "brown": message("brown", "label"),
    "green": message("green", "label"),
    "grey": message("grey", "label"),
    "hazel": message("hazel", "label"),
    "black": message("black", "label"),
    "asian": message("asian", "label"),
    "caucasian": message("caucasian", "label"),
    "other": message("other", "label"),
    "under 21": message("under 21", "label"),
    "known": message("known", "label"),
    "new": message("new", "label"),
    "video": message("video", "label"),
    "split": message("split", "label"),
    "train": message("train", "label"),
    "validation": message("validation", "label"),
    "calibration": message("calibration", "label"),
    "test": message("test", "label"),
    "total": message("total", "label"),
    "all": message("all", "label"),
    "average": message("average", "label"),
    "trial": message("trial", "label"),
    "frames": message("frames", "label"),
    "images": message("images", "label"),
    "given labels": message("given labels", "label"),
    "label": message("label", "label"),
    "error": message("error", "label"),
    "loss": message("loss", "label"),
    "baseline": message("baseline", "label"),
    # Where a result comes from.
    "palestra": message("Palestra", "label"),
    "code": message("code", "label"),
    "data": message("data", "label"),
    "answers": message("answers", "label"),
    "seed": message("seed of the resampling", "label"),
    "resamples": message("resamples", "label"),
    "sandbox": message("sandbox", "label"),
    "host": message("host", "label"),
    "made_at": message("made at", "label"),
}
SANDBOX = {
    "own namespaces": message("own namespaces"),
    "system call filter": message("system call filter"),
}
BETTER = {"lower": message("lower", "label"), "higher": message("higher", "label")}
BETTER_NOTES = {"lower": message("Lower is better."), "higher": message("Higher is better.")}
UNITS = {
    "deg": message("degrees", "unit"),
    "": message("share", "unit"),
    "s": message("s", "unit"),
    "points": message("points", "unit"),
}
WITH_UNITS = {
    "s": message("{number} s"),
    "min": message("{number} min"),
    "h": message("{number} h"),
    "points": message("{number} points"),
}
NO_LABELS: Mapping[str, Text] = MappingProxyType({})


def label(name: str, own: Mapping[str, Text] = NO_LABELS) -> Text:
    """What people call a column or a value: as the challenge says, then as all reports do; else its own name."""
    if name in own:
        return own[name]
    return say(LABELS[name]) if name in LABELS else name.replace("_", " ").strip()


def column_title(name: str, own: Mapping[str, Text] = NO_LABELS) -> Text:
    """A column's name as a heading: eye_colour → Eye colour."""
    return capital(label(name, own))


def capital(text: Text) -> Text:
    """With a capital letter, in the language that has them."""
    if isinstance(text, Words):
        return Words(text.en[:1].upper() + text.en[1:], text.zh)
    return text[:1].upper() + text[1:]


def value_label(value: Cell, own: Mapping[str, Text] = NO_LABELS) -> Cell:
    """A value of a column of groups. What is no text says what it is by itself."""
    return label(value, own) if isinstance(value, str) and (value in own or value in LABELS) else value


def in_words(cell: Cell) -> Words:
    """A table's cell as a reader expects it. A text that is no Words is shown as it is."""
    if cell is None:
        return Words.same(NONE)
    if isinstance(cell, bool):
        return say_as("cell", "yes") if cell else say_as("cell", "no")
    if isinstance(cell, int):
        return Words.same(f"{cell:,}")
    return Words.same(number(cell)) if isinstance(cell, float) else words_of(cell)


def as_text(cell: Cell) -> str:
    """A table's cell in English."""
    return str(in_words(cell))


def with_unit(written: str) -> Text:
    """A number or a length of time as `palestra.text` writes it, with its unit in both languages: 90 s, 90 秒."""
    value, _, unit = written.rpartition(" ")
    return say(WITH_UNITS[unit], number=value) if value and unit in WITH_UNITS else written


def measured(value: float | None, unit: str) -> Text:
    """A number with its unit, in both languages."""
    return with_unit(number(value, unit))


def interval(low: float | None, high: float | None, unit: str) -> Text:
    """From one number to another; a dash where there is none."""
    if low is None or high is None:
        return NONE
    return say("{low} – {high}", low=measured(low, unit), high=measured(high, unit))


def unit_name(metric: Metric) -> Text:
    return say(UNITS[metric.unit]) if metric.unit in UNITS else metric.unit


def metric_title(metric: Metric) -> Words:
    return words_of(metric.title or metric.name)


def track_title(track: Track) -> Words:
    return words_of(track.title)


def metric_axis(metric: Metric) -> Words:
    """A metric's title beside an axis."""
    title = metric_title(metric)
    return in_degrees(title) if metric.unit == "deg" else title


def in_degrees(what: Text) -> Words:
    return say("{what} (°)", what=what)


def error_name(track: Track) -> Text:
    return label(track.display.error.removesuffix("_deg"), track.display.labels)


def error_axis(track: Track) -> Text:
    """What a trial's error is called beside an axis."""
    return in_degrees(error_name(track)) if error_unit(track) else error_name(track)


def error_unit(track: Track) -> str:
    return "deg" if track.display.error.endswith("_deg") else ""


def sandbox_label(sandbox: str) -> Words:
    """What a Result says of the sandbox, part by part: `bubblewrap: own namespaces, system call filter, rlimits`."""
    name, colon, parts = sandbox.partition(": ")
    told = [say(SANDBOX[part]) if part in SANDBOX else part for part in parts.split(", ")]
    return joined((name, joined(told, Words(", ", "、"))), Words(": ", "：")) if colon else Words.same(sandbox)
