"""What `palestra tracks` says of tracks: which there are, which cannot be used, and which keep the contract."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from palestra.cli.options import data_of
from palestra.errors import PalestraError, brief

if TYPE_CHECKING:
    from palestra.records import Track

Check = Literal["ok", "failed", "not checked"]


def as_row(track: "Track") -> dict[str, Any]:
    return {"id": track.id, "title": str(track.title), "answers": track.arrives, "ranks": track.ranks.name}


def tell_broken() -> dict[str, str]:
    """Say which tracks from outside cannot be used and why, and which files are no tracks."""
    from palestra import console, registry

    broken = registry.broken()
    for why in broken.values():
        console.say(f"Not usable: {why}")
    for why in registry.skipped():
        console.say(f"Skipped: {why}")
    return broken


def check_tracks(track: str | None, folders: Mapping[str, str], json: bool) -> bool:
    """Check one track or all, whatever becomes of each, and sum up; whether none failed."""
    from palestra import console, registry

    broken = {} if track else tell_broken()
    tracks = [registry.track(track)] if track else list(registry.tracks().values())
    rows: list[dict[str, Any]] = []
    for one in tracks:
        state, fault = _checked(one, folders.get(one.id))
        console.say(f"{one.id}: keeps the contract{fault and f'. {fault}'}" if state == "ok" else fault)
        rows.append({**as_row(one), "check": state, **({"fault": fault} if json else {})})
    console.show_rows([*rows, *(_unusable(*one) for one in broken.items())] if json else rows, json)
    states = [row["check"] for row in rows]
    failed = states.count("failed") + len(broken)
    console.say(
        f"{len(rows) + len(broken)} checked: {states.count('ok')} keep the contract, {failed} failed, "
        f"{states.count('not checked')} not checked for want of data."
    )
    return not failed and not (track and "not checked" in states)


def _checked(track: "Track", folder: str | None) -> tuple[Check, str]:
    from palestra import registry
    from palestra.authoring import again
    from palestra.contract import check_track
    from palestra.scoring import score

    given = Path(folder) if folder else _beside(track)
    if track.dataset.make is None and given is None:
        return "not checked", f"{track.id}: not checked, for it makes no data of its own; give --data {track.id}=DIR"
    try:
        data = data_of(track, given, True)
        check_track(track, data)
        if track.dataset.make:  # what is made is meant as it is
            return "ok", ""
        sheet = score.load(track, data)
        return "ok", score.unscored(sheet.trials, sheet.truth)
    except PalestraError as error:
        return "failed", str(error).replace(again(track.id), "").rstrip()
    except Exception as error:  # making its data, perhaps; the others are checked all the same
        return "failed", registry.slip_of(error) or f"{track.id}: could not be checked: {brief(error)}"


def _beside(track: "Track") -> Path | None:
    """The data of a track that makes none, where `palestra new-track` puts it: data/NAME beside tracks/."""
    from palestra import registry

    folder = registry.file_of(track.id).resolve().parent.parent / "data" / track.id.rpartition("-v")[0]
    return folder if track.dataset.make is None and folder.is_dir() else None


def _unusable(track_id: str, why: str) -> dict[str, Any]:
    return {"id": track_id, "title": "", "answers": [], "ranks": "", "check": "failed", "fault": why}
