"""A contest set up on a machine: a file to begin with, where database and files lie, data packed, links of organisers.

May be touched freely; a contest that was set up before must still open.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.setup.init import begin
    from palestra.contest.setup.location import (
        Place,
        first_link,
        off_stage,
        pack_data,
        reset_link,
        unpacked,
        without_data,
    )
else:
    __getattr__ = lazy_exports(__name__)
