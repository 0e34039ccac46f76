"""What becomes of accounts and teams: decisions from the state to events."""

import hashlib
import unicodedata
from collections.abc import Iterable
from typing import Literal

from palestra.contest.decisions.confusables import look_alike
from palestra.contest.log import Account, State, Team
from palestra.contest.log import events as e
from palestra.contest.rules import Role, Rules, require_reason, told
from palestra.errors import PalestraError, clean, clip
from palestra.text import Words, say

LONGEST_NAME = 64
RESERVED = ("system", "worker", "nobody", "baseline")
ROLES: dict[Role, Words] = {
    "organiser": say("organiser"), "referee": say("referee"), "member": say("contestant"), "viewer": say("viewer"),
}  # fmt: skip
_BLANKS = dict.fromkeys(
    map(ord, "\u115f\u1160\u3164\uffa0\u2800"), " "
)  # letters by their class, and yet nothing to see


def require_name(text: str, what: Literal["account", "team"]) -> str:
    """A name that people give to something: one line, printable, not too long, not the system's."""
    name = require_line(text, say("the name of the team") if what == "team" else say("the name of the account"))
    start = folded(name.split(":")[0])
    if any(look_alike(start, word, marks=False) for word in RESERVED):
        raise PalestraError(say("{name!r} is kept for the system. Choose another name.", name=name))
    return name


def require_line(text: str, what: Words) -> str:
    """One line that can be printed, and that is not too long."""
    line = unicodedata.normalize("NFC", clean(text.translate(_BLANKS)))
    if not line:
        raise PalestraError(
            say(
                "Nothing that can be read was given as {what}; expected 1 to {longest_name} characters.",
                what=what,
                longest_name=LONGEST_NAME,
            )
        )
    if len(line) > LONGEST_NAME:
        raise PalestraError(
            say(
                "{line} is too long as {what}; expected at most {longest_name} characters.",
                line=clip(line, 20),
                what=what,
                longest_name=LONGEST_NAME,
            )
        )
    return line


def folded(name: str) -> str:
    """What two names have in common that people take for the same: capitals, and letters of another width."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def make_account(state: State, account: str, name: str, role: Role, email: str = "") -> list[e.Body]:
    name = require_name(name, "account")
    if folded(name) in map(folded, state.names):
        raise PalestraError(
            say("There is an account {name!r} already. Sign in with it, or choose another name.", name=name)
        )
    _require_own_look(name, _officials(state), marks=False)
    return [e.AccountMade(account, name, role, clean(email)[:200])]


def change_role(state: State, account: str, role: Role, reason: str) -> list[e.Body]:
    one = _account(state, account)
    if role != "organiser":
        _require_other_organiser(state, account)
    if role != "member" and one.team:
        raise PalestraError(
            say("{name} is in a team, and nobody judges their own: they leave it first.", name=one.name)
        )
    return [e.RoleChanged(account, role, require_reason(reason))]


def change_password(account: str, by_link: bool, keep_tokens: bool) -> list[e.Body]:
    """Passwords are kept elsewhere; what became of the account's API tokens is told here."""
    return [e.PasswordChanged(account, "kept" if keep_tokens else "ended", by_link)]


def close_account(state: State, account: str, reason: str) -> list[e.Body]:
    one = _account(state, account)
    _require_other_organiser(state, account)
    return [e.AccountClosed(one.id, require_reason(reason))]


def _require_other_organiser(state: State, account: str) -> None:
    organisers = [one.id for one in state.accounts.values() if one.role == "organiser" and not one.closed]
    if organisers == [account]:
        raise PalestraError(say("This is the only organiser. Make another one first."))


def make_team(state: State, now: int, team: str, name: str, captain: str, declared: bool) -> list[e.Body]:
    """A new team. Its captain declares, where the rules ask for it, that it is independent of all others."""
    rules = state.rules(now)
    _require_registration(rules, now)
    name = require_name(name, "team")
    account = _account(state, captain)
    _require_free(account)
    _require_other_name(state, name)
    text = rules.declaration
    if (text.en or text.zh) and not declared:
        raise PalestraError(say("A team takes part once its captain has accepted the declaration of independence."))
    return [e.TeamMade(team, name, captain, digest_of(text.en + text.zh) if declared else "")]


def accept_declaration(state: State, now: int, team: str, accepted: str, by: str) -> list[e.Body]:
    """A team accepts a declaration that was changed since it was made, by the digest of the text that was read. Until
    then it takes part with the one it accepted: a changed word must not shut a team out in the middle of a phase."""
    one = _require_captain(state, team, by)
    wanted = declaration_digest(state.rules(now).declaration)
    if not wanted:
        raise PalestraError(say("The rules ask for no declaration."))
    if one.declared == wanted:
        raise PalestraError(say("Your team has accepted this declaration already."))
    if accepted != wanted:
        raise PalestraError(
            say("The declaration of independence is another one by now. Read it again before you accept it.")
        )
    return [e.DeclarationAccepted(team, wanted)]


def declaration_digest(text: Words) -> str:
    """By what a declaration is accepted; empty where none is asked."""
    return digest_of(text.en + text.zh) if text.en or text.zh else ""


def rename_team(state: State, now: int, team: str, name: str, by: str) -> list[e.Body]:
    """Boards of earlier times show a team by the name it has now."""
    _require_captain(state, team, by)
    if _has_submitted(state, team) and not _is_organiser(state, by):
        raise PalestraError(say("A team that has submitted keeps its name; ask the organiser."))
    name = require_name(name, "team")
    _require_other_name(state, name, but=team)
    return [e.TeamRenamed(team, name)]


def invite(state: State, now: int, team: str, invitation: str, by: str) -> list[e.Body]:
    """An invitation by its secret; only the digest of that is kept."""
    one = _require_captain(state, team, by)
    rules = state.rules(now)
    _require_registration(rules, now)
    if len(one.members) + len(one.invitations) >= rules.team_limit:
        raise PalestraError(
            say("A team has at most {team_limit} members, open invitations among them.", team_limit=rules.team_limit)
        )
    return [e.MemberInvited(team, digest_of(invitation))]


def withdraw_invitation(state: State, team: str, digest: str, by: str) -> list[e.Body]:
    """By the digest of its secret, which is all that is known of it."""
    if digest not in _require_captain(state, team, by).invitations:
        raise PalestraError(say("There is no such open invitation."))
    return [e.InvitationWithdrawn(team, digest)]


def join(state: State, now: int, invitation: str, account: str) -> list[e.Body]:
    rules = state.rules(now)
    _require_registration(rules, now)
    _require_free(_account(state, account))
    digest = digest_of(invitation)
    team = next((team for team in state.teams.values() if team.members and digest in team.invitations), None)
    if team is None:
        raise PalestraError(say("This invitation is not valid, or was used. Ask the team's captain for another one."))
    if len(team.members) >= rules.team_limit:  # it may have been lowered since the invitation
        raise PalestraError(
            say("This team is full: a team has at most {team_limit} members.", team_limit=rules.team_limit)
        )
    return [e.MemberJoined(team.id, account, digest)]


def leave(state: State, now: int, team: str, account: str, by: str, reason: str = "") -> list[e.Body]:
    """Whoever has seen results goes with the team that they were made for: else a quota could be had twice, by
    leaving for another team. The last one to leave a team that has not submitted ends it."""
    one = state.team(team)
    if account not in one.members:
        raise PalestraError(say("That person is no member of this team."))
    if account != by:
        _require_captain(state, team, by)
    if _has_submitted(state, team) and not _is_organiser(state, by):
        raise PalestraError(
            say("Your team has submitted: its members stay with it. Ask the organiser, who can decide.")
        )
    if account == one.captain and len(one.members) > 1:
        raise PalestraError(say("The captain cannot leave. Make another member captain first."))
    return [e.MemberLeft(team, account, clean(reason))]


def change_captain(state: State, now: int, team: str, account: str, by: str) -> list[e.Body]:
    one = _require_captain(state, team, by)
    if account not in one.members:
        raise PalestraError(say("Only a member can become captain."))
    _account(state, account)
    return [e.CaptainChanged(team, account)]


def disqualify(state: State, team: str, phase: str, reason: str) -> list[e.Body]:
    state.team(team)
    if phase:
        state.phase(phase)
    if state.out(team, phase):
        raise PalestraError(say("This team is disqualified already."))
    return [e.TeamDisqualified(team, require_reason(reason), phase)]


def reinstate(state: State, team: str, phase: str, reason: str) -> list[e.Body]:
    if not any(out.until is None for out in state.team(team).out.get(phase, [])):
        raise PalestraError(say("This team is not disqualified there."))
    return [e.TeamReinstated(team, require_reason(reason), phase)]


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _account(state: State, account: str) -> Account:
    one = state.accounts.get(account)
    if one is None or one.closed:
        raise PalestraError(say("There is no such account."))
    return one


def _require_free(account: Account) -> None:
    if account.role != "member":
        role = ROLES[account.role]
        raise PalestraError(say("An account for a {role} cannot take part in a team: use one of your own.", role=role))
    if account.team:
        raise PalestraError(say("You are in a team already. Leave it first; one person is in one team."))


def _require_other_name(state: State, name: str, but: str = "") -> None:
    taken = [team.name for team in state.teams.values() if team.id != but and team.members]
    sent = [whose for of_phase in state.of_team.values() for whose in of_phase]
    baselines = [whose.removeprefix("baseline:") for whose in sent if whose.startswith("baseline:")]
    if folded(name) in map(folded, [*taken, *baselines]):
        raise PalestraError(say("There is a team {name!r} already. Choose another name.", name=name))
    _require_own_look(name, [*taken, *baselines], marks=True)
    institution = state.rules().organiser
    _require_own_look(name, [*_officials(state), institution.en, institution.zh], marks=False)


def _officials(state: State) -> list[str]:
    """Whose word counts: nobody else has a name like theirs."""
    accounts = (one for one in state.accounts.values() if not one.closed)
    return [one.name for one in accounts if one.role in ("organiser", "referee")]


def _require_own_look(name: str, others: Iterable[str], marks: bool) -> None:
    """No other name that people would take this one for, whatever letters it is spelled with."""
    other = next((other for other in others if other and look_alike(name, other, marks)), None)
    if other is not None:
        raise PalestraError(
            say("{name!r} looks like {other!r}, which is taken. Choose another name.", name=name, other=other)
        )


def _require_captain(state: State, team: str, by: str) -> Team:
    one = state.team(team)
    if not (one.captain == by and by in one.members) and not _is_organiser(state, by):
        raise PalestraError(say("Only the team's captain can do this."))
    return one


def _is_organiser(state: State, by: str) -> bool:
    account = state.accounts.get(by)
    return account is not None and account.role == "organiser" and not account.closed


def _has_submitted(state: State, team: str) -> bool:
    return any(team in whose for whose in state.of_team.values())


def _require_registration(rules: Rules, now: int) -> None:
    opens, closes = rules.registration_opens, rules.registration_closes
    if opens is not None and now < opens:
        raise PalestraError(say("Registration opens {time}.", time=told(opens, rules.zone)))
    if closes is not None and now >= closes:
        raise PalestraError(say("Registration closed {time}.", time=told(closes, rules.zone)))
