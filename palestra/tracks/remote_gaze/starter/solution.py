"""A first solution to change: small pictures of both eyes and where the head points, through one linear map."""

import csv
import sys
from pathlib import Path

import cv2
import numpy as np
from sessions import frame_count, read_eye_pixels, read_session, read_states, tested_sessions

DATA = Path(sys.argv[1] if len(sys.argv) > 1 else "data")
OUT = Path(sys.argv[2] if len(sys.argv) > 2 else "answers.csv")
WIDTH, HEIGHT = 24, 14  # pixels around an eye, in the VGA picture
STRENGTH = 30.0  # of the regression: few frames must not turn the answer far


def read_eyes(session):
    """{frame: what is seen of both eyes}. Change me: the iris, found well, tells more than grey pixels do."""
    places, video, seen = read_eye_pixels(session), cv2.VideoCapture(str(session / "rgb_vga.mov")), {}
    for frame in range(frame_count(session)):
        there, picture = video.read()
        if there and frame in places:
            grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
            crops = [cv2.getRectSubPix(grey, (WIDTH, HEIGHT), place.tolist()) for place in places[frame]]
            small = [cv2.resize(crop, (WIDTH // 2, HEIGHT // 2), interpolation=cv2.INTER_AREA) for crop in crops]
            seen[frame] = np.concatenate([(crop - crop.mean()) / (crop.std() + 1) for crop in small]).ravel()
    return seen


def features(head, eyes):
    return np.concatenate([eyes, 10 * head[:2, 2]])


# Learn from every frame with the ball that is not tested: moving heads whole, still ones their first half.
inputs, targets, tested = [], [], tested_sessions(DATA)
for session in sorted((DATA / "Data").glob("*_FT_*")):
    heads, eyes, balls = read_session(session)
    states, seen = read_states(DATA, session), read_eyes(session)
    end = frame_count(session) // 2 if session in tested else frame_count(session)
    for frame in range(end):
        if frame in heads and frame in seen and frame in balls and states.get(frame, "OK") == "OK":
            way = balls[frame] - eyes[frame].mean(axis=0)
            inputs.append(features(heads[frame], seen[frame]))
            targets.append(way / np.linalg.norm(way))
inputs, targets = np.array(inputs), np.array(targets)
mean_in, mean_out = inputs.mean(axis=0), targets.mean(axis=0)
gram = (inputs - mean_in).T @ (inputs - mean_in) + STRENGTH * np.eye(inputs.shape[1])
weights = np.linalg.solve(gram, (inputs - mean_in).T @ (targets - mean_out))

with open(OUT, "w", newline="") as file:
    out = csv.writer(file)
    out.writerow("experiment session frame eye ox oy oz vx vy vz".split())
    for session in tested:
        heads, eyes, _ = read_session(session)
        seen = read_eyes(session)
        for frame in range(frame_count(session) // 2, frame_count(session)):
            if frame in heads and frame in seen:
                sight = mean_out + (features(heads[frame], seen[frame]) - mean_in) @ weights
                for name, eye in zip(("left", "right"), eyes[frame]):  # Change me: the eyes turn to one another
                    out.writerow(["own", session.name, frame, name, *eye, *sight])
print(f"{OUT} is written")
