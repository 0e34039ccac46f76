"""A person's EEG while it is recorded: the packets that a file of it gives, and that file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.records import Tick
from palestra.tracks.emotion_eeg import experiment as material
from palestra.tracks.emotion_eeg import format as eeg
from palestra.tracks.emotion_eeg.experiment import PACKET, PER_DECISION, RATE_HZ


class LivePackets:
    """Packets from the 250 on, up to the one that holds the 251. What is decided is known from what came before."""

    def __init__(self, data: Path, person: str, people: Sequence[str], deadline_s: float | None) -> None:
        ordered = sorted(people, key=eeg.in_order)
        self._file = eeg.test_file(data, person)
        self._person, self._deadline_s = person, deadline_s
        self._number, self._is_last = 1 + ordered.index(person), ordered[-1] == person
        self._packets: list[NDArray[Any]] = []  # as they were recorded, hidden triggers included
        self._coming = np.empty((material.ROWS, 0), np.float32)
        self._before = 0.0  # the trigger of the sample before
        self._has_begun = self.is_over = False
        self._opening: int | None = None  # the packet that holds the 242 of the block that is open
        self._asked = 0

    def take(self, samples: NDArray[Any], triggers: NDArray[np.int64]) -> list[Tick]:
        """What is to be sent after these samples."""
        if not self._has_begun:
            self._coming = self._coming.astype(_kind_for(samples.dtype))
        block = np.vstack([samples.T, triggers[None]]).astype(self._coming.dtype)
        if not self._has_begun:
            starts = np.flatnonzero(triggers == material.EXPERIMENT_START)
            if not len(starts):
                return []
            self._has_begun, block = True, block[:, starts[0] :]
        self._coming = np.concatenate([self._coming, block], axis=1)
        made = []
        while self._coming.shape[1] >= PACKET and not self.is_over:
            packet, self._coming = self._coming[:, :PACKET], self._coming[:, PACKET:]
            made.append(self._tick(packet.copy()))
        return made

    def _tick(self, packet: NDArray[Any]) -> Tick:
        i = len(self._packets)
        self._packets.append(packet)
        row = np.concatenate([[self._before], packet[-1]])
        found = [event for event in material.events(row) if event.sample > 0]
        codes = [event.code for event in found]
        self._before = float(row[-1])
        self.is_over = material.EXPERIMENT_END in codes
        closes = material.BLOCK_END in codes
        due = self._opening is not None and not closes and (i - self._opening) % PER_DECISION == 0
        if closes:
            self._opening = None
        if material.BLOCK_START in codes:
            self._opening = i
        shown = packet.copy()
        shown[-1] = 0
        for event in found:
            if event.code in material.VISIBLE:
                shown[-1, event.sample - 1] = event.code
        self._asked += due
        return Tick(
            due_s=(i + 1) * PACKET / RATE_HZ,
            payload={"packet": shown},
            trial=f"{self._person}/{self._asked:05d}" if due else None,
            deadline_s=self._deadline_s if due else None,
            about={"person": self._number, "start": i * PACKET, "last": self._is_last and self.is_over},
        )

    def finish(self) -> None:
        """Write the recording, as the organiser has those of a test set."""
        row = np.concatenate([packet[-1] for packet in self._packets])
        shown_once = without_cut_showings(row)
        for i, packet in enumerate(self._packets):
            packet[-1] = shown_once[i * PACKET : (i + 1) * PACKET]
        eeg.write_recording(self._packets, self._file, self._coming.dtype)


def _kind_for(found: np.dtype[Any]) -> type[np.floating[Any]]:
    """What holds such numbers, of the two that recordings have."""
    return np.float32 if np.can_cast(found, np.float32) else np.float64


def without_cut_showings(row: NDArray[Any]) -> NDArray[Any]:
    """A row of triggers without those of films that were broken off and shown again."""
    kept = row.copy()
    pending: list[int] = []
    for event in material.events(row):
        if event.code in material.LABELS:
            for sample in pending:
                _clear(kept, sample)
            pending = [event.sample]
        elif event.code == material.VIDEO_START:
            pending.append(event.sample)
        elif event.code == material.VIDEO_END:
            pending = []
    return kept


def _clear(row: NDArray[Any], start: int) -> None:
    """Take a trigger away, for as long as it was held."""
    stop = start
    while stop < len(row) and row[stop] == row[start]:
        stop += 1
    row[start:stop] = 0
