"""What there is to turn for networks that learn from the world of eyes alone."""

from dataclasses import dataclass

from train.learning import Schedule


@dataclass(frozen=True)
class Settings:
    """Everything there is to turn."""

    people: int
    steps: int  # batches
    train_s: float  # it ends after so many seconds or `steps`, whichever comes first; the rate falls towards that
    decay: float
    widths: tuple[int, ...]
    batch: int = 512
    epoch: int = 150  # batches between two lines
    rate: float = 3e-3
    seed: int = 0

    def told(self, network: str) -> str:
        """What learnt, and from how many."""
        return f"{network}, of {self.people:,} people"

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.train_s, self.steps, self.rate, self.batch, self.decay, epoch=self.epoch, seed=self.seed)
