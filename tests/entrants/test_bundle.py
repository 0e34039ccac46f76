"""Bundles as they are handed in, made ready to run."""

import io
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from palestra.entrants import bundle as module
from palestra.entrants.bundle import PREFIX, PROGRAM, place, sweep, unpacked, written
from palestra.entrants.program import Program
from palestra.errors import PalestraError, Refused
from palestra.records import Tick
from palestra.sandbox import backends, launch
from tests.entrants.test_wheels import _wheel

FILES = {
    PROGRAM: b"class MyAlgorithm: pass\n",
    "Algorithm/weights/model.bin": bytes(range(256)),
    "config.json": b'{"image": "registry/of/the/contest:1", "command": "bash start.sh"}',
    "empty": b"",
}
ANY = launch.Backend("none", False, False, "")  # without wheels nothing is run


def write_folder(place: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place


def write_zip(place: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(place, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return place


def write_tar(place: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(place, "w:gz") as packed:
        for name, data in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            packed.addfile(about, io.BytesIO(data))
    return place


WRITE = {"folder": write_folder, "bundle.zip": write_zip, "bundle.tar.gz": write_tar}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", WRITE)
@pytest.mark.parametrize("top", ["", "team-7/"])
def test_a_folder_and_archives_of_it_are_the_same_bundle(tmp_path, kind, top):
    source = WRITE[kind](tmp_path / kind, {top + name: data for name, data in FILES.items()})
    with unpacked(source, ANY) as one, unpacked(write_folder(tmp_path / "plain", FILES), ANY) as plain:
        assert contents(one.folder) == FILES
        assert one.digest == plain.digest
        assert one.site is None


def test_the_digest_tells_names_and_contents_apart(tmp_path):
    changes = [{}, {"new": b""}, {"empty": b"x"}, {"config.json": b""}]
    digests = set()
    for number, change in enumerate(changes):
        with unpacked(write_folder(tmp_path / str(number), FILES | change), ANY) as one:
            digests.add(one.digest)
    assert len(digests) == len(changes)


def test_what_runs_is_what_was_handed_in_and_is_gone_afterwards(tmp_path):
    source = write_folder(tmp_path / "bundle", FILES)
    with unpacked(source, ANY) as one:
        (source / PROGRAM).write_text("class Other: pass\n")
        (source / "new").write_text("")
        assert contents(one.folder) == FILES
        home = one.folder.parent
    assert not home.exists() and source.exists()


def test_everybody_may_read_the_copy_and_nobody_s_modes_count(tmp_path):
    source = write_folder(tmp_path / "bundle", FILES)
    for path in (source / PROGRAM, source / "Algorithm"):
        path.chmod(0o700)
    with unpacked(source, ANY) as one:
        modes = {path.stat().st_mode & 0o777 for path in (one.folder.parent, one.folder, *one.folder.rglob("*"))}
    assert modes == {0o755}


def link_to_a_file(folder):
    (folder / "link").symlink_to("/etc/passwd")


def link_to_a_folder(folder):
    (folder / "Algorithm" / "all").symlink_to("/etc")


@pytest.mark.parametrize("change", [link_to_a_file, link_to_a_folder])
def test_links_are_refused(tmp_path, change):
    source = write_folder(tmp_path / "bundle", FILES)
    change(source)
    with pytest.raises(Refused, match="a link, expected a file"), unpacked(source, ANY):
        pass


@pytest.mark.parametrize("kind", ["bundle.zip", "bundle.tar.gz"])
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"../outside.py": b""}, r"'\.\.' in the name"),
        ({"/etc/cron.d/job": b""}, "an absolute name"),
        ({"a": b"", "a/b": b""}, "cannot be unpacked"),
        ({"a/b": b"", "a": b""}, "cannot be unpacked"),
        ({"x" * 300: b""}, "cannot be unpacked"),
        ({"a\nb": b""}, "unprintable"),
    ],
    ids=["above", "absolute", "file then folder", "folder then file", "long", "unprintable"],
)
def test_names_that_lead_elsewhere_or_nowhere_are_refused(tmp_path, kind, files, message):
    source = WRITE[kind](tmp_path / kind, FILES | files)
    with pytest.raises(Refused, match=message), unpacked(source, ANY):
        pass


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"MyAlgorithm.py": b""},
            r"found MyAlgorithm\.py and so on, expected Algorithm/MyAlgorithm\.py, with the class",
        ),
        ({"algorithm/MyAlgorithm.py": b"", "x": b""}, "expected Algorithm/MyAlgorithm"),
        ({}, "found no files"),
    ],
)
def test_what_has_no_program_is_refused_with_what_it_has(tmp_path, files, message):
    (tmp_path / "bundle").mkdir()
    with pytest.raises(Refused, match=message), unpacked(write_folder(tmp_path / "bundle", files), ANY):
        pass


@pytest.mark.parametrize(("name", "limit"), [("FILE_BYTES", 100), ("TOTAL_BYTES", 300), ("MOST_FILES", 3)])
def test_what_is_too_large_is_refused(tmp_path, monkeypatch, name, limit):
    monkeypatch.setattr(module, name, limit)
    with pytest.raises(Refused, match="at most"), unpacked(write_folder(tmp_path / "bundle", FILES), ANY):
        pass


@pytest.mark.parametrize("data", [b"", b"PK\3\4 and so on", b"class MyAlgorithm: pass"])
def test_a_file_that_is_no_archive_is_refused(tmp_path, data):
    (tmp_path / "bundle.zip").write_bytes(data)
    with pytest.raises(Refused), unpacked(tmp_path / "bundle.zip", ANY):
        pass


def test_a_solution_of_ours_becomes_a_bundle_that_names_its_class():
    with written("palestra.tracks.some:Entropy") as one:
        text = (one.folder / PROGRAM).read_text()
        home = one.folder.parent
    assert text == "from palestra.tracks.some import Entropy as MyAlgorithm\n"
    with written("palestra.tracks.some:Entropy") as again, written("palestra.solutions.some:Other") as other:
        assert one.digest == again.digest != other.digest
    assert not home.exists()


def test_a_solution_from_outside_brings_its_code_into_its_bundle(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    write_folder(tmp_path / "some_challenge", {"__init__.py": b"", "players.py": b"class Two: pass", "w.bin": b"w"})
    (tmp_path / "some_file_v1.py").write_text("class One: pass")
    with written("some_challenge.players:Two") as package, written("some_file_v1:One") as file:
        assert (package.folder / "some_challenge" / "w.bin").read_bytes() == b"w"
        assert (file.folder / "some_file_v1.py").is_file()
    (tmp_path / "some_file_v1.py").write_text("class One: changed = True")
    with written("some_file_v1:One") as changed:
        assert changed.digest != file.digest, "the digest is of the code, which Palestra's own version does not tell"


def test_a_program_finds_the_wheels_that_its_bundle_carries(tmp_path):
    try:
        backend = backends.choose()
    except PalestraError as error:
        pytest.skip(str(error))
    text = b"""
import entrantlib
class MyAlgorithm:
    def get_data(self): pass
    def algorithm(self): return entrantlib.VALUE
"""
    source = write_folder(tmp_path / "bundle", {PROGRAM: text})
    _wheel(source / "wheels")
    with unpacked(source, backend) as one:
        assert one.site is not None
        program = Program("team", one, backend)
        try:
            program.require_ready()
            replies, _ = program.ask(Tick(0.0, {}, "t"), 60.0)
        finally:
            program.close()
    assert [reply.answer for reply in replies] == [41]


def test_wheels_that_cannot_be_installed_refuse_the_bundle_in_words(tmp_path):
    source = write_folder(tmp_path / "bundle", FILES | {"wheels/broken-1.0-py3-none-any.whl": b"no zip"})
    with pytest.raises(PalestraError, match=r"broken-1\.0.* cannot be read as a wheel"), unpacked(source, ANY):
        pass


# What killed processes leave

LEAVE = """
import os, signal, sys
from pathlib import Path
from palestra.entrants.bundle import place
with place("palestra-bundle-", Path(sys.argv[1])) as home:
    (home / "bundle").mkdir()
    (home / "bundle" / "program.py").write_text("")
    print(home, flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def aged(home: Path) -> Path:
    os.utime(home, (0, 0))
    return home


def test_what_a_killed_process_left_is_swept_and_what_a_living_one_has_is_not(tmp_path):
    words = [sys.executable, "-c", LEAVE, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        home = aged(Path(process.stdout.readline().strip()))
        assert sweep(tmp_path, PREFIX) == 0 and home.is_dir(), "its process lives"
        process.communicate("\n")
    assert home.is_dir(), "nobody could remove it"
    assert sweep(tmp_path, PREFIX) == 1
    assert list(tmp_path.iterdir()) == []


def test_only_old_folders_of_that_name_are_swept(tmp_path):
    (tmp_path / f"{PREFIX}new").mkdir()
    aged(tmp_path / f"{PREFIX}new").touch()  # a moment ago
    for name in ("data", "palestra-run-x"):
        (tmp_path / name).mkdir()
        aged(tmp_path / name)
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "data")
    before = sorted(tmp_path.iterdir())
    assert sweep(tmp_path, PREFIX) == 0
    assert sorted(tmp_path.iterdir()) == before


def test_a_place_is_gone_when_it_is_left(tmp_path):
    with place(PREFIX, tmp_path) as home:
        assert sweep(tmp_path, PREFIX) == 0 and aged(home).is_dir()
        assert sweep(tmp_path, PREFIX) == 0
    assert not home.exists()
