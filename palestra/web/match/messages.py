"""What someone wants at the referees' table, from a page to the log: checked, once, and refused in words."""

from collections.abc import Sequence
from typing import Any

import msgspec

from palestra.contest import Viewer
from palestra.contest.log import Body, State
from palestra.contest.match import Match, MatchBody, Who
from palestra.contest.match import events as m
from palestra.contest.match import state_machine as table
from palestra.contest.storage import DIGEST
from palestra.errors import Forbidden, PalestraError
from palestra.text import LANGUAGES, Words, say
from palestra.web.site import Site, in_thread

PHOTO_BYTES = 6 << 20
PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png", b"RIFF": "image/webp"}


class Heard(msgspec.Struct, frozen=True):
    """What came of a message."""

    key: str
    again: bool  # it had come before, and was not written twice
    seq: int  # of the last event of the match
    now: int  # of the server


def who_is(match: Match, viewer: Viewer) -> Who:
    """What a viewer is at this table; a token that reaches less far makes them a spectator."""
    if viewer.role == "nobody":
        return Who("", "viewer")
    who = table.who_of(match, viewer.account, viewer.role, viewer.team)
    scopes = ("team",) if who.part == "team" else ("judge", "organise")
    return who if any(map(viewer.may, scopes)) else Who(viewer.account, "viewer")


async def act_on(site: Site, viewer: Viewer, match_id: str, wish: MatchBody) -> Heard:
    """Do what someone asks for. The same message twice, by its key, is answered as done."""
    match = site.state.match(match_id)
    if wish.match != match_id:
        raise PalestraError(say("This message is about another match."))
    await in_thread(lambda: _require_photo(site, wish))

    def decide(state: State, now: int) -> Sequence[Body]:
        match = state.match(match_id)
        return table.decide(match, who_is(match, viewer), _with_parts(state, match, wish), now)

    try:
        written = await site.act(viewer, decide)
    except PalestraError as refusal:
        raise _with_names(refusal, site.state, match) from None
    return Heard(wish.key, not written, site.state.match(match_id).seq, site.now)


def _with_parts(state: State, match: Match, wish: MatchBody) -> MatchBody:
    """Of an image that the team uploaded, what it is made of is known, and nobody has to say it: the machine's digests
    stand in the log, whatever was asked for."""
    if not isinstance(wish, m.ImageTaken):
        return wish
    sent = state.of_team.get(match.opened.phase, {}).get(wish.team, [])
    found = [one.parts for one in map(state.submission, sent) if one.parts and one.file == wish.image]
    if not found:
        return wish
    parts = found[-1]
    return msgspec.structs.replace(wish, core=parts.code, weights=parts.weights, configuration=parts.configuration)


def _require_photo(site: Site, wish: MatchBody) -> None:
    photo = wish.photo if isinstance(wish, m.SceneChecked) else ""
    if photo and not (DIGEST.fullmatch(photo) and site.contest.files.has(photo)):
        raise PalestraError(say("The photo of the scene has not arrived. Send it first."))


def _with_names(refusal: PalestraError, state: State, match: Match) -> PalestraError:
    """People are told names; the log has accounts."""
    known = {one for turn in match.turns.values() for seat in turn.seats for one in seat}
    known |= {match.opened.head, *match.setup.declared}
    en, zh = (refusal.in_language(language) for language in LANGUAGES)
    for account in (state.accounts[one] for one in known if one in state.accounts):
        en, zh = en.replace(account.id, account.name), zh.replace(account.id, account.name)
    return type(refusal)(Words(en, zh))


def kind_of_picture(data: bytes) -> str:
    """What kind of picture it is; refused where it is none that browsers show."""
    found = next((kind for start, kind in PICTURES.items() if data.startswith(start)), "")
    if not found or (found == "image/webp" and data[8:12] != b"WEBP"):
        raise PalestraError(say("A photo is a JPEG, PNG or WebP picture."))
    return found


async def keep_photo(site: Site, viewer: Viewer, match_id: str, data: bytes) -> str:
    """Put the photo of a scene into the file store; its digest goes into the event that signs the scene off."""
    if who_is(site.state.match(match_id), viewer).part not in ("referee", "head"):
        raise Forbidden(say("Photos of a scene are taken by referees."))
    kind_of_picture(data)
    return await in_thread(lambda: site.contest.files.put(data))


def photos_of(match: Match) -> dict[str, Any]:
    """Digests of photos that were signed off, and the teams whose scenes they show."""
    found: dict[str, Any] = {}
    for turn in match.turns.values():
        for case in turn.cases.values():
            for scene in case.scenes:
                found.setdefault(scene.photo, set()).add(turn.team)
    return found
