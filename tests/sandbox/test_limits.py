"""Programs that take too much get no more than they may have."""

import secrets
import time

from tests import ROOT
from tests.entrants.programs import TRIES


def test_a_fork_bomb_is_held_and_swept_away(any_ground, gone):
    word = secrets.token_hex(8)
    ended = any_ground.run(
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", wall_s=0.5, words=[word], cpu_s=60
    )
    assert ended.why == "killed: it ran longer than 0.5 s"
    assert ended.report.clean and gone(word)


def test_a_program_that_wants_50_gb_does_not_get_them(any_ground):
    program = """
held = []
for _ in range(50 * 1024):
    held.append(bytearray(1 << 20))
print("has it all")
"""
    ended = any_ground.run(program)
    assert "has it all" not in ended.output
    assert ended.why == "killed: it used more than 268.4 MB of memory" or "MemoryError" in ended.output
    assert ended.report.memory_bytes < 1 << 29


def test_many_processes_share_one_memory_limit(any_ground):
    program = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = b"x" * (100 << 20)
        time.sleep(60)
os.wait()
print("one was killed")
os._exit(0)
"""
    ended = any_ground.run(program, wall_s=3)
    assert ended.report.memory_bytes < 1 << 29
    assert "one was killed" in ended.output or "of memory" in ended.why


def test_processor_time_is_limited_over_all_processes(any_ground):
    program = "import os\nos.fork()\nos.fork()\nwhile True: pass"
    ended = any_ground.run(program, cpu_s=0.3, wall_s=10)
    assert ended.why == "killed: it used more than 0.3 s of processor time"
    assert ended.report.cpu_s < 3


def test_temporary_files_have_a_limit(any_ground):
    program = """
import os
total = 0
try:
    for number in range(200):
        with open(f"{os.environ['TMPDIR']}/{number}", "wb") as file:
            total += file.write(b"x" * 100_000)
            file.flush()
except OSError as error:
    print("refused:", error)
    raise SystemExit
import time; time.sleep(5)
"""
    ended = any_ground.run(program)
    assert "refused: [Errno 28] No space left" in ended.output or "of temporary files" in ended.why


def test_nothing_else_can_be_written_to(any_ground):
    places = ["/", "/dev", "/var/tmp", "/proc", "/usr", "/etc", "/bundle", "/run", "/root", "/home", str(ROOT)]
    places += [] if any_ground.backend.namespaces else ["/dev/shm", "/tmp"]  # else these are private
    ended = any_ground.run(f"{TRIES}\nfor place in {places}: tries(lambda: open(place + '/written', 'w'))")
    assert ended.output.count("refused:") == len(places)


def test_a_flood_of_output_is_cut_and_blocks_nobody(any_ground):
    program = """
import os, time
print("first words")
end = time.monotonic() + 0.4
while time.monotonic() < end: os.write(1, b"x" * 65536)
print("last words")
"""
    ended = any_ground.run(program)
    assert ended.why == "ended by itself with exit code 0"
    assert ended.output.startswith("first words") and ended.output.endswith("last words\n")
    assert "bytes of output are left out here" in ended.output
    assert len(ended.output) < 4096 + 100


def test_a_program_that_sleeps_for_ever_is_killed_at_its_time(any_ground):
    started = time.monotonic()
    ended = any_ground.run("import time; time.sleep(1000)", wall_s=0.3)
    assert ended.why == "killed: it ran longer than 0.3 s"
    assert time.monotonic() - started < 100  # of the 1,000 that it wanted
