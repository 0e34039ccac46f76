"""What the pages of teams and accounts are given. See models/public.py."""

from __future__ import annotations

from typing import Literal

import msgspec

from palestra.text import Words
from palestra.web.models.public import Download, PhaseState


class Member(msgspec.Struct, frozen=True, kw_only=True):
    account: str
    name: str
    captain: bool = False
    me: bool = False
    joined_at: int


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    made_at: int
    expires_at: int


class TeamPage(msgspec.Struct, frozen=True, kw_only=True):
    team: str = ""  # empty: the viewer has none yet
    name: str = ""
    captain: bool = False  # whether the viewer is
    members: tuple[Member, ...] = ()
    limit: int = 10
    invitations: tuple[Invitation, ...] = ()
    new_invitation: str = ""  # the address to pass on, shown once
    declaration: Words = Words()
    declaration_digest: str = ""
    declared_at: int | None = None
    to_declare: bool = False  # what was accepted, if anything, is another text than the one that is asked now
    disqualified: str = ""  # why
    registration: PhaseState = "open"
    registration_opens: int | None = None
    registration_closes: int | None = None
    awards: tuple[Download, ...] = ()  # certificates


class JoinPage(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation, opened."""

    secret: str
    team_name: str
    members: int
    limit: int
    refusal: Literal["", "used", "expired", "full", "in_team", "signed_out", "closed"] = ""


# Accounts


class SignInPage(msgspec.Struct, frozen=True, kw_only=True):
    next: str = "/"
    name: str = ""
    outside: str = ""  # the name of an outside sign-in, if one is set up
    wait_s: int = 0  # until another try is heard
    register: bool = True


class RegisterPage(msgspec.Struct, frozen=True, kw_only=True):
    next: str = "/"
    name: str = ""
    email: str = ""
    closed: bool = False


class LinkPage(msgspec.Struct, frozen=True, kw_only=True):
    """A one-time link: makes an account with a role, or sets a new password."""

    secret: str
    purpose: Literal["account", "password"]
    role: str = "member"
    name: str = ""  # of an account that exists
    expires_at: int | None = None
    has_tokens: bool = False
    spent: bool = False


class Token(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    label: str
    scopes: tuple[str, ...]
    made_at: int
    expires_at: int
    used_at: int | None = None


class Session(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    label: str  # what the browser called itself
    made_at: int
    used_at: int | None = None
    current: bool = False


class AccountPage(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    email: str = ""
    role: str
    has_password: bool = True
    tokens: tuple[Token, ...] = ()
    new_token: str = ""  # shown once
    scopes: tuple[str, ...] = ()  # that this account may give
    sessions: tuple[Session, ...] = ()
