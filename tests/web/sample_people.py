"""Sample views of teams and accounts."""

from __future__ import annotations

from typing import Any

from palestra.text import Words
from palestra.web.models import people
from tests.web.sample_contest import DAY, HOUR, NAMES, NOW


def team(**more: Any) -> people.TeamPage:
    members = (
        people.Member(account="a1", name="lin.wei", captain=True, me=True, joined_at=NOW - 28 * DAY),
        people.Member(account="a2", name="Zhāng Xīnyí 张欣怡", joined_at=NOW - 27 * DAY),
        people.Member(account="a3", name="דנה כהן", joined_at=NOW - 26 * DAY),
    )
    declaration = Words(
        "We have made our solution ourselves and share no code with another team of this contest.",
        "本队独立完成参赛方案，未与其他参赛队伍共享代码。",
    )
    about: dict[str, Any] = {
        "members": members,
        "declaration": declaration,
        "declared_at": NOW - 28 * DAY,
        "invitations": (people.Invitation(id="i1", made_at=NOW - HOUR, expires_at=NOW + 6 * DAY),),
        "new_invitation": "https://contest.example/join/Zm9vYmFyYmF6cXV4",
    }
    return people.TeamPage(team="t1", name=NAMES[0], captain=True, **(about | more))


def account() -> people.AccountPage:
    tokens = (
        people.Token(
            id="k1",
            label="cluster",
            scopes=("submit", "data"),
            made_at=NOW - 9 * DAY,
            expires_at=NOW + 20 * DAY,
            used_at=NOW - HOUR,
        ),
        people.Token(id="k2", label="laptop", scopes=("submit",), made_at=NOW - DAY, expires_at=NOW + 6 * DAY),
    )
    sessions = (
        people.Session(id="e1", label="Firefox, Linux", made_at=NOW - DAY, current=True),
        people.Session(id="e2", label="Safari, iPhone", made_at=NOW - 4 * DAY),
    )
    return people.AccountPage(
        name="lin.wei",
        email="lin.wei@example.org",
        role="member",
        tokens=tokens,
        scopes=("submit", "data", "read"),
        sessions=sessions,
        new_token="pal_4f9c1b7e2a6d8035_sample",
    )
