"""What explains, of all that a program printed: its first traceback, or where there is none what its first start said.

A program that dies is started again. What its twentieth start complains of is seldom what was wrong.
"""

AGAIN = "\n--- started again ---\n"
HEAD = "Traceback (most recent call last):"


def explaining_lines(output: str, most: int) -> list[str]:
    """At most so many lines, up to the one that says what happened."""
    lines = output.splitlines()
    start = next((number for number, line in enumerate(lines) if line.strip() == HEAD), None)
    if start is None:
        return output.partition(AGAIN)[0].splitlines()[-most:]
    end = next((number for number in range(start + 1, len(lines)) if not lines[number].startswith(" ")), len(lines))
    return lines[: end + 1][-most:]
