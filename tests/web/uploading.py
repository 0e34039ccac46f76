"""Sends files to a server as a browser does, and does the jobs that follow in this process."""

import shutil
from pathlib import Path
from typing import Any

import httpx
import msgspec

from palestra.contest.log import events as e
from palestra.contest.queue import jobs
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.workers.jobs import do
from palestra.contest.workers.settle import Desk
from tests.web.conftest import As, World


def begin(somebody: As, phase: str = "first", name: str = "answers.csv", size: int = 10, **more: Any) -> httpx.Response:
    headers = somebody._headers({"x-csrf-token": somebody.csrf})
    given = {"phase": phase, "name": name, "bytes": size, **more}
    return somebody._alone(somebody.client.post("/api/uploads", json=given, headers=headers))


def append(somebody: As, upload: str, offset: int | str, data: bytes) -> httpx.Response:
    headers = somebody._headers({"x-csrf-token": somebody.csrf, "upload-offset": str(offset)})
    return somebody._alone(somebody.client.patch(f"/api/uploads/{upload}", content=data, headers=headers))


def complete(somebody: As, upload: str) -> httpx.Response:
    headers = somebody._headers({"x-csrf-token": somebody.csrf})
    return somebody._alone(somebody.client.post(f"/api/uploads/{upload}/complete", headers=headers))


def submitted(somebody: As, data: bytes, phase: str = "first", name: str = "answers.csv", **more: Any) -> str:
    """A file from its beginning to its submission; the submission's id."""
    begun = begin(somebody, phase, name, len(data), **more)
    assert begun.status_code == 201, begun.text
    upload = begun.json()["upload"]
    assert append(somebody, upload, 0, data).status_code == 200
    done = complete(somebody, upload)
    assert done.status_code == 200, done.text
    return str(done.json()["submission"])


def with_data(world: World, phase_id: str, data: Path) -> None:
    """Give a phase its data."""
    rules = world.state.rules()
    folder = f"data-{phase_id}"
    shutil.copytree(data, world.site.setup.home / folder)
    phases = tuple(msgspec.structs.replace(one, data=folder) if one.id == phase_id else one for one in rules.phases)
    changed = msgspec.structs.replace(rules, phases=phases)
    world.clock.advance(1000)
    world.add(e.RulesAmended(encode_rules(changed), world.clock(), "its data is there"))


def work_off(world: World, *kinds: str) -> None:
    """Do all jobs of these kinds that wait, as a worker does."""
    desk = Desk(world.contest, world.site.setup.home)
    while job := jobs.lease(world.contest.engine, "w", kinds, world.clock()):
        desk.settle(job, do(desk.begin(job)))
