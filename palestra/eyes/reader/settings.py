"""How the pictures of one device are read: by which weights, which side up, and with what correction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palestra.eyes.reader.correction import Correction


@dataclass(frozen=True)
class Settings:
    """Small enough to be sent to worker processes."""

    weights: Path | None = None  # adapted to a device (`palestra adapt`); None: those of the package
    upside_down: bool | None = None  # as the pictures of a folder voted; None: each picture is judged alone
    correction: Correction | None = None  # learnt from a few labels of the device (`--labels`)


USUAL = Settings()
