"""The code of a track from outside in a starter kit: the track with what it imports beside it, and a scorer."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from palestra import registry
from palestra.records import Track
from palestra.registry import Source

FOLDER = "tracks"  # of the kit
SCORER = "score.py"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*_starter", "starter", "truth")


def write_code(track: Track, folder: Path) -> None:
    """Put a track's code into a kit, so that whoever has the kit needs nothing but Palestra."""
    source = registry.source_of(track.id)
    code = folder / FOLDER
    code.mkdir(parents=True, exist_ok=True)
    for path in _code_of(source):
        if path.is_dir():
            shutil.copytree(path, code / path.name, ignore=LEFT_OUT, dirs_exist_ok=True)
        else:
            shutil.copy(path, code / path.name)
    if track.files and not (folder / SCORER).exists():
        (folder / SCORER).write_text(_scorer(track, source))


def _code_of(source: Source) -> Iterator[Path]:
    """The track's module; or its whole package; and helpers beside a file that it has imported."""
    top = source.module.partition(".")[0]
    yield _whole(sys.modules[top])
    if source.folder:
        home = Path(source.folder).resolve()
        for name, module in sorted(sys.modules.items()):
            beside = "." not in name and name != top and getattr(module, "__file__", None)
            if beside and (path := _whole(module)).parent == home and (path.is_dir() or name.startswith("_")):
                yield path


def _whole(module: object) -> Path:
    """The file of a module, or the folder of a package."""
    file = Path(str(getattr(module, "__file__", ""))).resolve()
    return file.parent if file.name == "__init__.py" else file


def _scorer(track: Track, source: Source) -> str:
    return f'''"""Scores a submission for {track.id}: needs Palestra, and the track that lies in {FOLDER}/.

Usage: python {SCORER} [SUBMISSION] [DATA]
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "{FOLDER}"))

from {source.module} import {source.name} as TRACK  # noqa: E402

from palestra.errors import PalestraError  # noqa: E402
from palestra.scoring import collect, score  # noqa: E402


def main() -> None:
    given = [Path(word) for word in sys.argv[1:]]
    file = given[0] if given else HERE / "template{track.suffix}"
    data = given[1] if len(given) > 1 else HERE / "data"
    try:
        sheet = score.load(TRACK, data)
        result = score.score(TRACK, sheet, collect(TRACK, file, sheet.trials), file.stem).result
    except PalestraError as error:
        sys.exit(f"{{file}} cannot be scored.\\n{{error}}")
    for metric in TRACK.metrics:
        print(f"{{metric.name}}: {{result.metrics[metric.name].value:.6g}} {{metric.unit}}".rstrip())


if __name__ == "__main__":
    main()
'''
