"""Who is before whom on site, and in the end: exact fractions, and one sentence why for any pair.

Score, then total time in whole seconds, then cases met in full, then the population variance of case scores; then a
rank is shared. A tie in the final score falls to the same chain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Literal, NamedTuple

import msgspec

from palestra.contest.match.clock import shown
from palestra.contest.match.outcomes import outcomes_of
from palestra.contest.match.penalties import deducted, disqualified
from palestra.contest.match.rules import MatchRules, weights_of
from palestra.contest.match.state import Match
from palestra.errors import PalestraError
from palestra.scoring import Judged
from palestra.text import Words, joined, say, say_as

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
        raise PalestraError(
            say("The online score of {name} is {score}; expected one from 0 to 1.", name=name, score=score)
        )
    return exact


# Why


def why(a: Tally, b: Tally) -> Words:
    """Why one is before the other, in one sentence."""
    if a.out or b.out:
        return _why_out(a, b)
    if a.chain == b.chain:
        chain = _listed([step.what for step in _steps(a, b)])
        return say("{a} and {b} share a rank: {equal} are equal.", a=a.name, b=b.name, equal=chain)
    first, second = (a, b) if a.chain < b.chain else (b, a)
    equal: list[Words] = []
    for step in _steps(first, second):
        if step.one != step.two:
            texts = _apart(step.kind, step.one, step.two)
            return say(
                "{first} is before {second} by {what}: {one} against {two}, {better}{tie}.",
                first=first.name,
                second=second.name,
                what=step.what,
                one=texts[0],
                two=texts[1],
                better=step.better,
                tie=say(", as both have the same {equal}", equal=_listed(equal)) if equal else "",
            )
        equal.append(step.what)
    raise AssertionError("two chains that differ have a step that differs")


class _Step(NamedTuple):
    """A link of the chain by which teams are ranked, for two of them."""

    what: Words
    kind: Literal["score", "time", "count", "variance"]
    one: Fraction
    two: Fraction
    better: Words


def _steps(a: Tally, b: Tally) -> list[_Step]:
    final: list[_Step] = []
    if a.final is not None and b.final is not None:
        final = [_Step(say("final score"), "score", a.final, b.final, say_as("score", "more is better"))]
    return [
        *final,
        _Step(say("on-site score"), "score", a.score, b.score, say_as("score", "more is better")),
        _Step(say("total time"), "time", Fraction(a.time_s), Fraction(b.time_s), say_as("time", "less is better")),
        _Step(say("full cases"), "count", Fraction(a.full), Fraction(b.full), say_as("count", "more is better")),
        _Step(say("variance"), "variance", a.variance, b.variance, say_as("variance", "less is better")),
    ]


def _apart(kind: str, one: Fraction, two: Fraction) -> tuple[str, str]:
    """Two numbers as people read them; as exact fractions where rounding would make them look the same."""
    if kind == "time":
        return shown(int(one) * 1000), shown(int(two) * 1000)
    if kind == "count":
        return str(int(one)), str(int(two))
    times, digits = (1, 4) if kind == "variance" else (10, 2)
    texts = f"{float(one * times):.{digits}f}", f"{float(two * times):.{digits}f}"
    if texts[0] != texts[1]:
        return texts
    return f"{texts[0]} ({one * times})", f"{texts[1]} ({two * times})"


def _listed(names: Sequence[Words]) -> Words:
    return say("{names} and {last}", names=joined(names[:-1]), last=names[-1]) if len(names) > 1 else names[0]


def _why_out(a: Tally, b: Tally) -> Words:
    if a.out and b.out:
        return say("{name} and {name2} are both disqualified.", name=a.name, name2=b.name)
    inside, outside = (b, a) if a.out else (a, b)
    return say(
        "{name} is before {name2}, who is disqualified ({out}).", name=inside.name, name2=outside.name, out=outside.out
    )
