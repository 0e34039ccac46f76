"""Rendering and a script's training loop beside a bare one on random tensors, on one card. Needs a GPU.

python -m benchmarks.eye_gpu
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch.nn import functional

from palestra.eyes.simulator import torch_renderer
from palestra.eyes.simulator.people import Census, draw_profiles
from palestra.eyes.simulator.renderer import Renderer
from palestra.eyes.simulator.scene import draw_camera, draw_person
from train import gaze_common, gaze_eymazing, gaze_vectors
from train.networks import ResNet

PLATES, BATCH = 256, 512
POOL, EPOCHS = 150, 2  # batches that the training loop goes through, and how often
SECONDS = 5.0
Renders = Callable[..., torch_renderer.Pictures]
CENSUS = Census(
    {"female": 128, "male": 128},
    {"asian": 80, "caucasian": 120, "other": 56},
    {"21–25": 64, "26–30": 64, "31–40": 64, "41+": 64},
    glasses=64,
    makeup=64,
)


def painted(job: tuple[int, object]) -> dict[str, np.ndarray]:
    seed, profile = job
    rng = np.random.default_rng(seed)
    return torch_renderer.plate_of(Renderer(draw_person(profile, rng), draw_camera(rng)))


def per_second(step: Callable[[], None]) -> float:
    """Pictures of a batch per second, after warming up."""
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    started, batches = time.perf_counter(), 0
    while time.perf_counter() - started < SECONDS:
        for _ in range(5):
            step()
        torch.cuda.synchronize()
        batches += 5
    return batches * BATCH / (time.perf_counter() - started)


def looks(generator: torch.Generator) -> torch_renderer.Looks:
    def uniform(low: float, high: float, *more: int) -> torch.Tensor:
        return low + (high - low) * torch.rand(BATCH, *more, device="cuda", generator=generator)

    yaw, pitch = uniform(-0.35, 0.35), uniform(-0.3, 0.3)
    gaze = torch.stack([yaw.sin() * pitch.cos(), pitch.sin(), yaw.cos() * pitch.cos()], 1)
    plate = torch.randint(PLATES, (BATCH,), device="cuda", generator=generator)
    return torch_renderer.Looks(plate, gaze, uniform(2, 6), uniform(0.4, 1))


def training_loop(pictures: torch.Tensor, small: bool = False) -> float:
    """Pictures (n, 160, 256) per second that EyMazing's estimator learns from, in its script's own loop.

    Taken from what a run keeps: from its first batch to its last, with the checks and the state between two epochs.
    """
    gaze = functional.normalize(torch.randn(1, len(pictures), 3, device=pictures.device), dim=2)
    few = slice(64)
    seen = gaze_common.Seen(
        {"train": pictures[None], "validation": pictures[None, few]}, {"train": gaze, "validation": gaze[:, few]}, {}
    )
    with TemporaryDirectory() as work:
        settings = replace(gaze_eymazing.SETTINGS, train_s=1e9, epochs=EPOCHS, batch=BATCH, work=Path(work))
        network = gaze_eymazing.Network(small)
        gaze_vectors.learn_vectors("timed", network, seen, gaze_vectors.slipped, gaze_eymazing.far, settings)
        kept = torch.load(next(Path(work).glob("timed-*.pt")), weights_only=True)
    return (kept["step"] - 1) * min(BATCH, len(pictures)) / kept["spent_s"]


@torch.no_grad()
def pool_of(rendered: Renders, plates: torch_renderer.Plates, generator: torch.Generator) -> torch.Tensor:
    """(n, 160, 256) pictures, drawn once, as the scripts have them."""
    some = (rendered(plates, looks(generator)).image[:, None] for _ in range(POOL))
    small = (functional.interpolate(one, (160, 256), mode="bilinear", antialias=True) for one in some)
    return torch.cat([one[:, 0].to(torch.uint8) for one in small])


def main() -> int:
    if not torch.cuda.is_available():
        print("there is no GPU here: nothing to compare")
        return 0
    torch.backends.cuda.matmul.allow_tf32 = True
    with ProcessPoolExecutor() as pool:
        started = time.perf_counter()
        jobs = list(enumerate(draw_profiles(CENSUS, np.random.default_rng(0))))
        plates = torch_renderer.stack(list(pool.map(painted, jobs, chunksize=8))).to("cuda")
        print(f"{PLATES} plates painted on the processors in {time.perf_counter() - started:.1f} s")
    generator = torch.Generator("cuda").manual_seed(0)
    rendered = torch.compile(torch_renderer.render, dynamic=False)

    def render() -> None:
        with torch.no_grad():
            pictures = rendered(plates, looks(generator)).image
            functional.interpolate(pictures[:, None], (160, 256), mode="bilinear", antialias=True)

    def eager() -> None:
        with torch.no_grad():
            torch_renderer.render(plates, looks(generator))

    network = ResNet(3).cuda().to(memory_format=torch.channels_last)
    trained = torch.compile(network)
    optimiser = torch.optim.AdamW(network.parameters(), 1e-3, fused=True)
    images = torch.rand(BATCH, 1, 160, 256, device="cuda").to(memory_format=torch.channels_last)
    wanted = torch.rand(BATCH, 3, device="cuda")

    def train() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.mse_loss(trained(images), wanted)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    print(f"eager rendering        {per_second(eager):8.0f} per second at 320 × 200")
    drawing = per_second(render)
    training = per_second(train)
    print(f"rendering              {drawing:8.0f} per second at 256 × 160")
    print(f"ResNet-18 training     {training:8.0f} per second, bf16, on pictures that are there already")
    print(f"rendering / training   {drawing / training:8.2f}   asked: more than 1")
    looped = training_loop(pool_of(rendered, plates, generator))
    print(f"a script's own loop    {looped:8.0f} per second: its pictures, shifted and lit anew, with its checks")
    print(f"its loop / bare loop   {looped / training:8.2f}   asked: at least 0.8")
    return int(drawing <= training or looped < 0.8 * training)


if __name__ == "__main__":
    sys.exit(main())
