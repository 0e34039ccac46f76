"""Answers to a test split, scored: what the tables of both OpenEDS challenges share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from palestra import console, model_cards
from palestra.datasets import make
from palestra.evaluation.result_table import Difference, compared
from palestra.records import Estimate, Order, Track
from palestra.scoring import score
from palestra.scoring.score import Scored
from palestra.scoring.submission import collect
from train.tables_page import markdown

OURS = "palestra"
HEAD = ("solution", "published, on OpenEDS", "here, on synthetic eyes", "worse than ours by", "parameters", "trained")
NOTHING = "No answers lie in docs/predictions yet; the scripts in train/ write them where there is a GPU."


@dataclass(frozen=True)
class Entry:
    """A solution of the paper, or ours."""

    title: str
    weights: str  # its card
    file: str  # its answers, in docs/predictions
    published: float | None = None


def made(track: Track, size: str, work: Path, seed: int = 0, pictures: bool = False) -> Path:
    """A data set of ours, made once by this code; without its pictures where answers are there already."""
    code = score.code_digest(track).removeprefix("sha256:")
    folder = work / f"{track.id}-{size}-{seed}-{code}"
    order = Order(size=size, seed=seed, without=() if pictures else ("images",))
    if not folder.is_dir() or make.unfinished(folder):
        plan = make.plan(track, order)
        with console.progress(f"making {folder.name}", sum(part.weight for part in plan.parts)) as advance:
            make.run(track, order, plan, folder, advance)
    return folder


def scored(track: Track, data: Path, entries: Sequence[Entry], folder: Path) -> dict[str, Scored]:
    """Title → scores, of those whose answers are there."""
    sheet = score.load(track, data)
    found = {}
    for entry in entries:
        file = folder / entry.file
        if file.is_file():
            # Of segmentation only the frames that are scored are kept: a hundredth of what a contestant sends.
            answers = collect(track, file, sheet.trials, allow_missing=True)
            found[entry.title] = score.score(track, sheet, answers, entry.title)
    return found


def ranking(track: Track, entries: Sequence[Entry], found: Mapping[str, Scored], digits: int) -> str:
    """As Tables 6 and 7: published, here, and how far behind ours."""
    metric = track.ranks.name
    ours = next(entry.title for entry in entries if entry.weights.endswith(OURS))
    behind = _behind(track, found, ours)
    rows = []
    for entry in entries:
        if entry.title not in found:
            continue
        card, value = model_cards.card(entry.weights), found[entry.title].result.metrics[metric]
        rows.append(
            [
                entry.title,
                "" if entry.published is None else f"{entry.published:.{digits}f}",
                spread(value, digits),
                spread(behind[entry.title], digits, "+") if entry.title in behind else "",
                f"{card.parameters:,}",
                f"{card.train_s:.0f} s" if card.train_s else "",
            ]
        )
    return markdown(HEAD, rows)


def _behind(track: Track, found: Mapping[str, Scored], ours: str) -> dict[str, Estimate]:
    """The same people are drawn for both, so these intervals are of the difference itself."""
    if ours not in found:
        return {}
    others = [one for title, one in found.items() if title != ours]
    told: list[Difference] = compared(track, [found[ours], *others])
    return {one.worse: one.by for one in told}


def spread(estimate: Estimate, digits: int, sign: str = "") -> str:
    text = f"{estimate.value:{sign}.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({estimate.low:{sign}.{digits}f} to {estimate.high:{sign}.{digits}f})"


def note_scores(entries: Sequence[Entry], found: Mapping[str, Scored]) -> None:
    """Onto the cards, so that the numbers go with the weights."""
    for entry in entries:
        if entry.title in found:
            metrics = found[entry.title].result.metrics
            model_cards.stamp(entry.weights, scores={name: round(one.value, 6) for name, one in metrics.items()})


def order_told(entries: Sequence[Entry], found: Mapping[str, Scored], track: Track) -> str:
    """The order here against the paper's, in a sentence."""
    both = [entry for entry in entries if entry.title in found and entry.published is not None]
    sign = 1 if track.ranks.better == "lower" else -1
    here = sorted(both, key=lambda entry: sign * found[entry.title].result.metrics[track.ranks.name].value)
    there = sorted(both, key=lambda entry: sign * (entry.published or 0.0))
    names = [", ".join(entry.title for entry in some) for some in (here, there)]
    if here == there:
        return f"The order is the paper's: {names[0]}."
    return f"The order here is {names[0]}; the paper's is {names[1]}."
