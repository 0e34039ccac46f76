"""Which work a job is."""

import subprocess
import sys

import pytest

from palestra.contest.workers import baselines, jobs, live_run, verify_bundle

LOADED = """
import sys
from palestra.contest.workers import jobs
for kind in ("check", "score"):
    jobs._work_of(kind)
print(*sys.modules)
"""


def test_a_process_that_scores_a_file_does_not_wait_for_what_live_runs_and_reports_need() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "palestra.scoring.score" in loaded
    assert not {"cv2", "palestra.contest.workers.live_run", "palestra.report.page"} & {*loaded}


@pytest.mark.parametrize(
    ("kind", "work"),
    [
        ("live", live_run.play_one),
        ("run", live_run.play_all),
        ("verify", verify_bundle.verify),
        ("baseline", baselines.solve),
    ],
)
def test_every_other_kind_of_job_is_found(kind, work) -> None:
    assert jobs._work_of(kind) is work
