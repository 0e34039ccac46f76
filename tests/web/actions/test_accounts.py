"""What people do with their own accounts."""

import pytest

from palestra.contest.accounts import passwords, tokens
from palestra.contest.log import events as e
from palestra.contest.storage.database import writing
from tests.contest.story import DAY
from tests.web.conftest import As, World

OLD, NEW = "horses that read staples", "staples that read horses"


def token_of(world: World, account: str) -> str:
    with writing(world.contest.engine) as connection:
        return tokens.make(connection, "token", account, world.clock(), DAY, ("read",))[0]


@pytest.mark.parametrize(("choice", "kept"), [({}, False), ({"keep_tokens": "yes"}, True)])
@pytest.mark.parametrize("by_link", [False, True])
def test_a_new_password_ends_the_tokens_unless_they_are_to_be_kept(
    world: World, people: dict[str, As], by_link: bool, choice: dict[str, str], kept: bool
) -> None:
    told: list[e.Body] = []
    world.contest.listen(lambda events: told.extend(event.body for event in events))
    with writing(world.contest.engine) as connection:
        passwords.set_password(connection, "ann", passwords.hashed(OLD, "ann"), world.clock())
        link, _ = tokens.make(connection, "link", "ann", world.clock(), DAY, ("reset",))
    token, others = token_of(world, "ann"), token_of(world, "bob")
    captain = people["captain"]
    form = captain.get(f"/link/{link}" if by_link else "/account").text
    assert 'name="keep_tokens"' in form and "checked" not in form.partition('name="keep_tokens"')[2][:40]
    if by_link:
        captain.do("use-link", link=link, password=NEW, **choice)
    else:
        captain.do("change-password", old=OLD, new=NEW, **choice)
    assert (tokens.find(world.contest.engine, "token", token, world.clock()) is not None) == kept
    assert tokens.find(world.contest.engine, "token", others, world.clock()) is not None
    assert told == [e.PasswordChanged("ann", "kept" if kept else "ended", by_link)]
    assert passwords.check(world.contest.engine, "ann", NEW)


def test_a_link_that_was_used_changes_nothing_more(world: World, people: dict[str, As]) -> None:
    with writing(world.contest.engine) as connection:
        link, _ = tokens.make(connection, "link", "ann", world.clock(), DAY, ("reset",))
    nobody = people["nobody"]
    nobody.do("use-link", link=link, password=NEW)
    seq = world.state.seq
    assert nobody.do("use-link", link=link, password=OLD).status_code == 409
    assert world.state.seq == seq and not passwords.check(world.contest.engine, "ann", OLD)
