"""The Gray code that LEDs run through: from each code to the next exactly one LED changes, also from the last to the
first. A picture taken during a change therefore shows one of two neighbours, never anything else."""

import numpy as np
from numpy.typing import NDArray

FEWEST, MOST = 3, 8  # LEDs


def code_bits(count: int) -> NDArray[np.int8]:
    """Which of the LEDs are lit at each code, in order: 2^count rows. The first LED changes most often."""
    number = np.arange(1 << count)
    gray = number ^ (number >> 1)
    return ((gray[:, None] >> np.arange(count)) & 1).astype(np.int8)


def rounds_per_step(count: int) -> NDArray[np.float64]:
    """How often each LED goes on and off again, per step of the code. The last two are equally slow."""
    return 1.0 / (4 << np.minimum(np.arange(count), count - 2))
