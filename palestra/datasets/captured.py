"""Sittings of people who are captured while they are played, in the place of stored files."""

from collections.abc import Sequence
from pathlib import Path

from palestra import registry
from palestra.records import CAPTURE_FILE, CAPTURES, PersonPictures, PersonSignal, Sitting

CAPTURED_SITTINGS = "palestra.studio.sitting.sittings:captured_sittings"  # looked up when needed, as solutions are


def captures_people(data: Path) -> bool:
    """Whether people of a data set may still be to come."""
    return (data / CAPTURES / CAPTURE_FILE).is_file()


def with_captured(data: Path, person: PersonPictures | PersonSignal, known: Sequence[Sitting]) -> Sequence[Sitting]:
    """The sittings of a data set, with those that are captured while they are played."""
    if not captures_people(data):
        return known
    sittings: Sequence[Sitting] = registry.resolve(CAPTURED_SITTINGS)(data, person, known)
    return sittings
