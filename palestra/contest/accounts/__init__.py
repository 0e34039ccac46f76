"""Secrets of people: passwords, API tokens, sessions, one-time links, and the brakes on whoever guesses.

May be touched freely, with care: hostile input, and nothing here may reach the log.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.accounts import passwords, rate_limit, tokens
    from palestra.contest.accounts.rate_limit import AtOnce, Buckets
else:
    __getattr__ = lazy_exports(__name__)
