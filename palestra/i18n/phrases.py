"""What is known in Chinese, from zh.toml: of faults, of runs, of reports. Templates as in phrasebook.py."""

import tomllib
from pathlib import Path

_SAID: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("zh.toml").read_text(encoding="utf-8"))


def _joined(*names: str) -> dict[str, str]:
    return {english: chinese for name in names for english, chinese in _SAID[name].items()}


FAULT_PHRASES = _joined("places", "masks", "archives", "files", "vectors", "tables", "sizes")
FRAMES, ATTEMPTS, ENDINGS, VERIFICATIONS = map(_joined, ("frames", "attempts", "endings", "verifications"))

# Names of columns, groups and their values: each is also known with a capital letter. Frames around other phrases fit
# much, and so come last.
_NOUNS = {form(word): chinese for form in (lambda word: word[:1].upper() + word[1:], str) for word, chinese in
          _SAID["nouns"].items()}  # fmt: skip
_REPORTS = _joined("page", "result", "pictured", "data", "run", "verification")
_RUNS = _joined("attempts", "verifications", "endings", "sandboxes", "frames")
SENTENCES: dict[str, str] = {**_NOUNS, **_REPORTS, **_RUNS, **_joined("around")}
PHRASES: dict[str, str] = {**_NOUNS, **_REPORTS, **_RUNS, **FAULT_PHRASES, **_joined("around")}
