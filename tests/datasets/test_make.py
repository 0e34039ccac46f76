import dataclasses
import json
import shutil
from collections import namedtuple

import pytest

from palestra import parallel, registry
from palestra.datasets import make
from palestra.errors import PalestraError
from palestra.records import Order, Part, Plan

TRACK = registry.track("near-eye-gaze-v1")


def plan_of(count, write):
    parts = [Part(str(i), 2, lambda folder, i=i: write(folder, i)) for i in range(count)]
    return Plan(parts, Part("sample", 1, lambda folder: (folder / "x").write_bytes(bytes(100))), finish)


def finish(folder):
    (folder / "finished").touch()


def put(folder, i):
    (folder / str(i)).write_text(str(i))


def test_a_run_writes_every_part_and_leaves_no_notes(tmp_path):
    done = []
    make.run(TRACK, Order(), plan_of(3, put), tmp_path / "new", done.append)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["0", "1", "2", "finished"]
    assert sum(done) == 6


def test_a_stopped_run_goes_on_where_it_was(tmp_path):
    written = []

    def stop_at_two(folder, i):
        if i == 2:
            raise KeyboardInterrupt
        written.append(i)
        put(folder, i)

    with pytest.raises(KeyboardInterrupt):
        make.run(TRACK, Order(), plan_of(4, stop_at_two), tmp_path / "new", lambda weight: None)
    assert json.loads((tmp_path / "new" / make.NOTES).read_text())["done"] == ["0", "1"]

    def again(folder, i):
        written.append(i)
        put(folder, i)

    make.run(TRACK, Order(), plan_of(4, again), tmp_path / "new", lambda weight: None)
    assert written == [0, 1, 2, 3]
    assert not (tmp_path / "new" / make.NOTES).exists()


def test_an_unfinished_run_of_another_order_is_not_mixed_up(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        make.run(TRACK, Order(), plan_of(1, _interrupt), tmp_path / "new", lambda weight: None)
    with pytest.raises(PalestraError, match="unfinished near-eye-gaze-v1 of size tiny, seed 0"):
        make.run(TRACK, Order(seed=1), plan_of(1, put), tmp_path / "new", lambda weight: None)


def _interrupt(folder, i):
    raise KeyboardInterrupt


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(PalestraError, match="not an empty folder"):
        make.run(TRACK, Order(), plan_of(1, put), tmp_path, lambda weight: None)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_cost_follows_from_the_sample():
    assert make.estimate(plan_of(3, put)).bytes == 600


def test_a_disk_that_is_too_small_is_told_before_the_first_byte(tmp_path, monkeypatch):
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10_000_000))
    with pytest.raises(PalestraError, match=r"takes about 20\S* .B, and 10\S* MB are free"):
        make.require_room(tmp_path / "new" / "deep", 20_000_000_000)
    make.require_room(tmp_path, 1_000_000)


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_the_estimate_of_the_bytes_is_near(track_id, tiny):
    track, data = registry.track(track_id), tiny(track_id)
    cost = make.estimate(make.plan(track, Order()))
    real = sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
    assert 0.5 < cost.bytes / real < 2


def sizes():
    """Each track's tiny data set, and its small one; of two that takes half a minute."""
    long = ("emotion-eeg-v1", "remote-gaze-v1")
    for track_id in sorted(registry.tracks()):
        yield pytest.param(track_id, "tiny", id=f"tiny-{track_id}")
        marks = [pytest.mark.slow] if track_id in long else []
        yield pytest.param(track_id, "small", id=f"small-{track_id}", marks=marks)


@pytest.mark.parametrize(("track_id", "size"), list(sizes()))
def test_the_estimate_without_pictures_is_near(track_id, size, unpictured):
    cost = make.estimate(make.plan(registry.track(track_id), Order(size, 0, ("images",))))
    real = sum(path.stat().st_size for path in unpictured(track_id, size).rglob("*") if path.is_file())
    assert 0.4 < cost.bytes / real < 2.5


def test_an_unfinished_run_of_other_code_is_not_mixed_up(tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        make.run(TRACK, Order(), plan_of(1, _interrupt), tmp_path / "new", lambda weight: None)
    monkeypatch.setattr(make, "code_digest", lambda track: "another")
    with pytest.raises(PalestraError, match="another version"):
        make.run(TRACK, Order(), plan_of(1, put), tmp_path / "new", lambda weight: None)


def test_half_a_data_set_needs_half_the_room(tmp_path):
    def half(folder, i):
        if i == 2:
            raise KeyboardInterrupt
        put(folder, i)

    with pytest.raises(KeyboardInterrupt):
        make.run(TRACK, Order(), plan_of(4, half), tmp_path / "new", lambda weight: None)
    assert make.left(plan_of(4, put), tmp_path / "new") == 0.5
    assert make.unfinished(tmp_path / "new") == Order()
    assert make.left(plan_of(4, put), tmp_path / "other") == 1.0


def test_all_files_have_the_same_time(tiny):
    """Else the order in which they were written would tell which sequences belong together."""
    for track_id in registry.tracks():
        assert len({path.stat().st_mtime for path in tiny(track_id).rglob("*")}) == 1


class Local:
    """What an object of it is depends on where its class is defined."""


def _local_class():
    class Write(Local):
        def __call__(self, folder):
            put(folder, 1)

    return Write()


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("write", [lambda folder: None, _local_class()], ids=["lambda", "local class"])
def test_a_part_that_cannot_be_sent_is_named_before_any_work(write, workers, monkeypatch):
    monkeypatch.setenv(parallel.WORKERS, workers)
    parts = [Part("good", 1, finish), Part("pictures/3", 1, write)]
    track = _with_plan(Plan(parts, Part("sample", 1, finish), finish))
    with pytest.raises(PalestraError, match=r"near-eye-gaze-v1, part 'pictures/3'.*top level of a module"):
        make.plan(track, Order())


class _Unreadable:
    def __reduce__(self):
        return int, ("not a number",)


def test_a_part_that_cannot_be_read_by_a_worker_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(parallel.WORKERS, "2")
    plan = Plan([Part("good", 1, finish), Part("odd", 1, _Unreadable())], Part("sample", 1, finish), finish)
    with pytest.raises(PalestraError, match=r"near-eye-gaze-v1, part 'odd': .*not a number.*top level"):
        make.run(TRACK, Order(), plan, tmp_path / "new", lambda weight: None)


def _with_plan(plan):
    return dataclasses.replace(TRACK, dataset=dataclasses.replace(TRACK.dataset, make=lambda order: plan))
