"""The API as its own description says: whatever is sent, nothing fails, and answers are those that are described."""

import asyncio
import contextlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi import checks

from palestra.contest.accounts import tokens
from palestra.contest.storage.database import writing
from tests.contest.story import DAY
from tests.web.asking import ask
from tests.web.conftest import World

EXAMPLES = {GenerationMode.POSITIVE: 6, GenerationMode.NEGATIVE: 3}  # of each operation; wrong ones take long to find
CHECKED = [
    checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance,
]  # fmt: skip
WITHOUT_LIMITS = settings(
    derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
# What is there, so that requests come further than to what is not.
KNOWN = {
    "phase": "first", "team": "t1", "account": "dan", "submission": "s1", "run": "none", "id": "s1",
    "reason": "a reason", "reasons": "reasons", "part": "starter", "what": "file", "number": 1, "award": 0,
    "name": "Newcomers",
}  # fmt: skip


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def token_of(world: World, account: str) -> str:
    role = world.state.accounts[account].role
    with writing(world.contest.engine) as connection:
        return tokens.make(connection, "token", account, world.clock(), 300 * DAY, sorted(tokens.POWERS[role]))[0]


def described(world: World, loop: asyncio.AbstractEventLoop) -> Any:
    return schemathesis.openapi.from_dict(
        loop.run_until_complete(ask(world.app, "GET", "/api/schema/openapi.json")).json
    )


class Sender:
    """Sends what schemathesis made up, and keeps what is wrong with the answers."""

    def __init__(self, world: World, loop: asyncio.AbstractEventLoop, token: str) -> None:
        self.world, self.loop, self.token = world, loop, token
        self.wrong: list[str] = []
        self.count = 0

    def send(self, case: Any, known: bool) -> None:
        if known:
            self._fill(case)
        request = requests.Request(**case.as_transport_kwargs("http://contest.example")).prepare()
        headers = {name: value for name, value in request.headers.items() if name.lower() != "authorization"}
        headers |= {"authorization": f"Bearer {self.token}"}
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        path = str(request.url).removeprefix("http://contest.example") or "/"
        answer = self.loop.run_until_complete(ask(self.world.app, case.method, path, headers, body))
        self.count += 1
        told = httpx.Response(
            answer.status, headers=answer.headers, content=answer.body, request=httpx.Request(case.method, request.url)
        )
        told.elapsed = timedelta()
        self._look(case, told, f"{case.method} {path[:200]} {body[:300]!r}")

    def _fill(self, case: Any) -> None:
        for fields in (case.path_parameters, case.body):
            if isinstance(fields, dict):
                fields.update({name: KNOWN[name] for name in fields if name in KNOWN})

    def _look(self, case: Any, told: httpx.Response, where: str) -> None:
        if told.status_code >= 500:
            self.wrong.append(f"{where}: {told.status_code} {told.text[:200]}")
            return
        try:
            case.validate_response(told, checks=CHECKED)
        except FailureGroup as group:
            self.wrong += [
                f"{where}: {told.status_code} {failure.title}: {failure.message}"[:600] for failure in group.exceptions
            ]


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize("account", ["", "bob", "olga"], ids=["nobody", "member", "organiser"])
def test_whatever_is_sent_nothing_fails(
    world: World, loop: asyncio.AbstractEventLoop, account: str, mode: GenerationMode
) -> None:
    sender = Sender(world, loop, token_of(world, account) if account else "")
    operations = [found.ok() for found in described(world, loop).get_all_operations()]
    assert len(operations) > 50
    for operation in operations:
        if mode == GenerationMode.NEGATIVE and not (operation.body or operation.query):
            continue  # any text is right in a path
        run = given(case=operation.as_strategy(mode), known=st.booleans())(sender.send)
        with contextlib.suppress(Unsatisfiable):  # nothing wrong can be made up for what takes anything
            settings(WITHOUT_LIMITS, max_examples=EXAMPLES[mode])(run)()
    assert sender.count > 100
    assert not sender.wrong, f"{len(sender.wrong)} of {sender.count}:\n" + "\n".join(sender.wrong[:15])
