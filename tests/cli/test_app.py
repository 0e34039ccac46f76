"""The commands as people type them."""

import json
import re
import shlex
import zipfile

import numpy as np
import polars as pl
import pytest
import typer

from palestra import registry
from palestra.cli import app as commands
from palestra.cli.data import GUESSABLE
from palestra.tracks.eye_segmentation.masks import encode_mask

COMMANDS = {name: typer.main.get_command(commands.app).get_command(None, name) for name in commands.ORDER}  # type: ignore
EXAMPLE = re.compile(r"Example: palestra (.+)", re.DOTALL)
# Examples that read what others write come after them.
ORDER = ["tracks", "solutions", "make", "solve", "check", "score", "replay", "board", "view", "starter", "doctor"]
ORDER += ["play", "register", "bench", "annotate", "new-track"]
SERVED = {"contest", "submit"}  # these need a server: tests/cli/test_contest.py
FILMED = {"studio"}  # a person or a camera: tests/studio
LONG = {"adapt", "demo"}  # tests/annotation/test_adapt.py, and below


def test_every_command_has_an_example_and_they_all_run(cli, tiny, tmp_path, monkeypatch):
    for track_id in registry.tracks():
        tiny(track_id)
    monkeypatch.chdir(tmp_path)
    assert sorted(COMMANDS) == sorted([*ORDER, *SERVED, *LONG, *FILMED])
    assert all(_example(cli, name)[0] == name for name in ("submit", *LONG))
    for name in ORDER:
        words = _example(cli, name)
        assert words[0] == name
        ran = cli(*words)
        # A version can only be registered while a run is under way, and the example's is over by then.
        assert ran.code == (1 if name == "register" else 0), f"{words}: {ran.err}"


def _example(cli, name):
    example = EXAMPLE.search(cli(name, "--help").out)
    assert example, f"the help of `{name}` has no example"
    return shlex.split(example[1])


@pytest.mark.slow
def test_the_demo_goes_through_every_track_and_holds_a_contest(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = _example(cli, "demo")
    assert "--no-serve" in words, "else it would serve until it is stopped"
    ran = cli(*words)
    assert ran.code == 0, ran.err
    assert all(str(track.title) in ran.out for track in registry.tracks().values()), "each has a board in the contest"


def test_help_tells_what_there_is(cli):
    shown = cli("--help").out
    assert all(name in shown for name in COMMANDS)


def test_lists_have_the_agreed_keys(cli):
    tracks = cli("tracks", "--json").json
    assert all(set(row) == {"id", "title", "answers", "ranks"} for row in tracks)
    agreed = {
        "near-eye-gaze-v1": "pe_deg", "gaze-prediction-v1": "pe_deg", "eye-segmentation-v1": "miou",
        "emotion-eeg-v1": "accuracy", "near-eye-live-v1": "pe_deg",
    }  # fmt: skip
    assert agreed.items() <= {row["id"]: row["ranks"] for row in tracks}.items()
    solutions = cli("solutions", "--json").json
    assert all(set(row) == {"track", "name", "title", "weights"} for row in solutions)
    names = {"hold-last", "linear", "pupil", "threshold", "entropy", "evidence", "network"}
    assert names <= {row["name"] for row in solutions}


def test_the_list_tells_how_to_get_weights_that_are_not_shipped(cli):
    rows = [line.split() for line in cli("solutions", "gaze-prediction-v1").out.splitlines() if "-v1" in line]
    lines = {words[1]: " ".join(words) for words in rows}
    assert "not here, run `make train-gaze-random-b`" in lines["random-b"] and "make" not in lines["palestra"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["score", "near-eye-gase-v1", "x.csv"], 1, "Did you mean 'near-eye-gaze-v1'?"),
        (["solve", "near-eye-gaze-v1", "pupils", "--out", "a.csv"], 1, "Did you mean 'pupil'?"),
        (["make", "near-eye-gaze-v1", "d", "--size", "smal"], 2, "Did you mean 'small'?"),
        (["make", "near-eye-gaze-v1", "d", "--without", "pictures"], 2, "images"),
        (["score", "near-eye-gaze-v1", "x.csv", "--data", "nowhere"], 1, "nowhere"),
        (["score", "near-eye-gaze-v1", "x.csv", "--set", "a"], 2, "NAME=VALUE"),
        (["score", "near-eye-gaze-v1"], 2, "Missing argument"),
        (["make", "near-eye-gaze-v1", "d", "--seed", "one"], 2, "seed"),
        (["make", "near-eye-gaze-v1", "d", "--pack", "x.rar"], 1, ".zip"),
        (["score", "near-eye-gaze-v1", "x.csv", "--report", "nowhere/x.html"], 1, "Make it first"),
        (["solve", "near-eye-gaze-v1", "pupil", "--out", "nowhere/x.csv"], 1, "Make it first"),
        (["solve", "gaze-prediction-v1", "linear", "--out", "a.json", "--set", "angles=guessed"], 1, "estimated"),
        (["view", "near-eye-gaze-v1", "data", "--out", "x.png"], 1, ".html"),
        (["score", "near-eye-gaze-v1", "x.csv", "--report", "x.csv"], 1, "the submission itself"),
        (["score", "near-eye-gaze-v1", "x.csv", "--scores-out", "x.txt"], 1, ".parquet"),
        (["solve", "near-eye-gaze-v1", "pupil", "--out", "x.json"], 1, ".csv"),
        (["make", "near-eye-gaze-v1", "/dev/null/x"], 1, "Not a directory"),
        (["view", "near-eye-gaze-v1", "P99/G01/0001", "--out", "x.png"], 1, "trial"),
        (["replay", "nothing.parquet"], 1, "is not there"),
        (["submit", "http://localhost:1", "first", "nothing.csv"], 1, "is no file"),
        (["submit", "http://localhost:1", "first"], 2, "Missing argument"),
        (["contest", "sevre", "contest.toml"], 2, "No such command"),
    ],
)
def test_a_wrong_call_is_answered_in_words(cli, tiny, tmp_path, monkeypatch, words, code, message):
    monkeypatch.chdir(tmp_path)
    tiny("near-eye-gaze-v1"), tiny("gaze-prediction-v1")
    ran = cli(*words)
    assert ran.code == code
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == [], "nothing is written on refusal"


def test_a_fault_in_palestra_itself_shows_no_traceback_and_keeps_it(cli, tiny, cache, monkeypatch):
    tiny("near-eye-gaze-v1")
    monkeypatch.setattr("palestra.console.show_rows", lambda *args: 1 / 0)
    ran = cli("tracks")
    assert ran.code == 1
    assert "Something broke in Palestra itself: ZeroDivisionError" in ran.err
    assert "Traceback" not in ran.err
    assert "ZeroDivisionError" in (cache / "last-error.txt").read_text()


def test_a_stopped_command_says_how_to_go_on(cli, monkeypatch):
    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("palestra.console.show_rows", stop)
    ran = cli("tracks")
    assert ran.code == 130
    assert "go on where they were" in ran.err


def test_score_json_is_the_agreed_result(cli, tiny):
    data = tiny("near-eye-gaze-v1")
    ran = cli("score", "near-eye-gaze-v1", data / "template.csv", "--data", data, "--json", "--entrant", "me")
    result = ran.json
    assert list(result) == [
        "track", "entrant", "valid", "invalid_because", "unit", "metrics", "by", "provenance"
    ]  # fmt: skip
    assert (result["entrant"], result["valid"], result["unit"]) == ("me", True, "person")
    assert set(result["metrics"]["pe_deg"]) == {"value", "low", "high"}
    assert {"person", "pe_deg"} <= set(result["by"]["person"][0])


def test_a_saved_score_is_computed_again_to_the_same_bytes(cli, tiny, tmp_path):
    data = tiny("near-eye-gaze-v1")
    kept = tmp_path / "scores.parquet"
    first = cli("score", "near-eye-gaze-v1", data / "template.csv", "--data", data, "--json", "--scores-out", kept)
    assert cli("replay", kept, "--json").out == first.out


def test_a_changed_score_is_noticed(cli, tiny, tmp_path):
    from dataclasses import replace

    from palestra.scoring import score_file

    data = tiny("near-eye-gaze-v1")
    kept = tmp_path / "scores.parquet"
    cli("score", "near-eye-gaze-v1", data / "template.csv", "--data", data, "--scores-out", kept)
    before = score_file.load(kept)
    score_file.save(replace(before, rows=before.rows.with_columns(error_deg=pl.col("error_deg") / 2)), kept)
    ran = cli("replay", kept)
    assert ran.code == 1
    assert "differs" in ran.err


def test_boards_of_two_tracks_are_not_mixed(cli, tiny, tmp_path):
    files = []
    for track_id, name in (("near-eye-gaze-v1", "template.csv"), ("gaze-prediction-v1", "a.json")):
        data, track = tiny(track_id), registry.track(track_id)
        submission = tmp_path / name
        track.writes(track.blank(track.trials(data)), submission)
        files.append(tmp_path / f"{track_id}.parquet")
        cli("score", track_id, submission, "--data", data, "--scores-out", files[-1])
    assert "several tracks" in cli("board", *files).err
    assert cli("board", files[0], "--json").json[0]["rank"] == 1


def test_gaps_can_be_charged_instead_of_refused(cli, tiny, tmp_path):
    data = tiny("near-eye-gaze-v1")
    lines = (data / "template.csv").read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join(lines[:-3]) + "\n")
    call = ("score", "near-eye-gaze-v1", tmp_path / "a.csv", "--data", data)
    refused = cli(*call, "--json")
    assert refused.code == 1
    assert (refused.json["ok"], refused.json["count"]) == (False, 3)
    assert set(refused.json["faults"][0]) == {"where", "found", "expected"}
    assert "--allow-missing" in cli(*call).err
    assert cli(*call, "--allow-missing").code == 0


HOSTILE_CSV = {
    "missing rows": lambda text: "\n".join(text.splitlines()[:-2]),
    "double rows": lambda text: text + text.splitlines()[-1] + "\n",
    "extra rows": lambda text: text + "P99,G01,0000,1,2\n",
    "wrong header": lambda text: text.replace("person,group", "who,group"),
    "no header": lambda text: text.split("\n", 1)[1],
    "UTF-16": lambda text: text.encode("utf-16"),
    "Latin-1": lambda text: text.replace("P01", "Pé1").encode("latin-1"),
    "NaN": lambda text: text.replace("0.0,0.0", "nan,0.0", 1),
    "inf": lambda text: text.replace("0.0,0.0", "-inf,0.0", 1),
    "absurd": lambda text: text.replace("0.0,0.0", "1e300,0.0", 1),
    "commas": lambda text: text.replace("0.0,0.0", "0,5,0,5", 1),
    "text": lambda text: text.replace("0.0,0.0", "left,0.0", 1),
    "empty": lambda text: "",
    "truncated": lambda text: text[: len(text) // 2],
    "binary": lambda text: bytes(range(256)) * 20,
    "long line": lambda text: "x" * 5_000_000,
}


@pytest.mark.parametrize("name", HOSTILE_CSV)
def test_hostile_csv_is_refused_with_its_place(cli, tiny, tmp_path, name):
    data = tiny("near-eye-gaze-v1")
    content = HOSTILE_CSV[name]((data / "template.csv").read_text())
    file = tmp_path / "a.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    _refused(cli, "near-eye-gaze-v1", file, data)


HOSTILE_JSON = {
    "missing": lambda d: {k: d[k] for k in list(d)[1:]},
    "extra": lambda d: {**d, "9999": next(iter(d.values()))},
    "empty": lambda d: "",
    "truncated": lambda d: json.dumps(d)[:-40],
    "deep": lambda d: "[" * 100_000,
    "deep object": lambda d: '{"a":' * 100_000,
    "double key": lambda d: "{" + json.dumps(d)[1:-1] + "," + json.dumps(d)[1:],
    "array": lambda d: list(d),
    "number": lambda d: "12",
    "not UTF-8": lambda d: b"\xff\xfe" + json.dumps(d).encode("utf-16-le"),
    "zeros": lambda d: {k: {f: [0, 0, 0] for f in v} if isinstance(v, dict) else "" for k, v in d.items()},
    "two numbers": lambda d: {k: {f: [0, 1] for f in v} if isinstance(v, dict) else 7 for k, v in d.items()},
    "text": lambda d: {k: {f: ["a", "b", "c"] for f in v} if isinstance(v, dict) else "?" for k, v in d.items()},
    "huge numbers": lambda d: {k: {f: [1e300, 0, 1] for f in v} if isinstance(v, dict) else None for k, v in d.items()},
}


@pytest.mark.parametrize("track_id", ["gaze-prediction-v1", "eye-segmentation-v1"])
@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_hostile_json_is_refused_with_its_place(cli, tiny, tmp_path, track_id, name):
    data, track = tiny(track_id), registry.track(track_id)
    file = tmp_path / "a.json"
    track.writes(track.blank(track.trials(data)), file)
    content = HOSTILE_JSON[name](json.loads(file.read_text()))
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    _refused(cli, track_id, file, data)


def npy(array):
    import io

    out = io.BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


HOSTILE_MASKS = {
    "another shape": npy(np.zeros((640, 400), np.uint8)),
    "another dtype": npy(np.zeros((400, 640), np.float32)),
    "class 9": npy(np.full((400, 640), 9, np.uint8)),
    "objects": npy(np.array([{"a": print}], dtype=object)),
    "cut short": npy(np.zeros((400, 640), np.uint8))[:-1000],
    "a claim of a petabyte": npy(np.zeros((400, 640), np.uint8)).replace(b"(400, 640)", b"(10**8,10)"),
    "no mask at all": b"hello",
    "nothing": b"",
}


@pytest.mark.parametrize("name", HOSTILE_MASKS)
@pytest.mark.parametrize("kind", ["json", "zip", "folder"])
def test_hostile_masks_are_refused_by_name(cli, tiny, tmp_path, name, kind):
    import base64

    data, track = tiny("eye-segmentation-v1"), registry.track("eye-segmentation-v1")
    good = npy(np.zeros((400, 640), np.uint8))
    trials = track.trials(data)["trial"].to_list()
    masks = dict.fromkeys(trials, good) | {trials[7]: HOSTILE_MASKS[name]}
    if kind == "json":
        file = tmp_path / "a.json"
        packed = encode_mask(np.zeros((400, 640), np.uint8))
        pairs = b"".join(bytes((1, byte)) for byte in HOSTILE_MASKS[name][:300_000])
        texts = dict.fromkeys(trials, packed) | {trials[7]: base64.b64encode(pairs).decode()}
        file.write_text(json.dumps(texts))
    elif kind == "zip":
        file = tmp_path / "a.zip"
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
            for trial, content in masks.items():
                out.writestr(trial, content)
    else:
        file = tmp_path / "masks"
        for trial, content in masks.items():
            (file / trial).parent.mkdir(parents=True, exist_ok=True)
            (file / trial).write_bytes(content)
    faults = _refused(cli, "eye-segmentation-v1", file, data)
    assert trials[7].removesuffix(".npy") in faults[0]["where"]


@pytest.mark.parametrize("member", ["../../evil.npy", "/etc/evil.npy", "S_0\\0.npy", "C:/evil.npy", "readme.txt"])
def test_archives_with_names_that_lead_astray_are_refused(cli, tiny, tmp_path, member):
    data = tiny("eye-segmentation-v1")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as out:
        info = zipfile.ZipInfo("x")
        info.filename = member
        out.writestr(info, b"x")
    _refused(cli, "eye-segmentation-v1", tmp_path / "a.zip", data)


def test_a_zip_bomb_is_refused(cli, tiny, tmp_path):
    data = tiny("eye-segmentation-v1")
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("S_0/0.npy", bytes(100_000_000))
    _refused(cli, "eye-segmentation-v1", tmp_path / "a.zip", data)


def test_links_in_a_folder_are_refused(cli, tiny, tmp_path):
    data = tiny("eye-segmentation-v1")
    (tmp_path / "masks" / "S_0").mkdir(parents=True)
    (tmp_path / "masks" / "S_0" / "0.npy").symlink_to("/etc/passwd")
    _refused(cli, "eye-segmentation-v1", tmp_path / "masks", data)


@pytest.mark.parametrize("track_id", ["near-eye-gaze-v1", "gaze-prediction-v1"])
def test_a_folder_where_a_file_belongs_is_refused(cli, tiny, tmp_path, track_id):
    (tmp_path / "folder").mkdir()
    _refused(cli, track_id, tmp_path / "folder", tiny(track_id))


def test_a_pickle_with_code_in_it_is_refused_and_not_run(cli, tiny, tmp_path):
    import pickle
    import shutil

    from palestra.tracks.eye_segmentation import format as openeds

    class Code:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    data = tiny("eye-segmentation-v1")
    release = tmp_path / openeds.RELEASE
    shutil.copytree(data / openeds.RELEASE, release, ignore=shutil.ignore_patterns("*.png"))
    (release / "test_GT").mkdir()
    (release / "test_GT" / openeds.PICKLE).write_bytes(pickle.dumps(Code()))
    track = registry.track("eye-segmentation-v1")
    track.writes(track.blank(track.trials(data)), tmp_path / "a.json")
    ran = cli("score", track.id, tmp_path / "a.json", "--data", release)
    assert ran.code == 1
    assert "open" in ran.err
    assert not (tmp_path / "ran").exists()


def _refused(cli, track_id, file, data):
    """Refused by `check` and by `score`, in words and in JSON, with nothing written beside it."""
    beside = sorted(path.name for path in file.parent.iterdir())
    ran = cli("check", track_id, file, "--data", data, "--json")
    assert ran.code == 1
    assert ran.json["ok"] is False
    assert ran.json["count"] >= 1
    assert len(ran.json["faults"]) == min(ran.json["count"], 20)
    assert all(fault["where"] and fault["found"] and fault["expected"] for fault in ran.json["faults"])
    assert file.name in ran.json["faults"][0]["where"]
    scored = cli("score", track_id, file, "--data", data, "--scores-out", file.parent / "s.parquet", "--json")
    assert scored.code == 1
    assert scored.json == ran.json, "and no fault tells which trials are scored"
    words = cli("check", track_id, file, "--data", data)
    assert words.code == 1
    assert "Traceback" not in words.err
    assert sorted(path.name for path in file.parent.iterdir()) == beside
    return ran.json["faults"]


HARMLESS = {
    "other order": lambda lines: [lines[0], *reversed(lines[1:])],
    "BOM": lambda lines: ["\ufeff" + lines[0], *lines[1:]],
    "CRLF": lambda lines: [line + "\r" for line in lines],
    "spaces": lambda lines: [line.replace(",", " , ") for line in lines],
    "other columns first": lambda lines: [",".join(reversed(line.split(","))) for line in lines],
    "quotes": lambda lines: [",".join(f'"{cell}"' for cell in line.split(",")) for line in lines],
    "blank lines at the end": lambda lines: [*lines, "", ""],
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_harmless_is_accepted(cli, tiny, tmp_path, name):
    data = tiny("near-eye-gaze-v1")
    lines = (data / "template.csv").read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join(HARMLESS[name](lines)) + "\n", newline="")
    assert cli("check", "near-eye-gaze-v1", tmp_path / "a.csv", "--data", data).code == 0


def test_a_random_seed_is_kept_with_the_truth_and_a_guessable_one_is_warned_of(cli, tmp_path):
    call = ("make", "gaze-prediction-v1", "--without", "images", "--pack", tmp_path / "x.zip")
    assert cli(*call, tmp_path / "a", "--seed", "random").code == 0
    seed = int((tmp_path / "a" / "truth" / "made.toml").read_text().split("seed = ")[1])
    assert seed > GUESSABLE
    assert "can be guessed" in cli(*call, tmp_path / "b", "--seed", "7").err


def test_half_a_data_set_is_not_scored(cli, tiny, tmp_path):
    import shutil

    from palestra.datasets.make import NOTES

    data = tiny("near-eye-gaze-v1")
    shutil.copytree(data, tmp_path / "d", ignore=shutil.ignore_patterns("*.png"))
    (tmp_path / "d" / NOTES).write_text("{}")
    ran = cli("score", "near-eye-gaze-v1", data / "template.csv", "--data", tmp_path / "d")
    assert ran.code == 1
    assert "not whole" in ran.err


def test_a_replay_keeps_the_settings(cli, tiny, tmp_path):
    data, track = tiny("eye-segmentation-v1"), registry.track("eye-segmentation-v1")
    track.writes(track.blank(track.trials(data)), tmp_path / "a.json")
    call = ("score", track.id, tmp_path / "a.json", "--data", data, "--set", "rank_by=image")
    first = cli(*call, "--scores-out", tmp_path / "s.parquet")
    assert "▸ miou_image" in first.out
    assert cli("replay", tmp_path / "s.parquet").out == first.out


def test_without_a_command_there_is_help_and_the_version_is_told(cli):
    assert "make" in cli().out
    assert re.fullmatch(r"palestra \d+\.\d+\.\d+\n", cli("--version").out)


def test_a_broken_data_set_is_not_the_contestant_s_fault(cli, tiny, tmp_path):
    import shutil

    data = tiny("near-eye-gaze-v1")
    shutil.copytree(data, tmp_path / "kit" / "data", ignore=shutil.ignore_patterns("*.png", "truth"))
    submission = data / "template.csv"
    around = cli("check", "near-eye-gaze-v1", submission, "--data", tmp_path / "kit")
    assert f"Did you mean {tmp_path / 'kit' / 'data'}?" in around.err
    hidden = cli("score", "near-eye-gaze-v1", submission, "--data", tmp_path / "kit" / "data")
    assert hidden.code == 1
    assert "can `check` and not `score`" in hidden.err
    assert "template.csv is refused" not in hidden.err


def test_names_of_strangers_steer_no_terminal(cli, tiny, tmp_path):
    data = tiny("near-eye-gaze-v1")
    name = "a\nb\x1b[31mred [bold]x"
    kept = tmp_path / "s.parquet"
    cli("score", "near-eye-gaze-v1", data / "template.csv", "--data", data, "--entrant", name, "--scores-out", kept)
    shown = cli("board", kept).out
    assert "\x1b" not in shown
    assert "[bold]x" in shown


def test_two_teams_of_one_name_are_told_apart_first(cli, tiny, tmp_path):
    data = tiny("near-eye-gaze-v1")
    kept = tmp_path / "s.parquet"
    cli("score", "near-eye-gaze-v1", data / "template.csv", "--data", data, "--scores-out", kept)
    assert "Two entries are called 'template'" in cli("board", kept, kept).err


def test_a_narrow_terminal_is_told_what_it_does_not_see(capsys, monkeypatch):
    from palestra import console

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    console._table(["a", "b", "c"], [["x" * 20, "y" * 20, "z" * 20]], needed=1)
    assert "more columns" in capsys.readouterr().out
