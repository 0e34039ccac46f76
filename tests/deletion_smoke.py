"""Run on a copy of the package from which a challenge's folder is gone: all else imports, lists, scores, plays, serves.

    python -P deletion_smoke.py '{"copy": …, "tracks": [IDS], "file": [TRACK, DATA], "live": [TRACK, SOLUTION, DATA]}'

It knows nothing of the tests: only of the copy, which PYTHONPATH names.
"""

import contextlib
import importlib
import io
import json
import pkgutil
import sys
import tempfile
from pathlib import Path
from typing import Any

EXTRAS = ("torch", "pylsl", "ray")  # not in every installation


class WithoutTorch:
    """As where torch is not installed: it would take as long to import as all else."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch":
            raise ModuleNotFoundError("torch is hidden here", name=name)


def import_all(copy: Path) -> None:
    import palestra

    sys.meta_path.insert(0, WithoutTorch())  # type: ignore[arg-type]
    assert Path(palestra.__file__).parent == copy / "palestra", "this is not the copy"
    for found in pkgutil.walk_packages(palestra.__path__, "palestra."):
        if found.name.endswith((".__main__", ".migrations.env")):  # run when they are imported
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] not in EXTRAS:
                raise


def command(*words: object) -> str:
    """What a command prints; it must succeed."""
    from palestra.cli import main

    sys.argv, said = ["palestra", *map(str, words)], io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            main()
    except SystemExit as end:
        assert not end.code, f"{words}: {end.code}"
    return said.getvalue()


def list_all(tracks: list[str]) -> None:
    assert [one["id"] for one in json.loads(command("tracks", "--json"))] == tracks
    assert {one["track"] for one in json.loads(command("solutions", "--json"))} == set(tracks)


def score_a_file(track_id: str, data: str, folder: Path) -> None:
    """The template of a track that takes files: checked and scored."""
    from palestra import registry

    track = registry.track(track_id)
    file = folder / f"template{track.suffix}"
    assert track.writes and track.blank
    track.writes(track.blank(track.trials(Path(data))), file)
    assert json.loads(command("check", track_id, file, "--data", data, "--json"))["ok"]
    assert json.loads(command("score", track_id, file, "--data", data, "--json"))["valid"]


def play(track_id: str, solution: str, data: str, folder: Path) -> None:
    words = ("--pace", "fast", "--run", folder / "run", "--trusted", "--json")
    assert json.loads(command("play", track_id, solution, "--data", data, *words))["valid"]


def serve(tracks: list[str], folder: Path) -> None:
    """A contest with a phase for each track: its home page, and the page of matches."""
    from litestar.testing import TestClient

    from palestra.contest.setup import Place
    from palestra.web.app import create_app
    from palestra.web.site import Setup, Site

    file = folder / "contest.toml"
    command("contest", "init", file, "--size", "none", *(word for track in tracks for word in ("--track", track)))
    place = Place(file)
    contest = place.open()
    with TestClient(create_app(Site(contest, Setup(place.home, place.spool)))) as client:
        home = client.get("/")
        assert home.status_code == 200 and home.text.count("/boards/") >= len(tracks)
        assert client.get("/matches").status_code == 200
    contest.engine.dispose()


def main(asked: dict[str, Any]) -> None:
    import_all(Path(asked["copy"]))
    list_all(asked["tracks"])
    with tempfile.TemporaryDirectory() as folder:
        score_a_file(*asked["file"], Path(folder))
        play(*asked["live"], Path(folder))
        serve(asked["tracks"], Path(folder))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
