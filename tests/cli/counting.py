"""Runs a command as `palestra …` does and counts what it does: python -m tests.cli.counting DATA OUT.json WORDS…

Counted are the files of DATA that are opened, before and while a run is played; how often an answer is interpreted; and
the modules of the package that are there at the end.
"""

import atexit
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palestra import cli
from palestra.records import Track

DATA, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
opened: dict[str, Counter[str]] = {"known": Counter(), "sent": Counter()}  # by purpose
heard = 0


def main() -> None:
    sys.argv = ["palestra", *sys.argv[3:]]
    _count_answers()
    sys.addaudithook(_on_event)
    atexit.register(_write)
    cli.main()


def _on_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | os.PathLike):
        file = Path(os.path.abspath(arguments[0]))  # noqa: PTH100 - links are left as they are
        if file.is_relative_to(DATA):
            opened["sent" if _is_sending() else "known"][str(file.relative_to(DATA))] += 1


def _is_sending() -> bool:
    """Whether a sitting is being played, or what was sent in one is being compared with the data."""
    frame = sys._getframe()
    names = set()
    while frame.f_back:
        frame = frame.f_back
        names.add((Path(frame.f_code.co_filename).name, frame.f_code.co_name))
    return bool(names & {("run.py", "play"), ("scored_run.py", "require_sent")})


def _count_answers() -> None:
    interpret = Track.hear.fget
    assert interpret

    def counting(track: Track) -> Callable[[Any], Any] | None:
        hear = interpret(track)

        def counted(answer: Any) -> Any:
            global heard
            heard += 1
            assert hear
            return hear(answer)

        return counted if hear else None

    Track.hear = property(counting)  # type: ignore[method-assign, assignment]


def _write() -> None:
    modules = sorted(name for name in sys.modules if name.partition(".")[0] == "palestra")
    OUT.write_text(json.dumps({"opened": opened, "heard": heard, "modules": modules}))


if __name__ == "__main__":
    main()
