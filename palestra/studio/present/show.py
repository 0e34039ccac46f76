"""`palestra studio present`: checks everything, serves the page until the run has ended, and sums it up."""

import signal
import socket
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from palestra import console
from palestra.errors import PalestraError
from palestra.studio.present.film_files import FilmFile, find_films
from palestra.studio.present.onsets import TABLE, Summary, summary_of, write_onsets
from palestra.studio.present.plans.examples import example
from palestra.studio.present.plans.planning import plan_of
from palestra.studio.present.plans.stimuli import Emotion, Stimuli
from palestra.studio.present.plans.stimulus_file import read_stimuli, text_of
from palestra.studio.present.reports import LARGEST, Report
from palestra.studio.present.run import Run
from palestra.studio.present.server import Presenter
from palestra.studio.present.triggers import Triggers, open_ways
from palestra.text import say

HOST = "127.0.0.1"
STOP_S = 2  # for answers that are on their way


@dataclass(frozen=True)
class ShowOptions:
    """What the command was told beside the file and the folder."""

    port: int = 0
    opens_browser: bool = True
    serial: str = ""
    lsl: str = ""
    language: str = "en"


def file_of(name: Path) -> Path:
    """A file, or the example of that name."""
    return name if name.exists() or name.suffix else example(str(name))


def show_run(name: Path, folder: Path, options: ShowOptions) -> tuple[Summary, bool]:
    """Show a file's stimuli until the page says that they are over; whether they are finished."""
    file = file_of(name)
    stimuli = read_stimuli(file)
    films = films_of(stimuli, file)
    ways = open_ways(options.serial, options.lsl)
    try:
        with listening(options.port) as listener:
            run = Run.open(folder, plan_of(stimuli), text_of(file))
            triggers = Triggers(run.plan, ways, run.write)
            told_by = None
            try:
                told_by = _serve(run, triggers, films, listener, options)
            finally:
                summary = _close(run)
    finally:
        for way in ways:
            way.close()
    if told_by is not None:
        console.say(summary_text(summary, run.is_finished, folder))
        signal.raise_signal(told_by)
    return summary, run.is_finished


def summary_text(summary: Summary, is_finished: bool, folder: Path) -> str:
    """A run in two sentences."""
    state = "Finished" if is_finished else "Stopped; the same command goes on with it"
    parts = [f"{state}: {summary.shown} of {summary.events} events shown, {summary.dropped_frames} frames dropped."]
    if summary.off_most_ms is not None:
        parts.append(
            f"Onsets off plan by {summary.off_median_ms:+.1f} ms (median), {summary.off_most_ms:+.1f} ms at most; "
            f"{summary.within_a_frame} of {summary.onsets} within a frame."
        )
    return " ".join([*parts, f"See {folder / TABLE}."])


def plan_rows(name: Path) -> list[dict[str, Any]]:
    """A plan as a table."""
    made = plan_of(read_stimuli(file_of(name)))
    return [
        {
            "event": event.number,
            "block": f"{event.block + 1} {made.blocks[event.block].kind}",
            "onset_s": event.onset_s,
            "length_s": event.length_s,
            "shows": event.shows if event.video is None else f"{event.shows} {event.video}",
            "place_mm": " → ".join(f"{x:.1f}, {y:.1f}" for x, y in event.path.points) if event.path else None,
            "trigger": event.trigger,
        }
        for event in made.events
    ]


def films_of(stimuli: Stimuli, file: Path) -> dict[int, FilmFile]:
    found: dict[int, FilmFile] = {}
    for block in stimuli.blocks:
        if isinstance(block, Emotion):
            found |= find_films(block, file.resolve().parent)
    return found


def listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # whoever comes before the server is ready waits
    except OSError as error:
        listener.close()
        raise PalestraError(
            say(
                "The page cannot be served on port {port}: {why}. Choose another with --port.",
                port=port,
                why=error.strerror,
            )
        ) from None
    return listener


def _serve(
    run: Run, triggers: Triggers, films: dict[int, FilmFile], listener: socket.socket, options: ShowOptions
) -> int | None:
    """Until the page says that the run has ended, or a signal; which one."""
    address = f"http://{HOST}:{listener.getsockname()[1]}/"
    presenter = Presenter(run, films, options.language, lambda: server.end())
    server = server_of(presenter)
    with console.progress("shown", len(run.plan.events)) as advance:
        advance(run.next)

        def shown(report: Report) -> None:
            triggers.send(report, run.clocks.on_host(report.page, report.frame_ms or report.at_ms))
            advance(1)

        run.on_onset = shown
        console.say(f"Open {address} on the screen that is described in the file. Ctrl-C stops; nothing is lost.")
        if options.opens_browser:
            webbrowser.open(address)
        server.run(sockets=[listener])
    if triggers.unsent:
        console.say(f"{triggers.unsent} triggers were not sent; the last: {triggers.why}")
    return server.told_by


def server_of(presenter: Presenter) -> "PageServer":
    """What serves a run's page."""
    config = uvicorn.Config(
        presenter.app(),
        log_config=None,
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=LARGEST,
        server_header=False,
        timeout_graceful_shutdown=STOP_S,
    )
    return PageServer(config)


class PageServer(uvicorn.Server):
    """Closes in order however often it is told to, and leaves the signal to whoever called."""

    told_by: int | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.told_by = sig
        self.should_exit = True

    def end(self) -> None:
        self.should_exit = True


def _close(run: Run) -> Summary:
    records = run.close()
    write_onsets(run.folder, run.plan, records)
    return summary_of(run.plan, records)
