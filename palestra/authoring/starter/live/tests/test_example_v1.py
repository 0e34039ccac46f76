"""The challenge keeps the contract, and plays to a bundle. Run it with: python -m pytest"""

import json
import subprocess
import sys
from pathlib import Path

from palestra import registry
from palestra.contract import check_track

HOME = Path(__file__).resolve().parent.parent
DATA = HOME / "data" / "example"
registry.add_folder(HOME / "tracks")


def test_it_keeps_the_contract():
    check_track(registry.track("example-v1"), DATA)


def test_a_bundle_is_played_and_scored(tmp_path):
    words = ["play", "example-v1", "bundle", "--data", DATA, "--pace", "fast", "--run", tmp_path / "run", "--json"]
    line = [sys.executable, "-m", "palestra", "--tracks-dir", HOME / "tracks", *words]
    result = json.loads(subprocess.run(line, cwd=HOME, check=True, capture_output=True).stdout)
    ranks = registry.track("example-v1").ranks.name
    assert result["valid"] and result["metrics"][ranks]["value"] is not None
