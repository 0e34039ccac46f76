"""What Alembic runs: on the connection that database.py hands over, so that it is one transaction with its lock."""

from alembic import context

from palestra.contest.storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
