"""Every solution of remote-gaze-v1 through every benchmark: the table of docs/remote-gaze.md, as Markdown.

    palestra make remote-gaze-v1 small --size small
    python -m benchmarks.remote_solutions small                       prints it
    python -m benchmarks.remote_solutions small docs/remote-gaze.md   puts it into the page, in place of the old one

What `palestra bench` did already it takes from the cache, so it may be stopped and started again.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import msgspec

SOLUTIONS = ("head-pose", "eye-model", "appearance", "network")
PROTOCOLS = ("1-DS", "1-CS", "1-FT", "2-DS", "2-CS", "2-FT", "3-DS", "3-CS", "3-FT", "4-FT")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"


def row_of(data: Path, protocol: str) -> str:
    """A line of the table."""
    told = ["bench", "remote-gaze-v1", *SOLUTIONS, "--protocol", protocol, "--data", str(data), "--json"]
    done = subprocess.run([sys.executable, "-m", "palestra.cli.app", *told], stdout=subprocess.PIPE, check=True)
    found = {result["entrant"]: result["metrics"] for result in msgspec.json.decode(done.stdout)["results"]}
    return f"| {protocol} | {' | '.join(_cell(found[name]) for name in SOLUTIONS)} |"


def _cell(metrics: dict[str, dict[str, float | None]]) -> str:
    error, sensitivity = metrics["error_deg"], metrics.get("sensitivity")
    span = f" ({error['low']:.2f}–{error['high']:.2f})" if error["low"] is not None else ""
    harder = f", R {sensitivity['value']:.2f}" if sensitivity else ""
    return f"{error['value']:.2f}{span}{harder}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("page", type=Path, nargs="?")
    options = parser.parse_args()
    lines = [f"| error_deg | {' | '.join(SOLUTIONS)} |", f"|---|{'---|' * len(SOLUTIONS)}"]
    for protocol in PROTOCOLS:
        lines.append(row_of(options.data, protocol))
        print(lines[-1], flush=True)
    if options.page:
        text = options.page.read_text()
        table = "\n".join([BEGIN, *lines, END])
        options.page.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: table, text, flags=re.DOTALL))


if __name__ == "__main__":
    main()
