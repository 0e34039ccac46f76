"""Data sets: made from a track's plan, cut down to what contestants may have, pictured, packed into starter kits.

May be touched freely; the bytes of a made data set depend on its order alone, and other bytes are another data set.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.datasets import make, redact
    from palestra.datasets.order import NOTES, rng_for, write_made
    from palestra.datasets.redact import LONG_AGO
    from palestra.datasets.starter_kit import write_kit
    from palestra.datasets.tiny import CACHE, cache_folder, is_there, tiny_data
    from palestra.datasets.view import draw
else:
    __getattr__ = lazy_exports(__name__)
