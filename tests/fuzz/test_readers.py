"""No change of a stranger's file makes a reader crash, hang, grow, or say what cannot be shown."""

import resource
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import campaign
from tests.fuzz.__main__ import KEPT
from tests.fuzz.mutations import mutated
from tests.fuzz.readers import MILLION, READERS, Sample

pytestmark = pytest.mark.filterwarnings("ignore:Duplicate name", "ignore:.*encountered in")
FEW = 400  # of each reader, on every run of the tests
MANY = 20_000  # of readers that have property tests of their own


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """In memory where that is possible: a million files are written."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="palestra-fuzz-", dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_read_or_refused_in_words(name: str, place: Path) -> None:
    done = campaign.run(name, FEW, place)
    assert done.faults == [], f"python -m tests.fuzz {name} --only NUMBER shows them"
    assert 0 < done.read < FEW, "some are whole still, and most are not"


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_million_changed_files_are_read_or_refused_in_words(
    name: str, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One that was stopped goes on where it was; each line of progress goes to the terminal."""
    inputs = 1_000_000 if name in MILLION else MANY
    KEPT.mkdir(parents=True, exist_ok=True)
    keep = KEPT / f"test-{name}.json"

    def told(line: str) -> None:
        with capfd.disabled():
            print(f"\n{line}", flush=True)

    done = campaign.run(name, inputs, place, keep, told)
    keep.unlink()
    assert done.done == inputs
    assert done.faults == [], f"python -m tests.fuzz {name} --only NUMBER shows them"


def test_an_input_comes_from_its_number_alone(tmp_path: Path) -> None:
    data = b"person,group,frame,x,y\n" * 40
    first = [mutated(data, Random(f"a {number}")) for number in range(50)]
    again = [mutated(data, Random(f"a {number}")) for number in reversed(range(50))]
    assert first == again[::-1] and len(set(first)) > 40


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    keep = tmp_path / "kept.json"
    campaign.run("bundles", 30, tmp_path / "a", keep)
    both = campaign.run("bundles", 60, tmp_path / "b", keep)
    whole = campaign.run("bundles", 60, tmp_path / "c")
    assert (both.done, both.read) == (whole.done, whole.read) == (60, whole.read)


def test_a_reader_that_fails_hangs_or_grows_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(file: Path) -> None:
        raise zlib.error("unforeseen")

    def hangs(file: Path) -> None:
        while True:
            try:
                sum(range(1000))
            except Exception:
                continue

    def grows(file: Path) -> int:
        return len(b"x" * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10))

    monkeypatch.setattr(campaign, "MOST_MORE_KB", 50 << 10)
    progress = campaign.Progress("odd")
    with campaign._bounded():
        for number, (read, most_s) in enumerate(((fails, 10.0), (hangs, 0.2), (grows, 10.0))):
            monkeypatch.setattr(campaign, "MOST_CPU_S", most_s)
            campaign.try_one([Sample("a", b"data", read)], number, tmp_path, progress)
    assert [fault.what.partition(":")[0] for fault in progress.faults][:2] == [
        "zlib.error",
        "tests.fuzz.campaign.TooLong",
    ]
    assert progress.faults[-1].number == 2
