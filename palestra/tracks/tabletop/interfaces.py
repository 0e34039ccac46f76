"""How a team's program is spoken to: what it sees, what it says, and in which of three ways."""

from __future__ import annotations

from palestra.contest.manual import Block, Code, Grid, Heading, Points, Prose, Section
from palestra.text import Words, say

_PYTHON = """\
class MyAlgorithm:
    def __init__(self):                # load the model, once
        ...

    def reset(self, about):            # a case begins
        self.wish = about["instruction"]

    def act(self, observation):        # arrays by name, and what else is told
        return action                  # 8 or 7 numbers, several of them (n x 8), or
                                       # {"actions": ..., "done": True}
"""
_AGENT = """\
POST /agent/initialize        {"args": [], "kwargs": {}}               -> "name", or {"name": ...}
POST /agent/{name}/reset      {"args": [], "kwargs": {}}               before each case
POST /agent/{name}/step       {"args": [[observation]], "kwargs": {}}  -> [action] or {"result": [action]}

an array: {"type": "ndarray", "dtype": "float32", "shape": [2, 3], "data": base64 of its bytes}
"""
_OPENPI = """\
server -> metadata                     on connect: any map
client -> {"rgb_top": array, ..., "instruction": "...", "step": 0, "trial": "...", "ask": true}
server -> {"actions": array}           n x 8 or n x 7; "done": true ends the case
server -> text                         an error: its traceback

an array in msgpack: {b"__ndarray__": true, b"data": bytes, b"dtype": "<f4", b"shape": [2, 3]}
"""


def interfaces(size: int, hz: int) -> Section:
    blocks: list[Block] = [
        Heading(say("Observation")),
        observation(size),
        Prose(say("Nothing in an observation tells whether anything is met.")),
        Heading(say("Action")),
        Grid(
            (say("numbers"), say("meaning")),
            (
                (
                    "8",
                    say("7 joint angles (rad), then the gripper: 0 shut, 1 open"),
                ),
                (
                    "7",
                    say("the hand's move (3, m) and turn (3, rotation vector, rad) in world axes, then the gripper"),
                ),
            ),
        ),
        Points(_acting(hz)),
        Heading(say("A policy server (WebSocket, as openpi-client speaks)")),
        Prose(
            say(
                "Palestra dials ws://host:port. Messages are msgpack with numpy arrays; each request "
                "gets one response, in order. What is written with openpi's server runs unchanged."
            )
        ),
        Code(_OPENPI),
        Heading(say("An agent server (HTTP)")),
        Prose(
            say(
                "For what was written for the table's first contests. Only these three are called. An "
                "answer has 1 MiB at most."
            )
        ),
        Code(_AGENT),
        Heading(say("A Python class")),
        Prose(
            say(
                "Algorithm/MyAlgorithm.py in a bundle (folder, .zip, .tar.gz). It runs in a sandbox "
                "without network; wheels that it needs lie in wheels/. Neither the class nor its "
                "methods may be renamed."
            )
        ),
        Code(_PYTHON),
    ]
    return Section("interfaces", say("Interfaces"), tuple(blocks))


def observation(size: int) -> Grid:
    """Every field that a program is shown. A test holds this to what the table really shows."""
    pose = say("camera axes to world, now")
    per_camera = [
        (f"{what}_{camera}", kind, shape, unit, told)
        for what, kind, shape, unit, told in (
            ("rgb", "uint8", f"{size} × {size} × 3", "0–255", say("picture, red green blue")),
            (
                "depth",
                "float32",
                f"{size} × {size}",
                "m",
                say("along the camera's z, pixel by pixel"),
            ),
            ("pose", "float64", "4 × 4", "m", pose),
        )
        for camera in ("top", "side", "wrist")
    ]
    rows = [
        ("instruction", "text", "", "", say("the wish, in English")),
        ("instruction_zh", "text", "", "", say("the same wish in Chinese")),
        ("case", "int", "", "", say("number of the case in the run")),
        (
            "step",
            "int",
            "",
            "",
            say("control periods since the start; 0 begins a case"),
        ),
        ("joints", "float64", "7", "rad", say("joint angles")),
        (
            "hand_pose",
            "float64",
            "4 × 4",
            "m",
            say("point between the fingertips, in the world"),
        ),
        ("gripper", "float64", "1", "0–1", say("how far it is open")),
        *per_camera,
    ]
    head = (
        say("field"),
        say("type"),
        say("shape"),
        say("unit"),
        say("what it is"),
    )
    return Grid(head, tuple(rows))


def _acting(hz: int) -> tuple[Words, ...]:
    return (
        say("Control runs at {hz} Hz and does not wait: while a program thinks, its last action goes on.", hz=hz),
        say(
            "A program is shown the world again when nothing of what it said is left to be done. "
            "Up to 256 actions may be said at once."
        ),
        say("Targets are kept within the joints' limits, and move no faster than the arm can."),
        say("An answer with NaN, another shape or numbers beyond all bounds is noted, and the last action goes on."),
    )
