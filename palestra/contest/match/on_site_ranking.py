"""Who is before whom on site, and in the end: exact fractions, and one sentence why for any pair.

Score, then total time in whole seconds, then cases met in full, then the population variance of case scores; then a
rank is shared. A tie in the final score falls to the same chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Literal

import msgspec

from palestra.contest.match.clock import shown
from palestra.contest.match.outcomes import outcomes_of
from palestra.contest.match.penalties import deducted, disqualified
from palestra.contest.match.rules import MatchRules, weights_of
from palestra.contest.match.state import Match
from palestra.errors import Told
from palestra.scoring import Judged
from palestra.text import Words

Exact = Fraction | Decimal | int | str  # never a float: 0.1 + 0.2 is not 0.3 there


class Tally(msgspec.Struct, frozen=True):
    """What a team's cases come to."""

    team: str
    name: str
    score: Fraction  # in [0, 1]
    time_s: int  # whole seconds, rounded down
    full: int  # cases met in full
    variance: Fraction
    cases: int
    published: int  # of them
    out: str = ""  # why the team is disqualified
    final: Fraction | None = None  # with the online score
    online: Fraction | None = None

    @property
    def chain(self) -> tuple[Fraction, ...]:
        """Lower is better; all equal means a shared rank."""
        first = () if self.final is None else (-self.final,)
        return (*first, -self.score, Fraction(self.time_s), Fraction(-self.full), self.variance)


class Placed(msgspec.Struct, frozen=True):
    rank: int | None  # null: disqualified
    tally: Tally


def tally(rules: MatchRules, team: str, name: str, rows: Sequence[Judged], minus: Fraction = Fraction(0)) -> Tally:
    """From a team's rows; `minus` are points taken from the whole."""
    scores = [row.score for row in rows]
    mean = _mean(scores) if rules.mean == "cases" else _mean_of_groups(rows)
    charged_ms = sum((Fraction(row.charged_ms) for row in rows), start=Fraction(0))
    return Tally(
        team, name, max(mean - minus, Fraction(0)), int(charged_ms / 1000), sum(row.full for row in rows),
        variance(scores), len(rows), sum(row.state == "published" for row in rows),
    )  # fmt: skip


def _mean(scores: Sequence[Fraction]) -> Fraction:
    return sum(scores, start=Fraction(0)) / len(scores)


def _mean_of_groups(rows: Sequence[Judged]) -> Fraction:
    groups = dict.fromkeys(row.group for row in rows)
    return _mean([_mean([row.score for row in rows if row.group == group]) for group in groups])


def variance(scores: Sequence[Fraction]) -> Fraction:
    """Of all of them, not of a sample: divided by their number."""
    mean = _mean(scores)
    return _mean([(score - mean) ** 2 for score in scores])


def tallies(match: Match, now: int, which: Literal["begun", "published"] = "begun") -> list[Tally]:
    """Of the teams that have begun, as things stand; or, for the public, of those whose every case is published."""
    found = []
    for team, turn in match.turns.items():
        if turn.begun_at is None:
            continue
        rows = outcomes_of(match, team, now)
        one = tally(match.opened.rules, team, match.name_of(team), rows, deducted(turn, ""))
        if which == "published" and one.published < one.cases:
            continue
        out = disqualified(turn)
        found.append(msgspec.structs.replace(one, out=f"{out.rule}: {out.reason}") if out else one)
    return found


def ranked(found: Sequence[Tally]) -> list[Placed]:
    """Best first; equals share a rank and the next one counts them. Who is disqualified comes last, without one."""
    placed: list[Placed] = []
    inside = sorted((one for one in found if not one.out), key=lambda one: (one.chain, one.name, one.team))
    for _, equals in groupby(inside, key=lambda one: one.chain):
        rank = len(placed) + 1
        placed += [Placed(rank, one) for one in equals]
    return placed + [Placed(None, one) for one in sorted(found, key=lambda one: one.name) if one.out]


def with_online(rules: MatchRules, found: Sequence[Tally], online: Mapping[str, Exact]) -> list[Tally]:
    """The final score: 40 % online and 60 % on site, both in [0, 1]."""
    for_online, for_onsite = weights_of(rules)
    done = []
    for one in found:
        score = _exact(online.get(one.team, 0), one.name)
        final = for_online * score + for_onsite * one.score
        done.append(msgspec.structs.replace(one, final=final, online=score))
    return done


def _exact(score: Exact, name: str) -> Fraction:
    if isinstance(score, float):
        raise TypeError("an online score is given exactly: Fraction, Decimal or text, not float")
    exact = Fraction(score)
    if not 0 <= exact <= 1:
        raise Told(
            f"The online score of {name} is {score}; expected one from 0 to 1.",
            f"{name} 的线上成绩为 {score}；应在 0 到 1 之间。",
        )
    return exact


# Why


def why(a: Tally, b: Tally) -> Words:
    """Why one is before the other, in one sentence."""
    if a.out or b.out:
        return _why_out(a, b)
    if a.chain == b.chain:
        en = "final score, " if a.final is not None else ""
        zh = "最终成绩、" if a.final is not None else ""
        return Words(
            f"{a.name} and {b.name} share a rank: {en}on-site score, time, full cases and variance are equal.",
            f"{a.name} 与 {b.name} 并列：{zh}线下得分、总用时、完整完成数和得分方差均相同。",
        )
    first, second = (a, b) if a.chain < b.chain else (b, a)
    equal_en: list[str] = []
    equal_zh: list[str] = []
    for en, zh, one, two, better in _steps(first, second):
        if one != two:
            tie_en = f", as both have the same {_listed(equal_en)}" if equal_en else ""
            tie_zh = f"（{'、'.join(equal_zh)}相同）" if equal_zh else ""
            texts = _apart(en, one, two)
            return Words(
                f"{first.name} is before {second.name} by {en}: {texts[0]} against {texts[1]}, "
                f"{better[0]} is better{tie_en}.",
                f"{first.name} 排在 {second.name} 之前，因{zh}{better[1]}：{texts[0]} 对 {texts[1]}{tie_zh}。",
            )
        equal_en.append(en)
        equal_zh.append(zh)
    raise AssertionError("two chains that differ have a step that differs")


_Compared = tuple[str, str, Fraction, Fraction, tuple[str, str]]


def _steps(a: Tally, b: Tally) -> list[_Compared]:
    more, less = ("more", "更高"), ("less", "更小")
    final: list[_Compared] = []
    if a.final is not None and b.final is not None:
        final = [("final score", "最终成绩", a.final, b.final, more)]
    return [
        *final,
        ("on-site score", "线下得分", a.score, b.score, more),
        ("total time", "总用时", Fraction(a.time_s), Fraction(b.time_s), ("less", "更短")),
        ("full cases", "完整完成数", Fraction(a.full), Fraction(b.full), ("more", "更多")),
        ("variance", "得分方差", a.variance, b.variance, less),
    ]


def _apart(what: str, one: Fraction, two: Fraction) -> tuple[str, str]:
    """Two numbers as people read them; as exact fractions where rounding would make them look the same."""
    if what == "total time":
        return shown(int(one) * 1000), shown(int(two) * 1000)
    if what == "full cases":
        return str(int(one)), str(int(two))
    times, digits = (1, 4) if what == "variance" else (10, 2)
    texts = f"{float(one * times):.{digits}f}", f"{float(two * times):.{digits}f}"
    if texts[0] != texts[1]:
        return texts
    return f"{texts[0]} ({one * times})", f"{texts[1]} ({two * times})"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _why_out(a: Tally, b: Tally) -> Words:
    if a.out and b.out:
        return Words(f"{a.name} and {b.name} are both disqualified.", f"{a.name} 与 {b.name} 均被取消参赛资格。")
    inside, outside = (b, a) if a.out else (a, b)
    return Words(
        f"{inside.name} is before {outside.name}, who is disqualified ({outside.out}).",
        f"{inside.name} 排在 {outside.name} 之前：后者已被取消参赛资格（{outside.out}）。",
    )
