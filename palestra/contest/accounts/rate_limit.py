"""Slows down whoever tries too often: failed sign-ins in the database, for all server processes together; requests, and
what is open at the same time, in memory, for one process. Nobody is shut out for good, least of all by a stranger.
Times are milliseconds."""

import hashlib
import ipaddress
import math
import threading
from collections import OrderedDict
from collections.abc import Callable

import msgspec
from sqlalchemy import Connection, Engine, and_, delete, func, insert, not_, or_, select

from palestra.contest.storage import tries, writing

SECOND_MS = 1_000
HOUR_MS = 3_600 * SECOND_MS
LONGEST_WINDOW_MS = 24 * HOUR_MS  # older tries are swept away
KNOWN_MS = 30 * 24 * HOUR_MS  # how long it is remembered that an account signed in from an address


class Slope(msgspec.Struct, frozen=True):
    """How the wait grows: nothing for the first failures of an hour, then twice as long after each."""

    free: int
    first_ms: int
    longest_ms: int


# One name from one address; one address, whatever the name; one name, wherever from. The last is the mildest, because
# a stranger can bring it about: see `start_sign_in`.
BOTH = Slope(free=5, first_ms=2 * SECOND_MS, longest_ms=60 * SECOND_MS)
ADDRESS = Slope(free=20, first_ms=2 * SECOND_MS, longest_ms=300 * SECOND_MS)
NAME = Slope(free=30, first_ms=SECOND_MS, longest_ms=30 * SECOND_MS)


def take(engine: Engine, what: str, now: int, limit: int, window_ms: int) -> int:
    """0 where that was done less than `limit` times in the window, and it is noted; else ms until it may be done again.
    Of many at the same moment, no more than the limit pass."""
    with writing(engine) as connection:
        wait_ms = _wait_in_window(connection, _kept(what), now, limit, window_ms)
        if not wait_ms:
            _add(connection, _kept(what), now)
    return wait_ms


def sweep(connection: Connection, now: int) -> None:
    """Remove what counts for nothing any more."""
    known = tries.c.what.like("known:%")
    stale = and_(tries.c.at <= now - LONGEST_WINDOW_MS, not_(known))
    connection.execute(delete(tries).where(or_(stale, tries.c.at <= now - KNOWN_MS)))


def start_sign_in(engine: Engine, name: str, address: str, now: int) -> int:
    """0 where a password may be checked now, else ms to wait. The try counts as failed from now on, so that a thousand
    at the same moment are not all free; `end_sign_in` takes that back.

    What others do to a name holds up neither an address that it signed in from lately, nor the first try from an
    address: so its owner always gets in.
    """
    both, place, person, known = _sign_in_keys(name, address)
    with writing(engine) as connection:
        waits = [_wait_on_slope(connection, both, now, BOTH)]
        if not _count(connection, known, now - KNOWN_MS):
            waits.append(_wait_on_slope(connection, place, now, ADDRESS))
            if _count(connection, both, now - HOUR_MS):
                waits.append(_wait_on_slope(connection, person, now, NAME))
        if not max(waits):
            for what in (both, place, person):
                _add(connection, what, now)
    return max(waits)


def end_sign_in(engine: Engine, name: str, address: str, now: int) -> None:
    """The password was right: the name's failures are forgiven, and the address is known for it. The address's other
    failures stay: who has one account could else wipe them out between guesses at others."""
    both, place, person, known = _sign_in_keys(name, address)
    with writing(engine) as connection:
        connection.execute(delete(tries).where(tries.c.what.in_([both, person, known])))
        newest = select(func.max(tries.c.id)).where(tries.c.what == place).scalar_subquery()
        connection.execute(delete(tries).where(tries.c.id == newest))
        _add(connection, known, now)


def growing_ms(failures: int, slope: Slope) -> int:
    """How long to wait after so many failures."""
    if failures < slope.free:
        return 0
    doublings = min(failures - slope.free, 40)  # enough for any limit, and no number of a thousand digits
    return min(slope.first_ms << doublings, slope.longest_ms)


def network_of(address: str) -> str:
    """What counts as one address. In IPv6 a household has 2⁶⁴ of them, and would be that many strangers."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address  # a Unix socket, or whatever else the server calls it
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))


class Buckets:
    """Limits how fast requests come, by address or account: each has `burst` of them, and gets `rate_per_s` more.

    It never holds more than `most` keys. Who has a full bucket need not be remembered; when all places are taken by
    others, newcomers share a few buckets, so a flood of addresses neither grows the memory nor gets round the limit,
    and those who were there before do not notice. `now` is best a clock that is never set.
    """

    SHARED = 64

    def __init__(self, rate_per_s: float, burst: int, now: Callable[[], int], most: int = 50_000) -> None:
        self._each_ms, self._now, self._most = 1_000 / rate_per_s, now, most
        self._whole_ms = burst * self._each_ms  # from empty to full
        self._full_at: OrderedDict[str, float] = OrderedDict()  # when each is full again; longest idle first
        self._shared_full_at = [0.0] * self.SHARED
        self._lock = threading.Lock()

    def take(self, who: str) -> int:
        """0, and the request is counted; or ms until there is room for it."""
        now = self._now()
        with self._lock:
            shared = hash(who) % self.SHARED
            # Who comes in from a shared bucket has what is left in that, or moving would fill it.
            full_at = max(self._full_at.get(who, self._shared_full_at[shared]), now)
            after = min(full_at, now + self._whole_ms) + self._each_ms  # no more than empty, if the clock was set back
            if after > now + self._whole_ms:
                return math.ceil(after - now - self._whole_ms)
            if self._has_place(who, now):
                self._full_at[who] = after
                self._full_at.move_to_end(who)
            else:
                self._shared_full_at[shared] = after
        return 0

    def __len__(self) -> int:
        return len(self._full_at)

    def _has_place(self, who: str, now: int) -> bool:
        while self._full_at and next(iter(self._full_at.values())) <= now:
            self._full_at.popitem(last=False)
        return who in self._full_at or len(self._full_at) < self._most


class AtOnce:
    """How many of something each address has at the same time. It holds no more keys than there are of that."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[str, int] = {}

    def enter(self, address: str) -> bool:
        """Whether there is room for one more; then it must be left again."""
        who = network_of(address)
        held = self._held.get(who, 0)
        if held >= self._most:
            return False
        self._held[who] = held + 1
        return True

    def leave(self, address: str) -> None:
        who = network_of(address)
        self._held[who] -= 1
        if not self._held[who]:
            del self._held[who]

    def __len__(self) -> int:
        return len(self._held)


def _wait_in_window(connection: Connection, what: str, now: int, limit: int, window_ms: int) -> int:
    if limit < 1 or not 0 < window_ms <= LONGEST_WINDOW_MS:
        raise ValueError(f"{limit} in {window_ms} ms: expected a limit of 1 or more, in a window of a day at most")
    asked = select(tries.c.at).where(tries.c.what == what, tries.c.at > now - window_ms)
    # When the one falls out of the window that makes it too many.
    at = connection.execute(asked.order_by(tries.c.at.desc()).offset(limit - 1).limit(1)).scalar()
    return 0 if at is None else min(at + window_ms - now, window_ms)


def _wait_on_slope(connection: Connection, what: str, now: int, slope: Slope) -> int:
    longest_ms = growing_ms(_count(connection, what, now - HOUR_MS), slope)
    if not longest_ms:
        return 0
    newest = connection.execute(select(func.max(tries.c.at)).where(tries.c.what == what)).scalar() or 0
    return min(max(newest + longest_ms - now, 0), longest_ms)  # no longer, if the clock was set back


def _count(connection: Connection, what: str, since: int) -> int:
    asked = select(func.count()).select_from(tries).where(tries.c.what == what, tries.c.at > since)
    return int(connection.execute(asked).scalar_one())


def _add(connection: Connection, what: str, now: int) -> None:
    connection.execute(insert(tries).values(what=what, at=now))


def _sign_in_keys(name: str, address: str) -> tuple[str, str, str, str]:
    who, where = name.strip().casefold(), network_of(address)
    return (
        _kept(f"signin:both:{len(who)}:{who}:{where}"),
        _kept(f"signin:address:{where}"),
        _kept(f"signin:name:{who}"),
        _kept(f"known:{len(who)}:{who}:{where}"),
    )


def _kept(what: str) -> str:
    """A key as it is stored: its first word, then a digest, as people type passwords where their name should be."""
    sort = what.partition(":")[0]
    plain = sort if sort.isalpha() and sort.isascii() and len(sort) <= 40 else "other"
    return f"{plain}:{hashlib.sha256(what.encode('utf-8', 'surrogatepass')).hexdigest()}"
