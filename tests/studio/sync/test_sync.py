"""The command, from files to files: videos, recordings, sound, markers and samples."""

import wave

import numpy as np
import polars as pl
import pytest

from tests.studio.sync.drawing import LEDS, PLACES, numbers_in, write_video
from tests.studio.sync.simulated import Board, Camera

OTHER = [(140 - x, y + 40) for x, y in LEDS]
OTHER_PLACES = " ".join(f"{x},{y}" for x, y in OTHER)
BOARD = Board(on_s=2.5)
A, B = Camera(30, wrong=0.1), Camera(25, 1.3, 300, wrong=0.1, dropped=0.02)


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("videos")
    true_a = write_video(folder / "A.mp4", BOARD, A, 22, 1)
    true_b = write_video(folder / "B.mp4", BOARD, B, 22, 2, leds=OTHER)
    return folder, true_a, true_b


def test_one_video_is_resampled_to_the_frames_of_the_other(videos, cli, tmp_path):
    folder, true_a, true_b = videos
    out, table = tmp_path / "BA.mov", tmp_path / "frames.csv"
    ran = cli("studio", "sync", folder / "A.mp4", folder / "B.mp4", "--leds", PLACES, "--leds", OTHER_PLACES,
              "--out", out, "--table", table, "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert abs(ran.json[0]["offset_s"] - 1.3) < 1 / 30
    joined = pl.read_csv(table)
    nearest = np.abs(true_a[:, None] - true_b[None, :]).argmin(axis=1)
    inside = joined["frame_b"].is_not_null().to_numpy()
    assert (joined["frame_b"].to_numpy()[inside] == nearest[inside]).mean() > 0.9  # others are half-way between two
    assert not inside[true_a < true_b[0] - 0.04].any() and inside[true_a > true_b[0]].all()
    found = np.array(numbers_in(out))
    assert len(found) == len(true_a)
    assert (found[~inside] == -1).all()
    off = (found[inside] - joined["frame_b"].to_numpy()[inside] + 64) % 128 - 64
    assert np.abs(off).max() <= 2 and abs(off.mean()) < 1  # the grey that tells a number went through two codecs


def test_leds_are_found(videos, cli, tmp_path):
    folder, _, _ = videos
    picture = tmp_path / "leds.png"
    ran = cli("studio", "leds", folder / "A.mp4", "--picture", picture, "--json")
    assert ran.code == 0, ran.err
    assert np.abs(np.array(ran.json["places"]) - np.array(LEDS)).max() <= 3
    assert ran.json["leds"].endswith("@160x120") and picture.read_bytes().startswith(b"\x89PNG")


def test_a_source_of_a_recording_is_aligned_as_a_video_is(videos, cli, tmp_path):
    folder, _, _ = videos
    assert cli("studio", "capture", f"left=played:{folder / 'A.mp4'}@300", "--out", tmp_path / "r").code == 0
    ran = cli("studio", "sync", tmp_path / "r" / "left", folder / "B.mp4", "--leds", PLACES, "--leds", OTHER_PLACES,
              "--json")  # fmt: skip
    assert ran.code == 1 and "not the same LEDs" in ran.err  # it was played ten times as fast


def test_two_sources_of_one_recording_are_looked_for_near_its_clock(videos, cli, tmp_path):
    folder, _, _ = videos
    sources = [f"{name}=played:{folder / 'A.mp4'}@300" for name in ("left", "right")]
    assert cli("studio", "capture", *sources, "--out", tmp_path / "r").code == 0
    ran = cli("studio", "sync", tmp_path / "r" / "left", tmp_path / "r" / "right", "--leds", PLACES, "--json")
    assert ran.code == 0, ran.err
    assert abs(ran.json[0]["offset_s"]) < 1 / 300 and abs(ran.json[0]["drift_ppm"]) < 1000
    assert "repeats each" not in ran.err


def test_sound_with_claps(cli, tmp_path):
    rng = np.random.default_rng(0)
    true_s = np.cumsum(rng.uniform(1, 6, 25))
    for name, start, ppm, rate in (("a.wav", 0.0, 0.0, 16000), ("b.wav", 2.5, 120.0, 44100)):
        at_s = np.arange(round(100 * rate)) / rate
        sound = rng.normal(0, 20, len(at_s))
        for moment in (true_s - start) / (1 + ppm * 1e-6):
            since = at_s - moment
            heard = (since >= 0) & (since < 0.1)
            sound[heard] += 9000 * rng.normal(0, 1, heard.sum()) * np.exp(-since[heard] / 0.015)
        with wave.open(str(tmp_path / name), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(np.clip(sound, -32000, 32000).astype("<i2").tobytes())
    ran = cli("studio", "sync", tmp_path / "a.wav", tmp_path / "b.wav", "--by", "claps", "--json")
    assert ran.code == 0, ran.err
    assert abs(ran.json[0]["offset_s"] - 2.5) < 0.005
    assert abs(ran.json[0]["drift_ppm"] - 120) < 40 and ran.json[0]["matched"] >= 20


def test_eeg_is_aligned_to_a_video_by_flashes_and_its_triggers(cli, tmp_path):
    """A lamp flashes in the picture whenever a trigger is sent; the amplifier's clock drifts."""
    rng = np.random.default_rng(0)
    true_s = np.cumsum(rng.uniform(0.6, 2.5, 20))

    class Lamp:
        def shown(self, at_s):
            return ((at_s[..., None] - true_s >= 0) & (at_s[..., None] - true_s < 0.2)).any(axis=-1)[..., None] * 1.0

    write_video(tmp_path / "face.mp4", Lamp(), Camera(30), 40, leds=LEDS[:1])
    samples_s = np.arange(0, 40, 1 / 500)
    trigger = np.zeros(len(samples_s), np.int64)
    for number, moment in enumerate((true_s - 3.7) / (1 + 400e-6)):
        trigger[(samples_s >= moment) & (samples_s < moment + 0.02)] = 1 + number % 3
    eeg = pl.DataFrame({"time_s": samples_s, "Fz": rng.normal(size=len(samples_s)), "trigger": trigger})
    eeg.write_parquet(tmp_path / "eeg.parquet")
    ran = cli("studio", "sync", tmp_path / "face.mp4", tmp_path / "eeg.parquet", "--by", "flash:20,15",
              "--by", "marks:trigger", "--out", tmp_path / "aligned.parquet", "--json")  # fmt: skip
    assert ran.code == 0, ran.err
    assert abs(ran.json[0]["offset_s"] - 3.7) < 1 / 30
    aligned = pl.read_parquet(tmp_path / "aligned.parquet")
    np.testing.assert_allclose(aligned["time_in_a_s"], 3.7 + (1 + 400e-6) * samples_s, atol=1 / 30)


@pytest.mark.parametrize(
    "words, said",
    [
        (["A.mp4", "B.mp4"], "Name the places of the LEDs with --leds"),
        (["A.mp4", "B.mp4", "--leds", "20,15 40"], "names no places in a picture"),
        (["A.mp4", "B.mp4", "--leds", "20,15 40,15"], "Found 2 LEDs, expected 3 to 8"),
        (["A.mp4", "B.mp4", "--leds", "20,15 40,15 400,15"], "400,15 is out of sight: pictures of"),
        (["A.mp4", "B.mp4", "--leds", PLACES + "@1920x1080"], "measured in pictures of 1920×1080"),
        (["A.mp4", "B.mp4", "--leds", "20,100 40,15 60,15 80,15 2,100"], "never changes"),
        (["notes.txt", "B.mp4", "--leds", PLACES], "is not a video: it has no pictures"),
        (["gone.mp4", "B.mp4", "--leds", PLACES], "there is no such file"),
        ([".", "B.mp4", "--leds", PLACES], "is a folder. Of a recording, name a source too"),
        (["A.mp4", "B.mp4", "--by", "claps"], "has no sound"),
        (["A.mp4", "B.mp4", "--by", "stars"], "is not a way to align"),
        (["A.mp4", "B.mp4", "--leds", PLACES, "--out", "B.gif"], "expected a name that ends in .mov"),
        (["A.mp4", "B.mp4", "--leds", PLACES, "--out", "A.mp4"], "is there already"),
        (["A.mp4", "marks.csv", "--by", "light:20,15", "--by", "marks:kind"], "There is no column 'kind'"),
        (["A.mp4", "bare.csv", "--by", "light:20,15", "--by", "marks"], "expected one with times"),
    ],
)
def test_bad_input_is_refused_in_words(videos, cli, monkeypatch, words, said):
    folder, _, _ = videos
    monkeypatch.chdir(folder)
    (folder / "notes.txt").write_text("no video\n" * 100)
    (folder / "marks.csv").write_text("time_s,code\n1,2\n")
    (folder / "bare.csv").write_text("when,code\n1,2\n")
    ran = cli("studio", "sync", *words)
    assert ran.code == 1 and said in ran.err


def test_a_video_whose_pictures_change_their_size_is_refused(tmp_path, cli):
    from tests.studio.capture.conftest import write_pictures

    pictures = write_pictures(tmp_path / "p", 40)
    for number, file in enumerate(write_pictures(tmp_path / "q", 40, (48, 80)).iterdir()):
        file.rename(pictures / f"{100 + number}.png")
    assert cli("studio", "capture", f"left=played:{pictures}@fast", "--out", tmp_path / "r").code == 0
    left = tmp_path / "r" / "left"
    ran = cli("studio", "sync", left, left, "--leds", "1,1 5,5 9,9")
    assert ran.code == 1 and "change from 64×40 to 80×48" in ran.err
