"""The tables of a contest's database. The log is the truth; what else is here can be rebuilt from it, is secret, or is
of the moment (leases, uploads under way, what a live run says). Times are milliseconds since 1970, UTC."""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text

metadata = MetaData()
Long = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up by itself in INTEGER alone

events = Table(
    "events",
    metadata,
    Column("seq", Long, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("by", String(80), nullable=False),
    Column("body", Text, nullable=False),  # JSON, with its kind
    Column("hash", String(64), nullable=False),  # of this and of the hash before
)

# The state after so many events: thrown away at will.
snapshots = Table(
    "snapshots",
    metadata,
    Column("seq", Long, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),  # of the last event in it
    Column("code", String(64), nullable=False),  # which version of the fold made it
    Column("state", LargeBinary, nullable=False),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", Long, primary_key=True),
    Column("key", String(120), nullable=False, unique=True),  # what is to be done, so that it is queued once
    Column("kind", String(20), nullable=False),  # check, score, live, verify, pack
    Column("body", Text, nullable=False),  # JSON
    Column("state", String(12), nullable=False),  # queued, leased, done, failed, cancelled
    Column("attempt", Integer, nullable=False, default=0),
    Column("not_before", BigInteger, nullable=False, default=0),
    Column("worker", String(80), nullable=False, default=""),
    Column("lease_until", BigInteger, nullable=False, default=0),
    Column("queued_at", BigInteger, nullable=False),
    Column("message", Text, nullable=False, default=""),  # why the last attempt ended
    Index("jobs_by_state", "state", "kind", "not_before"),
)

workers = Table(
    "workers",
    metadata,
    Column("id", String(80), primary_key=True),
    Column("kinds", String(200), nullable=False),
    Column("executor", String(20), nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
    Column("busy", Integer, nullable=False, default=0),
)

# What a live run says while it is under way.
live = Table(
    "live",
    metadata,
    Column("id", Long, primary_key=True),
    Column("run", String(40), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),  # JSON
    Index("live_by_run", "run", "id"),
)

passwords = Table(
    "passwords",
    metadata,
    Column("account", String(40), primary_key=True),
    Column("hash", String(200), nullable=False),
    Column("changed_at", BigInteger, nullable=False),
)

# Secrets that are shown once and kept as digests: API tokens, sessions, one-time links.
keys = Table(
    "keys",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("id", String(40), nullable=False, unique=True),
    Column("kind", String(12), nullable=False),  # token, session, link
    Column("account", String(40), nullable=False),
    Column("scopes", String(200), nullable=False, default=""),
    Column("label", String(80), nullable=False, default=""),
    Column("made_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("used_at", BigInteger, nullable=False, default=0),
    Column("data", Text, nullable=False, default=""),
    Index("keys_by_account", "account", "kind"),
)

identities = Table(
    "identities",
    metadata,
    Column("subject", String(300), primary_key=True),  # issuer and subject of an outside sign-in
    Column("account", String(40), nullable=False),
)

# Failed sign-ins and the like, to slow them down.
tries = Table(
    "tries",
    metadata,
    Column("id", Long, primary_key=True),
    Column("what", String(120), nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("tries_by_what", "what", "at"),
)

uploads = Table(
    "uploads",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("account", String(40), nullable=False),
    Column("team", String(40), nullable=False),
    Column("phase", String(60), nullable=False),
    Column("purpose", String(12), nullable=False),  # answers, bundle
    Column("name", String(200), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("received", BigInteger, nullable=False, default=0),
    Column("made_at", BigInteger, nullable=False),
    Column("touched_at", BigInteger, nullable=False),
    Column("submission", String(40), nullable=False, default=""),  # once it is complete
)

# Answers to requests that may be sent twice.
answered = Table(
    "answered",
    metadata,
    Column("key", String(160), primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

settings = Table(
    "settings", metadata, Column("name", String(60), primary_key=True), Column("value", Text, nullable=False)
)
