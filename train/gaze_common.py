"""What the scripts that train for gaze-prediction-v1 share: the pictures on the card, a training loop, what is written.

Each script has NAME, SETTINGS and `train(seen, out, settings)`, and runs by itself or with the others (train.gaze_all):

    python -m train.gaze_NAME --data FOLDER --out OUT          FOLDER is what `python -m train.paper FOLDER` wrote
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from train import paper, results

SIZE = (160, 256)  # of the pictures that every network takes, grey levels
GIVEN, STEPS = 50, 5
SPLITS = ("train", "validation", "test")
SMALL_SEQUENCES = 3
SYNC = 10  # steps between looks at the clock: each look waits for the card


@dataclass(frozen=True)
class Settings:
    """What there is to turn for every solution."""

    train_s: float  # for the estimator, once it is compiled; the rate falls to nothing by then
    forecast_s: float  # for the forecaster
    epochs: int
    batch: int
    rate: float
    decay: float = 0.0
    seed: int = 0
    small: bool = False  # a few people, little networks, one epoch: to see that it runs
    weights: bool = False  # write networks for `palestra solve` also where they are too large to be shipped
    work: Path = Path("build/gaze")  # where a stopped run finds how far it came


@dataclass(frozen=True)
class Seen:
    """All pictures and the labels that contestants have, on one device."""

    pictures: dict[str, Tensor]  # split → (sequences, frames, *SIZE) uint8
    labels: dict[str, Tensor]  # of train and validation: (sequences, frames, 3)
    names: dict[str, list[str]]

    @property
    def device(self) -> str:
        return self.pictures["train"].device.type


def draw(folder: Path, device: str, small: bool) -> Seen:
    """Every picture of the data set, once."""
    data = paper.gaze(folder, device)
    most = SMALL_SEQUENCES if small else None
    pictures = {split: _drawn(data.shots, data.rows[split][:most]) for split in SPLITS}
    labels = {split: found[:most] for split, found in data.labels.items()}
    return Seen(pictures, labels, {split: data.names[split][:most] for split in SPLITS})


def _drawn(shots: paper.Shots, rows: Tensor) -> Tensor:
    pictures = torch.empty((rows.numel(), *SIZE), dtype=torch.uint8, device=rows.device)
    done = 0
    for some, _ in shots.pictures(rows.flatten(), SIZE):
        pictures[done : done + len(some)] = some
        done += len(some)
    return pictures.view(*rows.shape, *SIZE)


# ── Directions: unit vectors, or yaw and pitch in degrees. ────────────────────────────────────────────────────────────


def to_angles(vectors: Tensor) -> Tensor:
    x, y, z = vectors.unbind(-1)
    return torch.rad2deg(torch.stack([torch.atan2(x, z), torch.atan2(y, torch.hypot(x, z))], -1))


def to_vectors(angles_deg: Tensor) -> Tensor:
    yaw, pitch = torch.deg2rad(angles_deg).unbind(-1)
    return torch.stack([yaw.sin() * pitch.cos(), pitch.sin(), yaw.cos() * pitch.cos()], -1)


def errors_deg(found: Tensor, true: Tensor) -> Tensor:
    """Angles between vectors of any length: exact for small ones too, and with a gradient everywhere but at 0."""
    one, other = functional.normalize(found.float(), dim=-1), functional.normalize(true.float(), dim=-1)
    return torch.rad2deg(2 * torch.atan2((one - other).norm(dim=-1), (one + other).norm(dim=-1)))


# ── Learning. ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def compiled(network: nn.Module, device: str) -> Callable[[Tensor], Tensor]:
    """Compiled where that pays. Whole batches only: another size would be compiled anew."""
    return torch.compile(network, dynamic=False) if device == "cuda" else network


def half(device: str, kind: torch.dtype = torch.bfloat16) -> torch.autocast:
    return torch.autocast(device, kind, enabled=device == "cuda")


def learn(
    network: nn.Module,
    best: torch.optim.Optimizer,
    count: int,
    loss_of: Callable[[Tensor], Tensor],
    check: Callable[[], str],
    course: Course,
) -> int:
    """Step by step through shuffled rows 0 … count, until the epochs or the time are over; each epoch is kept.

    Returns how many whole epochs there were.
    """
    device = next(network.parameters()).device
    step, spent_s = course.resumed(network, best)
    batch = min(course.batch, count)
    per_epoch = count // batch
    began, compiling, over = time.perf_counter() - spent_s, True, False
    for epoch in range(step // per_epoch, course.epochs):
        order = torch.randperm(count, generator=torch.Generator().manual_seed(course.seed + epoch)).to(device)
        network.train()
        for rows in order[: per_epoch * batch].split(batch):
            loss = loss_of(rows)
            best.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            best.step()
            step += 1
            if compiling:  # a minute in which nothing is learnt
                loss.item()
                began, compiling = time.perf_counter() - spent_s, False
            if step % SYNC == 0 or count < 10_000:
                loss.item()
                spent_s = time.perf_counter() - began
                course.set_rate(best, max(step / (per_epoch * course.epochs), spent_s / course.train_s))
                over = spent_s > course.train_s
                if over:
                    break
        network.eval()
        print(f"{course.name} epoch {epoch + 1}: {spent_s:.0f} s, loss {loss.item():.4f}, {check()}", flush=True)
        course.keep(network, best, step, spent_s)
        if over:
            break
    return step // per_epoch


@dataclass(frozen=True)
class Course:
    """How long and how fast something is learnt, and where it is kept."""

    name: str
    train_s: float
    epochs: int
    batch: int
    rate: float
    seed: int
    work: Path

    @classmethod
    def of(cls, name: str, settings: Settings) -> Course:
        epochs = 1 if settings.small else settings.epochs
        work = settings.work / "small" if settings.small else settings.work  # other networks
        return cls(name, settings.train_s, epochs, settings.batch, settings.rate, settings.seed, work)

    @property
    def _kept(self) -> Path:
        return self.work / f"{self.name}-{self.seed}.pt"

    def set_rate(self, best: torch.optim.Optimizer, share: float) -> None:
        """Up within the first hundredth, since nothing is known yet; then down to nothing along a cosine."""
        warm = min(1.0, share / 0.01 + 0.05)
        for group in best.param_groups:
            group["lr"] = self.rate * warm * (0.5 + 0.5 * math.cos(math.pi * min(share, 1.0))) + 1e-7

    def keep(self, network: nn.Module, best: torch.optim.Optimizer, step: int, spent_s: float) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        state = {"network": network.state_dict(), "best": best.state_dict(), "step": step, "spent_s": spent_s}
        torch.save(state, self._kept.with_suffix(".new"))
        self._kept.with_suffix(".new").replace(self._kept)

    def resumed(self, network: nn.Module, best: torch.optim.Optimizer) -> tuple[int, float]:
        self.set_rate(best, 0.0)
        if not self._kept.is_file():
            return 0, 0.0
        state = torch.load(self._kept, map_location=next(network.parameters()).device, weights_only=True)
        network.load_state_dict(state["network"])
        best.load_state_dict(state["best"])
        network.eval()
        print(f"{self.name}: goes on after {state['spent_s']:.0f} s", flush=True)
        return int(state["step"]), float(state["spent_s"])


@torch.no_grad()
def estimates(network: nn.Module, pictures: Tensor, batch: int = 2048) -> Tensor:
    """What the network says of pictures (sequences, frames, *SIZE): (sequences, frames, numbers)."""
    network.eval()
    device = pictures.device.type
    found = []
    for some in pictures.flatten(0, 1).split(batch):
        with half(device, torch.float16):  # finer than bfloat16, which is for learning
            found.append(network(some[:, None].float()).float())
    return torch.cat(found).view(*pictures.shape[:2], -1)


def some_frames(seen: Seen, split: str, apart: int = 11) -> tuple[Tensor, Tensor]:
    """Pictures (sequences, frames, *SIZE) and labels of every so many-th frame: enough to see how it goes."""
    return seen.pictures[split][:, ::apart], seen.labels[split][:, ::apart]


# ── Pictures and gaze, varied together. ───────────────────────────────────────────────────────────────────────────────


@torch.no_grad()
def turned(pictures: Tensor, gaze: Tensor, turn_rad: Tensor, mirror: Tensor) -> tuple[Tensor, Tensor]:
    """Pictures (n, 1, H, W) turned clockwise and, where mirror is −1, flipped; their gaze (n, 3) with them.

    In a picture x grows to the right as the gaze's x does, and y downwards as the gaze's y does not.
    """
    count, _, height, width = pictures.shape
    cosine, sine, ratio = turn_rad.cos(), turn_rad.sin(), height / width
    zero = torch.zeros_like(cosine)
    # From places in the new picture to places in the old one, both counted -1 … 1 along each side.
    across = torch.stack([mirror * cosine, mirror * sine * ratio, zero], 1)
    down = torch.stack([-sine / ratio, cosine, zero], 1)
    grid = functional.affine_grid(torch.stack([across, down], 1), [count, 1, height, width], align_corners=False)
    after = functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)
    x, y, z = gaze.unbind(1)
    x = mirror * x
    return after, torch.stack([cosine * x + sine * y, cosine * y - sine * x, z], 1)


@torch.no_grad()
def moved(pictures: Tensor, shift_px: Tensor) -> Tensor:
    """Pictures moved right and down (n, 2), as when a headset slips: where the eye looks stays."""
    count, _, height, width = pictures.shape
    move = torch.zeros(count, 2, 3, device=pictures.device)
    move[:, 0, 0] = move[:, 1, 1] = 1
    move[:, 0, 2], move[:, 1, 2] = -2 * shift_px[:, 0] / width, -2 * shift_px[:, 1] / height
    grid = functional.affine_grid(move, [count, 1, height, width], align_corners=False)
    return functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)


@torch.no_grad()
def shifted(pictures: Tensor, gaze: Tensor, shift_px: Tensor, focal_px: float) -> tuple[Tensor, Tensor]:
    """Pictures moved right and down (n, 2): as if their camera had been turned, and with it the axes of the gaze."""
    turn_deg = torch.rad2deg(torch.atan(shift_px / focal_px)) * torch.tensor([-1.0, 1.0], device=pictures.device)
    return moved(pictures, shift_px), to_vectors(to_angles(gaze) + turn_deg)


def per(pictures: Tensor, low: float, high: float) -> Tensor:
    """A number for each picture, (n, 1, 1, 1)."""
    return low + (high - low) * torch.rand(len(pictures), 1, 1, 1, device=pictures.device)


@torch.no_grad()
def lit(pictures: Tensor, gamma: float = 0.3, noise: float = 4.0) -> Tensor:
    """In other light, a little out of focus, with noise: what should not matter."""
    bright = 255 * (pictures.clamp(0, 255) / 255) ** torch.exp(per(pictures, -gamma, gamma))
    soft = functional.avg_pool2d(bright, 3, 1, 1, count_include_pad=False)
    bright = bright + per(pictures, 0, 1) ** 2 * (soft - bright)
    bright = bright * torch.exp(per(pictures, -0.2, 0.2)) + per(pictures, -10, 10)
    return (bright + per(pictures, 0, noise) * torch.randn_like(bright)).clamp(0, 255)


# ── What is written. ──────────────────────────────────────────────────────────────────────────────────────────────────


def write_predictions(out: Path, name: str, names: list[str], vectors: Tensor) -> None:
    """A submission: for each sequence the vectors (steps, 3) of frames 50 … 54."""
    out.mkdir(parents=True, exist_ok=True)
    rounded = functional.normalize(vectors.double(), dim=-1).cpu().tolist()
    answers = {
        sequence: {str(GIVEN + step): [round(value, 5) for value in vector] for step, vector in enumerate(steps)}
        for sequence, steps in zip(names, rounded, strict=True)
    }
    (out / f"gaze_{name}.json").write_text(json.dumps(answers, separators=(",", ":")) + "\n")


def write_network(network: nn.Module, example: Tensor, file: Path, names: tuple[str, str]) -> None:
    """For onnxruntime, any number of rows at a time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    axes = {name: {0: "n"} for name in names}
    words = {"input_names": [names[0]], "output_names": [names[1]], "dynamic_axes": axes}
    torch.onnx.export(network.cpu().eval().float(), (example,), str(file), dynamo=False, opset_version=17, **words)
    print(f"wrote {file.name}: {file.stat().st_size:,} bytes", flush=True)


def write_estimator(network: nn.Module, file: Path) -> None:
    write_network(network, torch.zeros(3, 1, *SIZE), file, ("pictures", "found"))


def parameters(network: nn.Module) -> int:
    return sum(part.numel() for part in network.parameters())


def validation_pe(seen: Seen, predicted: Tensor) -> float:
    """Of vectors (sequences, steps, 3): mean angle over all steps, degrees."""
    return float(errors_deg(predicted, seen.labels["validation"][:, GIVEN:]).mean())


Train = Callable[[Seen, Path, Settings], dict[str, float]]


def run(name: str, train: Train, settings: Settings, about: str | None) -> None:
    """The command line of one script."""
    options = command(about).parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    seen = draw(options.data, device, options.small)
    print(reported(name, train, seen, options.out, changed(settings, options)), flush=True)


def reported(name: str, train: Train, seen: Seen, out: Path, settings: Settings) -> str:
    """Run a script's `train`, and say what it came to in one line; it is noted for train.ship as well."""
    weights = f"gaze_prediction_{name.replace('-', '_')}"
    for older in out.glob(f"{weights}*.onnx"):  # what this run does not write is not to be taken for its own
        older.unlink()
    began = time.perf_counter()
    torch.manual_seed(settings.seed)
    found = {key: round(value, 4) for key, value in train(seen, out, settings).items()}
    train_s = round(time.perf_counter() - began, 1)
    checked = {key: value for key, value in found.items() if key not in ("parameters", "epochs")}
    count, epochs = int(found["parameters"]), int(found["epochs"])
    answers = f"gaze_{name}.json"
    results.note(out, results.Learnt(weights, count, train_s, checked=checked, predictions=answers, epochs=epochs))
    for file in out.glob(f"{weights}_*.onnx"):  # a forecaster has a card of its own
        results.note(out, results.Learnt(file.stem, 0, 0.0))
    return f"{name} RESULT {json.dumps(found | {'wall_s': train_s})}"


def command(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="what `python -m train.paper` wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Settings.work, help="where a stopped run finds how far it came")
    parser.add_argument("--train-s", type=float, help="for the estimator; each solution has its own budget otherwise")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="a few sequences and one epoch, to see that it runs")
    parser.add_argument("--weights", action="store_true", help="write networks too that are too large to be shipped")
    return parser


def changed(settings: Settings, options: argparse.Namespace) -> Settings:
    """A script's own settings with what the command line says."""
    given = {key: getattr(options, key) for key in ("work", "seed", "small", "weights")}
    if options.train_s is not None:
        given["train_s"] = options.train_s
    return replace(settings, **given)
