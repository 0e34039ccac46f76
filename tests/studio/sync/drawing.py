"""Videos of LEDs, with a person who moves about, written as cameras write them."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from tests.studio.sync.simulated import Board, Camera

SIZE = (160, 120)
LEDS = ((20, 15), (40, 15), (60, 15), (80, 15), (100, 15))
PLACES = "20,15 40,15 60,15 80,15 100,15"
STAMP = (128, 104, 24)  # x, y, side of a field whose grey tells the frame's number, modulo 128


def write_video(
    file: Path, board: Board, camera: Camera, seconds: float, seed: int = 0, leds=LEDS, size=SIZE, hidden=()
) -> np.ndarray:
    """Draw and write it; the true time of each frame. Each frame carries its number as a grey field."""
    rng = np.random.default_rng([seed, 2])
    at_s, true_s = camera.frames(seconds, seed)
    level = camera.levels(board, true_s)
    level = np.where(rng.random(level.shape) < camera.wrong, 1 - level, level)
    backdrop = np.full((size[1], size[0]), 90.0) + np.linspace(0, 60, size[0])[None, :]
    with av.open(str(file), "w") as container:
        stream = container.add_stream("mpeg4", rate=Fraction(camera.fps).limit_denominator(1001))
        stream.width, stream.height = size
        stream.pix_fmt, stream.bit_rate = "yuv420p", 2_000_000
        for number, now_s in enumerate(true_s.tolist()):
            grey = backdrop.copy()
            x = int(size[0] * (0.4 + 0.2 * np.sin(now_s)))
            grey[50:100, x : x + 20] = 60 + 50 * np.sin(3 * now_s)  # somebody moves
            for (led_x, led_y), lit in zip(leds, level[number], strict=False):
                if (led_x, led_y) not in hidden:
                    grey[led_y - 3 : led_y + 4, led_x - 3 : led_x + 4] = 40 + 180 * lit
            grey[STAMP[1] - 12 : STAMP[1] + 12, STAMP[0] - 12 : STAMP[0] + 12] = 16 + 1.5 * (number % 128)
            frame = av.VideoFrame.from_ndarray(np.clip(grey, 0, 255).astype(np.uint8), format="gray")
            frame = frame.reformat(format="yuv420p")
            frame.pts = round(float(at_s[number]) * camera.fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return true_s


def numbers_in(file: Path) -> list[int]:
    """The numbers that frames carry, modulo 128; −1 for a black frame."""
    found = []
    with av.open(str(file)) as container:
        for frame in container.decode(video=0):
            grey = frame.to_ndarray(format="gray")
            field = float(grey[STAMP[1] - 4 : STAMP[1] + 4, STAMP[0] - 4 : STAMP[0] + 4].mean())
            found.append(-1 if field < 8 else round((field - 16) / 1.5))
    return found
