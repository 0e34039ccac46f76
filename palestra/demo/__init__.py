"""`palestra demo`: every track on synthetic data, then a contest with all of them.

May be touched freely.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.demo.tracks import run
else:
    __getattr__ = lazy_exports(__name__)
