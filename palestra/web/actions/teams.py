"""Teams, their access to data, their submissions."""

import msgspec

from palestra.contest.decisions import access, declaration_digest, submissions, teams
from palestra.contest.log import State, new_id
from palestra.contest.log import events as e
from palestra.errors import PalestraError
from palestra.text import Words, say
from palestra.web.actions.accounts import Named, WithReason
from palestra.web.actions.registry import Done, Nothing, action
from palestra.web.auth import Caller
from palestra.web.site import Site


class MakeTeam(msgspec.Struct, frozen=True):
    name: str
    declaration: str = ""  # digest of the declaration that is accepted: SHA-256 of its English and Chinese text, joined


class Accept(msgspec.Struct, frozen=True):
    declaration: str  # digest of the text, as for a new team


class Rename(msgspec.Struct, frozen=True):
    name: str


class Join(msgspec.Struct, frozen=True):
    invitation: str


class Member(msgspec.Struct, frozen=True):
    account: str
    reason: str = ""


class RequestAccess(msgspec.Struct, frozen=True):
    phase: str
    licence: str  # digest of the text that is accepted


@action("make-team", needs="team")
async def make_team(site: Site, caller: Caller, data: MakeTeam) -> Done:
    """Make a team and become its captain, who accepts the declaration of independence where there is one."""
    team, account = new_id("t"), caller.viewer.account

    def decide(state: State, now: int) -> list[e.Body]:
        require_same(data.declaration, state.rules(now).declaration)
        return teams.make_team(state, now, team, data.name, account, bool(data.declaration))

    await site.act(caller.viewer, decide)
    return Done(team)


def require_same(accepted: str, text: Words) -> None:
    """What is accepted is what was read: rules may have changed since the page was loaded."""
    if accepted and accepted != declaration_digest(text):
        raise PalestraError(
            say("The declaration of independence is another one by now. Read it again before you accept it.")
        )


@action("accept-declaration", needs="team")
async def accept_declaration(site: Site, caller: Caller, data: Accept) -> Done:
    """Accept the declaration of independence for a team that is there already: its text was changed, or is new."""
    viewer = caller.viewer
    await site.act(
        viewer, lambda state, now: teams.accept_declaration(state, now, viewer.team, data.declaration, viewer.account)
    )
    return Done(viewer.team)


@action("rename-team", needs="team")
async def rename_team(site: Site, caller: Caller, data: Rename) -> Done:
    """Give the team another name, before its first submission."""
    viewer = caller.viewer
    await site.act(viewer, lambda state, now: teams.rename_team(state, now, viewer.team, data.name, viewer.account))
    return Done(viewer.team)


@action("invite", needs="team")
async def invite(site: Site, caller: Caller, data: Nothing) -> Done:
    """Make an invitation to the team: a secret to pass on, which one person can use once."""
    viewer, secret = caller.viewer, new_id("join-") + new_id("")
    await site.act(viewer, lambda state, now: teams.invite(state, now, viewer.team, secret, viewer.account))
    return Done(viewer.team, secret=secret)


@action("withdraw-invitation", needs="team")
async def withdraw_invitation(site: Site, caller: Caller, data: Named) -> Done:
    """Take an invitation back that nobody has used."""
    viewer = caller.viewer
    await site.act(viewer, lambda state, now: teams.withdraw_invitation(state, viewer.team, data.id, viewer.account))
    return Done(viewer.team)


@action("join-team", needs="team")
async def join_team(site: Site, caller: Caller, data: Join) -> Done:
    """Join a team by its invitation, or by the whole address of it."""
    viewer, secret = caller.viewer, data.invitation.strip().rpartition("/")[2]
    await site.act(viewer, lambda state, now: teams.join(state, now, secret, viewer.account))
    return Done(site.state.accounts[viewer.account].team)


@action("leave-team", needs="team")
async def leave_team(site: Site, caller: Caller, data: Member) -> Done:
    """Leave the team; its captain can also take another member out."""
    viewer = caller.viewer
    account = data.account or viewer.account
    await site.act(
        viewer, lambda state, now: teams.leave(state, now, viewer.team, account, viewer.account, data.reason)
    )
    return Done(account)


@action("change-captain", needs="team")
async def change_captain(site: Site, caller: Caller, data: Member) -> Done:
    """Hand the captaincy on."""
    viewer = caller.viewer
    await site.act(
        viewer, lambda state, now: teams.change_captain(state, now, viewer.team, data.account, viewer.account)
    )
    return Done(data.account)


@action("request-access", needs="team")
async def request_access(site: Site, caller: Caller, data: RequestAccess) -> Done:
    """Accept the licence and ask for a phase's data."""
    viewer = caller.viewer
    await site.act(viewer, lambda state, now: access.request(state, now, viewer.team, data.phase, data.licence))
    return Done(data.phase)


@action("withdraw", needs="submit")
async def withdraw(site: Site, caller: Caller, data: WithReason) -> Done:
    """Take a submission off the board. It stays in the log, and the quota it cost stays spent."""
    viewer = caller.viewer
    if not viewer.team:
        raise PalestraError(say("Only members of a team can withdraw its submissions."))
    await site.act(viewer, lambda state, now: submissions.withdraw(state, now, data.id, viewer.team, data.reason))
    return Done(data.id)
