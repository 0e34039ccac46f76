"""Scores predictions for benchmark 1-FT. Needs numpy alone.  Usage: python score.py answers.csv [data]"""

import csv
import sys
from pathlib import Path

import numpy as np
from sessions import frame_count, read_session, read_states, tested_sessions

MOST_YAW_DEG, MOST_PITCH_DEG = 40, 30


def read_answers(file):
    """{(session, frame, eye): direction}"""
    with open(file, newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines, skipinitialspace=True))
    answers = {}
    for row in rows:
        key = (row["session"], int(row["frame"]), row["eye"])
        if key in answers:
            sys.exit(f"{file}: {key} is there twice")
        answers[key] = np.array([float(row[axis]) for axis in ("vx", "vy", "vz")])
    return answers


def angle_deg(a, b):
    """atan2, because arccos loses small angles."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def is_turned_far(head):
    yaw, pitch = np.degrees(np.arctan2(head[0, 2], head[2, 2])), np.degrees(np.arcsin(np.clip(head[1, 2], -1, 1)))
    return abs(yaw) > MOST_YAW_DEG or abs(pitch) > MOST_PITCH_DEG


def main():
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit(f"{__doc__}\nThere is no submission to score: {' '.join(sys.argv[1:]) or 'none was named'}")
    data = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent / "data"
    answers = read_answers(sys.argv[1])
    means, frames = {"left": [], "right": []}, 0
    for session in tested_sessions(data):
        heads, eyes, balls = read_session(session)
        states = read_states(data, session)
        errors = {"left": [], "right": []}
        for frame in range(frame_count(session) // 2, frame_count(session)):
            if not (frame in heads and frame in eyes and frame in balls):
                continue
            if states.get(frame, "OK") != "OK" or is_turned_far(heads[frame]):
                continue
            frames += 1
            for name, eye in zip(errors, eyes[frame]):
                if (session.name, frame, name) not in answers:
                    sys.exit(f"{session.name}, frame {frame}: no answer for the {name} eye")
                errors[name].append(angle_deg(answers[session.name, frame, name], balls[frame] - eye))
        for name, found in errors.items():
            means[name].append(np.mean(found))
    left, right = np.mean(means["left"]), np.mean(means["right"])
    print(f"frames {frames}")
    print(f"left_deg {left:.6f}\nright_deg {right:.6f}")
    print(f"error_deg {(left + right) / 2:.6f}")


if __name__ == "__main__":
    main()
