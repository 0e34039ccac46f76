"""Where in a TOML file a key stands, as such files are usually written."""

import re

Key = tuple[str | int, ...]  # ("blocks", 0, "every_s")


def key_of(path: str) -> Key:
    """`blocks[2].every_s` as a key."""
    return tuple(int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", path))


def line_of(text: str, where: Key) -> int | None:
    """The line of a key as these files are usually written; of a table or a key that is not there, its header."""
    header: int | None = None
    lines = text.split("\n")
    start = 0
    names: list[str] = []
    for depth, part in enumerate(where):
        if isinstance(part, int):
            continue
        names.append(part)
        index = where[depth + 1] if depth + 1 < len(where) else None
        brackets = (
            rf"\[\[\s*{re.escape('.'.join(names))}\s*\]\]"
            if isinstance(index, int)
            else rf"\[\s*{re.escape('.'.join(names))}\s*\]"
        )
        heads = [i for i in range(start, len(lines)) if re.match(rf"\s*{brackets}", lines[i])]
        wanted = index if isinstance(index, int) else 0
        if len(heads) > wanted:
            start = header = heads[wanted]
    for i in range(start + (header is not None), len(lines)):
        if header is not None and lines[i].lstrip().startswith("["):
            break
        if where and re.match(rf"\s*[\"']?{re.escape(str(where[-1]))}[\"']?\s*=", lines[i]):
            return i + 1
    return None if header is None else header + 1
