"""Reads recordings and plays them in a plain loop, packet by packet, as the contest does."""

import io
import pickle
import re
from pathlib import Path

import numpy as np

RATE_HZ, PACKET, PACKETS_PER_DECISION = 250, 50, 5
WINDOW = PACKET * PACKETS_PER_DECISION  # samples that a decision is about: the newest second
VISIBLE = (250, 242, 243, 251)  # triggers that a program sees: experiment and block, start and end
LABELS = dict(enumerate([0] * 3 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 4 + [5] * 3 + [6] * 3 + [7] * 3 + [8] * 3, 1))
# Training films that lasted longer for some people of batch 1: film → (people, usual seconds, where the surplus is).
ODD = {22: (range(26, 55), 76, "start"), 27: (range(31, 32), 83, "end")}
# What an array's pickle names, and nothing else: a pickle can run any program.
ALLOWED = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
    *((f"numpy.{core}.{module}", name) for core in ("core", "_core")
      for module, name in (("multiarray", "_reconstruct"), ("numeric", "_frombuffer"))),
}  # fmt: skip


class _Arrays(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"the pickle asks for {module}.{name}, which no array needs")
        return super().find_class(module, name)


def read(file):
    """The recording of one person: 33 × N, the last row has the triggers."""
    return np.asarray(_Arrays(io.BytesIO(Path(file).read_bytes())).load())


def people(folder):
    """{number: file} of all recordings in a folder, in the order of the numbers."""
    numbers = {int(re.search(r"\d+", file.stem)[0]): file for file in Path(folder).glob("[!.]*.pkl")}
    return dict(sorted(numbers.items()))


def events(triggers):
    """[(sample, code), …]: where triggers begin."""
    begins = np.flatnonzero((triggers != 0) & (triggers != np.concatenate([[0], triggers[:-1]])))
    return [(int(sample), int(triggers[sample])) for sample in begins]


def films(found, odd_for=None):
    """[(film, start, stop), …] in samples; those of `odd_for`, a person in training, are cropped where they are odd."""
    shown = []
    for sample, code in found:
        if code in LABELS:
            film = code
        elif code == 240:
            start = sample
        elif code == 241:
            shown.append(_cropped(film, start, sample, odd_for))
    return shown


def _cropped(film, start, stop, person):
    who, usual_s, where = ODD.get(film, ((), 0, ""))
    surplus = stop - start - usual_s * RATE_HZ
    if person not in who or surplus <= 0:
        return film, start, stop
    return (film, start + surplus, stop) if where == "start" else (film, start, stop - surplus)


def play(recording, odd_for=None):
    """Each packet as it is sent; the number of the decision that is due on it, or 0; the film it counts for, or None."""
    found = events(recording[-1])
    shown = films(found, odd_for)
    visible = np.zeros(recording.shape[1], recording.dtype)
    for sample, code in found:
        if code in VISIBLE:
            visible[sample] = code  # for one sample, however long it was held
    first, last = (next(sample for sample, code in found if code == wanted) for wanted in (250, 251))
    numbers = {packet: number for number, packet in enumerate(_asked(found, first), 1)}
    for i, begin in enumerate(range(first, last + 1, PACKET)):
        packet = recording[:, begin : begin + PACKET].copy()
        packet[-1] = visible[begin : begin + packet.shape[1]]
        yield packet, numbers.get(i, 0), _film_at(shown, begin + PACKET - WINDOW) if i in numbers else None


def _asked(found, first):
    """Packets that a decision is due on: every fifth after the one with the 242, before the one with the 243."""
    starts, stops = ([(sample - first) // PACKET for sample, code in found if code == wanted] for wanted in (242, 243))
    fifth = PACKETS_PER_DECISION
    return [packet for start, stop in zip(starts, stops) for packet in range(start + fifth, stop, fifth)]


def _film_at(shown, begin):
    """The film whose inside, without its first and last second, has the whole window."""
    for film, start, stop in shown:
        if start + RATE_HZ <= begin and begin + WINDOW <= stop - RATE_HZ:
            return film
    return None
