"""Strangers' files, changed by chance a million times: a reader returns or refuses in words, whatever it is given.

`python -m tests.fuzz` runs as many inputs as one likes, `make test` some thousands, `make test-all` a million for the
readers that nobody else looks through. Each input comes from its number alone, so that a run can be stopped and goes
on, and so that a fault can be looked at again: `python -m tests.fuzz eyediap --only 123456`.
"""
