"""Reads what the solution and the scorer need of EYEDIAP's files. Needs numpy alone."""

import numpy as np


def read_numbers(file):
    """{frame: its numbers} of a tracking file; rows of zeros say that nothing is known, and are left out."""
    found = {}
    for line in file.read_text().splitlines()[1:]:
        frame, *numbers = (float(cell) for cell in line.split(";") if cell.strip())
        if any(numbers):
            found[int(frame)] = np.array(numbers)
    return found


def read_eye_pixels(session):
    """{frame: where both eyes are in the VGA picture}"""
    return {frame: row[:4].reshape(2, 2) for frame, row in read_numbers(session / "eye_tracking.txt").items()}


def frame_count(session):
    return len((session / "head_pose.txt").read_text().splitlines()) - 1


def read_session(session):
    """Head rotations, both eyes and the ball, each by frame, in the world's metres."""
    heads = {frame: row[:9].reshape(3, 3) for frame, row in read_numbers(session / "head_pose.txt").items()}
    eyes = {frame: row[-6:].reshape(2, 3) for frame, row in read_numbers(session / "eye_tracking.txt").items()}
    balls = {frame: row[-3:] for frame, row in read_numbers(session / "ball_tracking.txt").items()}
    return heads, eyes, balls


def read_states(data, session):
    """{frame: OK, BK (blink) or NL (not looking)}, where somebody annotated it."""
    states = {}
    for file in (data / "Annotations").rglob(f"{session.name}/gaze_state.txt"):
        states.update((int(frame), state) for frame, state in (line.split() for line in file.read_text().splitlines()))
    return states


def tested_sessions(data):
    """The sessions of benchmark 1-FT: the ball, and a still head."""
    return sorted((data / "Data").glob("*_FT_S"))
