"""Server-sent events: one writing for all readers, and what live runs have said so far.

May be touched freely.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.stream.feed import Feed, Said, Write
    from palestra.web.stream.live_runs import Note, Runs
else:
    __getattr__ = lazy_exports(__name__)
