"""How the tables of a contest came to be what they are: Alembic, one file for each step. A step is never changed."""
