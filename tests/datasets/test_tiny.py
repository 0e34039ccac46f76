import os

from palestra import registry
from palestra.datasets import tiny as tinydata


def test_a_tiny_set_is_made_once_and_old_ones_are_removed(cache, tiny):
    folder = tiny("near-eye-gaze-v1")
    fresh, old = (folder.with_name(f"near-eye-gaze-v1-{name}") for name in ("fresh", "old"))
    for other in (fresh, old):
        other.mkdir(exist_ok=True)
    os.utime(old, (0, 0))
    tinydata._remove_old(folder)
    assert (folder.is_dir(), fresh.is_dir(), old.is_dir()) == (True, True, False)
    fresh.rmdir()
    assert tiny("near-eye-gaze-v1") == folder
    assert registry.track("near-eye-gaze-v1").trials(folder).height > 0
