"""Film files are checked before anybody sits down."""

from pathlib import Path

import pytest

from palestra.errors import PalestraError, Refused
from palestra.studio.present.film_files import find_films, number_of
from palestra.studio.present.plans.films import Film
from palestra.studio.present.plans.stimuli import Emotion
from tests.studio.present.making_films import write_film

BLOCK = Emotion(films=(Film(1, 1, "neutral"), Film(2, 2, "neutral")), blocks=1, per_block=2, tolerance_s=0.2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "videos").mkdir()
    write_film(tmp_path / "videos" / "01.mp4", 1)
    write_film(tmp_path / "videos" / "2 the second.webm", 2)
    return tmp_path


def faults(home: Path) -> str:
    with pytest.raises(Refused) as refusal:
        find_films(BLOCK, home)
    return str(refusal.value)


def test_films_are_found_by_their_numbers_with_their_subtitles(home):
    (home / "videos" / "01.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:01.000\n你好\n", encoding="utf-8")
    found = find_films(BLOCK, home)
    assert [found[1].video.name, found[2].video.name] == ["01.mp4", "2 the second.webm"]
    assert found[1].subtitles == home / "videos" / "01.vtt" and found[2].subtitles is None


def test_all_films_that_are_missing_or_of_another_length_are_told_at_once(home):
    (home / "videos" / "01.mp4").unlink()
    write_film(home / "videos" / "2 the second.webm", 3)
    told = faults(home)
    assert "film 1: found no file, expected one of 01.mp4, .m4v or .webm" in told
    assert "film 2: found 3.0 s in 2 the second.webm, expected 2 s ± 0.2 s" in told


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("01.mp4", b"no film", "expected a film that can be played"),
        ("01.webm", b"", "01.mp4, 01.webm, expected one of"),
        ("01.vtt", b"1\n00:00:01,000 --> 00:00:02,000\nsrt", "found no WEBVTT at its beginning"),
    ],
)
def test_a_file_that_is_of_no_use_is_told(home, name, data, told):
    (home / "videos" / name).write_bytes(data)
    assert told in faults(home)


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(PalestraError, match="videos is not a folder"):
        find_films(BLOCK, tmp_path)


@pytest.mark.parametrize(("name", "number"), [("03.mp4", 3), ("28 joy.webm", 28), ("film3.mp4", None)])
def test_a_file_is_called_by_the_number_that_its_name_begins_with(name, number):
    assert number_of(Path(name)) == number
