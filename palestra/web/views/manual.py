"""The published pack as a page: served, or as one file that opens and prints anywhere."""

from pathlib import Path
from types import SimpleNamespace

from palestra.contest.manual import Pack, Source, pack, source_of
from palestra.contest.match import phase_of_match
from palestra.contest.rules import Rules
from palestra.contest.setup import Place
from palestra.errors import UnknownName
from palestra.formats import write_bytes
from palestra.text import LANGUAGES, say
from palestra.web.site import STATIC, render


def page_of(found: Pack, language: str) -> str:
    """As the server shows it."""
    return _rendered(found, language, "")


def file_of(found: Pack, language: str) -> str:
    """With its style inside: it needs no server."""
    return _rendered(found, language, (STATIC / "pack.css").read_text("utf-8"))


def _rendered(found: Pack, language: str, css: str) -> str:
    around = SimpleNamespace(zone=found.zone)  # all that times on a page need of its frame
    return render("pack/pack.html", language, page=found, frame=around, css=css)


def write_of(place: Place, rules: Rules, language: str, phase: str, out: Path) -> Pack:
    """Write a contest's pack to a file: from its log where it is open and the file says the same, else as a draft."""
    if language not in LANGUAGES:
        raise UnknownName(say("language of the pack"), language, LANGUAGES)
    source = Source(rules, place.home, phase_of_match(rules, phase).id)
    if place.is_open():
        contest = place.open()
        if contest.state.rules(contest.now()) == rules:
            source = source_of(contest.state, place.home, contest.now(), phase)
    found = pack(source)
    write_bytes(out, file_of(found, language).encode())
    return found


def edition(found: Pack) -> str:
    return (
        say("Version {number} of the rules", number=found.number)
        if found.number
        else say("Draft: these rules were not announced yet")
    ).en
