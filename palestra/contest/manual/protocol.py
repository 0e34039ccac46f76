"""The protocol of a match and how it is scored, in words, from the readings that the contest file chose."""

from __future__ import annotations

from fractions import Fraction

from palestra.contest.manual.blocks import Block, Heading, Points, Prose, Section
from palestra.contest.match import MatchRules, shown, weights_of
from palestra.text import Words, say, say_as, say_count


def protocol(rules: MatchRules) -> Section:
    blocks: list[Block] = [
        Heading(say("A team's turn")),
        Points(tuple(_turn(rules)), numbered=True),
        Heading(say_as("manual", "Time")),
        Points(tuple(_time(rules))),
        Heading(say("Retry, restart, abandon")),
        Points(tuple(_second_tries(rules))),
        Heading(say("Referees, publication, appeal")),
        Points(tuple(_referees(rules))),
        Heading(say("Fair play")),
        Points(tuple(_fairness())),
    ]
    return Section("protocol", say("Protocol"), tuple(blocks))


def _turn(rules: MatchRules) -> list[Words]:
    return [
        say("The image of each team is frozen before its turn. Weights are hashed before and after each case."),
        say("The referee lays the scene, compares it with the reference layout and a photo, and signs it off."),
        say("The team confirms that its system is up."),
        say("The referee enters the instruction. The policy receives it when the clock starts and not before."),
        say("Hand signal; the referee starts the clock; the system acts by itself."),
        say("The referee stops the clock on the team's word, or the time limit does. What holds then is marked."),
        say("The next case follows, until all are played or the 55 minutes are over."),
    ]


def _time(rules: MatchRules) -> list[Words]:
    limit = shown(rules.limit_ms)
    per = (
        say("Each group of cases has {limit} of running clock in all.", limit=limit)
        if rules.limit_per == "group"
        else say("Each case has {limit}.", limit=limit)
    )
    order = {
        "team": say("The order of groups is drawn for each team."),
        "all": say("The order of groups is drawn once and is the same for all teams."),
        "fixed": say("The order of groups is fixed, and the same for all teams."),
    }[rules.draw]
    return [
        _shape(rules),
        say("A team has 55 minutes at the table, preparation and switching included. Nothing extends them."),
        per,
        order,
        say(
            "A draw is made from a seed in public: groups are ordered by SHA-256 of "
            "“seed/team/group” (“seed/group” in one draw for all), so that "
            "anybody can draw again."
        ),
        say(
            "The clock is the server's, in milliseconds. Only the head referee can hold it, for "
            "what is not the team's doing, with a reason."
        ),
        say("When the 55 minutes end, the running case is scored as it stands and the others score 0."),
    ]


def _shape(rules: MatchRules) -> Words:
    groups, cases = rules.groups, rules.cases
    if rules.shape == "about":
        return say(
            "There are about {groups} groups of about {cases} cases, the same for all teams.",
            groups=groups,
            cases=cases,
        )
    return say("There are {groups} groups of {cases} cases, the same for all teams.", groups=groups, cases=cases)


def _second_tries(rules: MatchRules) -> list[Words]:
    last = rules.counts == "last"
    return [
        say(
            "After a drop, a hang or a bad pose a case may be tried again, {retries} times at "
            "most. The clock runs on through the reset.",
            retries=rules.retries,
        ),
        say("The last attempt counts: what was met before it is lost.")
        if last
        else say("The best attempt counts: what was met before stays."),
        say_count(
            "A program that hangs may be restarted once in all, approved by a named referee. The clock runs on, and it "
            "is not a retry.",
            "A program that hangs may be restarted {count} times in all, approved by a named referee. The clock runs "
            "on, and it is not a retry.",
            rules.restarts,
        ),
        say(
            "A case that is abandoned scores 0, whatever was met. One that runs out of time keeps "
            "what holds when the clock stops."
        ),
    ]


def _referees(rules: MatchRules) -> list[Words]:
    minutes = rules.appeal_ms // 60_000
    return [
        say(
            "{referees} referees or more mark independently, and have declared to be neutral.", referees=rules.referees
        ),
        say("Where they differ, the head referee rules, with a reason. Nothing is published before."),
        say("A team may appeal for {minutes} minutes after a result is published.", minutes=minutes),
        say("Every correction is a new entry in the log, with its author and reason. Nothing is erased."),
    ]


def _fairness() -> list[Words]:
    return [
        say("Weights and settings may differ from the online phase; the core of the algorithm may not."),
        say("No data is collected and nothing is learnt on site. Programs have no network but the line to the robot."),
        say("Nobody touches objects, arm or program while the clock runs, unless a referee allows it."),
        say(
            "A violation can cost points, a result or the team. It is itemised with its rule, "
            "proposed by one referee and confirmed by another."
        ),
        say("Logs of teams and robot are hashed when they are taken, and may not be altered."),
    ]


# Scoring


def scoring(rules: MatchRules, has_final: bool) -> Section:
    online, onsite = weights_of(rules)
    blocks: list[Block] = [
        Points(tuple(_scores(rules))),
        Heading(say("Equal scores")),
        Points(tuple(_ties(rules)), numbered=True),
    ]
    if has_final:
        blocks += [
            Heading(say("Final score")),
            Prose(
                say(
                    "Final = {percent} online + {percent2} on site, both from 0 to 1. A tie falls to the chain above.",
                    percent=_percent(online),
                    percent2=_percent(onsite),
                )
            ),
        ]
    return Section("scoring", say("Scoring"), tuple(blocks))


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):g} %"


def _scores(rules: MatchRules) -> list[Words]:
    over = say("the mean over all cases") if rules.mean == "cases" else say("the mean of the groups' means")
    return [
        say("Score of a case = met sub-goals ÷ sub-goals, as an exact fraction, less what was deducted; not below 0."),
        say("Score of a team = {over}. It is kept from 0 to 1, and shown out of 10 and in per cent.", over=over),
        say("What holds at the end counts. When it first held is logged, and does not count."),
    ]


def _ties(rules: MatchRules) -> list[Words]:
    charge = say("its group's limit ÷ the group's cases") if rules.limit_per == "group" else say("its limit")
    return [
        say(
            "Less time in all: running clock, summed in milliseconds and compared in whole "
            "seconds. A case that was abandoned or not reached is charged {charge}.",
            charge=charge,
        ),
        say("More cases met in full."),
        say("The smaller variance of the case scores (population variance, exact)."),
        say("Then the rank is shared."),
    ]
