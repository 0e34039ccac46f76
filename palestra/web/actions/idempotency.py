"""Requests that come twice are done once: a browser that sends a form again, a program that did not hear the answer."""

import asyncio
import hashlib
from typing import Any

import msgspec
from sqlalchemy import delete, select, update

from palestra.contest.storage import answered, writing
from palestra.errors import PalestraError
from palestra.text import say
from palestra.web.actions.registry import Action, Done
from palestra.web.auth import Caller
from palestra.web.site import Site, in_thread

KEPT_MS = 86_400_000
DOING_MS = 60_000  # after which what another process has begun counts as given up
DOING, DONE = 102, 200
LONGEST = 200  # letters of a number that a sender gives


async def perform(site: Site, caller: Caller, one: Action, data: Any, given: str) -> Done:
    """Do an action; once, where its sender gave it a number. Who sends it again meanwhile gets the same answer."""
    if not given:
        return await one.do(site, caller, data)
    key = key_of(caller, one.name, given[:LONGEST], data)
    if key not in site.doing:
        task = asyncio.ensure_future(_first(site, caller, one, data, key))
        site.doing[key] = task
        task.add_done_callback(lambda _: site.doing.pop(key, None))
    return await asyncio.shield(site.doing[key])


def key_of(caller: Caller, action: str, given: str, data: Any) -> str:
    """A request's key: whose it is, what it asks for, and the number that its sender gave it. A form that was changed
    and sent again is another one."""
    whose = caller.viewer.account or caller.secret
    return hashlib.sha256(f"{whose}\n{action}\n{given}\n".encode() + msgspec.json.encode(data)).hexdigest()


async def _first(site: Site, caller: Caller, one: Action, data: Any, key: str) -> Done:
    before = await in_thread(lambda: _begin(site, key))
    if before is not None:
        return msgspec.json.decode(before, type=Done)
    kept = b""
    try:
        done = await one.do(site, caller, data)
        if not done.session:  # it is in no table, so it cannot be given again: who sends that once more signs in anew
            kept = msgspec.json.encode(msgspec.structs.replace(done, secret=""))
    finally:
        await in_thread(lambda: _end(site, key, kept))
    return done


def _begin(site: Site, key: str) -> bytes | None:
    """The answer that this request had before; nothing where it is to be done now."""
    now = site.now
    with writing(site.contest.engine) as connection:
        connection.execute(delete(answered).where(answered.c.at < now - KEPT_MS))
        row = connection.execute(select(answered).where(answered.c.key == key)).first()
        if row and row.status == DONE:
            return bytes(row.body)
        if row and row.at > now - DOING_MS:
            raise PalestraError(say("This is being done already. Look again in a moment."))
        connection.execute(delete(answered).where(answered.c.key == key))
        connection.execute(answered.insert().values(key=key, at=now, status=DOING, body=b""))
    return None


def _end(site: Site, key: str, body: bytes) -> None:
    """Keep the answer; where there is none, the same may be tried again."""
    mine = answered.c.key == key
    with writing(site.contest.engine) as connection:
        connection.execute(
            update(answered).where(mine).values(status=DONE, body=body) if body else delete(answered).where(mine)
        )
