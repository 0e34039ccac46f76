"""The network behind the solution `network` for remote-gaze-v1: both eyes of a person in, where each looks out.

    python -m train.remote_gaze_network --work FOLDER --out FILE.onnx
    python -m train.remote_gaze_network --work FOLDER --only-write      where it was trained without the package onnx

It draws people of its own, photographs their eyes in all light and from all sides, and learns from the pictures. What
is drawn comes from seeds that begin with PEOPLE_SEED, while data sets draw theirs from an order's seed and name
(eyes/cohort.py), so nobody that a solution is tested on was learnt from. Everything is kept in FOLDER as it is made:
stopped and started again with the same settings, it goes on where it was.
"""

import argparse
import math
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import nn

from palestra.metrics.transforms import Head, Pose, World
from palestra.tracks.remote_gaze.simulator.head import Look, Renderer
from palestra.tracks.remote_gaze.simulator.motion import EYE_REACH_DEG, NECK_M
from palestra.tracks.remote_gaze.simulator.person import Person, draw_person
from palestra.tracks.remote_gaze.simulator.room import draw_room
from palestra.tracks.remote_gaze.simulator.shape import Surface, surface_of
from palestra.tracks.remote_gaze.simulator.stage import cameras, rotations, screen_file, seat
from palestra.tracks.remote_gaze.simulator.tracker import SHIFT_M, TURN_DEG, approximate_eyes_m
from palestra.tracks.remote_gaze.solutions.virtual_camera import (
    EYE,
    angles_of,
    axes_towards,
    eye_pictures,
    head_angles,
    warps,
)

PEOPLE_SEED = 20_140_326
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LEFT_OUT = 16  # every so many-th person is not learnt from, and tells how well it goes
# The part of a head that eyes' pictures show, in its own frame: only this is drawn.
EYES_M = np.array([[x, y, z] for x in (-0.066, 0.066) for y in (-0.024, 0.032) for z in (0.030, 0.100)])


@dataclass(frozen=True)
class Settings:
    """Everything there is to turn."""

    people: int = 1280
    places: int = 4  # seats, lights and cameras of each person
    frames: int = 48  # at each place
    render_s: float = 270.0  # after which those who are not drawn yet are left out
    channels: tuple[int, ...] = (16, 32, 64, 96)
    features: int = 64  # of an eye
    hidden: int = 48
    batch: int = 1024
    epochs: int = 60
    train_s: float = 220.0  # after which it ends early: the rate falls with whichever is nearer
    rate: float = 2e-3
    decay: float = 2e-2
    seed: int = 0


# --- pictures


@dataclass(frozen=True)
class Shot:
    """What is learnt from, eyes left and right (mirrored): pictures, where the face points, where they look."""

    pictures: np.ndarray  # (n, 2, 32, 48) uint8
    heads: np.ndarray  # (n, 2, 2) radians
    looks: np.ndarray  # (n, 2, 2) radians

    @classmethod
    def together(cls, shots: list["Shot"]) -> "Shot":
        return cls(*(np.concatenate([getattr(shot, part.name) for shot in shots]) for part in fields(cls)))


def draw_look(person: Person, place: np.ndarray, rng: np.random.Generator) -> Look | None:
    """Somebody at `place` who looks at the screen or a ball, the head still or turned; None where eyes cannot."""
    still, ball = rng.random() < 0.4, rng.random() < 0.5
    angles = rng.normal(0, (3.0, 3.0, 2.0)) if still else rng.uniform(-1, 1, 3) * (42.0, 30.0, 10.0)
    turned = rotations(np.radians(angles + np.array([0.0, 6.0, 0.0])))
    neck = place + NECK_M + rng.normal(0, 0.012, 3)
    head = Pose(turned, neck - turned @ NECK_M)
    eyes = head(Head(person.eyes_mm / 1000))
    if ball:
        middle = np.array([0.0, 0.03, 0.44 + 0.4 * (place[2] + 0.2)])
        target = middle + rng.uniform(-1, 1, 3) * (0.34, 0.22, 0.19)
    else:
        pixels = rng.uniform(-0.08, 1.08, 2) * (1340, 740)
        target = screen_file().display.point_of(pixels)
    gaze = (target - eyes) / np.linalg.norm(target - eyes, axis=1, keepdims=True)
    side, up, ahead = (gaze @ turned).mean(axis=0)  # in the head's axes
    far = np.degrees([np.arctan2(side, ahead), np.arctan2(up, np.hypot(side, ahead))])
    if (np.abs(far) > np.array(EYE_REACH_DEG) + 3).any():
        return None
    opening = 1 - abs(rng.normal(0, 0.04)) if rng.random() < 0.9 else rng.uniform(0.55, 1.0)
    return Look(head, World(gaze), opening, rng.uniform(2.2, 5.0), World(target) if ball else None)


def tracked(look: Look, eyes_m: Head, steady: float, rng: np.random.Generator) -> tuple[np.ndarray, World]:
    """The head's rotation and the eyes as a tracker finds them: a little off, as in data sets, less where steadied."""
    off = np.radians(rng.normal(0, np.hypot(*TURN_DEG), 3))
    turned = rotations(off) @ look.head.rotation
    moved = look.head.translation + steady * rng.normal(0, np.hypot(*SHIFT_M), 3)
    return turned, Pose(turned, moved)(eyes_m)


def at_one_place(person: Person, surface: Surface, frames: int, rng: np.random.Generator) -> Shot:
    """So many pictures of a person in one room, by one camera."""
    condition = str(rng.choice(["A", "B"], p=[0.7, 0.3]))
    camera = cameras(rng)["rgb_vga"]
    place = seat(str(rng.choice(["DS", "FT"])), condition, rng)
    renderer = Renderer(person, replace(surface, corners_m=EYES_M), draw_room(condition, rng, rng), camera, place)
    eyes_m, steady = approximate_eyes_m(person, rng), rng.uniform(0.2, 1.0)  # solutions steady faces as best they can
    pictures, heads, looks = [], [], []
    while len(pictures) < frames:
        look = draw_look(person, place, rng)
        if look is None:
            continue
        turned, eyes = tracked(look, eyes_m, steady, rng)
        axes = axes_towards(camera, turned[None], World(eyes[None]))
        picture = renderer.picture(look, rng)
        compress_about(picture, camera.project(eyes), rng)
        pictures.append(eye_pictures(picture, warps(camera, axes, World(eyes[None]), EYE)[0]))
        heads.append(head_angles(turned[None], axes)[0])
        looks.append(angles_of(World(look.gaze[None]), axes)[0])
    return Shot(np.array(pictures), np.array(heads, np.float32), np.array(looks, np.float32))


def compress_about(picture: np.ndarray, eyes: np.ndarray, rng: np.random.Generator) -> None:
    """Videos are compressed, more or less well; of a picture, only what lies about the eyes is needed."""
    left, top = np.maximum(np.floor(eyes.min(axis=0)).astype(int) - 40, 0)
    part = picture[top : int(eyes[:, 1].max()) + 41, left : int(eyes[:, 0].max()) + 41]
    _, packed = cv2.imencode(".jpg", part, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(75, 98))])
    part[...] = cv2.imdecode(packed, cv2.IMREAD_COLOR)


def photograph(number: int, settings: Settings, until: float, file: Path) -> bool:
    """One person, written to a file; False where the time is up."""
    cv2.setNumThreads(1)
    if time.time() > until:
        return False
    rng = np.random.default_rng([PEOPLE_SEED, settings.seed, number])
    person = draw_person(bool(rng.random() < 0.4), rng)
    surface = surface_of(person)
    shot = Shot.together([at_one_place(person, surface, settings.frames, rng) for _ in range(settings.places)])
    aside = file.with_suffix(".new.npz")
    np.savez(aside, **asdict(shot))
    aside.replace(file)
    return True


def all_shots(settings: Settings, folder: Path) -> dict[int, Shot]:
    """Everybody who could be drawn in time, by number."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {number: folder / f"{settings.seed}-{settings.places}-{settings.frames}-{number}.npz"
             for number in range(settings.people)}  # fmt: skip
    todo = {number: file for number, file in files.items() if not file.is_file()}
    until = time.time() + settings.render_s
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(photograph, number, settings, until, file) for number, file in todo.items()]
        done = sum(job.result() for job in jobs)
    print(f"drew {done} people of {len(todo)}; {len(files) - len(todo)} were there", flush=True)
    return {number: Shot(**np.load(file)) for number, file in files.items() if file.is_file()}


# --- the network


class Network(nn.Module):
    """The same layers see each eye; what they find of both, and how the head stands, tells where one looks."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 1
        for at, after in enumerate(settings.channels):
            layers += [nn.Conv2d(before, after, 3, stride=1 if at == 0 else 2, padding=1, bias=False)]
            layers += [nn.BatchNorm2d(after), nn.ReLU()]
            before = after
        shrunk = 2 ** (len(settings.channels) - 1)
        self.see = nn.Sequential(*layers, nn.Flatten())
        self.find = nn.Linear(before * (EYE.height // shrunk) * (EYE.width // shrunk), settings.features)
        self.join = nn.Linear(2 * settings.features + 4, settings.hidden)
        self.tell = nn.Linear(settings.hidden, 2)

    def forward(self, pictures: torch.Tensor, heads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # pictures (n, 2, 32, 48) of any levels, heads (n, 2, 2) → looks (n, 2, 2), what they come from (n, 2, hidden)
        level = pictures.mean((2, 3), keepdim=True)
        spread = (pictures - level).square().mean((2, 3), keepdim=True).sqrt()
        normal = (pictures - level) / (spread + 4.0)
        eyes = torch.relu(self.find(self.see(normal.reshape(-1, 1, EYE.height, EYE.width))))
        eyes = eyes.reshape(-1, 2, eyes.shape[-1])
        both = torch.cat([eyes, eyes.flip(1), heads, heads.flip(1)], dim=2)
        known = torch.relu(self.join(both))
        return self.tell(known), known


def varied(pictures: torch.Tensor) -> torch.Tensor:
    """The same eyes moved by half a pixel, lit otherwise, with noise: what should not matter."""
    count = len(pictures)
    move = torch.zeros(2 * count, 2, 3, device=pictures.device)
    move[:, 0, 0], move[:, 1, 1] = 1, 1
    move[:, 0, 2] = torch.randn(2 * count, device=pictures.device) * 0.4 / EYE.width
    move[:, 1, 2] = torch.randn(2 * count, device=pictures.device) * 0.4 / EYE.height
    flat = pictures.reshape(2 * count, 1, EYE.height, EYE.width)
    grid = nn.functional.affine_grid(move, list(flat.shape), align_corners=False)
    moved = nn.functional.grid_sample(flat, grid, padding_mode="border", align_corners=False).reshape(pictures.shape)
    gamma = torch.exp(0.2 * torch.randn(count, 2, 1, 1, device=pictures.device))
    lit = 255 * (moved.clamp(0, 255) / 255) ** gamma
    return lit + 3 * torch.rand(count, 1, 1, 1, device=pictures.device) * torch.randn_like(lit)


def errors_deg(found: torch.Tensor, true: torch.Tensor) -> torch.Tensor:
    """Angles between directions that are given by yaw and pitch."""

    def vectors(angles: torch.Tensor) -> torch.Tensor:
        yaw, pitch = angles[..., 0], angles[..., 1]
        return torch.stack([yaw.sin() * pitch.cos(), pitch.sin(), yaw.cos() * pitch.cos()], dim=-1)

    return torch.rad2deg(torch.acos((vectors(found) * vectors(true)).sum(-1).clamp(-1, 1)))


Tensors = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def tensors_of(shot: Shot) -> Tensors:
    return tuple(torch.from_numpy(part).to(DEVICE) for part in (shot.pictures, shot.heads, shot.looks))  # type: ignore[return-value]


@torch.no_grad()
def tried(network: Network, known: Tensors) -> float:
    """The mean error on people who were left out, degrees."""
    network.eval()
    parts = zip(*(part.split(2048) for part in known), strict=True)
    found = [errors_deg(network(pictures.float(), heads)[0], looks) for pictures, heads, looks in parts]
    network.train()
    return float(torch.cat(found).mean())


def learn(learnt: Tensors, left_out: Tensors, settings: Settings, kept: Path) -> Network:
    """Epoch by epoch, each kept; ends after so many, or when the time is up."""
    torch.manual_seed(settings.seed)
    network = Network(settings).to(DEVICE)
    best = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=settings.decay)
    first, spent_s = _resumed(network, best, kept)
    pictures, heads, looks = learnt
    for number in range(first, settings.epochs):
        began = time.perf_counter()
        share = max(number / settings.epochs, spent_s / settings.train_s)
        for at in torch.randperm(len(pictures), device=DEVICE).split(settings.batch):
            _set_rate(best, settings.rate, min(share, 1.0), warm=number == 0)
            found, _ = network(varied(pictures[at].float()), heads[at])
            loss = nn.functional.smooth_l1_loss(found, looks[at], beta=0.02)
            best.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            best.step()
        error = tried(network, left_out)  # waits for the card, so the time that follows is that of the epoch
        took_s = time.perf_counter() - began
        spent_s += took_s
        print(f"epoch {number + 1}: {spent_s:.0f} s, loss {loss.item():.4f}, left out {error:.2f}°", flush=True)
        state = {"network": network.state_dict(), "best": best.state_dict(), "epoch": number + 1, "spent_s": spent_s}
        torch.save(state, kept.with_suffix(".new"))
        kept.with_suffix(".new").replace(kept)
        if spent_s + took_s > settings.train_s:
            break
    return network


def _set_rate(best: torch.optim.Optimizer, rate: float, share: float, warm: bool) -> None:
    """From the rate down to nothing along a cosine; the first epoch is slower, since nothing is known yet."""
    for group in best.param_groups:
        group["lr"] = rate * (0.3 if warm else 1.0) * (0.5 + 0.5 * math.cos(math.pi * share)) + 1e-6


def _resumed(network: Network, best: torch.optim.Optimizer, kept: Path) -> tuple[int, float]:
    if not kept.is_file():
        return 0, 0.0
    state = torch.load(kept, map_location=DEVICE, weights_only=True)
    network.load_state_dict(state["network"])
    best.load_state_dict(state["best"])
    return int(state["epoch"]), float(state["spent_s"])


def last_kept(settings: Settings, kept: Path) -> Network:
    """The network after the last epoch that was kept."""
    network = Network(settings)
    network.load_state_dict(torch.load(kept, map_location="cpu", weights_only=True)["network"])
    return network


def write(network: Network, file: Path) -> None:
    """For onnxruntime, any number of people at a time."""
    network = network.cpu().eval()
    example = torch.zeros(3, 2, EYE.height, EYE.width), torch.zeros(3, 2, 2)
    names = {"input_names": ["pictures", "heads"], "output_names": ["looks", "known"]}
    some = {name: {0: "n"} for name in (*names["input_names"], *names["output_names"])}
    torch.onnx.export(network, example, str(file), dynamo=False, opset_version=17, dynamic_axes=some, **names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="where pictures and epochs are kept")
    parser.add_argument(
        "--out", type=Path, default=Path("palestra/tracks/remote_gaze/weights/remote_gaze_network.onnx")
    )
    parser.add_argument("--only-write", action="store_true", help="write FOLDER/network.pt as it is")
    for part in fields(Settings):
        if not isinstance(part.default, tuple):
            parser.add_argument(f"--{part.name.replace('_', '-')}", type=type(part.default), default=part.default)
    options = vars(parser.parse_args())
    settings = Settings(**{part.name: options[part.name] for part in fields(Settings) if part.name in options})
    kept = options["work"] / "network.pt"
    network = last_kept(settings, kept) if options["only_write"] else trained(settings, options["work"], kept)
    write(network, options["out"])
    print(f"wrote {options['out']}, {options['out'].stat().st_size:,} bytes")


def trained(settings: Settings, work: Path, kept: Path) -> Network:
    shots = all_shots(settings, work / "people")
    learnt = Shot.together([shot for number, shot in shots.items() if number % LEFT_OUT])
    left_out = Shot.together([shot for number, shot in shots.items() if number % LEFT_OUT == 0])
    print(f"{len(learnt.looks):,} pairs of eyes to learn from, {len(left_out.looks):,} left out", flush=True)
    return learn(tensors_of(learnt), tensors_of(left_out), settings, kept)


if __name__ == "__main__":
    main()
