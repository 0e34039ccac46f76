"""What someone can do at the table now, with what there is to choose from: enough for a page to ask it of a person."""

import msgspec

from palestra.contest.log import State
from palestra.contest.match import ASK, LABELS, Match, Option, Who, case_of, options
from palestra.text import Words, say
from palestra.web.match.case_view import name_in
from palestra.web.match.models import Choice, Step

WHY = {
    "drop": say("An object fell or is out of reach"),
    "hang": say("The program hangs"),
    "pose": say("The robot is in a bad pose"),
}
PENALTY = {
    "points": say("Points"),
    "result": say("The result of a case"),
    "team": say("The team is disqualified"),
}
LOG = {"team": say("The team's log"), "robot": say("The robot's log")}
UPHELD = {"true": say("Upheld: the result is corrected"), "false": say("Rejected")}
LABELS_BY_KIND = {str(kind.__struct_config__.tag): label for kind, label in LABELS.items()}  # type: ignore[attr-defined]


def steps_of(state: State, match: Match, who: Who, now: int, team: str) -> tuple[Step, ...]:
    return tuple(_step(state, match, option) for option in options(match, who, now, team))


def _step(state: State, match: Match, option: Option) -> Step:
    """What stands for an answer that a person has yet to give is left out; what there is to begin with stays."""
    wish = msgspec.to_builtins(option.wish)
    empty = [name for name in option.needs if isinstance(wish.get(name), str) and not wish[name].strip(ASK)]
    found = {name: _choices(state, match, option, name) for name in option.needs}
    return Step(
        kind=option.kind,
        label=option.label,
        cost=option.cost,
        wish={name: value for name, value in wish.items() if name not in empty},
        needs=option.needs,
        choices={name: choices for name, choices in found.items() if choices},
    )


def _choices(state: State, match: Match, option: Option, name: str) -> tuple[Choice, ...]:
    wish = option.wish
    turn = match.turns.get(getattr(wish, "team", ""))
    free = [one for one in match.setup.declared if one != match.opened.head]
    match name:
        case "why":
            return _from(WHY)
        case "what":
            return _from(LOG if option.kind == "log.taken" else PENALTY)
        case "upheld":
            return _from(UPHELD)
        case "conflicts":
            return tuple(Choice(one.team, Words(one.name)) for one in match.opened.teams)
        case "referees" | "substitute":
            return tuple(Choice(one, Words(name_in(state, one))) for one in free)
        case "referee" | "approved_by":
            return tuple(Choice(one, Words(name_in(state, one))) for one in (turn.referees() if turn else ()))
        case "met":
            _, sheet = case_of(match.opened, getattr(wish, "case", ""))
            return tuple(Choice(goal.id, goal.text) for goal in sheet.goals)
        case "cases":
            return tuple(Choice(one, Words(one)) for one in getattr(wish, "cases", ()))
        case "case":
            return tuple(Choice(one, Words(one)) for one in (turn.cases if turn else ()))
        case "image":
            images = turn.images if turn and option.kind == "image.frozen" else []
            return tuple(Choice(one.image, Words(one.name or one.image)) for one in images)
    return ()


def _from(table: dict[str, Words]) -> tuple[Choice, ...]:
    return tuple(Choice(value, label) for value, label in table.items())
