"""Two programs, each in a sandbox of its own, that want to signal to each other: neither sees what the other does."""

import json
import os
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from palestra.sandbox import backends, launch, visible_files
from palestra.sandbox.running_program import Running
from tests import ROOT
from tests.entrants.programs import until
from tests.sandbox.ground import SHORT, SYSTEM_PYTHON

# What both see alike: of the system, of Python, of the package, of the machine.
SHARED = """
import os, sys
SHARED = [os.__file__, "/usr/lib/os-release", "/etc/ld.so.cache", "/dev/null", "/sys/devices/system/cpu/online",
          "/proc/cpuinfo", "/proc/filesystems", "/bundle/data"]
SHARED = [place for place in SHARED if os.path.exists(place)]
"""

CALLS = """
import ctypes, fcntl, json, platform, struct, time
libc = ctypes.CDLL(None, use_errno=True)
"""

# Each does something in the one and tries to hear it in the other. `listen` is called twice, before the deed and while
# it lasts, and tells what it hears.
DEEDS = {
    "inotify": (
        "for place in SHARED: open(place).close()",
        """
watch = libc.inotify_init1(0o4000)
for place in SHARED: libc.inotify_add_watch(watch, place.encode(), 0xFFF)
def listen():
    try: return os.read(watch, 65536) != b""
    except OSError: return False
""",
    ),
    "F_NOTIFY": (
        "for place in SHARED: open(place, 'rb').read(1)",
        """
import signal
heard = []
signal.signal(signal.SIGIO, lambda *_: heard.append(1))
for place in SHARED:
    try: fcntl.fcntl(os.open(os.path.dirname(place), os.O_RDONLY), 1026, 0x80000000 | 0x3F)
    except OSError: pass
def listen(): return bool(heard)
""",
    ),
    "flock": (
        "files = [open(place) for place in SHARED]\nfor file in files: fcntl.flock(file, fcntl.LOCK_EX)",
        """
def listen():
    taken = []
    for place in SHARED:
        with open(place) as file:
            try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError: taken.append(place)
    return taken
""",
    ),
    "record locks": (
        "files = [open(place) for place in SHARED]\nfor file in files: fcntl.lockf(file, fcntl.LOCK_SH)",
        """
def listen():
    taken = []
    for place in SHARED:
        with open(place) as file:
            asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
            if struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK:
                taken.append(place)
    return taken
""",
    ),
    "open files of the machine": (
        "files = [open('/dev/null') for _ in range(900)]",
        """
def listen():
    try: return int(open("/proc/sys/fs/file-nr").read().split()[0]) // 800
    except OSError: return None
""",
    ),
    "locks of the machine": (
        "files = [open('/dev/null') for _ in range(900)]\nfor file in files: fcntl.flock(file, fcntl.LOCK_SH)",
        """
def listen():
    try: return len(open("/proc/locks").readlines()) // 800
    except OSError: return None
""",
    ),
    "threads of the machine": (
        """
import threading
for _ in range(40): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
""",
        """
def listen():
    told = ctypes.create_string_buffer(256)
    return libc.sysinfo(told) == 0 and struct.unpack_from("H", told, 80)[0] // 30
""",
    ),
    "memory of the machine": (
        "held = bytearray(os.urandom(1)) * (200 << 20)",
        """
def listen():
    try: return int(open("/proc/meminfo").read().split("MemFree:")[1].split()[0]) >> 17
    except OSError: return None
""",
    ),
    "time of access": (
        "for place in SHARED: open(place, 'rb').read(1)",
        """
def listen(): return [os.stat(place).st_atime_ns for place in SHARED if place.startswith(("/usr", "/bundle"))]
""",
    ),
    "shared memory and queues": (
        """
libc.shmget(4711, 4096, 0o1666)
try: open("/dev/shm/word", "w").close()
except OSError: pass
""",
        """
def listen(): return libc.shmget(4711, 4096, 0) >= 0 or os.path.exists("/dev/shm/word")
""",
    ),
    "sockets by name": (
        """
import socket
try: heard = socket.socket(socket.AF_UNIX); heard.bind("\\0word"); heard.listen()
except OSError: pass
""",
        """
import socket
def listen():
    try: socket.socket(socket.AF_UNIX).connect("\\0word")
    except OSError: return False
    return True
""",
    ),
    "keys": (
        "libc.syscall(248 if platform.machine() == 'x86_64' else 217, b'user', b'word', b'x', 1, -5)",
        """
def listen():
    return libc.syscall(250 if platform.machine() == 'x86_64' else 219, 10, -5, b'user', b'word', 0) >= 0
""",
    ),
}

SPEAKER = "{shared}{calls}\ninput = os.fdopen(3, 'rb', 0)\nprint('ready', flush=True)\ninput.read(1)\n{deed}\n"
SPEAKER += "print('done', flush=True)\ntime.sleep(60)\n"
LISTENER = "{shared}{calls}{listen}\ninput = os.fdopen(3, 'rb', 0)\nprint(json.dumps(listen()), flush=True)\n"
LISTENER += "print('ready', flush=True)\ninput.read(1)\ntime.sleep(0.05)\nprint(json.dumps(listen()), flush=True)\n"


class Two:
    """A program that speaks and one that listens, both on the same bundle."""

    def __init__(self, ground, stack):
        self.ground, self.stack = ground, stack
        (ground.bundle / "data").write_text("what both see")

    def start(self, name, program):
        (self.ground.bundle / name).write_text(program)
        ours, theirs = socket.socketpair()
        limits = msgspec.structs.replace(SHORT, wall_s=30, pids=64, memory_bytes=1 << 29)
        sees = launch.Sees(self.ground.bundle)
        order = launch.plan(self.ground.backend, [self.ground.python, name], sees, limits, has_socket=True)
        running = self.stack.enter_context(Running(order, theirs))
        theirs.close()
        until(lambda: "ready" in running.output or not running.alive)
        assert running.alive, running.output
        return running, self.stack.enter_context(ours)

    def heard(self, deed, listen):
        """What is heard before the deed, and while it lasts."""
        listener, to_listener = self.start("listen.py", LISTENER.format(shared=SHARED, calls=CALLS, listen=listen))
        speaker, to_speaker = self.start("speak.py", SPEAKER.format(shared=SHARED, calls=CALLS, deed=deed))
        to_speaker.send(b"x")
        until(lambda: "done" in speaker.output or not speaker.alive)
        assert "done" in speaker.output, speaker.output
        to_listener.send(b"x")
        assert listener.wait(20)
        lines = [line for line in listener.output.splitlines() if line != "ready"]
        assert len(lines) == 2, listener.output
        return [json.loads(line) for line in lines]


@pytest.fixture
def two(ground):
    with ExitStack() as stack:
        yield Two(ground, stack)


@pytest.mark.parametrize("channel", DEEDS)
def test_what_one_does_the_other_does_not_hear(two, channel):
    if not two.ground.backend.namespaces and channel in ("flock", "record locks", "time of access"):
        pytest.skip("without mounts of its own a program has no inodes of its own: docs/sandbox.md says so")
    before, after = two.heard(*DEEDS[channel])
    assert after == before


def test_nothing_tells_how_busy_the_machine_is_or_where_its_files_are(ground, folder):
    if not ground.backend.namespaces:
        pytest.skip("without mounts of its own a program sees the host's: docs/sandbox.md says so")
    output = ground.run(
        """
import os
PLACES = ["loadavg", "uptime", "vmstat", "pressure/cpu", "schedstat", "interrupts", "softirqs",
          "diskstats", "locks", "key-users", "sys/fs/file-nr", "sys/fs/inode-nr", "cmdline"]
for place in PLACES:
    try: text = open("/proc/" + place).read()
    except OSError: continue
    print(place, set(text) & set("123456789"))
try: print("load", os.getloadavg())
except OSError: pass
print("cores", open("/proc/stat").readline().split()[1:])
print("memory", open("/proc/meminfo").readline())
print("host", open("/proc/self/mountinfo").read(), open("/proc/self/cgroup").read())
print([name for _, names, _ in os.walk("/sys/devices/system/cpu") for name in names if name in ("cpuidle", "cpufreq")])
""",
        output_bytes=1 << 16,
    ).output
    known = dict(line.split(" ", 1) for line in output.splitlines() if " " in line)
    assert known["uptime"] == known["interrupts"] == known["locks"] == known["cmdline"] == "set()"
    assert "vmstat" in known and known["vmstat"] == "set()" and "sys/fs/file-nr" not in known
    assert "pressure/cpu" not in known and "load" not in known
    assert known["loadavg"] == "{'1'}" and set(eval(known["cores"])) == {"0"}  # noqa: S307
    assert known["memory"].split()[1] == str(SHORT.memory_bytes >> 10), "what it may use is all that there is"
    assert folder.name not in output and "palestra-" not in output
    assert output.rstrip().endswith("[]")


def test_a_program_uses_locks_and_databases_of_its_own(ground):
    """What is closed between two is there within one."""
    output = ground.run("""
import fcntl, os, sqlite3, tempfile
place = tempfile.mkdtemp()
with open(place + "/a", "w") as one, open(place + "/a", "w") as other:
    fcntl.flock(one, fcntl.LOCK_EX)
    try: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError: print("locked")
base = sqlite3.connect(place + "/b")
base.execute("create table t (x)"); base.execute("insert into t values (5)"); base.commit()
print("found", base.execute("select x from t").fetchall(), os.cpu_count() > 0)
""").output
    assert "locked" in output and "found [(5,)] True" in output, output


AS_A_USER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from palestra.sandbox import own_files, private_root
from palestra.sandbox.plan import decode
plan = decode(sys.stdin.buffer.read())
private_root.enter(plan._replace(masks=own_files.masks(plan.scratch + "/proc", plan.memory_bytes)))
laid = [line.split()[4] for line in open("/proc/self/mountinfo") if " - overlay " in line]
print(laid, open("/dev/zero", "rb").read(1))
"""


def test_an_ordinary_users_programs_have_files_of_their_own_too(folder, monkeypatch):
    backend = next(backend for backend in backends.probe() if backend.name == "landlock")
    if os.getuid() != 0 or not (backend.works and backend.namespaces) or not Path(SYSTEM_PYTHON).exists():
        pytest.skip("it takes root to become an ordinary user, and namespaces")
    if visible_files.closed_to_others([str(ROOT)]):
        pytest.skip("this checkout is in a closed folder")
    monkeypatch.setattr(visible_files, "interpreter", list)
    (folder / "bundle").mkdir()
    (folder / "scratch").mkdir()
    os.chown(folder / "scratch", 4321, 4321)
    plan = launch.plan(backend, [], launch.Sees(folder / "bundle"), SHORT)._replace(scratch=str(folder / "scratch"))
    become = ["setpriv", "--reuid", "4321", "--regid", "4321", "--clear-groups"]
    words = [*become, SYSTEM_PYTHON, "-I", "-S", "-c", AS_A_USER, str(ROOT)]
    ran = subprocess.run(words, input=plan.encode(), capture_output=True, cwd="/", check=True)
    for place in ("/usr", "/bundle", "/proc/loadavg", "/sys/devices/system/cpu"):
        assert f"'{place}'".encode() in ran.stdout, (ran.stdout, ran.stderr)
    assert b"\\x00" in ran.stdout
