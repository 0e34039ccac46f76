"""A contest in which everything secret is marked, so that it can be found wherever it should not be.

It is told up to three times: before its boards are frozen, while they are (with teams promoted, truth released to one
of them, and a live run on the stage), and after they were released.
"""

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from sqlalchemy import event

from palestra.contest.accounts import passwords, tokens
from palestra.contest.decisions.access import licence_digest
from palestra.contest.decisions.teams import digest_of
from palestra.contest.log import events as e
from palestra.contest.match import events as m
from palestra.contest.match.cases import Case, Entrant, Goal, Group
from palestra.contest.match.rules import MatchRules
from palestra.contest.rules.model import Award, Promotion, Rules, Verification
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.storage.database import writing
from palestra.contest.storage.tables import live
from palestra.records import Estimate
from palestra.text import Words
from tests.contest.story import DAY, METRICS, START, a_phase, some_rules
from tests.databases import Databases, Made
from tests.web.conftest import World

Time = Literal["before", "during", "after"]
TIMES: tuple[Time, ...] = ("before", "during", "after")
FREEZE = START + 5 * DAY
INVITATION = "join-me-if-you-know"
PASSWORD = "correct horse battery staple"

PEOPLE: dict[str, e.Role] = {
    "olga": "organiser", "ann": "member", "bob": "member", "cleo": "member", "dan": "member", "eve": "member",
    "gil": "member", "vera": "viewer", "rolf": "referee",
}  # fmt: skip
TEAMS = {"t1": ("ann", "bob"), "t2": ("cleo", "dan"), "t3": ("gil",)}


@dataclass(frozen=True)
class Who:
    """Somebody who comes: with a session, with a token of one scope, or as nobody."""

    name: str
    account: str = ""
    scope: str = ""

    @property
    def role(self) -> str:
        return PEOPLE[self.account] if self.account else "nobody"

    @property
    def team(self) -> str:
        return next((team for team, members in TEAMS.items() if self.account in members), "")

    def may(self, scope: str) -> bool:
        mine = tokens.POWERS[PEOPLE[self.account]] if self.account else frozenset()
        return scope in mine and (not self.scope or scope == self.scope)

    @property
    def organises(self) -> bool:
        return self.may("organise")

    def reads_as(self, team: str) -> bool:
        return self.may("read") and self.team == team


EVERYBODY = (
    Who("nobody"), Who("viewer", "vera"), Who("loner", "eve"), Who("captain", "ann"), Who("member", "bob"),
    Who("rival", "cleo"), Who("disqualified", "gil"), Who("referee", "rolf"), Who("organiser", "olga"),
    *(Who(f"captains-token-{scope}", "ann", scope) for scope in sorted(tokens.POWERS["member"])),
    *(Who(f"organisers-token-{scope}", "olga", scope) for scope in sorted(tokens.SCOPES)),
)  # fmt: skip

May = Callable[[Who, Time], bool]


@dataclass(frozen=True)
class Marker:
    """A text that must not be found but by those who may see it."""

    what: str
    text: str
    may: May


def organisers(who: Who, time: Time) -> bool:
    return who.organises


def never(who: Who, time: Time) -> bool:
    return False


def of_team(team: str, *times: Time) -> May:
    """The team's own business, at these times; the organiser's always."""
    return lambda who, time: who.organises or (who.reads_as(team) and time in (times or TIMES))


def public(*times: Time) -> May:
    return lambda who, time: who.organises or time in times


def at_the_table(who: Who, time: Time) -> bool:
    """Referees, and organisers."""
    return who.organises or (who.role == "referee" and not who.scope)


def from_during(who: Who, time: Time) -> bool:
    return at_the_table(who, time) or time != "before"


def of_players(who: Who, time: Time) -> bool:
    """The first team's own, at the table."""
    return at_the_table(who, time) or (who.team == "t1" and not who.scope)


def in_a_team(who: Who, time: Time) -> bool:
    return who.organises or (bool(who.team) and who.may("read"))


def of_account(account: str) -> May:
    return lambda who, time: who.organises or (who.account == account and who.may("read"))


@dataclass
class Told:
    """What a contest has that can be asked for, and what of it is secret."""

    markers: list[Marker] = field(default_factory=list)
    digests: dict[str, list[str]] = field(default_factory=dict)  # of files in the store, by what they are
    upload: str = ""  # under way
    link: str = ""  # with which a password is chosen


def marked_rules() -> Rules:
    licence = Words("I accept.", "我接受。")
    held = {"licence": licence, "freeze": FREEZE, "data": "data/hidden-folder-5512"}
    first = a_phase(split=0.5, promotion=Promotion("second", 1), verification=Verification(5), **held)
    second = a_phase("second", entry="promoted", opens=START + 12 * DAY, closes=START + 20 * DAY, licence=licence)
    stage = a_phase("stage", track="near-eye-live-v1", closes=START + 12 * DAY, freeze=FREEZE)
    closed = a_phase("judges", board_for="organisers", history_for="organisers")
    inner = a_phase("inner", board_for="teams", history_for="teams")
    awards = (Award("first", Words("First prize", "一等奖"), 1),)
    return some_rules(first, second, stage, closed, inner, awards=awards)


class Marked(World):
    """Tells the contest, and notes what it marks."""

    def __init__(self, made: Made, told: Told | None = None) -> None:
        super().__init__(made)
        event.listen(self.contest.engine, "connect", _hurry)
        self.contest.engine.dispose()
        self.told = Told(list(told.markers), dict(told.digests)) if told else Told()

    def mark(self, what: str, text: str, may: May) -> str:
        self.told.markers.append(Marker(what, text, may))
        return text

    def keep(self, what: str, text: str, may: May) -> str:
        """A marked file in the store; its digest is as secret as it is."""
        digest = self.put(self.mark(what, text, may))
        self.told.digests.setdefault(what.split()[0], []).append(digest)
        self.mark(f"digest of the {what}", digest, may)
        return digest

    # Submissions

    def sent(self, name: str, team: str, phase: str, at: int, baseline: str = "") -> str:
        self.clock.at = max(self.clock.at, at)
        own: May = of_team(team) if team else organisers
        by = TEAMS[team][0] if team else "olga"
        file = self.keep(f"file of {name}", f"answers-{name}-9174", own)
        self.mark(f"name of the file of {name}", f"file-{name}-3381", own)
        self.mark(f"id of {name}", name, own)
        made = e.SubmissionMade(name, team, phase, file, f"file-{name}-3381.csv", 20, baseline)
        self.add(made, by=by)
        return name

    def result(self, name: str, team: str, whole: float, shown: float | None, seen: May, rescoring: str = "") -> None:
        """A result: its files for those who see the score, its numbers marked by the caller."""
        own: May = lambda who, time: who.organises or (bool(team) and who.reads_as(team) and seen(who, time))  # noqa: E731
        draws = self.contest.files.put(np.full(50, whole, np.float32).tobytes())
        some = {metric: Estimate(shown, shown - 0.01, shown + 0.01) for metric in METRICS} if shown else {}
        names = (*METRICS, "misses", "latency_p95_ms")
        tag = f"{name}-{rescoring or 'once'}"
        theirs = self.keep(f"organiser's report of {tag}", f"<!doctype html><p>own-{tag}-60", organisers)
        scores = self.keep(f"scores of {tag}", f"scores-{tag}-2217", organisers)
        made = e.ResultMade(
            name, 1, {metric: Estimate(whole, whole - 0.01, whole + 0.01) for metric in names},
            self.keep(f"result of {tag}", f'{{"result": "{tag}-4402"}}', own), draws, some, draws if shown else "",
            files={"scores": scores}, rescoring=rescoring,
        )  # fmt: skip
        self.add(made, by="worker:w")
        report = self.keep(f"report of {tag}", f"<!doctype html><p>report-{tag}-7719", own)
        self.add(e.ReportMade(name, scores, report, theirs), by="worker:w")

    def scored_as(
        self, name: str, team: str, phase: str, at: int, whole: float, shown: float | None, seen: May
    ) -> None:
        self.sent(name, team, phase, at)
        self.add(e.SubmissionAccepted(name), by="worker:w")
        self.result(name, team, whole, shown, seen)

    def numbers(self, what: str, value: float, may: May) -> None:
        """A number as JSON has it, and as pages write it."""
        self.mark(what, f"{value:.3f}", may)

    def failed(self, name: str, team: str, phase: str, fault: Literal["platform", "contestant"], at: int) -> None:
        self.sent(name, team, phase, at)
        trace = self.keep(f"trace of {name}", f"Traceback: trace-{name}-8830", organisers)
        message = self.mark(f"message of {name}", f"message-{name}-1163", of_team(team))
        self.add(e.AttemptFailed(name, 1, fault, message, trace, last=True), by="worker:w")

    # The story

    def tell_before(self) -> None:
        """People and teams, data, and submissions of both teams before the freeze."""
        self.add(e.ContestOpened(encode_rules(marked_rules()), "tests"))
        self.mark("folder of the data", "hidden-folder-5512", organisers)
        self.add(*(self._person(name, role) for name, role in PEOPLE.items()))
        for team, (captain, *members) in TEAMS.items():
            self.team(team, captain, *members)
        with writing(self.contest.engine) as connection:
            passwords.set_password(connection, "ann", passwords.hashed(PASSWORD, "ann"), self.clock())
        self._invite()
        self._packs()
        self.add(e.AnnouncementMade("n1", Words("Hello", "你好"), Words("All is well.", "一切顺利。")))
        seen = public("before", "during", "after")
        self._judged("sub-a-early", "t1", START, 21.1234, 31.1234, "before")
        self._judged("sub-b-early", "t2", START, 22.2234, 32.2234, "before")
        self.sent("sub-a-bad", "t1", "first", START)
        fault = self.mark("faults of sub-a-bad", "line-3-found-5527", of_team("t1"))
        self.add(e.SubmissionRefused("sub-a-bad", (fault,), 1), by="worker:w")
        self.failed("sub-b-failed", "t2", "first", "contestant", START)
        self.failed("sub-a-faulted", "t1", "first", "platform", START)
        self.mark("share that was copied", "86.4 %", organisers)
        self.add(e.CopyFound("sub-b-early", "sub-a-early", 0.8642), by="worker:w")
        self._baseline("base-early", "Mean gaze", START, 33.3334, 43.3334, "before")
        self.numbers("score on a board for organisers", 55.5123, of_team("t1"))
        self.scored_as("sub-a-judged", "t1", "judges", START, 55.5123, None, seen)
        self.numbers("score on a board for teams", 66.6123, in_a_team)
        self.scored_as("sub-b-inner", "t2", "inner", START, 66.6123, None, seen)
        self._run("run-early", "sub-a-live", "sub-b-live", START, 71.1734, public("before", "after"))
        self._match()
        self._out()

    def _person(self, name: str, role: e.Role) -> e.AccountMade:
        mail = self.mark(f"address of {name}", f"{name}-4471@post.example", of_account(name))
        return e.AccountMade(name, name, role, mail)

    def _invite(self) -> None:
        self.mark("digest of an invitation", digest_of(INVITATION), of_team("t1"))
        self.add(e.MemberInvited("t1", digest_of(INVITATION)), by="ann")

    def _packs(self) -> None:
        parts: dict[Literal["view", "truth", "starter"], May] = {
            "view": of_team("t1"),
            "truth": of_team("t1", "during", "after"),
            "starter": lambda who, time: True,
        }
        for part, may in parts.items():
            digest = self.keep(f"{part} of first", f"PK-{part}-of-first-6648", may)
            self.add(e.DataPacked("first", part, digest, 30), by="system")
        self.keep("truth of stage", "PK-truth-of-stage-6649", organisers)
        self.add(e.DataPacked("stage", "truth", self.told.digests["truth"][-1], 30), by="system")
        accepted = licence_digest(self.state.phase("first"))
        self.add(e.AccessRequested("t1", "first", accepted), e.AccessGranted("t1", "first"), by="ann")
        self.add(e.AccessRequested("t2", "first", accepted), by="cleo")
        why = self.mark("why access was refused", "no-signature-9915", of_team("t2"))
        self.add(e.AccessRefused("t2", "first", why))

    def _numbers_of(self, name: str, whole: float, shown: float, since: Time) -> None:
        """Of a board that shows a part of the people until it is released, and stands still while it is frozen."""
        self.numbers(f"score of {name} on all people", whole, public("after"))
        self.numbers(f"score of {name} on the people shown", shown, public(*TIMES[TIMES.index(since) :]))

    def _judged(self, name: str, team: str, at: int, whole: float, shown: float, since: Time) -> None:
        self._numbers_of(name, whole, shown, since)
        self.scored_as(name, team, "first", at, whole, shown, public(*TIMES[TIMES.index(since) :]))

    def _baseline(self, name: str, title: str, at: int, whole: float, shown: float, since: Time) -> None:
        self.sent(name, "", "first", at, title)
        self._numbers_of(name, whole, shown, since)
        self.result(name, "", whole, shown, public("after"))

    def _run(self, run: str, mine: str, theirs: str, at: int, value: float, may: May) -> None:
        """A run on the stage with both teams, which says how it goes."""
        for name, team in ((mine, "t1"), (theirs, "t2")):
            self.sent(name, team, "stage", at)
            self.add(e.SubmissionAccepted(name), by="worker:w")
        self.numbers(f"what {run} said", value, may)
        self.add(e.RunStarted(run, "stage", (mine, theirs)))
        error = self.mark(f"an error in {run}", f"last-error-{run}-2093", organisers)
        teams = [
            {"team": team, "name": f"Team <{team}>", "submission": name, "value": value, "decided": 1,
             "missed": 0, "latency_ms_p50": 5.0, "latency_ms_p95": 9.0, "last_error": error}
            for team, name in (("t1", mine), ("t2", theirs))
        ]  # fmt: skip
        notes = [
            {"kind": "start", "teams": teams, "sittings": [{"name": "Tester 1", "decisions": 10, "seconds": 5.0}]},
            {"kind": "standing", "sitting": "Tester 1", "number": 1, "of": 10, "at_s": 0.5, "teams": teams},
        ]
        with writing(self.contest.engine) as connection:
            for note in notes:
                body = msgspec.json.encode(note).decode()
                connection.execute(live.insert().values(run=run, at=self.clock(), body=body))
        recording = self.keep(f"recording of {run}", f"recording-{run}-7002", organisers)
        self.add(e.RunEnded(run, "done", recording), by="worker:w")

    def _match(self) -> None:
        """A match that has been opened: its cases are known to referees."""
        layout = self.put('{"table_m":[1,1],"arm_m":[0,0],"things":[]}')
        self.told.digests["layout"] = [self.mark("digest of a layout", layout, at_the_table)]
        cases = tuple(
            Case(name, Words(self.mark(f"instruction of {name}", f"do-{name}-6620", may)), (Goal("g1", Words("done")),),
                 (), layout)
            for name, may in (("case-one", from_during), ("case-two", at_the_table))
        )  # fmt: skip
        teams = tuple(Entrant(team, f"Team <{team}>") for team in ("t1", "t2"))
        opened = m.MatchOpened(
            match="match-one", phase="stage", rules=MatchRules(), groups=(Group("g", Words("Group"), cases),),
            teams=teams, head="head-x",
        )  # fmt: skip
        self.add(opened)
        self.add(m.RefereeDeclared(match="match-one"), by="rolf")

    def _play(self) -> None:
        """The first team plays a case, which is marked and published."""
        about = {"match": "match-one", "team": "t1"}
        case = {**about, "case": "case-one"}
        photo = self.contest.files.put(b"\xff\xd8\xff" + self.mark("photo", "picture-2214", of_players).encode())
        self.told.digests["photo"] = [self.mark("digest of the photo", photo, of_players)]
        self.add(m.ImageTaken(**about, image="image"), m.ImageFrozen(**about, image="image"), by="rolf")
        self.add(m.TurnBegun(**about, referees=("rolf", "ref-y"), order=("g",)), by="rolf")
        layout = self.told.digests["layout"][0]
        self.add(m.SceneChecked(**case, things=(), layout=layout, photo=photo), m.SystemConfirmed(**case), by="rolf")
        self.add(m.InstructionEntered(**case, text="do-case-one-6620"), m.SignalGiven(**case), by="rolf")
        self.add(m.CaseStarted(**case), by="rolf")
        self.add(m.CaseStopped(**case), by="rolf")
        for referee in ("rolf", "ref-y"):
            self.add(m.MarksSigned(**case, attempt=1, met=("g1",)), by=referee)
        self.add(m.ResultsPublished(**about, cases=("case-one",)), by="head-x")
        note = self.mark("a note on conduct", "argued-loudly-9903", at_the_table)
        self.add(m.ConductNoted(**about, text=note), by="rolf")
        why = self.mark("reason of an appeal", "it-was-inside-4410", of_players)
        self.add(m.AppealMade(**case, appeal="appeal-one", reason=why), by="ann")

    def _out(self) -> None:
        why = self.mark("why a team is out", "two-accounts-6012", of_team("t3"))
        self.add(e.TeamDisqualified("t3", why, "inner"))

    def tell_during(self) -> None:
        """What happens behind the frozen boards."""
        late = FREEZE + DAY
        self._judged("sub-a-late", "t1", late, 11.1534, 41.1534, "after")
        self._judged("sub-b-late", "t2", late, 12.2534, 42.2534, "after")
        self._baseline("base-late", "Center", late, 13.3534, 43.3534, "after")
        self._run("run-late", "sub-a-live2", "sub-b-live2", late, 72.2734, public("after"))
        self._numbers_on_stage()
        self._play()
        self.add(e.RescoringProposed("set-one", "first", ("sub-b-early",), "a better scorer"))
        self.numbers("score of a set that is not applied", 44.4734, organisers)
        self.numbers("shown score of a set that is not applied", 45.4734, organisers)
        self.result("sub-b-early", "t2", 44.4734, 45.4734, never, "set-one")
        self.clock.at = START + 10 * DAY + DAY // 2
        self.add(e.PromotionConfirmed("first", "second", (e.Promoted("t1", 1),), (), "by rank"))
        self.add(e.TruthReleased("first", ("t1",), "for the final"))
        code = self.keep("bundle of t1", "bundle-of-t1-5540", organisers)
        self.mark("id of the bundle", "bundle-a", of_team("t1"))
        self.add(e.BundleMade("bundle-a", "t1", "first", code, "t1_Test.zip", 4), by="ann")
        report = self.keep("verification of t1", "<!doctype html><p>verified-8814", organisers)
        said = self.mark("message of the verification", "reproduced-in-part-3320", organisers)
        self.add(e.VerificationMade("bundle-a", "sub-a-late", "reproduced", said, report, 10), by="worker:w")
        reasons = self.mark("reasons of the verdict", "kept-to-the-rules-7745", organisers)
        self.add(e.ComplianceJudged("t1", "first", True, reasons))

    def _numbers_on_stage(self) -> None:
        self.numbers("score on the stage", 73.3734, public("after"))
        self.result("sub-a-live2", "t1", 73.3734, None, public("after"))

    def tell_after(self) -> None:
        self.clock.at = START + 11 * DAY
        self.add(e.BoardReleased("first"), e.BoardReleased("stage"))
        self.add(e.AwardGiven(0, "t1", "by rank"))

    # Keys, which are made anew for each test, as they run out

    def key_of(self, who: Who) -> str:
        with writing(self.contest.engine) as connection:
            return self._key(connection, who) if who.account else ""

    def keys_for_all(self) -> dict[str, str]:
        """A session or a token for each who comes; secrets of which nobody is ever told."""
        found = {}
        with writing(self.contest.engine) as connection:
            for who in EVERYBODY:
                if who.account:
                    found[who.name] = self._key(connection, who)
            self.told.link, _ = tokens.make(connection, "link", "bob", self.clock(), DAY, ("reset",))
        self.mark("a password's hash", "$argon2", never)
        for name, secret in found.items():
            self.mark(f"the secret of {name}", secret, never)
            self.mark(f"the digest of the secret of {name}", hashlib.sha256(secret.encode()).hexdigest(), never)
        return found

    def _key(self, connection: object, who: Who) -> str:
        if who.scope:
            return tokens.make(connection, "token", who.account, self.clock(), DAY, (who.scope,), "marked")[0]  # type: ignore[arg-type]
        return tokens.start_session(connection, who.account, self.clock())[0]  # type: ignore[arg-type]

    def begin_upload(self) -> None:
        mine: May = lambda who, time: who.account == "ann" and who.may("submit")  # noqa: E731
        upload = self.site.uploads.begin("ann", "t1", "first", "answers", "upload-under-way-1205.csv", 10)
        self.site.uploads.append(upload.id, 0, [b"12345"])
        self.told.upload = self.mark("an upload's id", upload.id, mine)
        self.mark("an upload's name", "upload-under-way-1205", mine)


def _hurry(connection: Any, _: object) -> None:
    """What is told here need not outlive a power cut."""
    on_sqlite = isinstance(connection, sqlite3.Connection)
    connection.execute("PRAGMA synchronous=OFF" if on_sqlite else "SET synchronous_commit TO off")
    connection.commit()


def tell_all(databases: Databases, sort: str) -> tuple[dict[Time, Made], Told]:
    """The contest at each of the three times, to be copied, and what is secret in it."""
    telling = databases.made(sort, "marked")
    world, found = Marked(telling), {}
    for time in TIMES:
        getattr(world, f"tell_{time}")()
        world.contest.engine.dispose()
        found[time] = databases.kept(telling, time)
    return found, world.told
