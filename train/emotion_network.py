"""The network behind the solution `network`: a small recurrent one that hears one second after the other.

    python -m train.emotion_features --size paper --seed 2026 features.npz
    python -m train.emotion_network features.npz

It learns by itself how long to trust what it heard, and where a video ends. In the training set neighbours share a
valence and in the stream they do not, so videos change places in every epoch. Which epoch is kept is chosen on some
training people who are left out, never on the test.
"""

import argparse
import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from palestra.tracks.emotion_eeg.solutions.features import Usual
from train.emotion_people import CLASSES, Person, load

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WEIGHTS = Path("palestra/tracks/emotion_eeg/weights/emotion_network.onnx")
USUAL = WEIGHTS.with_suffix(".npz")


@dataclass(frozen=True)
class Settings:
    """Everything there is to turn."""

    narrow: int = 32  # features are brought down to so many
    memory: int = 64
    dropout: float = 0.5
    noise: float = 0.3  # sd that is added to features
    smoothing: float = 0.05  # of labels
    rate: float = 2e-3
    decay: float = 1e-2
    epochs: int = 100
    chunk: int = 200  # seconds that are learnt from at once
    left_out: int = 5  # every fifth training person
    seed: int = 0


class Network(nn.Module):
    """Seconds and what is remembered in, votes and what is remembered out."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.narrow = nn.Linear(150, settings.narrow)
        self.drop = nn.Dropout(settings.dropout)
        self.memory = nn.GRU(settings.narrow, settings.memory, batch_first=True)
        self.votes = nn.Linear(settings.memory, CLASSES)

    def forward(self, features: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        # features (people, seconds, 150), memory (1, people, 64) → votes (people, seconds, 10), memory
        heard, memory = self.memory(self.drop(torch.tanh(self.narrow(features))), memory)
        return self.votes(self.drop(heard)), memory


@dataclass(frozen=True)
class Learnt:
    """What is asked of one person, cut so that videos can change places: each with the pause before it."""

    features: torch.Tensor  # (seconds, 150)
    label: torch.Tensor  # (seconds,)
    pieces: list[torch.Tensor]  # of seconds

    @classmethod
    def of(cls, person: Person) -> "Learnt":
        features, label, video = (part[person.asked] for part in (person.features, person.label, person.video))
        ends = np.flatnonzero((video[:-1] > 0) & (video[1:] < 0)) + 1
        pieces = [torch.from_numpy(piece).to(DEVICE) for piece in np.split(np.arange(len(video)), ends)]
        heard = torch.from_numpy(features.astype(np.float32)).to(DEVICE)
        return cls(heard, torch.from_numpy(label.astype(np.int64)).to(DEVICE), pieces)

    def shuffled(self, rng: np.random.Generator, seconds: int) -> tuple[torch.Tensor, torch.Tensor]:
        order = torch.cat([self.pieces[i] for i in rng.permutation(len(self.pieces))])[:seconds]
        return self.features[order], self.label[order]


def epoch(network: Network, people: list[Learnt], best: torch.optim.Optimizer, settings: Settings, rng) -> float:
    """Go through all people once, side by side."""
    seconds = min(len(person.label) for person in people)
    parts = [person.shuffled(rng, seconds) for person in people]
    features, label = torch.stack([part[0] for part in parts]), torch.stack([part[1] for part in parts])
    memory = torch.zeros(1, len(parts), settings.memory, device=DEVICE)
    losses = []
    for heard, said in zip(features.split(settings.chunk, 1), label.split(settings.chunk, 1), strict=True):
        votes, memory = network(heard + settings.noise * torch.randn_like(heard), memory.detach())
        loss = nn.functional.cross_entropy(votes.flatten(0, 1), said.flatten(), label_smoothing=settings.smoothing)
        best.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        best.step()
        losses.append(loss.item())
    return float(np.mean(losses))


@torch.no_grad()
def accuracy(network: Network, people: list[Person], settings: Settings) -> float:
    """In order of time, as the stream is."""
    network.eval()
    found = []
    for person in people:
        heard = torch.from_numpy(person.features.astype(np.float32))[None].to(DEVICE)
        votes, _ = network(heard, torch.zeros(1, 1, settings.memory, device=DEVICE))
        found.append(person.accuracy(votes[0, :, : CLASSES - 1].argmax(1).cpu().numpy()))
    network.train()
    return float(np.mean(found))


def learn(people: dict[str, list[Person]], settings: Settings) -> tuple[Network, float]:
    """The network as it was when people left out were read best, and how well that was."""
    torch.manual_seed(settings.seed)
    rng = np.random.default_rng(settings.seed)
    left_out = people["train"][:: settings.left_out]
    learnt = [Learnt.of(person) for i, person in enumerate(people["train"]) if i % settings.left_out]
    network = Network(settings).to(DEVICE)
    best = torch.optim.AdamW(network.parameters(), settings.rate, weight_decay=settings.decay)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(best, settings.epochs)
    kept, top = copy.deepcopy(network.state_dict()), 0.0
    for number in range(settings.epochs):
        loss = epoch(network, learnt, best, settings, rng)
        slower.step()
        if number % 5 == 4:
            reached = accuracy(network, left_out, settings)
            if reached > top:
                kept, top = copy.deepcopy(network.state_dict()), reached
                print(f"epoch {number + 1}: loss {loss:.3f}, people left out {reached:.4f}", flush=True)
    network.load_state_dict(kept)
    return network, top


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("features", type=Path)
    options, settings = parser.parse_args(), Settings()
    people, usual = load(options.features)
    network, _ = learn(people, settings)
    print(f"test people: {accuracy(network, people['test'], settings):.4f}")
    write(network.cpu().eval(), usual, settings)


def write(network: Network, usual: Usual, settings: Settings) -> None:
    """One second at a time is what the stream has."""
    example = (torch.zeros(1, 1, 150), torch.zeros(1, 1, settings.memory))
    names = {"input_names": ["features", "memory"], "output_names": ["votes", "memory_after"]}
    torch.onnx.export(network, example, str(WEIGHTS), dynamo=False, opset_version=17, **names)
    mean, spread, seconds = usual.first
    np.savez(USUAL, mean=mean, spread=spread, usual_s=seconds)


if __name__ == "__main__":
    main()
