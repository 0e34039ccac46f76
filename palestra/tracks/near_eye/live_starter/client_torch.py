"""The same with a small network in PyTorch: images in, result out.

    python client_torch.py --train data               fits for a minute on the CPU and writes model.pt
    python client_torch.py --answer data answers.csv  answers data/test; `python score.py answers.csv` scores it
    python client_torch.py ws://host:port TOKEN       plays against the organiser's machine (needs Palestra)
"""

import csv
import sys
import time
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn

MODEL = Path(__file__).resolve().parent / "model.pt"
SCALE_MM = 300.0  # what the network's 1 stands for on the display
SIZE = (80, 128)  # pixels, height × width, that the network sees
TRAIN_S = 60.0
BATCH = 32


class Net(nn.Module):
    """One small convolutional network for both eyes, a linear map of what it finds. Change me."""

    def __init__(self):
        super().__init__()
        sides = [1, 16, 32, 48, 64]
        layers = [
            layer
            for before, after in zip(sides, sides[1:])
            for layer in (nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU())
        ]
        self.eye = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 5 * 8, 32), nn.ReLU())
        self.point = nn.Linear(2 * 32, 2)
        nn.init.zeros_(self.point.weight)  # untrained, it looks straight ahead
        nn.init.zeros_(self.point.bias)

    def forward(self, eyes):  # (n, 2, height, width) → (n, 2) on the display, in units of SCALE_MM
        left, right = eyes[:, :1], eyes[:, 1:]
        # A right eye in a mirror is a left eye: one network learns from both.
        return self.point(torch.cat([self.eye(left), self.eye(right.flip(3))], dim=1))


def prepared(left, right):
    """Both pictures as the network takes them: (2, height, width), small and of even brightness."""
    small = [cv2.resize(eye, SIZE[::-1], interpolation=cv2.INTER_AREA).astype(np.float32) for eye in (left, right)]
    return torch.from_numpy(np.stack([(eye - eye.mean()) / (eye.std() + 1e-6) for eye in small]))


def load():
    """The network, with the weights that --train wrote, if it did."""
    net = Net()
    if MODEL.exists():
        net.load_state_dict(torch.load(MODEL, weights_only=True))
    return net.eval()


def gaze_point(net, left, right):
    """[x, y] on the display, from two pictures of 400 × 640 grey levels."""
    with torch.inference_mode():
        return (net(prepared(left, right)[None])[0] * SCALE_MM).tolist()


def read_grey(file):
    image = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
    return image if image is not None else sys.exit(f"{file}: no picture there")


def training_frames(data):
    """Eyes (n, 2, height, width) and points (n, 2)."""
    eyes, points = [], []
    for labels in sorted((Path(data) / "train").glob("*/*/labels.csv")):
        with open(labels, newline="") as lines:
            for row in csv.DictReader(lines):
                files = [labels.parent / eye / f"{row['frame']}.png" for eye in ("left", "right")]
                eyes.append(prepared(*map(read_grey, files)))
                points.append([float(row["x"]), float(row["y"])])
    return torch.stack(eyes), torch.tensor(points) / SCALE_MM


def train(data, seconds=TRAIN_S):
    torch.manual_seed(0)
    eyes, points = training_frames(data)
    net = load().train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.05)
    until, step, loss = time.monotonic() + seconds, 0, torch.zeros(())
    while time.monotonic() < until or step == 0:
        chosen = torch.randint(len(eyes), (BATCH,))
        # A headset never sits the same way twice, and eyes are lit differently: shift and shade the pictures.
        moved = torch.roll(eyes[chosen], tuple(torch.randint(-4, 5, (2,)).tolist()), (2, 3))
        loss = nn.functional.smooth_l1_loss(net(moved * (0.8 + 0.4 * torch.rand(BATCH, 1, 1, 1))), points[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    torch.save(net.state_dict(), MODEL)
    print(f"{step} steps on {len(eyes)} frames, loss {loss.item():.4f}; {MODEL.name} is written")


def answer_all(data, out):
    net, home = load(), Path(data) / "test"
    with open(out, "w", newline="") as lines:
        table = csv.writer(lines)
        table.writerow(["tester", "point", "x", "y"])
        for file in sorted(home.glob("*/left/*.png")):
            tester, point = file.parent.parent.name, file.stem
            eyes = (read_grey(home / tester / eye / file.name) for eye in ("left", "right"))
            table.writerow([tester, point, *gaze_point(net, *eyes)])


def play(url, token):
    from palestra.client import play

    net = load()
    play(url, token, lambda trial: gaze_point(net, trial.data["left"], trial.data["right"]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--train", data]:
            train(data)
        case ["--answer", data, out]:
            answer_all(data, out)
        case [url, token] if "://" in url:
            play(url, token)
        case _:
            sys.exit(__doc__)
