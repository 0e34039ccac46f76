"""`palestra studio prepare`: a data set whose people are captured while they are played."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from palestra.errors import PalestraError
from palestra.records import CAPTURES, PersonPictures, PersonSignal, Track
from palestra.studio.capture.specs import sources_of
from palestra.studio.present.plans.geometry import Place
from palestra.studio.present.plans.plan import Plan
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.plans.stimuli import Emotion, Points, Stimuli, kind_of
from palestra.studio.present.plans.stimulus_file import read_stimuli, text_of
from palestra.studio.present.show import file_of, films_of
from palestra.studio.sitting.capture_file import PERSON, STIMULI, CaptureFile, stimuli_of, write_capture_file
from palestra.studio.sitting.pictures import captured_points
from palestra.text import say


def prepare_data(track: Track, folder: Path, stimuli: Path, file: CaptureFile) -> None:
    """Write a data set without its people: where they will look, what they are shown and what records them."""
    person = track.stream.person if track.stream else None
    if person is None:
        raise PalestraError(say("{id} is not played to people who are captured meanwhile.", id=track.id))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PalestraError(say("{folder} is there already. Name another folder.", folder=folder))
    odd = next((name for name in file.people if not re.fullmatch(PERSON, name)), None)
    if odd is not None:
        raise PalestraError(
            say("{name!r} cannot be the name of a person here; expected at most 40 letters, digits, - or _.", name=odd)
        )
    if len(set(file.people)) < len(file.people):
        raise PalestraError(say("Two people have the same name. Give each their own."))
    _require_sources(person, file)
    source = file_of(stimuli)
    shown = read_stimuli(source)
    wanted = Points if isinstance(person, PersonPictures) else Emotion
    if [type(block) for block in shown.blocks] != [wanted]:
        found = ", ".join(kind_of(block) for block in shown.blocks)
        raise PalestraError(
            say("{file}: found blocks of {found}, expected one of the kind {wanted}.",
                file=source, found=found, wanted=str(wanted.__struct_config__.tag))
        )  # fmt: skip
    if films_of(shown, source) and isinstance(shown.blocks[0], Emotion):  # each is there, and as long as it should be
        films = (source.resolve().parent / shown.blocks[0].videos).resolve()
        file = msgspec.structs.replace(file, films=str(films))
    made = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        _write(made, person, source, shown, file)
    except BaseException:
        shutil.rmtree(made)
        raise
    if folder.exists():
        folder.rmdir()
    made.rename(folder)


def _write(
    folder: Path, person: PersonPictures | PersonSignal, source: Path, shown: Stimuli, file: CaptureFile
) -> None:
    write_capture_file(folder, file)
    (folder / CAPTURES / STIMULI).write_text(text_of(source), encoding="utf-8")
    if isinstance(person, PersonPictures):
        plans = {name: plan_of(stimuli_of(folder, number)) for number, name in enumerate(file.people)}
        places = {name: _places(plan) for name, plan in plans.items()}
        person.prepare(folder, places, shown.screen.distance_mm)


def _places(plan: Plan) -> list[Place]:
    """Where the person looks at each moment of capture: to the right and up of straight ahead, in mm."""
    middle_x, middle_y = plan.screen.middle_mm
    found: list[Place] = []
    for number in captured_points(plan):
        path = plan.events[number].path
        assert path is not None, "something is captured only where a target is"
        x, y = path.points[0]
        found.append((x - middle_x, middle_y - y))
    return found


def _require_sources(person: PersonPictures | PersonSignal, file: CaptureFile) -> None:
    sources_of(file.specs())  # what is wrong with one is said now
    wanted = person.sources if isinstance(person, PersonPictures) else (person.source,)
    missing = [name for name in wanted if name not in file.sources]
    if missing:
        raise PalestraError(
            say("No source of {missing}. Name it: --source {first}=camera:0, for example.",
                missing=", ".join(missing), first=missing[0])
        )  # fmt: skip
    if isinstance(person, PersonPictures) and file.triggers:
        raise PalestraError(say("Pictures have no triggers: leave out --triggers."))


def sources_named(words: Sequence[str]) -> dict[str, str]:
    """NAME=SPEC of each source, as it is said on the command line."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, what = word.partition("=")
        if not equals or not what or not re.fullmatch(PERSON, name):
            raise PalestraError(say("{word!r} names no source; expected NAME=SOURCE, as left=camera:0.", word=word))
        if name in found:
            raise PalestraError(say("Two sources are called {name!r}. Give each its own name.", name=name))
        found[name] = _from_anywhere(what)
    return found


def _from_anywhere(what: str) -> str:
    """A source that is a file or folder is found from wherever it is played."""
    kind, _, rest = what.partition(":")
    file = Path(rest.rpartition("@")[0] or rest)
    return f"{kind}:{Path.cwd() / rest}" if file.exists() else what
