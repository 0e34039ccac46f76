"""A match is opened: its teams from the contest, its cases, things and layouts from the phase's data."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from palestra.contest import takes_part
from palestra.contest.decisions import promoted_with
from palestra.contest.log import Body, State, new_id
from palestra.contest.match import CaseSet, Entrant, MatchOpened, MatchRules, Sheet, match_rules
from palestra.contest.match import state_machine as table
from palestra.contest.rules import MatchPlan, Phase, Rules, track_of
from palestra.errors import PalestraError
from palestra.text import say
from palestra.web.actions import Done, action
from palestra.web.auth import Caller
from palestra.web.site import Site, in_thread


class OpenMatch(msgspec.Struct, frozen=True):
    phase: str
    head: str  # the head referee: account, or what they sign in with
    preset: Literal["", "seed", "english", "literal"] = ""  # empty: as the phase's settings say
    draw: Literal["", "all", "team", "fixed"] = ""
    cases: CaseSet = "hidden"
    rehearsal: bool = False


@action("open-match", needs="organise", desk=True)
async def open_match(site: Site, caller: Caller, data: OpenMatch) -> Done:
    """Open the referees' table of a phase: for its teams, with its cases."""
    name = new_id("m")
    phase = site.state.phase(data.phase, site.now)
    _require_plan(phase, data)
    rules = _rules(site.state.rules(site.now), phase, data)
    sheet = await in_thread(lambda: _sheet(site, phase, data.cases, rules))

    def decide(state: State, now: int) -> Sequence[Body]:
        body = MatchOpened(
            match=name,
            phase=phase.id,
            rules=rules,
            groups=sheet.groups,
            teams=tuple(_teams(state, state.phase(data.phase, now))),
            head=_head(state, data.head),
            things=sheet.things,
            rehearsal=data.rehearsal,
        )
        return table.open_match(state.matches, caller.viewer.role, body)  # type: ignore[arg-type]  # an organiser's

    await site.act(caller.viewer, decide)
    return Done(name, go=f"/matches/{name}/head")


def _require_plan(phase: Phase, data: OpenMatch) -> None:
    """What is published becomes the result of the phase, so the rules must say that referees judge it."""
    if phase.match is None and not data.rehearsal:
        raise PalestraError(
            say(
                "Phase {id} is not judged by referees: add [phase.match] to it in the contest file, "
                "or open the match as a rehearsal, which counts for nothing.",
                id=phase.id,
            )
        )


def _rules(rules: Rules, phase: Phase, data: OpenMatch) -> MatchRules:
    """As the contest file has them, or as the organiser has just chosen."""
    plan = phase.match or MatchPlan()
    if data.preset and data.preset != plan.preset:
        plan = msgspec.structs.replace(plan, preset=data.preset, draw="")
    if data.draw:
        plan = msgspec.structs.replace(plan, draw=data.draw)
    return match_rules(rules, phase.id, plan)


def _head(state: State, name: str) -> str:
    account = state.accounts.get(name) or state.accounts.get(state.names.get(name.lower(), ""))
    if account is None or account.closed or account.role not in ("referee", "organiser"):
        raise PalestraError(say("The head referee is an account of a referee or an organiser."))
    return account.id


def _teams(state: State, phase: Phase) -> list[Entrant]:
    """All who take part, the best of the phase before first."""
    ranks = {one.team: one.rank for made in state.promotions.values() if made.to == phase.id for one in made.teams}
    teams = [team for team in state.teams.values() if takes_part(state, phase, team.id)]
    teams.sort(key=lambda team: (ranks.get(team.id, len(ranks) + 1), team.made_at))
    return [Entrant(team.id, team.name, _core(state, phase, team.id)) for team in teams]


def _core(state: State, phase: Phase, team: str) -> str:
    """The digest of the code that a team was promoted with, where its bundle told it."""
    before = promoted_with(state, phase, team)
    return before.parts.code if before and before.parts else ""


# From a data set to what referees work with


def _sheet(site: Site, phase: Phase, cases: CaseSet, rules: MatchRules) -> Sheet:
    """What the phase's track brings to the table; layouts go into the file store."""
    match = track_of(phase).match
    if match is None:
        raise PalestraError(
            say("Phase {id} is not played at a table: its track is {track}.", id=phase.id, track=phase.track)
        )
    whole: Sheet = match.sheet(site.setup.home / phase.data, cases)
    sheet = whole.first(rules.cases if rules.shape == "exact" else None)
    for layout in sheet.layouts.values():
        site.contest.files.put(layout)
    return sheet
