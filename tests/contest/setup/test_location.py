"""Where a contest lies: opened by several at once, and once alone."""

from pathlib import Path

from palestra.contest.log import chain
from palestra.contest.log import events as e
from palestra.contest.setup import Place, location
from palestra.contest.storage import reading
from tests.contest.rules.test_reader import SMALL


def test_a_server_and_a_worker_that_open_a_new_contest_together_both_have_it(tmp_path: Path, monkeypatch) -> None:
    """The second one comes while the first reads the file: it has seen no event, as the first had not."""
    file = tmp_path / "contest.toml"
    file.write_text(SMALL)
    read, others = location.read, []

    def meanwhile(*given):
        rules = read(*given)
        if not others:
            others.append(None)
            others[0] = Place(file).open(needs_tracks=False)
        return rules

    monkeypatch.setattr(location, "read", meanwhile)
    first = Place(file).open(needs_tracks=False)
    assert first.state.seq == others[0].state.seq == 1
    with reading(first.engine) as connection:
        bodies = [event.body for event in chain.read(connection)]
    assert [type(body) for body in bodies] == [e.ContestOpened], "it was opened once"
