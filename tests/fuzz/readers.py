"""The readers of strangers' files, each with files in order that chance begins with, and a call that reads one."""

import io
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import cv2
import numpy as np
import polars as pl

from palestra import registry
from palestra.contest.rules import reader as contest_reader
from palestra.entrants import bundle
from palestra.formats import open_members, read_people_file
from palestra.records import Track
from palestra.scoring import look_into
from palestra.scoring.answer_table import require_sound
from palestra.tracks.emotion_eeg import experiment, v1
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.eye_segmentation import masks
from palestra.tracks.remote_gaze import eyediap
from palestra.tracks.remote_gaze.eyediap.calibration import EYES_FOLDER, SCREEN_FILE
from palestra.tracks.remote_gaze.eyediap.states import STATE_FILE, STATE_FOLDER
from palestra.tracks.tabletop import format as cases
from palestra.tracks.tabletop.simulator.case_generator import draw_cases
from tests import ROOT
from tests.contest.rules.test_reader import SMALL
from tests.fuzz.mutations import mutated
from tests.tracks.remote_gaze.eyediap import sample as recordings

SCREEN, BALL = map(eyediap.name_of, ("1_A_CS_S", "12_B_FT_M"))
LARGEST_MEMBERS = (50, 2_000_000, 20_000_000)  # members, bytes of one, bytes in all
ODD_NAMES = (
    "", "/", "//", ".", "..", "./", "a/", "a//b", "../x", "/etc/x", "C:/x", "a\\b", "\0", "a\0b", "a" * 300,
    "a/" * 40 + "x",
    "\udc80", "é/漢字.npy", "S_0/1.npy", "s_0/1.NPY", "__MACOSX/x", ".DS_Store", "Algorithm",
    "Algorithm/MyAlgorithm.py",
    "Algorithm/MyAlgorithm.py/x", "wheels/x.whl", "wheels", "con", " ", "\n", "-", "~", "x" * 255, "x" * 256,
)  # fmt: skip


class Sample(NamedTuple):
    """A file that is in order, where it lies below the reader's folder, and what reads it."""

    file: str
    data: bytes
    read: Callable[[Path], object]
    before: Callable[[bytes, Random], bytes] | None = None  # changes what is packed or coded, before it is


Samples = Callable[[Path], Sequence[Sample]]


def eyediap_files(home: Path) -> list[Sample]:
    """The data set's text files. People bring recordings of their own, or copies that went through other hands."""
    for name in (SCREEN, BALL):
        recordings.write(home, recordings.recording(str(name), 6, 6, 4), videos=False)
    session, ball = (f"Data/{name}" for name in (SCREEN, BALL))
    every: dict[str, Callable[[], object]] = {
        f"{session}/head_pose.txt": lambda: [
            eyediap.tracking(home, SCREEN, "head_pose"), eyediap.frame_count(home, SCREEN),
        ],
        f"{session}/eye_tracking.txt": lambda: eyediap.frames(home, SCREEN),
        f"{session}/screen_coordinates.txt": lambda: eyediap.frames(home, SCREEN),
        f"{ball}/ball_tracking.txt": lambda: eyediap.tracking(home, BALL, "ball_tracking"),
        f"{ball}/head_pose.txt": lambda: eyediap.frames(home, BALL),
        f"{session}/rgb_vga_calibration.txt": lambda: eyediap.camera(home, SCREEN, "rgb_vga"),
        f"{session}/depth_calibration.txt": lambda: eyediap.depth_model(home, SCREEN),
        f"{STATE_FOLDER}/{SCREEN}/{STATE_FILE}": lambda: eyediap.frames(home, SCREEN),
        str(SCREEN_FILE): lambda: eyediap.display(home),
        str(EYES_FOLDER / "eyes_position_1.txt"): lambda: eyediap.eyeballs(home, 1),
    }  # fmt: skip
    return [Sample(name, (home / name).read_bytes(), lambda _, call=call: call()) for name, call in every.items()]


def _answers(track: Track, trials: pl.DataFrame, file: Path) -> object:
    """As a worker reads a submission; what it would refuse by itself, in place of the reader, is not caught here."""
    assert track.files
    answers = require_sound(track, file, track.files.read(file, trials), trials)
    look_into(track, answers)
    return answers


def _written(track: Track, answers: pl.DataFrame, file: Path) -> bytes:
    track.writes(answers, file)
    return file.read_bytes()


def remote_gaze_answers(home: Path) -> list[Sample]:
    track = registry.track("remote-gaze-v1")
    keys = [(experiment, "1_A_FT_S", str(frame)) for experiment in ("own", "others") for frame in range(4)]
    trials = pl.DataFrame(keys, schema=["experiment", "session", "frame"], orient="row").select(
        pl.concat_str(pl.all(), separator="/").alias("trial"), pl.all(),
        person=pl.lit("1"), tracked=pl.col("frame") != "2",
    )  # fmt: skip
    blank = track.blank(trials)
    lines = blank.with_columns(pl.lit(0.25).alias(name) for name in blank.columns if name[:4] in ("left", "righ"))
    points = blank.with_columns(sx=pl.lit(640.5), sy=pl.lit(300.0))
    read = partial(_answers, track, trials)
    track.writes(lines, home / "example")
    example = "example/own/1_A_FT_S.txt"
    return [
        Sample("lines.csv", _written(track, lines, home / "lines.csv"), read),
        Sample("points.csv", _written(track, points, home / "points.csv"), read),
        Sample(example, (home / example).read_bytes(), lambda _: read(home / "example")),
    ]


def eeg_recordings(home: Path) -> list[Sample]:
    """A whole experiment in 1,200 samples, as Palestra writes it and as numpy does by each protocol."""
    import pickle

    row, at = np.zeros(1200), 30
    row[[5, -5]] = 250, 251
    for number in range(1, 29):
        if number % 4 == 1:
            row[at - 10] = 242
        row[[at, at + 3, at + 20]] = number, 240, 241
        at += 30
        if number % 4 == 0:
            row[at] = 243
            at += 20
    signal = np.random.default_rng(0).normal(0, 20, (33, len(row))).astype(np.float32)
    signal[-1] = row
    eeg.write_recording(signal, home / "60.pkl", np.float32)
    short = signal[:, ::40].copy()
    packed = {f"7{protocol}.pkl": pickle.dumps(short, protocol) for protocol in (2, 3, 4, 5)}
    packed["80.pkl"] = pickle.dumps(np.asfortranarray(short.astype(np.float64)), 4)
    packed["60.pkl"] = (home / "60.pkl").read_bytes()
    return [Sample(name, data, _recording) for name, data in packed.items()]


def _recording(file: Path) -> object:
    recording = eeg.open_recording(file)
    found = experiment.events(recording.triggers)
    shown = recording.videos()
    experiment.blocks(found)
    recording.standard(0, 10)
    plan = v1.schedule(file)
    return shown, plan.trials, v1._scored(plan)


def contest_files(home: Path) -> list[Sample]:
    texts = {file.name: file.read_bytes() for file in sorted((ROOT / "contests").glob("*.toml"))}
    texts |= {"small.toml": SMALL.encode(), "template.toml": contest_reader_template().encode()}
    return [Sample(name, data, partial(contest_reader.read, tracks=TRACKS)) for name, data in texts.items()]


def contest_reader_template() -> str:
    from palestra.contest.rules import template

    return template(("near-eye-gaze-v1", "emotion-eeg-v1"), 1_668_000_000_000, "UTC")


TRACKS = ("near-eye-gaze-v1", "emotion-eeg-v1", "near-eye-live-v1", "remote-gaze-v1", "tabletop-manip-v1")


def near_eye_answers(home: Path) -> list[Sample]:
    track = registry.track("near-eye-gaze-v1")
    keys = [(person, "g1", f"{frame:03d}") for person in ("p1", "p2") for frame in range(4)]
    trials = pl.DataFrame(keys, schema=["person", "group", "frame"], orient="row").select(
        pl.concat_str(pl.all(), separator="/").alias("trial"), pl.all(), plane_distance=1000.0
    )
    people = b"person,sex,age,ethnicity,glasses,makeup,eye_colour\np1,f,31,,no,no,brown\np2,m,20,x,yes,no,blue\n"
    return [
        Sample("answers.csv", _written(track, track.blank(trials), home / "a.csv"), partial(_answers, track, trials)),
        Sample("people.csv", people, read_people_file),
    ]


def gaze_prediction_answers(home: Path) -> list[Sample]:
    track = registry.track("gaze-prediction-v1")
    keys = [(sequence, str(step)) for sequence in ("0001", "0002", "0003") for step in range(50, 55)]
    trials = pl.DataFrame(keys, schema=["sequence", "step"], orient="row").select(
        pl.concat_str(pl.all(), separator="/").alias("trial"), pl.all()
    )
    return [
        Sample("answers.json", _written(track, track.blank(trials), home / "a.json"), partial(_answers, track, trials))
    ]


def segmentation_answers(home: Path) -> list[Sample]:
    track = registry.track("eye-segmentation-v1")
    names = ["S_0/1.npy", "S_0/2.npy"]
    trials = pl.DataFrame({"trial": names, "sequence": ["S_0"] * 2, "frame": [1, 2]})
    mask = np.zeros((400, 640), np.uint8)
    cv2.ellipse(mask, (300, 200), (180, 90), 0, 0, 360, 1, -1)
    cv2.circle(mask, (300, 200), 60, 2, -1)
    npy, png = io.BytesIO(), cv2.imencode(".png", mask)[1].tobytes()
    np.save(npy, mask)
    text = masks.encode_mask(mask)
    json = f'{{"{names[0]}": "{text}",\n"{names[1]}": "{text}"}}'.encode()
    read, shape = partial(_answers, track, trials), (400, 640)
    return [
        Sample("answers.json", json, read),
        Sample("answers.zip", png, read, partial(_zipped, ("S_0/1.png", "S_0/2.npy"), npy.getvalue())),
        Sample("1.png", png, lambda file: masks.read_png_mask(file.read_bytes(), "1.png", shape)),
        Sample("1.npy", npy.getvalue(), lambda file: masks.read_npy_mask(file.read_bytes(), "1.npy", shape)),
        Sample("1.txt", text.encode(), lambda file: masks.decode_mask(file.read_bytes(), "1.txt", shape)),
    ]


def _name(wanted: str, random: Random) -> str:
    return random.choice(ODD_NAMES) if random.random() < 0.25 else wanted


def _zipped(names: tuple[str, str], other: bytes, data: bytes, random: Random) -> bytes:
    out = io.BytesIO()
    how = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, one in zip(names, (data, other), strict=True):
            info = zipfile.ZipInfo("x")
            info.filename = _name(name, random).encode(errors="replace").decode()
            info.compress_type = how
            info.external_attr = random.choice((0, 0, 0, 0o100644 << 16, 0o120777 << 16, 0o040755 << 16, 0xFFFFFFFF))
            archive.writestr(info, one if random.random() < 0.8 else mutated(one, random))
    return out.getvalue()


def _tarred(names: tuple[str, str], other: bytes, data: bytes, random: Random) -> bytes:
    out = io.BytesIO()
    kind = random.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT))
    with tarfile.open(fileobj=out, mode=random.choice(("w", "w:gz")), format=kind) as archive:  # type: ignore[call-overload]
        for name, one in zip(names, (data, other), strict=True):
            info = tarfile.TarInfo(_name(name, random)[:90].replace("\0", "0"))
            info.size, info.type = len(one), random.choice((b"0", b"0", b"0", b"0", b"5", b"2", b"7", b"S", b"x", b"L"))
            archive.addfile(info, io.BytesIO(one))
    return out.getvalue()


PROGRAM = b"class MyAlgorithm:\n    def algorithm(self):\n        return 4\n"


def bundles(home: Path) -> list[Sample]:
    names = (bundle.PROGRAM, "weights.bin")

    def read(file: Path) -> object:
        with bundle.place("palestra-fuzz-", file.parent) as place:
            program = bundle.copy(file, place / "bundle", (bundle.PROGRAM,), bundle.PROGRAM)
            return program, bundle._digest_of(place / "bundle")

    def listed(file: Path) -> object:
        with open_members(file, *LARGEST_MEMBERS) as members:
            return [members.read(name) for name in members]

    packed = (_zipped, _tarred)
    return [Sample(f"bundle-{pack.__name__}", PROGRAM, read, partial(pack, names, b"w" * 300)) for pack in packed] + [
        Sample(f"listed-{pack.__name__}", PROGRAM, listed, partial(pack, names, b"w" * 300)) for pack in packed
    ]


def manip_cases(home: Path) -> list[Sample]:
    made = draw_cases("tiny", 5, hidden=False)[:2] + draw_cases("tiny", 5, hidden=True)[:2]
    cases.write_cases(made, home)
    read: list[Sample] = [Sample("cases.csv", (home / "cases.csv").read_bytes(), lambda _: cases.read_index(home))]
    for case in made:
        file = cases.case_path(home, case.id, case.hidden)
        read.append(Sample(str(file.relative_to(home)), file.read_bytes(), cases.read_case))
    goals = "truth/goals.json"
    hidden = [case for case in made if case.hidden]
    read.append(Sample(goals, (home / goals).read_bytes(), lambda _: cases.read_goals(home, hidden)))
    return read


READERS: dict[str, Samples] = {
    "eyediap": eyediap_files,
    "remote-gaze": remote_gaze_answers,
    "eeg": eeg_recordings,
    "contest": contest_files,
    "near-eye": near_eye_answers,
    "gaze-prediction": gaze_prediction_answers,
    "segmentation": segmentation_answers,
    "bundles": bundles,
    "cases": manip_cases,
}
MILLION = ("eyediap", "remote-gaze", "eeg", "contest")


def made(name: str, home: Path) -> Sequence[Any]:
    home.mkdir(parents=True, exist_ok=True)
    return READERS[name](home)
