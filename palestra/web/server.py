"""Starts the server of a contest, with workers beside it, and stops them in good order."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import msgspec
import uvicorn

from palestra import console
from palestra.contest.decisions import rule_changes
from palestra.contest.log import clock
from palestra.contest.setup import Place, first_link, off_stage, pack_data, unpacked, without_data
from palestra.errors import PalestraError
from palestra.executors import held, start_process
from palestra.parallel import collect_seldom, end_with_parent
from palestra.text import say
from palestra.web.http_limits import Connections, HttpLimits, with_files
from palestra.web.site import PER_ADDRESS, Oidc, Setup, Site

if TYPE_CHECKING:
    from litestar import Litestar

STOP_S = 10  # that requests under way get when the server is stopped
LIBRARIES = ("authlib", "joserfc", "tomlkit", "zxcvbn")  # of the extra `server`
SETTINGS = "PALESTRA_SERVE"  # how server processes that uvicorn starts learn what to serve


@dataclass(frozen=True)
class Serve:
    """How a contest is to be served."""

    place: Place
    host: str = "127.0.0.1"
    port: int = 8765
    address: str = ""  # that people reach it at
    workers: int = 1  # processes that score, started beside the server
    processes: int = 1  # of the server itself; more than one needs PostgreSQL
    proxies: str = ""  # addresses of proxies whose word on who asks is taken
    oidc: Oidc | None = None
    json_logs: bool = False
    per_address: int = PER_ADDRESS  # connections at the same time from one address


def site_of(serve: Serve) -> Site:
    secure = serve.address.startswith("https://")
    place, address = serve.place, serve.address.rstrip("/")
    contest = place.open()
    slips = place.look_at_tracks(contest)
    setup = Setup(
        place.home,
        place.spool,
        address,
        secure,
        serve.oidc,
        file=place.file,
        per_address=serve.per_address,
        slips=slips,
    )
    return Site(contest, setup)


def open_app(serve: Serve) -> tuple[Site, Callable[[], "Litestar"]]:
    """A site, and what makes its server. The routes are put together while the contest is read from the disk."""
    beside = ThreadPoolExecutor(1)
    routes = beside.submit(_routes)
    beside.shutdown(wait=False)
    site = site_of(serve)

    def app() -> "Litestar":
        from palestra.web.app import house

        return house(routes.result(), site)

    return site, app


def _routes() -> "Litestar":
    from palestra.web.app import routed

    return routed()


def run(serve: Serve, told: Callable[[str], None]) -> None:
    """Serve until told to stop."""
    _log_as(serve.json_logs)
    _require_libraries()
    _require_port(serve)  # before a link is made: a server that cannot start must not outdate that of one that runs
    with _workers(serve) as children:
        _run(serve, told, children)


@contextmanager
def _workers(serve: Serve) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that get ready for work while the contest is opened, and begin when they are told to."""
    children: list[subprocess.Popen[bytes]] = []
    try:
        with held():
            children += [_start_worker(serve) for _ in range(serve.workers)]
        yield children
    finally:
        _end(children)


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.send_signal(signal.SIGTERM)  # nothing, where it has ended
    for child in children:
        child.wait()


def _run(serve: Serve, told: Callable[[str], None], children: list[subprocess.Popen[bytes]]) -> None:
    site, app = open_app(serve)
    shown = _shown(serve)
    clock.hand_down(site.contest.now)
    for line in _warnings(serve, site, f"{shown}/desk/rules"):
        told(line)
    if link := first_link(site.contest):
        told(f"Nobody is organiser yet. Whoever opens this link first, becomes it:\n  {shown}/link/{link}")
    stopping = threading.Event()
    packing: BaseProcess | None = None
    watch = threading.Thread(target=_keep_alive, args=(serve, children, stopping, told), daemon=True)
    try:
        if unpacked(serve.place, site.contest):
            packing = _start_packing(serve.place)
        for child in children:
            _begin(child)
        watch.start()
        told(f"Open {shown} in a browser. Ctrl-C stops the server.")
        _serve(serve, site, app)
    finally:
        stopping.set()
        if watch.is_alive():
            watch.join()
        if packing:
            packing.terminate()
            packing.join()
        _end(children)  # so that we are the last to let go of the database, and leave all of it in one file
        site.contest.close()


def _warnings(serve: Serve, site: Site, desk: str) -> list[str]:
    ahead = clock.log_is_ahead(site.state.at, site.now, site.state.rules().zone)
    bare = [
        f"{phase.id}: its data folder {phase.data or '(none)'} is not there; nothing can be scored in it yet."
        for phase in without_data(serve.place, site.contest)
    ]
    bare += [
        f'{phase.id}: its people are captured while they are played: set held = "on-stage" and pace = "real".'
        for phase in off_stage(serve.place, site.contest)
    ]
    bare += [f"{phase}: nothing can be scored in it. {slip}" for phase, slip in site.setup.slips.items()]
    return [*([ahead] if ahead else []), *rule_changes.told(serve.place.file, site.state, site.now, desk), *bare]


def _shown(serve: Serve) -> str:
    """An address that a browser on this machine can open: one that listens everywhere is none."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(serve.host, serve.host)
    host = f"[{host}]" if ":" in host else host
    return serve.address.rstrip("/") or f"http://{host}:{serve.port}"


def _require_libraries() -> None:
    for name in LIBRARIES:
        if find_spec(name) is None:
            raise PalestraError(
                say(
                    "A contest's server needs {name}, which is not installed: pip install 'palestra[server]'", name=name
                )
            )


def _require_port(serve: Serve) -> None:
    family = socket.AF_INET6 if ":" in serve.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            probe.bind((serve.host, serve.port))
        except OSError as error:
            raise PalestraError(
                say(
                    "The server cannot listen on {host}, port {port}: {strerror}. Is it running already? "
                    "Stop that one, or choose another with --port.",
                    host=serve.host,
                    port=serve.port,
                    strerror=error.strerror,
                )
            ) from None


def _start_packing(place: Place) -> BaseProcess:
    # No daemon: such a process may not start others, and data for a starter kit is made in several.
    packing = get_context("spawn").Process(target=_pack, args=(place, os.getpid()))
    start_process(packing)
    assert packing.pid is not None
    os.setpriority(os.PRIO_PROCESS, packing.pid, 19)  # a worker that gets ready and the pages come first
    return packing


def _pack(place: Place, parent: int) -> None:
    """In a process of its own: it may take long, nobody need wait for it, and it can be ended at any moment."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all of us; the server ends this one
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with_parent(parent)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    pack_data(place, place.open(), console.say)


def _serve(serve: Serve, site: Site, app: Callable[[], "Litestar"]) -> None:
    options = options_of(serve, with_files(HttpLimits(per_address=serve.per_address)))
    if serve.processes > 1:
        site.contest.engine.dispose()
        os.environ[SETTINGS] = msgspec.json.encode(_plain(serve)).decode()
        uvicorn.run("palestra.web.server:create", factory=True, workers=serve.processes, **options)
        return
    _run_to_the_end(_Server(uvicorn.Config(app(), **options)))


def options_of(serve: Serve, limits: HttpLimits) -> dict[str, Any]:
    """What uvicorn is told."""
    return {
        "host": serve.host,
        "port": serve.port,
        "http": Connections(limits, serve.proxies),
        "ws": "none",  # nothing here speaks WebSocket, and its library would read messages of 16 MiB
        "log_config": None,
        "access_log": False,
        "timeout_graceful_shutdown": STOP_S,
        "proxy_headers": bool(serve.proxies),
        "forwarded_allow_ips": serve.proxies or None,
        "server_header": False,
    }


class _Server(uvicorn.Server):
    """A server that closes in order however often it is told to. uvicorn would break off when it is told twice, and
    let the signals interrupt its loop once more at the end: both show tracebacks."""

    told_by: int | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.told_by = sig
        self.should_exit = True


def _run_to_the_end(server: _Server) -> None:
    """uvicorn would end the process with codes of its own, where it cannot start or is stopped while it starts."""
    try:
        server.run()
        if server.told_by is not None:
            signal.raise_signal(server.told_by)  # for whoever answers signals outside of the server
    except KeyboardInterrupt:  # that is how a server ends
        return
    except SystemExit:
        raise PalestraError(say("The server could not start; why stands above.")) from None


def create() -> Any:
    """The server in one of several processes; what it serves is in the environment."""
    from palestra.web.app import create_app

    given = msgspec.json.decode(os.environ[SETTINGS], type=_Plain)
    _log_as(given.json_logs)
    collect_seldom()
    place = Place(Path(given.file), given.database, given.files)
    serve = Serve(place, address=given.address, oidc=given.oidc, per_address=given.per_address)
    return create_app(site_of(serve))


class _Plain(msgspec.Struct, frozen=True):
    file: str
    database: str
    files: str
    address: str
    oidc: Oidc | None
    json_logs: bool
    per_address: int


def _plain(serve: Serve) -> _Plain:
    place = serve.place
    where = (str(place.file.resolve()), place.database, place.files)
    return _Plain(*where, serve.address, serve.oidc, serve.json_logs, serve.per_address)


def _start_worker(serve: Serve) -> subprocess.Popen[bytes]:
    place = serve.place
    words = ["contest", "worker", str(place.file), "--with-parent"]
    environment = {**os.environ, "PALESTRA_DATABASE": place.database, "PALESTRA_FILES": place.files}
    # Ctrl-C and SIGTERM are blocked until it has decided what to do with them: while it starts it would say too much.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        return subprocess.Popen([sys.executable, "-m", "palestra.cli", *words], env=environment, stdin=subprocess.PIPE)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(worker: subprocess.Popen[bytes]) -> None:
    """Tell it that the contest is open. One that has ended meanwhile is started again in a moment."""
    assert worker.stdin
    with suppress(BrokenPipeError):
        worker.stdin.write(f"{clock.handed_down()}\n".encode())
        worker.stdin.flush()


def _keep_alive(
    serve: Serve, children: list[subprocess.Popen[bytes]], stopping: threading.Event, told: Callable[[str], None]
) -> None:
    """Start a worker again that has ended by itself; its jobs come back by their leases."""
    while not stopping.wait(1.0):
        for i, child in enumerate(children):
            if child.poll() is not None:
                told(f"A worker ended (code {child.returncode}); another one is started.")
                children[i] = _start_worker(serve)
                _begin(children[i])


class _Json(logging.Formatter):
    """A line of JSON for each thing that is told."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"at": int(record.created * 1000), "level": record.levelname, "by": record.name}
        line["text"] = record.getMessage()
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def _log_as(json: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if json else logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("palestra").setLevel(logging.INFO)
