"""English sentences of ours and their Chinese: what the log keeps for people to read, faults of contest files, and
errors that have no Chinese of their own. They are in words/phrases_zh.toml; templates as in palestra/i18n."""

import tomllib
from pathlib import Path

from palestra.contest.rules import TABLES
from palestra.i18n import ATTEMPTS, ENDINGS, FAULT_PHRASES, FRAMES, VERIFICATIONS

_FILE = Path(__file__).parent / "words" / "phrases_zh.toml"
_SAID: dict[str, dict[str, str]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
_NEEDED = sorted({name for keys in TABLES.values() for name, key in keys.items() if key.needed})
_MISSING = {f"no {name}": f"缺少 {name}" for name in _NEEDED} | {f"{name} = …": f"填写 {name} = …" for name in _NEEDED}
RULE_PHRASES = {**_SAID["syntax"], **_MISSING, **_SAID["keys"], **_SAID["values"], **_SAID["fitting"]}
SENTENCES: dict[str, str] = {**FRAMES, **ATTEMPTS, **VERIFICATIONS, **_SAID["errors"], **_SAID["requests"]}
PHRASES: dict[str, str] = {**SENTENCES, **ENDINGS, **_SAID["parts"], **FAULT_PHRASES, **RULE_PHRASES}
