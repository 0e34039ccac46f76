"""Programs that look for a way out find none."""

import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.entrants.programs import CALLS, TRIES


@pytest.fixture
def secret(folder):
    """A file of the host that anyone could read."""
    file = folder / "truth.csv"
    file.write_text("the truth")
    file.chmod(0o644)
    return file


def test_there_is_no_network(ground):
    program = f"""{TRIES}
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        tries(lambda: socket.socket(family, kind))
"""
    ended = ground.run(program)
    assert ended.output.count("refused: PermissionError") == 12, ended.output


def test_the_hosts_unix_sockets_are_out_of_reach(ground, folder):
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX) as abstract:
        named.bind(f"{folder}/host.sock")
        (folder / "host.sock").chmod(0o777)
        name = f"\0palestra-{secrets.token_hex(4)}"
        abstract.bind(name)
        for listener in (named, abstract):
            listener.listen()
        program = f"""{TRIES}
import socket
for place in ({str(folder / "host.sock")!r}, {name!r}):
    tries(lambda: socket.socket(socket.AF_UNIX).connect(place))
"""
        assert ground.run(program).output.count("refused:") == 2


def test_other_processes_are_not_to_be_seen(ground, gone):
    word = secrets.token_hex(8)
    other = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()", word], stdin=subprocess.PIPE)
    program = f"""{TRIES}
import os
tries(lambda: open("/proc/{os.getpid()}/environ").read())
tries(lambda: open("/proc/{other.pid}/cmdline").read())
seen = []
for name in range(1, 65536):
    try: seen.append(open(f"/proc/{{name}}/cmdline").read())
    except OSError: pass
print("sees", {word[:8]!r} + {word[8:]!r} in "".join(seen), len(seen))
"""
    try:
        ended = ground.run(program)
    finally:
        other.communicate()
    assert ended.output.count("refused:") == 2 and "sees False" in ended.output
    assert int(ended.output.split()[-1]) <= 4


def test_the_hosts_files_cannot_be_read(ground):
    files = ["/etc/shadow", "/etc/hostname", "/etc/machine-id", f"{ROOT}/README.md"]
    # For an ordinary user process 1 of bubblewrap is of the same user: as confined as the program, and as empty.
    files += ["/proc/1/environ", "/proc/1/maps"] if os.getuid() == 0 else []
    files += [f"{ROOT}/.git/HEAD", f"{Path.home()}/.bashrc", __file__]
    output = ground.run(f"{TRIES}\nfor file in {files}: tries(lambda: open(file).read())").output
    assert output.count("refused:") == len(files), output


def test_folders_above_what_it_sees_hold_nothing_else(ground):
    folders = ["/", "/home", "/var", "/root", str(ROOT), str(ROOT.parent)]
    output = ground.run(f"""{TRIES}
import os
for place in {folders}: tries(lambda: sorted(os.listdir(place)))
""").output
    seen = "bin sbin lib lib32 lib64 libx32 bundle dev etc nix opt proc sys tmp usr root home work"
    seen += f" .pyenv .venv venv palestra {ROOT.name} {' '.join(ROOT.parts[1:])}"
    for line in output.splitlines():
        assert "refused:" in line or set(eval(line.removeprefix("did it: "))) <= set(seen.split())  # noqa: S307


def test_a_secret_of_the_host_is_not_found_by_path_link_or_descriptor(ground, secret):
    (ground.bundle / "link").symlink_to(secret)
    program = f"""{TRIES}
import os
for place in ({str(secret)!r}, "link", "../truth.csv", "/proc/1/root{secret}", "/proc/self/root{secret}",
              "/proc/self/cwd/../truth.csv"):
    tries(lambda: open(place).read())
descriptors = [name for name in os.listdir("/proc/self/fd")]
for name in descriptors:
    tries(lambda: os.open("../truth.csv", os.O_RDONLY, dir_fd=int(name)))
print("descriptors", sorted(map(int, descriptors)))
"""
    ended = ground.run(program)
    assert "the truth" not in ended.output and "did it" not in ended.output
    assert "descriptors [0, 1, 2, 3]" in ended.output  # the last is of the folder that is listed


def test_the_environment_has_nothing_of_ours(ground, monkeypatch):
    monkeypatch.setenv("PALESTRA_SECRET", "the truth")
    ended = ground.run("import os; print(dict(os.environ)); print(open('/proc/self/environ').read())")
    assert "the truth" not in ended.output
    names = "PATH HOME TMPDIR LANG USER LOGNAME PYTHONPATH PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PALESTRA_BUNDLE PWD"
    idle = "OPENBLAS_THREAD_TIMEOUT OMP_WAIT_POLICY KMP_BLOCKTIME"  # libraries' threads sleep where there is no work
    shell = "LC_CTYPE OLDPWD SHLVL _"
    assert set(eval(ended.output.splitlines()[0])) <= set(f"{names} {idle} {shell}".split())  # noqa: S307


def test_no_command_line_in_proc_has_the_hosts_paths(ground, folder):
    program = "import glob\nfor name in glob.glob('/proc/[0-9]*/cmdline'): print(open(name).read())"
    if not ground.backend.namespaces:
        pytest.skip("there the bundle is where it is")
    assert folder.name not in ground.run(program).output


def test_the_bundle_cannot_be_changed(ground):
    (ground.bundle / "data.txt").write_text("as it was")
    (ground.bundle / "data.txt").chmod(0o666)
    ground.bundle.chmod(0o777)
    program = f"""{TRIES}
import os
for attempt in (lambda: open("main.py", "a"), lambda: open("data.txt", "w"), lambda: open("new", "w"),
                lambda: os.remove("data.txt"), lambda: os.rename("data.txt", "x"), lambda: os.mkdir("d"),
                lambda: os.truncate("data.txt", 0), lambda: os.symlink("/", "l")):
    tries(attempt)
"""
    ended = ground.run(program)
    assert ended.output.count("refused:") == 8, ended.output
    assert (ground.bundle / "data.txt").read_text() == "as it was"


def test_it_is_nobody_and_cannot_become_somebody(ground):
    program = f"""{TRIES}
import os
print("user", *os.getresuid(), *os.getresgid(), os.getgroups() if {os.getuid()} == 0 else [])
for attempt in (lambda: os.setuid(0), lambda: os.setgroups([0]), lambda: os.setresgid(0, 0, 0)):
    tries(attempt)
status = open("/proc/self/status").read()
print([line.split()[1] for line in status.splitlines() if line.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb"))])
print([line.split()[1] for line in status.splitlines() if line.startswith(("NoNewPrivs", "Seccomp:"))])
os.execv("/usr/bin/su", ["su", "-c", "id"]) if os.path.exists("/usr/bin/su") else print("no su")
"""
    ended = ground.run(program)
    user = ended.output.splitlines()[0].split()[1:7]
    assert "0" not in user
    assert ended.output.count("refused:") == 3
    assert f"{['0' * 16] * 4}" in ended.output and "['1', '2']" in ended.output
    assert "uid=0" not in ended.output


def test_a_setuid_program_gives_nothing(ground, folder):
    if os.getuid() != 0:
        pytest.skip("only root can make such a file")
    import shutil

    shutil.copy(shutil.which("id"), ground.bundle / "id")
    (ground.bundle / "id").chmod(0o4755)
    assert "euid=0" not in ground.run("import subprocess; print(subprocess.run(['./id'], capture_output=True))").output


def test_dangerous_system_calls_are_refused(ground):
    output = ground.run(CALLS).output
    lines = output.splitlines()
    assert len(lines) == 20
    assert all(line.split()[1] == "-1" and line.split()[2] in ("EPERM", "ENOSYS") for line in lines), output
