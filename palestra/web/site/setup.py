"""How the server is set up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

REQUESTS_PER_S, BURST = 200.0, 1_000  # from one address, which may be that of a whole hall
PER_ADDRESS = 2_000  # connections at the same time from one address: a whole hall, each with a live page
ANSWER_S = 10.0  # for a whole answer of the site that people sign in through


class Oidc(msgspec.Struct, frozen=True):
    """What the organiser sets for sign-in through another site (OpenID Connect)."""

    issuer: str = ""  # exactly as the site names itself
    client_id: str = ""
    client_secret: str = ""  # empty: a public client, which PKCE alone protects
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    answer_s: float = ANSWER_S
    private: bool = False  # whether the site may be on this machine or its own network


@dataclass(frozen=True)
class Setup:
    """How the server is set up."""

    home: Path  # the folder of contest.toml
    spool: Path  # where uploads lie until they are complete
    address: str = ""  # that people reach it at; empty: whatever they asked for
    secure: bool = False  # whether it is reached by https alone
    oidc: Oidc | None = None
    requests_per_s: float = REQUESTS_PER_S
    burst: int = BURST
    per_address: int = PER_ADDRESS
    file: Path | None = None  # contest.toml, whose comments are kept
    slips: Mapping[str, str] = field(default_factory=dict)  # by phase, why nothing can be scored in it
