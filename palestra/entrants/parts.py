"""What a bundle is made of: code, weights and configuration, each with a digest, so that what changed can be told.

Only what is known to be weights or configuration by the ending of its name is taken for that; all else is code, since
code may be called anything. A pickle may hold code as well: what it brings about is for the sandbox to bound.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Part = Literal["code", "weights", "configuration"]
PARTS: tuple[Part, ...] = ("code", "weights", "configuration")
WEIGHTS = (
    ".bin", ".ckpt", ".gguf", ".h5", ".joblib", ".keras", ".npy", ".npz", ".onnx", ".pb", ".pickle", ".pkl", ".pt",
    ".pth", ".safetensors", ".tflite", ".weights",
)  # fmt: skip
CONFIGURATION = (".cfg", ".ini", ".json", ".toml", ".yaml", ".yml")


@dataclass(frozen=True)
class Parts:
    """The files of a bundle by their names, with their digests."""

    files: Mapping[str, str]

    def digest(self, part: Part) -> str:
        """Of all files of a part, names and contents; empty where it has none."""
        sha, found = hashlib.sha256(), [(name, digest) for name, digest in self.files.items() if part_of(name) == part]
        for name, digest in sorted(found):
            sha.update(f"{name}\n{digest}\n".encode(errors="surrogateescape"))
        return sha.hexdigest() if found else ""

    def changed(self, before: "Parts", part: Part = "code") -> list[str]:
        """The files of a part that are others than before, new, or gone."""
        names = sorted(self.files.keys() | before.files.keys())
        return [name for name in names if part_of(name) == part and self.files.get(name) != before.files.get(name)]


def part_of(name: str) -> Part:
    ending = Path(name.lower()).suffix
    return "weights" if ending in WEIGHTS else "configuration" if ending in CONFIGURATION else "code"


def parts_of(folder: Path) -> Parts:
    """Of the files in a folder that holds no links, as that of an unpacked bundle."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return Parts({path.relative_to(folder).as_posix(): _digest_of(path) for path in files})


def _digest_of(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
