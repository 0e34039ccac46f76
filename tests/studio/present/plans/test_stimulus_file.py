"""Stimulus files: what is wrong is told with its line and key."""

import pytest

from palestra.errors import PalestraError, Refused
from palestra.studio.present.plans.stimulus_file import LARGEST, read_stimuli

SCREEN = "seed = 3\n[screen]\nwidth_mm = 500\nheight_mm = 300\ndistance_mm = 600\n"


def refused(tmp_path, text: str | bytes) -> str:
    file = tmp_path / "mine.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(Refused) as refusal:
        read_stimuli(file)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "mine.toml: found no screen, expected [screen] and at least one [[blocks]]"),
        (SCREEN, "mine.toml: found no blocks, expected [screen] and at least one [[blocks]]"),
        (f"{SCREEN}[[blocks]]\n", "line 6: blocks[1]: found no kind, expected kind = one of targets, curve"),
        (f'{SCREEN}[[blocks]]\nkind = "targts"', "line 7: blocks[1].kind: found 'targts', expected one of targets"),
        (
            f'{SCREEN}[[blocks]]\nkind = "targets"\n\n[[blocks]]\nkind = "curve"\nevry_s = 2',
            "line 11: blocks[2].evry_s: found an unknown key 'evry_s', expected a key that is known here. Did you",
        ),
        (
            f'{SCREEN}[[blocks]]\nkind = "curve"\nevery_s = 0',
            "line 8: blocks[1].every_s: found 0, expected a number ≥ 0.02",
        ),
        (
            f'{SCREEN}[[blocks]]\nkind = "targets"\ncount = "all"',
            "blocks[1].count: found 'all', expected a whole number",
        ),
        (f"{SCREEN}widht = 3\n", "line 6: screen.widht: found an unknown key"),
        (SCREEN.replace("500", "-5"), "line 3: screen.width_mm: found -5, expected a number ≥ 1"),
        (f'{SCREEN}[[blocks]]\nkind = "pursuit"\nradius_deg = 40', "a ring that fits on the screen: 150 mm at most"),
        (
            f'{SCREEN}[[blocks]]\nkind = "points"\nshown_s = 4',
            "line 8: blocks[1].shown_s: found 4, expected at most every_s = 2",
        ),
        (f'{SCREEN}[[blocks]]\nkind = "points"\ncapture_s = 1', "capture_s: found 1, expected less than shown_s = 1"),
        (f'{SCREEN}[[blocks]]\nkind = "emotion"\nblocks = 6', "found 28 films, expected blocks × per_block = 24"),
        (f'{SCREEN}[[blocks]]\nkind = "emotion"\nrun_start = 3', "a trigger that means two things"),
        (f'{SCREEN}[[blocks]]\nkind = "emotion"\n[[blocks]]\nkind = "emotion"', "a second block of the kind emotion"),
        (
            f'{SCREEN}[[blocks]]\nkind = "emotion"\n[[blocks.films]]\nnumber = 1\nlength_s = 3\nvalence = "good"',
            "line 11: blocks[1].films[1].valence: found 'good', expected negative, neutral or positive",
        ),
        ("seed = \n", "Invalid value (at line 1"),
        (b"\xff\xfe", "bytes that are not UTF-8"),
        ("#" * (LARGEST + 1), "more than 200,000 bytes"),
    ],
)
def test_a_fault_is_told_in_words(tmp_path, text, told):
    assert told in refused(tmp_path, text)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(PalestraError, match=r"none\.toml: cannot be read"):
        read_stimuli(tmp_path / "none.toml")


def test_all_blocks_with_contradictions_are_told_at_once(tmp_path):
    text = f'{SCREEN}[[blocks]]\nkind = "points"\nshown_s = 4\n[[blocks]]\nkind = "pursuit"\nradius_deg = 40\n'
    assert refused(tmp_path, text).count("found") == 2
