"""`palestra contest …` and `palestra submit` as people type them, on a contest that is really served."""

import fcntl
import hashlib
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import msgspec
import pytest
import typer

from benchmarks import oracle_contest
from palestra.cli import app as commands
from palestra.contest.archive.signature import open_key
from palestra.contest.contest import Snapshot
from palestra.contest.log import State
from palestra.contest.log import events as e
from palestra.contest.rules import read
from palestra.contest.setup import Place
from palestra.contest.storage import open_database, sqlite_address
from palestra.remote import Server

GROUP = typer.main.get_command(commands.app).get_command(None, "contest").commands  # type: ignore[attr-defined,arg-type]
EXAMPLE = re.compile(r"Example: palestra (contest .+)", re.DOTALL)
# Those that run until they are stopped have tests of their own.
ORDER = ["init", "board", "rescore", "export", "backup", "verify-log", "rebuild", "link", "restore"]
LASTING = ["serve", "worker"]
AT_A_TABLE = ["pack", "rehearse"]  # these need a match: tests/cli/test_rehearse.py
LINK = re.compile(r"(http://\S+)/link/(pll_\w+)")
CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')
PASSWORD = "a long enough password"
PATIENCE_S = 60.0  # for a process that was told to stop


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    """A command that runs until it is told to stop, in a process group of its own."""

    def __init__(self, folder: Path, *words: object) -> None:
        line = [sys.executable, "-m", "palestra.cli.app", *map(str, words)]
        self.process = subprocess.Popen(
            line, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        self.said = ""

    def until(self, words: str) -> str:
        """Read what it says, up to a line with these words."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.said += line
            if words in line:
                return self.said
        raise AssertionError(f"it ended before it said {words!r}:\n{self.said}")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit code. Output is read to its end, which comes when the last process of the group is gone."""
        self.process.send_signal(how)
        self.said += self.process.communicate(timeout=PATIENCE_S)[0]
        return self.process.returncode

    def left(self) -> list[str]:
        """Processes of its group that still run; one that is ending (in brackets) or waits to be noticed does not."""
        listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True).stdout
        rows = [line.split(None, 2) for line in listed.splitlines()]
        ours = [(stat, args) for pgid, stat, args in rows if int(pgid) == self.process.pid]
        return [args for stat, args in ours if not stat.startswith("Z") and not args.startswith("[")]


@contextmanager
def running(folder: Path, *words: object) -> Iterator[Running]:
    one = Running(folder, *words)
    try:
        yield one
    finally:
        if one.left():
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait()


@contextmanager
def serving(folder: Path, *more: object) -> Iterator[tuple[Running, str]]:
    """A contest's server that answers, and its address."""
    port = free_port()
    with running(folder, "contest", "serve", "contest.toml", "--port", port, *more) as server:
        server.until("Open http")
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(transport=httpx.HTTPTransport(retries=9), timeout=PATIENCE_S) as client:
            client.get(f"{address}/health").raise_for_status()  # tried again until the server listens
        yield server, address


class Browser:
    """Somebody who fills in the forms of the site."""

    def __init__(self, address: str) -> None:
        self.http = httpx.Client(base_url=address, timeout=PATIENCE_S)

    def do(self, action: str, page: str, **fields: object) -> dict[str, str]:
        found = CSRF.search(self.http.get(page).raise_for_status().text)
        assert found, page
        answer = self.http.post(f"/api/actions/{action}", json=fields, headers={"x-csrf-token": found[1]})
        assert answer.is_success, answer.text
        done: dict[str, str] = answer.json()
        return done

    def token(self, *scopes: str) -> str:
        return self.do("make-token", "/account", label="test", scopes=scopes)["secret"]


@dataclass(frozen=True)
class Held:
    """A small contest: an organiser called olga, a team with a result and a token, and nobody serving it."""

    folder: Path
    token: str

    def copy(self, target: Path) -> Path:
        """The contest somewhere else, to be changed. Its data is shared, for it is only read."""
        shutil.copytree(self.folder, target, ignore=shutil.ignore_patterns("data"), dirs_exist_ok=True)
        (target / "data").symlink_to(self.folder / "data")
        return target

    @property
    def answers(self) -> Path:
        return self.folder / "data" / "near-eye-gaze" / "template.csv"


@pytest.fixture(scope="session")
def held(cache: Path, tiny: Callable[[str], Path]) -> Held:
    """Made once for the whole test run, as an organiser and a captain would."""
    tiny("near-eye-gaze-v1")  # for the starter kit
    folder = cache / "held-contest"
    with (cache / "held-contest.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "token").exists():
            _hold(folder)
    return Held(folder, (folder / "token").read_text())


def _hold(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    made = [sys.executable, "-m", "palestra.cli.app", *_example("init")]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    with serving(folder) as (server, address):
        link = LINK.search(server.said)
        assert link
        Browser(address).do("use-link", f"/link/{link[2]}", link=link[2], name="olga", password=PASSWORD)
        ann = Browser(address)
        ann.do("register", "/register", name="ann", password=PASSWORD)
        ann.do("make-team", "/team", name="Fovea")
        token = ann.token("read", "submit")
        with Server(address, token) as asked:
            page = asked.submit("near-eye-gaze", folder / "data" / "near-eye-gaze" / "template.csv")
        assert page.state == "scored", page
        assert server.stop() == 0, server.said
    (folder / "token").write_text(token)


def _example(name: str) -> list[str]:
    found = EXAMPLE.search(f"Example: {GROUP[name].epilog.partition('Example: ')[2]}")
    assert found, f"the help of `contest {name}` has no example"
    return shlex.split(found[1])


# Examples


def test_every_command_has_an_example_in_its_help(cli):
    assert sorted(GROUP) == sorted([*ORDER, *LASTING, *AT_A_TABLE])
    for name in GROUP:
        assert _example(name)[:2] == ["contest", name]
        assert f"Example: palestra contest {name}" in cli("contest", name, "--help").out


def test_the_examples_run_in_order(cli, held, tmp_path, monkeypatch):
    monkeypatch.chdir(held.copy(tmp_path / "here"))
    for name in ORDER[:-1]:
        ran = cli(*_example(name))
        assert ran.code == 0, f"{name}: {ran.err}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copytree("backups", elsewhere / "backups")
    monkeypatch.chdir(elsewhere)
    ran = cli(*_example("restore"))
    assert ran.code == 0, ran.err
    assert cli("contest", "board", "contest.toml", "--json").json[0]["name"] == "Fovea"


def test_the_help_of_the_group_is_told_without_opening_anything(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert all(name in cli("contest", "--help").out for name in GROUP)
    assert list(tmp_path.iterdir()) == []


def test_the_commands_start_without_heavy_libraries():
    heavy = ("polars", "numpy", "sqlalchemy", "litestar", "uvicorn", "httpx", "obstore", "argon2", "ray", "rich")
    code = f"import sys; import palestra.cli.contest; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# Beginning


def test_init_leaves_what_is_there_alone(cli, held, tmp_path):
    folder = held.copy(tmp_path / "c")
    before = (folder / "contest.toml").read_bytes()
    assert cli("contest", "init", folder / "contest.toml").code == 0
    assert (folder / "contest.toml").read_bytes() == before


def test_init_makes_a_phase_for_each_track_in_the_zone_that_was_given(cli, tmp_path):
    file = tmp_path / "c" / "contest.toml"
    tracks = ("--track", "near-eye-gaze-v1", "--track", "emotion-eeg-v1")
    ran = cli("contest", "init", file, *tracks, "--zone", "Asia/Shanghai", "--size", "none")
    assert ran.code == 0, ran.err
    text = file.read_text()
    assert text.count("[[phase]]") == 2
    assert 'zone = "Asia/Shanghai"' in text
    assert [path.name for path in file.parent.iterdir()] == ["contest.toml"], "no data was asked for"


def test_init_without_a_track_begins_with_one_that_takes_a_table(cli, tmp_path):
    file = tmp_path / "contest.toml"
    assert cli("contest", "init", file, "--size", "none").code == 0
    assert 'track = "near-eye-gaze-v1"' in file.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["init", "contest.toml", "--track", "near-eye-gase-v1"], "Did you mean 'near-eye-gaze-v1'?"),
        (["init", "contest.toml", "--size", "huge"], "tiny"),
        (["init", "contest.toml", "--size", "none", "--zone", "Asia/Shangai"], "Did you mean 'Asia/Shanghai'?"),
        (["serve", "contest.toml", "--port", "0"], "palestra contest init"),
        (["serve", "contest.toml", "--processes", "2"], "PostgreSQL"),
        (["worker", "contest.toml", "--executor", "rya"], "process or ray"),
        (["board", "contest.toml"], "palestra contest serve"),
        (["rescore", "contest.toml"], "palestra contest serve"),
        (["export", "contest.toml", "x.zip"], "palestra contest serve"),
        (["backup", "contest.toml", "backups"], "palestra contest serve"),
        (["verify-log", "contest.toml"], "palestra contest serve"),
        (["link", "contest.toml", "olga"], "palestra contest serve"),
    ],
)
def test_a_wrong_call_is_answered_in_words(cli, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    ran = cli("contest", *words)
    assert ran.code == 1
    assert message in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_that_is_stopped_while_it_starts_ends_without_a_word(cli, tmp_path, monkeypatch, number):
    monkeypatch.setattr("palestra.contest.setup.location.Place.open", lambda place: signal.raise_signal(number))
    ran = cli("contest", "worker", tmp_path / "contest.toml")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_a_fault_in_the_file_is_told_with_its_line(cli, held, tmp_path):
    folder = held.copy(tmp_path / "c")
    shutil.rmtree(folder / "contest.contest")
    text = (folder / "contest.toml").read_text()
    line = next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith("closes"))
    (folder / "contest.toml").write_text(re.sub(r"(?m)^closes = \S+", 'closes = "soon"', text))
    ran = cli("contest", "serve", folder / "contest.toml", "--port", "0")  # whoever else listens here
    assert ran.code == 1
    assert f"line {line}" in ran.err and "soon" in ran.err


# The log


def test_verify_log_names_the_event_that_was_edited(cli, held, tmp_path):
    folder = held.copy(tmp_path / "c")
    assert cli("contest", "verify-log", folder / "contest.toml").code == 0
    with sqlite3.connect(folder / "contest.contest" / "contest.db") as database:
        (seq,) = database.execute("SELECT seq FROM events WHERE body LIKE '%team.made%'").fetchone()
        database.execute("UPDATE events SET body = replace(body, 'Fovea', 'Focus') WHERE seq = ?", (seq,))
    database.close()
    ran = cli("contest", "verify-log", folder / "contest.toml")
    assert ran.code == 1
    assert f"Event {seq} does not fit its hash" in ran.out
    told = cli("contest", "verify-log", folder / "contest.toml", "--json")
    assert (told.code, told.json["ok"]) == (1, False)


def test_verify_log_finds_a_snapshot_that_was_edited_beside_the_log(cli, held, tmp_path):
    folder = held.copy(tmp_path / "c")
    with sqlite3.connect(folder / "contest.contest" / "contest.db") as database:
        (packed,) = database.execute("SELECT state FROM snapshots").fetchone()
        snapshot = msgspec.msgpack.decode(packed, type=Snapshot)
        state = msgspec.msgpack.decode(snapshot.state, type=State)
        next(iter(state.teams.values())).name = "Somebody else"
        edited = Snapshot(msgspec.Raw(msgspec.msgpack.encode(state)), snapshot.beside)
        database.execute("UPDATE snapshots SET state = ?", (msgspec.msgpack.encode(edited),))
    database.close()
    ran = cli("contest", "verify-log", folder / "contest.toml")
    assert ran.code == 1
    assert "The snapshot beside the log: found a state that the events do not lead to" in ran.out
    assert "Nothing was changed" in ran.out and cli("contest", "verify-log", folder / "contest.toml").code == 1
    assert "palestra contest rebuild" in ran.out
    assert "made anew" in cli("contest", "rebuild", folder / "contest.toml").out
    assert cli("contest", "verify-log", folder / "contest.toml").code == 0


def test_verify_log_changes_no_byte_and_needs_no_right_to(cli, held, tmp_path):
    folder = held.copy(tmp_path / "c")

    def bytes_of():
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}

    before = bytes_of()
    assert cli("contest", "verify-log", folder / "contest.toml").code == 0
    assert bytes_of() == before


@pytest.mark.parametrize("with_shm", [True, False])
def test_verify_log_changes_no_byte_beside_what_a_killed_server_left(cli, held, tmp_path, with_shm):
    """Changes that are not in the database yet are read, and stay where they are."""
    folder, left = held.copy(tmp_path / "c"), tmp_path / "left"
    file = folder / "contest.contest" / "contest.db"
    contest = Place(folder / "contest.toml").open()
    contest.act("system", lambda state, now: [e.AccountMade("last", "Last", "member")])
    shutil.copytree(folder, left, symlinks=True, ignore=None if with_shm else shutil.ignore_patterns("*-shm"))
    assert file.with_name("contest.db-wal").stat().st_size > 0
    head = f"{contest.state.seq}:{contest.state.hash}"
    contest.close()

    def looks():
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in left.rglob("*") if path.is_file()}

    before = looks()
    ran = cli("contest", "verify-log", left / "contest.toml", "--head", head)
    assert ran.code == 0 and f"Head: {head}" in ran.out, ran
    assert looks() == before


def test_a_database_that_is_damaged_is_told_with_what_to_do(cli, held, tmp_path):
    folder = held.copy(tmp_path / "c")
    file = folder / "contest.contest" / "contest.db"
    whole = file.read_bytes()
    for spoilt in (
        b"no database at all" * 300,
        whole[:4096] + b"\xff" * 8192 + whole[12288:],
        whole[: len(whole) // 2],
    ):
        file.write_bytes(spoilt)
        ran = cli("contest", "verify-log", folder / "contest.toml")
        assert ran.code == 1 and "restore a backup: palestra contest restore" in ran.err, ran
        assert file.read_bytes() == spoilt
        for words in (["board", folder / "contest.toml"], ["backup", folder / "contest.toml", tmp_path / "b"]):
            ran = cli("contest", *words)  # what reads no damaged page may go on
            assert ran.code == 0 or "restore a backup: palestra contest restore" in ran.err, (words, ran)


def test_a_database_that_does_not_answer_is_told_in_a_line(cli, held, tmp_path):
    file = held.copy(tmp_path / "c") / "contest.toml"
    ran = cli("contest", "board", file, "--database", f"postgresql://me:secret@127.0.0.1:{free_port()}/contest")
    assert ran.code == 1 and ran.err.startswith("The database does not answer."), ran
    assert "secret" not in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("how", ["missing", "empty", "without an event"])
@pytest.mark.parametrize("left", ["files", "contest.key"])
def test_nothing_is_begun_anew_beside_what_a_contest_left(cli, held, tmp_path, how, left):
    """Else who loses a database has an empty contest with the old key, and notices on the day of the final."""
    folder = held.copy(tmp_path / "c")
    inside = folder / "contest.contest"
    open_key(inside / "contest.key")  # made when a contest first signs something, which this one may not have
    for path in inside.iterdir():
        if path.name != left:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    if how == "empty":
        (inside / "contest.db").touch()
    if how == "without an event":
        open_database(sqlite_address(inside / "contest.db")).dispose()
    before = sorted(inside.rglob("*"))
    for command in ("serve", "worker", "verify-log", "board"):
        ran = cli("contest", command, folder / "contest.toml", *(["--port", free_port()] if command == "serve" else []))
        assert ran.code == 1 and "is missing or empty" in ran.err and "palestra contest restore" in ran.err, (
            command,
            ran,
        )
    assert sorted(inside.rglob("*")) == before


def test_a_head_that_was_kept_elsewhere_is_compared(cli, held, tmp_path):
    file = held.copy(tmp_path / "c") / "contest.toml"
    head = cli("contest", "verify-log", file).out.rpartition("Head: ")[2].strip()
    assert cli("contest", "verify-log", file, "--head", head).code == 0
    seq, _, digest = head.partition(":")
    other = f"{seq}:{hashlib.sha256(digest.encode()).hexdigest()}"
    assert cli("contest", "verify-log", file, "--head", other).code == 1


# Leaving and coming back


@pytest.mark.parametrize("how", ["backup", "export"])
def test_a_contest_comes_back_as_it_was(cli, held, tmp_path, how):
    folder, again = held.copy(tmp_path / "c"), tmp_path / "again" / "contest.toml"
    target = tmp_path / ("backups" if how == "backup" else "contest.zip")
    kept = cli("contest", how, folder / "contest.toml", target)
    assert kept.code == 0, kept.err
    again.parent.mkdir()
    (again.parent / "data").symlink_to(held.folder / "data")
    ran = cli("contest", "restore", again, target)
    assert ran.code == 0, ran.err
    if how == "export":
        assert "equal" in ran.out, "results are computed again"
    both = (folder / "contest.toml", again)
    assert len({cli("contest", "verify-log", file).out.rpartition("Head: ")[2] for file in both}) == 1
    before, after = (cli("contest", "board", file, "--json").json for file in both)
    assert before == after


@pytest.mark.parametrize("how", ["backup", "export"])
def test_a_restore_names_the_folders_of_data_that_are_still_to_be_copied(cli, held, tmp_path, how):
    target, again = tmp_path / ("backups" if how == "backup" else "contest.zip"), tmp_path / "again" / "contest.toml"
    assert cli("contest", how, held.copy(tmp_path / "c") / "contest.toml", target).code == 0
    again.parent.mkdir()
    ran = cli("contest", "restore", again, target)
    assert ran.code == 0, ran.err
    assert f"to {again.parent}: data/near-eye-gaze (phase near-eye-gaze)" in ran.err


def test_a_restore_does_not_speak_of_data_that_is_there(cli, held, tmp_path):
    assert cli("contest", "backup", held.copy(tmp_path / "c") / "contest.toml", tmp_path / "backups").code == 0
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "data").symlink_to(held.folder / "data")
    ran = cli("contest", "restore", tmp_path / "again" / "contest.toml", tmp_path / "backups")
    assert ran.code == 0 and "folders of data" not in ran.err


def test_an_export_takes_the_place_of_nothing(cli, held, tmp_path):
    file, archive = held.copy(tmp_path / "c") / "contest.toml", tmp_path / "kept.zip"
    archive.write_text("an earlier export")
    ran = cli("contest", "export", file, archive)
    assert ran.code == 1 and "is there already. Nothing was written" in ran.err
    assert archive.read_text() == "an earlier export"
    for name, message in (("nowhere/x.zip", "Make it first"), ("x.tar", "ends in it")):
        ran = cli("contest", "export", file, tmp_path / name)
        assert ran.code == 1 and message in ran.err


def test_nothing_is_restored_over_a_contest(cli, held, tmp_path):
    file = held.copy(tmp_path / "c") / "contest.toml"
    assert cli("contest", "backup", file, tmp_path / "backups").code == 0
    ran = cli("contest", "restore", file, tmp_path / "backups")
    assert ran.code == 1
    assert "empty place" in ran.err


def test_an_archive_by_another_key_is_refused(cli, held, tmp_path):
    file = held.copy(tmp_path / "c") / "contest.toml"
    assert cli("contest", "export", file, tmp_path / "c.zip").code == 0
    (tmp_path / "again").mkdir()
    words = "-".join(["babab"] * 8)
    ran = cli("contest", "restore", tmp_path / "again" / "contest.toml", tmp_path / "c.zip", "--key", words)
    assert ran.code == 1
    assert "key" in ran.err


# Scoring again


def test_a_set_counts_when_it_is_applied_and_is_gone_when_it_is_cancelled(cli, held, tmp_path):
    file = held.copy(tmp_path / "c") / "contest.toml"
    proposed = cli("contest", "rescore", file, "--reason", "a frame was mislabelled")
    assert proposed.code == 0, proposed.err
    name = re.search(r"--apply (\S+)", proposed.out)
    assert name
    another = cli("contest", "rescore", file, "--reason", "once more")
    assert another.code == 1 and "Another set is open" in another.err
    assert cli("contest", "rescore", file, "--cancel", name[1]).code == 1, "a reason is needed"
    assert cli("contest", "rescore", file, "--cancel", name[1], "--reason", "no need").code == 0
    again = re.search(r"--apply (\S+)", cli("contest", "rescore", file, "--reason", "now").out)
    assert again
    assert cli("contest", "rescore", file, "--apply", again[1]).code == 0
    assert "applied already" in cli("contest", "rescore", file, "--apply", again[1]).err


def test_a_set_without_a_reason_is_refused(cli, held, tmp_path):
    ran = cli("contest", "rescore", held.copy(tmp_path / "c") / "contest.toml")
    assert ran.code == 1
    assert "reason" in ran.err.lower()


# Links


def test_who_is_locked_out_gets_a_link_that_works_once(cli, held, tmp_path):
    folder = held.copy(tmp_path / "c")
    unknown = cli("contest", "link", folder / "contest.toml", "olgo")
    assert unknown.code == 1 and "Did you mean 'olga'?" in unknown.err
    link = cli("contest", "link", folder / "contest.toml", "olga", "--address", "https://x.example").out.strip()
    assert link.startswith("https://x.example/link/pll_")
    secret = link.rpartition("/")[2]
    with serving(folder, "--workers", 0) as (server, address):
        Browser(address).do("use-link", f"/link/{secret}", link=secret, password="another long password")
        Browser(address).do("sign-in", "/sign-in", name="olga", password="another long password")
        assert "Nobody is organiser yet" not in server.said
        assert server.stop() == 0, server.said


# Serving


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_a_server_stops_in_good_order_and_goes_on_where_it_was(held, tmp_path, how):
    folder = held.copy(tmp_path / "c")
    seen = []
    for _ in range(2):
        with serving(folder) as (server, address):
            with Server(address) as asked:
                seen.append(asked.board("near-eye-gaze"))
            assert server.stop(how) == 0, server.said
            assert "Traceback" not in server.said
            assert server.left() == [], "its worker ended with it"
    assert [row.name for row in seen[0].rows] == ["Fovea"]
    assert seen[1].rows == seen[0].rows


def test_a_server_says_which_rules_are_in_force_and_where_the_file_differs(held, tmp_path):
    folder = held.copy(tmp_path / "c")
    text = (folder / "contest.toml").read_text()
    (folder / "contest.toml").write_text(text.replace('# quota = "5 per day"', 'quota = "6 per day"'))
    with serving(folder, "--workers", 0) as (server, address):
        assert "In force are the rules in the log: version 1, since" in server.said
        assert "contest.toml differs in phase near-eye-gaze: quota." in server.said
        assert f"paste it at {address}/desk/rules" in server.said
        assert server.stop() == 0, server.said


def test_a_server_stops_though_a_browser_listens(held, tmp_path):
    with serving(held.copy(tmp_path / "c"), "--workers", 0) as (server, address):
        with httpx.stream("GET", f"{address}/live?board=near-eye-gaze", timeout=PATIENCE_S) as stream:
            assert "event: board" in next(stream.iter_text())
            assert server.stop() == 0, server.said
        assert "Traceback" not in server.said


def test_logs_can_be_lines_of_json(held, tmp_path):
    folder = held.copy(tmp_path / "c")
    shutil.rmtree(folder / "contest.contest" / "files")
    with serving(folder, "--workers", 0, "--json-logs") as (server, address):
        answer = httpx.get(f"{address}/api/data/near-eye-gaze/starter", timeout=PATIENCE_S)
        assert answer.is_error and "Traceback" not in answer.text
        assert server.stop() == 0, server.said
    for line in server.said.splitlines():
        assert line.startswith(("{", "Open ", "Stopped", "near-eye-gaze: packing")), line


def test_a_worker_scores_what_waits_and_stops_in_good_order(held, tmp_path):
    folder = held.copy(tmp_path / "c")
    with serving(folder, "--workers", 0) as (server, address):
        with Server(address, held.token) as asked:
            submission = asked.upload("near-eye-gaze", held.answers)
            assert asked.submission(submission).state == "checking", "and nobody is there to do it"
            with running(folder, "contest", "worker", "contest.toml", "--capacity", 1) as worker:
                assert asked.follow(submission).state == "scored"
                assert worker.stop() == 0, worker.said
                assert "Traceback" not in worker.said
                for line in ("works on contest.toml. Ctrl-C stops it.", f"check:{submission}: done", "has stopped."):
                    assert line in worker.said
                assert worker.left() == []
        assert server.stop() == 0, server.said


@pytest.mark.slow
def test_the_example_of_worker_scores_on_ray(held, tmp_path):
    pytest.importorskip("ray")
    folder = held.copy(tmp_path / "c")
    with serving(folder, "--workers", 0) as (server, address):
        with Server(address, held.token) as asked:
            submission = asked.upload("near-eye-gaze", held.answers)
            with running(folder, *_example("worker")) as worker:
                assert asked.follow(submission).state == "scored"
                assert worker.stop() == 0, worker.said
        assert server.stop() == 0, server.said


# Submitting


def test_submit_says_what_became_of_a_file(cli, held, tmp_path, monkeypatch):
    bad = tmp_path / "bad.csv"
    bad.write_text("person,group\nnobody,knows\n")
    with serving(held.copy(tmp_path / "c"), "--workers", 1) as (server, address):
        assert "A token is needed" in cli("submit", address, "near-eye-gaze", bad).err
        monkeypatch.setenv("PALESTRA_TOKEN", held.token)
        scored = cli("submit", address, "near-eye-gaze", held.answers)
        assert scored.code == 0, scored.err
        assert "It is scored." in scored.err and "PE = ½(P50 + P95)" in scored.out
        assert f"{address}/submissions/s" in scored.out
        refused = cli("submit", address, "near-eye-gaze", bad)
        assert refused.code == 1
        assert "It was refused." in refused.err and "bad.csv" in refused.out
        assert "counts as a faulty one: at most 20 per calendar day, 19 left." in refused.out
        (tmp_path / "bad.txt").write_text("person,group\nnobody,knows\n")
        wrong = cli("submit", address, "near-eye-gaze", tmp_path / "bad.txt")
        assert wrong.code == 1 and "one that ends in .csv. Nothing was sent" in wrong.err
        told = cli("submit", address, "near-eye-gaze", bad, "--json")
        assert (told.code, told.json["state"]) == (1, "refused")
        assert told.json["fault_count"] >= 1
        with Server(address, held.token) as asked:
            assert asked.form("near-eye-gaze").fault_left == 18, "what was not sent is not counted"
        astray = cli("submit", address, "near-eye-gase", bad)
        assert astray.code == 1 and "Did you mean 'near-eye-gaze'?" in astray.err
        forged = cli("submit", address, "near-eye-gaze", bad, "--token", "plt_" + "x" * 40)
        assert forged.code == 1 and "This token is unknown" in forged.err
        assert "is no file" in cli("submit", address, "near-eye-gaze", tmp_path / "none.csv").err
        assert server.stop() == 0, server.said


@pytest.mark.parametrize(("people", "split"), [(3, None), (4, 0.5)])
def test_init_hides_a_part_of_the_people_where_the_data_has_enough(cli, tmp_path, monkeypatch, people, split):
    monkeypatch.setattr(oracle_contest, "PEOPLE", people)
    oracle_contest.hide(tmp_path / "data" / "near-eye-gaze", seed=0)
    file = tmp_path / "contest.toml"
    tracks = ("--track", "near-eye-gaze-v1", "--track", "near-eye-live-v1")
    ran = cli("contest", "init", file, *tracks, "--size", "none")
    assert ran.code == 0, ran.err
    gaze, live = read(file).phases
    assert (gaze.split, live.split) == (split, None)  # a live track's stage shows everybody
    assert ("too few people" in ran.out + ran.err) == (split is None)


def test_init_hides_a_part_where_the_data_is_yet_to_come(cli, tmp_path):
    file = tmp_path / "contest.toml"
    assert cli("contest", "init", file, "--size", "none").code == 0
    assert read(file).phases[0].split == 0.5
