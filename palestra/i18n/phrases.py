"""What recordings keep in English, in Chinese: from zh.toml. Templates as in phrasebook.py."""

import tomllib
from pathlib import Path

_SAID: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("zh.toml").read_text(encoding="utf-8"))
SENTENCES: dict[str, str] = {**_SAID["notes"], **_SAID["endings"], **_SAID["sandboxes"]}
PHRASES: dict[str, str] = {**SENTENCES, **_SAID["sizes"]}
