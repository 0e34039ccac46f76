"""Bundles, file stores and assignments for tests of live runs and of verification."""

import tarfile
import zipfile
from pathlib import Path

from palestra.contest.rules.model import Phase
from palestra.contest.storage.file_store import Files
from palestra.contest.workers.score import Assignment, Entrant
from palestra.text import Words
from tests.live.hall import program

PROGRAM = "Algorithm/MyAlgorithm.py"


def write_zip(file: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file


def write_tar(file: Path, members: dict[str, str]) -> Path:
    folder = file.with_suffix(".content")
    with tarfile.open(file, "w:gz") as archive:
        for name, text in members.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
            archive.add(folder / name, name)
    return file


def zip_folder(folder: Path, file: Path) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            archive.write(path, path.relative_to(folder).as_posix())
    return file


class Home:
    """A contest's folder with one phase, and its file store."""

    def __init__(self, folder: Path, track: str, data: Path, **phase: object) -> None:
        self.folder, self.store = folder, folder / "files"
        self.files = Files.open(str(self.store))
        if data != folder / "data":
            (folder / "data").symlink_to(data)
        self.phase = Phase(id="live", title=Words("Live"), track=track, data="data", opens=0, closes=1, **phase)

    def put(self, file: Path) -> str:
        return self.files.put_file(file)

    def assignment(self, kind: str, file: Path | None = None, **more: object) -> Assignment:
        given = {"submission": "s1", "team": "Blue", "file": self.put(file), "name": file.name} if file else {}
        where = {"home": str(self.folder), "files": str(self.store), "phase": self.phase}
        return Assignment(kind=kind, attempt=1, **where, **{**given, **more})  # type: ignore[arg-type]

    def bundle(self, name: str, text: str | None = None) -> Path:
        """A bundle for the ticking track; of a program that is always right, unless told otherwise."""
        return write_zip(self.folder / f"{name}.zip", {PROGRAM: program() if text is None else text})

    def entrant(self, submission: str, team: str, file: Path, team_id: str = "") -> Entrant:
        return Entrant(submission, team, self.put(file), file.name, team_id)
