"""How the pictures of one device are read: by which weights, which side up, and with what correction."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from palestra import model_cards

if TYPE_CHECKING:
    from palestra.eyes.reader.correction import Correction


NAME = "eye_reader"


@dataclass(frozen=True)
class Settings:
    """Small enough to be sent to worker processes."""

    weights: Path | None = None  # adapted to a device (`palestra adapt`); None: those of the package
    upside_down: bool | None = None  # as the pictures of a folder voted; None: each picture is judged alone
    correction: Correction | None = None  # learnt from a few labels of the device (`--labels`)

    @property
    def reader(self) -> str:
        """By which network and correction pictures are read, as a table says it."""
        known = model_cards.card_of(self.weights) if self.weights else model_cards.card(NAME)
        parts = [known.sha256.encode(), self.correction.digest if self.correction else b""]
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[: model_cards.SHOWN]


USUAL = Settings()
