"""The sittings of a data set whose people are still to come, some or all of them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from palestra.errors import PalestraError
from palestra.records import CAPTURE_FILE, PersonPictures, PersonSignal, Sitting
from palestra.studio.present.plans.plan import nominal_s
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.sitting.capture_file import STIMULI, read_capture_file, stimuli_of
from palestra.studio.sitting.pictures import PictureSitting, captured_points
from palestra.studio.sitting.signal import SignalSitting
from palestra.text import say

LEAST_S = 0.001  # that times are told apart by


def captured_sittings(data: Path, person: PersonPictures | PersonSignal, known: Sequence[Sitting]) -> list[Sitting]:
    """Those that are there are played from their files; the others are captured while they are played."""
    if isinstance(person, PersonPictures):
        return [one if person.is_kept(data, one.name) else _pictures(data, person, one) for one in known]
    people = sorted(read_capture_file(data).people, key=person.order)
    there = {one.name: one for one in known}
    return [there.get(name) or _signal(data, person, name, people) for name in people]


def _pictures(data: Path, person: PersonPictures, stored: Sitting) -> Sitting:
    file = read_capture_file(data)
    if stored.name not in file.people:
        raise PalestraError(
            say("{data}: the pictures of {name} are not there, and {file} does not have them captured.",
                data=data, name=stored.name, file=CAPTURE_FILE)
        )  # fmt: skip
    plan = plan_of(stimuli_of(data, file.people.index(stored.name)))
    points = captured_points(plan)
    last_s = plan.events[points[-1]].onset_s
    if len(points) != stored.count or abs(last_s - stored.seconds) > LEAST_S:
        raise PalestraError(
            say("{data}: {stimuli} captures {shown} points, the last after {last:g} s; by the rules in force there are "
                "{count}, the last after {seconds:g} s. Change one of them, the rules with --set or in the phase.",
                data=data, stimuli=STIMULI, shown=len(points), last=last_s, count=stored.count, seconds=stored.seconds)
        )  # fmt: skip
    return dataclasses.replace(stored, ticks=PictureSitting(data, person, stored).ticks, captured=True)


def _signal(data: Path, person: PersonSignal, name: str, people: Sequence[str]) -> Sitting:
    seconds = nominal_s(plan_of(stimuli_of(data, read_capture_file(data).people.index(name))))
    ticks, decisions = person.estimate(seconds)
    sitting = SignalSitting(data, person, name, people)
    return Sitting(name, sitting.ticks, ticks, decisions, seconds, captured=True)
