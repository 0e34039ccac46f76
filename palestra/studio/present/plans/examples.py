"""Example files, one for each kind of stimulus."""

from pathlib import Path

from palestra.errors import UnknownName
from palestra.text import say

FOLDER = Path(__file__).with_name("examples")
EXAMPLES = {file.stem: file.read_text(encoding="utf-8").split("\n")[0][2:] for file in sorted(FOLDER.glob("*.toml"))}


def example(name: str) -> Path:
    """The file of an example."""
    if name not in EXAMPLES:
        raise UnknownName(say("stimulus file or example"), name, EXAMPLES)
    return FOLDER / f"{name}.toml"
