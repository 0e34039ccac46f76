"""What somebody who is tested may see of EYEDIAP: all of it, but where the target was in the tested frames."""

from collections.abc import Collection, Mapping
from pathlib import Path

from palestra.formats import read_bytes
from palestra.tracks.remote_gaze.eyediap.names import Name, session_file
from palestra.tracks.remote_gaze.eyediap.states import MAX_BYTES, state_file
from palestra.tracks.remote_gaze.eyediap.tracking import target_file


def without_targets(data: Path, tested: Mapping[Name, Collection[int]]) -> dict[Path, bytes | None]:
    """Files (as paths in the data set) that say where the target was, as they are without the tested frames.

    A row of zeros is how the data set itself says that nothing is known. Who blinked is told of no tested frame; a file
    that tells of no other is left out.
    """
    shown: dict[Path, bytes | None] = {}
    for name, frames in tested.items():
        targets, states = session_file(data, name, f"{target_file(name)}.txt"), state_file(data, name)
        hidden = {str(frame).encode() for frame in frames}
        if targets is not None:
            shown[targets.relative_to(data)] = _with_zeros(read_bytes(targets, MAX_BYTES), hidden)
        if states is not None:
            shown[states.relative_to(data)] = _without(read_bytes(states, MAX_BYTES), hidden) or None
    return shown


def _with_zeros(text: bytes, hidden: Collection[bytes]) -> bytes:
    header, *rows = text.splitlines(keepends=True)
    return header + b"".join(_blank(row) if _frame(row, b";") in hidden else row for row in rows)


def _blank(row: bytes) -> bytes:
    frame, *cells = row.rstrip().split(b";")
    return b";".join([frame, *(b"0" for _ in cells)]) + b"\n"


def _without(text: bytes, hidden: Collection[bytes]) -> bytes:
    return b"".join(row for row in text.splitlines(keepends=True) if _frame(row, b"\t") not in hidden)


def _frame(row: bytes, separator: bytes) -> bytes:
    """The number of a row's frame, however it is written (12, 12.0, 0012)."""
    number = row.split(separator, 1)[0].strip()
    try:
        return str(int(float(number))).encode()
    except ValueError:
        return number
