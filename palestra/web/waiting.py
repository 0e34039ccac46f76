"""Where a submission stands in the queue."""

from sqlalchemy import Engine, func, select

from palestra.contest.database import reading
from palestra.contest.tables import jobs


def ahead_of(engine: Engine, submission: str) -> int | None:
    """How many jobs of its kind are leased before that of this submission; nothing where it does not wait."""
    with reading(engine) as connection:
        mine = select(jobs.c.id, jobs.c.kind).where(jobs.c.key == f"score:{submission}:", jobs.c.state == "queued")
        found = connection.execute(mine).first()
        if found is None:
            return None
        before = select(func.count()).where(jobs.c.state == "queued", jobs.c.kind == found.kind, jobs.c.id < found.id)
        return int(connection.execute(before).scalar_one())
