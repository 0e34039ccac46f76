"""docs/studio-final.md is true: its files are saved, its commands run in their order, and people are shown their points
and films meanwhile."""

import os
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest

from palestra.studio.present.run import LOG
from palestra.studio.present.run_log import read_log
from palestra.tracks.emotion_eeg import v1
from tests import ROOT
from tests.entrants.talking import free_port
from tests.live.hall import require_sandbox
from tests.studio.capture.test_lsl import alone  # noqa: F401 - a fixture
from tests.studio.present.making_films import write_film
from tests.studio.sitting.page_player import PagePlayer
from tests.test_tutorial import Step, shell, steps
from tests.web.browsing import Served

PAGE = (ROOT / "docs" / "studio-final.md").read_text()
NEAR_EYE, EEG = "## Near-eye, from an empty folder", "## Emotion EEG by LSL"
LIMIT_S = 300


def blocks(section: str) -> list[Step]:
    text = PAGE.partition(section)[2].partition("\n## ")[0]
    return [step for step in steps(text) if step.mark != "refused"]


class Walk:
    """A folder in which the page is followed. Whatever the page of a person is served on, is free."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.here, self.port = folder / "here", free_port()
        self.here.mkdir()
        self._environment = {**environment, **shell(folder)}
        self._environment["PYTHONPATH"] = environment.get("PYTHONPATH", str(ROOT))

    def follow(self, step: Step) -> str:
        text = step.written().replace("palestra studio prepare", f"palestra studio prepare --port {self.port}")
        command = ["bash", "-e", "-u", "-o", "pipefail", "-c", text]
        ran = subprocess.Popen(
            command, cwd=self.here, env=self._environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            said, _ = ran.communicate(timeout=LIMIT_S)
        finally:
            self.running = ran.pid
        starved = "kept waiting for a processor" in said  # a busy machine: such a run does not count, and says so
        assert ran.returncode == 0 or starved, said
        return said


def test_from_an_empty_folder_to_a_scored_final_on_near_eye_pictures(tmp_path: Path) -> None:
    require_sandbox()
    walk = Walk(tmp_path, dict(os.environ))
    said = []
    for step in blocks(NEAR_EYE):
        if "contest serve" in step.text:
            walk.follow(Step(step.before, step.kind, step.mark, step.text.replace("palestra contest serve", ": ")))
            continue
        page = PagePlayer(walk.port, people=1) if "--data final --set" in step.text else None
        if page:
            page.start()
        said.append(walk.follow(step))
        assert page is None or page.failure is None
    played, from_files = (pl.read_parquet(walk.here / run / "01-pupil.parquet") for run in ("first-run", "from-files"))
    assert played.height == 6
    both = played["answered"] & from_files["answered"]
    assert both.any()
    assert played.filter(both)["error_deg"].to_list() == from_files.filter(both)["error_deg"].to_list()
    served = Served(walk.here / "contest.toml")
    served.start()
    served.stop()
    told = "".join(served.said)
    assert "its people are captured" not in told and "is not there" not in told


def test_films_are_shown_and_an_amplifier_is_played_by_lsl(tmp_path: Path, alone: dict[str, str]) -> None:  # noqa: F811
    require_sandbox()
    pytest.importorskip("pylsl")
    walk = Walk(tmp_path, alone)
    (walk.here / "videos").mkdir()
    for number in (3, 13):
        write_film(walk.here / "videos" / f"{number:02d}.mp4", 5.0)
    for step in blocks(EEG):
        if step.kind != "bash":
            walk.follow(step)
            continue
        page = PagePlayer(walk.port, people=1)
        page.start()
        # The amplifier would hold the pipe open for ever, and goes on until its whole session is ended.
        text = step.text.replace("amplifier.py &", "amplifier.py > /dev/null 2>&1 & echo $! > amplifier.pid")
        try:
            walk.follow(Step(step.before, step.kind, step.mark, text))
        finally:
            os.kill(int((walk.here / "amplifier.pid").read_text()), signal.SIGTERM)
        assert page.failure is None
    plan = v1.schedule(walk.here / "eeg-final" / "test" / "S81.pkl")
    assert sorted(video.number for video in plan.videos) == [3, 13]
    log = read_log(walk.here / "eeg-final" / "captures" / "S81-1" / "presented" / LOG)
    assert log[-1]["kind"] in ("finished", "left")
