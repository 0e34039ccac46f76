"""`palestra demo`: every track on synthetic data, then a contest with all of them.

May be touched freely.
"""

from typing import TYPE_CHECKING

from palestra.door import lazy_exports

if TYPE_CHECKING:
    from palestra.demo.tracks import run
else:
    __getattr__ = lazy_exports(__name__)
