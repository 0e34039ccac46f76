"""What Palestra is deployed with fits it: files that are copied are there; commands and limits are those it has."""

import json
import re
import shlex
import subprocess
import sys
import zipfile
from typing import Any

import pytest
import yaml

from palestra.web.app import BODY_BYTES
from palestra.web.stream.feed import BEAT_S
from tests import ROOT
from tests.test_docs import COMMANDS, CONTEST, require_known

DEPLOY = ROOT / "deploy"
CONTAINER = (ROOT / "Containerfile").read_text()
COMPOSE = (ROOT / "compose.yaml").read_text()
UNITS = sorted(DEPLOY.glob("*.service"))
SERVE = CONTEST["serve"]


def instructions(name: str) -> list[str]:
    """What stands after an instruction of the Containerfile, each as one line."""
    joined = re.sub(r"\\\n\s*", " ", CONTAINER)
    return re.findall(rf"^\s*{name} (.+)$", joined, re.MULTILINE)


def listed(text: str) -> list[str]:
    found: list[str] = json.loads(text)
    return found


def compose() -> dict[str, Any]:
    """The file as an engine reads it: settings in ${…} have their defaults."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", COMPOSE)
    found: dict[str, Any] = yaml.safe_load(re.sub(r"\$\{\w+:\?[^}]*\}", "secret", text))
    return found


# The image


def test_what_the_image_copies_is_there_and_is_let_through():
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in instructions("COPY"):
        words = shlex.split(line)
        if words[0].startswith("--from="):
            continue
        for source in words[:-1]:
            assert (ROOT / source).exists(), source
            assert source in allowed, f"{source} is kept out by .dockerignore"


def test_what_the_package_is_built_from_is_copied():
    copied = {source for line in instructions("COPY") for source in shlex.split(line)[:-1]}
    project = (ROOT / "pyproject.toml").read_text()
    assert {"pyproject.toml", "palestra"} <= copied
    named = [
        *re.findall(r'^readme = "(.+)"', project, re.M),
        *re.findall(r'^license-files = \["(.+)"\]', project, re.M),
    ]
    assert set(named) <= copied


def test_the_image_runs_a_command_that_there_is():
    assert listed(instructions("ENTRYPOINT")[0]) == ["palestra"]
    require_known(listed(instructions("CMD")[-1]))


def test_the_image_does_not_run_as_root_and_looks_after_its_health():
    assert instructions("USER") == ["palestra"]
    (check,) = instructions("HEALTHCHECK")
    words = listed(check[check.index("[") :])
    compile(words[-1], "healthcheck", "exec")
    assert "/health" in words[-1]
    assert "bubblewrap" in " ".join(instructions("RUN"))


# Services


def test_the_services_run_commands_that_there_are():
    services = compose()["services"]
    assert set(services) == {"database", "server", "worker"}
    for name in ("server", "worker"):
        require_known(services[name]["command"])
        assert services[name]["command"][1] == {"server": "serve", "worker": "worker"}[name]


def test_server_and_workers_share_database_files_and_data():
    services = compose()["services"]
    assert services["server"]["environment"] == services["worker"]["environment"]
    assert services["server"]["volumes"] == services["worker"]["volumes"]
    url = services["server"]["environment"]["PALESTRA_DATABASE"]
    given = services["database"]["environment"]
    assert url == f"postgresql://{given['POSTGRES_USER']}:secret@database/{given['POSTGRES_DB']}"


def test_workers_can_be_scaled():
    worker = compose()["services"]["worker"]
    assert "ports" not in worker and "container_name" not in worker, "a second one would have the same"
    assert "--workers=0" in compose()["services"]["server"]["command"]


def test_volumes_are_declared_and_nobody_writes_a_password_down():
    found = compose()
    used = {mount.partition(":")[0] for service in found["services"].values() for mount in service.get("volumes", [])}
    assert {name for name in used if not name.startswith((".", "/"))} == set(found["volumes"])
    assert not re.search(r"PASSWORD: [\"']?\w", COMPOSE)


def test_the_port_is_the_same_everywhere():
    port = next(option.default for option in SERVE.params if option.name == "port")
    assert instructions("EXPOSE") == [str(port)]
    (check,) = instructions("HEALTHCHECK")
    assert f":{port}/health" in check
    assert [mapping.rpartition(":")[2] for mapping in compose()["services"]["server"]["ports"]] == [str(port)]
    for name in ("nginx.conf", "Caddyfile", "prometheus.yml"):
        assert set(re.findall(r"(?:127\.0\.0\.1|localhost):(\d+)", (DEPLOY / name).read_text())) <= {str(port)}, name


def test_variables_that_are_set_are_read():
    """By an option of a command, or by the compose file itself."""
    commands = [*COMMANDS.values(), *CONTEST.values()]
    known = {str(option.envvar) for command in commands for option in command.params if getattr(option, "envvar", None)}
    known |= {"PALESTRA_CACHE", "PALESTRA_WORKERS"} | set(re.findall(r"\$\{(PALESTRA_\w+)", COMPOSE))
    for file in (ROOT / "Containerfile", ROOT / "compose.yaml", *UNITS):
        named = set(re.findall(r"\b(PALESTRA_[A-Z_]+)\b", file.read_text()))
        assert named <= known, f"{file.name}: {named - known}"


def test_services_get_the_time_that_they_need_to_stop():
    from palestra.contest.workers.worker import STOP_MS
    from palestra.web.server import STOP_S

    services = compose()["services"]
    assert int(services["worker"]["stop_grace_period"].rstrip("s")) > STOP_MS / 1000
    assert int(services["server"]["stop_grace_period"].rstrip("s")) > STOP_S
    for unit in UNITS:
        found = re.search(r"^TimeoutStopSec=(\d+)$", unit.read_text(), re.M)
        assert found and int(found[1]) > STOP_MS / 1000 + STOP_S


# Beside it


@pytest.mark.parametrize("file", [*UNITS, DEPLOY / "nginx.conf", DEPLOY / "Caddyfile"], ids=lambda file: file.name)
def test_commands_in_the_other_files_exist(file):
    lines = re.findall(r"(?:^#\s+|/bin/)palestra (.+)$", file.read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        require_known(line.split())


def test_the_proxy_lets_pieces_of_uploads_through_and_holds_no_event_back():
    text = (DEPLOY / "nginx.conf").read_text()
    assert text.count("{") == text.count("}")
    limit = re.search(r"client_max_body_size (\d+)m;", text)
    assert limit and int(limit[1]) << 20 >= BODY_BYTES
    live = re.search(r"location = /live \{(.+?)\}", text, re.DOTALL)
    assert live and "proxy_buffering off;" in live[1]
    hours = re.search(r"proxy_read_timeout (\d+)h;", live[1])
    assert hours and int(hours[1]) * 3600 > BEAT_S


def test_prometheus_asks_where_the_numbers_are():
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert "credentials_file" in job["authorization"]


# The wheel


@pytest.mark.slow
def test_a_wheel_has_all_that_is_no_python(tmp_path):
    """Built without the network, from a copy, so that nothing is left behind in the tree."""
    import shutil

    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "palestra", source / "palestra", ignore=shutil.ignore_patterns("__pycache__"))
    words = ["-m", "pip", "wheel", ".", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, *words], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    have = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (source / "palestra").rglob("*") if path.is_file() and "build" not in path.parts]
    assert {str(path.relative_to(source)) for path in files} <= have
    for part in (
        "web/templates/",
        "web/static/",
        "i18n/zh.mo",
        "contest/storage/migrations/versions/",
        "authoring/starter/",
    ):
        assert any(name.startswith(f"palestra/{part}") for name in have), part
