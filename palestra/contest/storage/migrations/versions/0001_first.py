"""The first tables, written out: later changes of tables.py do not change what this version made."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

Long = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    _log()
    _work()
    _people()
    _requests()


def _log() -> None:
    op.create_table(
        "events",
        sa.Column("seq", Long, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("by", sa.String(80), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "snapshots",
        sa.Column("seq", Long, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("code", sa.String(64), nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
    )


def _work() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", Long, primary_key=True),
        sa.Column("key", sa.String(120), nullable=False, unique=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(12), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("not_before", sa.BigInteger, nullable=False),
        sa.Column("worker", sa.String(80), nullable=False),
        sa.Column("lease_until", sa.BigInteger, nullable=False),
        sa.Column("queued_at", sa.BigInteger, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
    )
    op.create_index("jobs_by_state", "jobs", ["state", "kind", "not_before"])
    op.create_table(
        "workers",
        sa.Column("id", sa.String(80), primary_key=True),
        sa.Column("kinds", sa.String(200), nullable=False),
        sa.Column("executor", sa.String(20), nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("busy", sa.Integer, nullable=False),
    )
    op.create_table(
        "live",
        sa.Column("id", Long, primary_key=True),
        sa.Column("run", sa.String(40), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("live_by_run", "live", ["run", "id"])


def _people() -> None:
    op.create_table(
        "passwords",
        sa.Column("account", sa.String(40), primary_key=True),
        sa.Column("hash", sa.String(200), nullable=False),
        sa.Column("changed_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "keys",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(40), nullable=False, unique=True),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("account", sa.String(40), nullable=False),
        sa.Column("scopes", sa.String(200), nullable=False),
        sa.Column("label", sa.String(80), nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("keys_by_account", "keys", ["account", "kind"])
    op.create_table(
        "identities",
        sa.Column("subject", sa.String(300), primary_key=True),
        sa.Column("account", sa.String(40), nullable=False),
    )
    op.create_table(
        "tries",
        sa.Column("id", Long, primary_key=True),
        sa.Column("what", sa.String(120), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("tries_by_what", "tries", ["what", "at"])


def _requests() -> None:
    op.create_table(
        "uploads",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("account", sa.String(40), nullable=False),
        sa.Column("team", sa.String(40), nullable=False),
        sa.Column("phase", sa.String(60), nullable=False),
        sa.Column("purpose", sa.String(12), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("received", sa.BigInteger, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("touched_at", sa.BigInteger, nullable=False),
        sa.Column("submission", sa.String(40), nullable=False),
    )
    op.create_table(
        "answered",
        sa.Column("key", sa.String(160), primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "settings", sa.Column("name", sa.String(60), primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
