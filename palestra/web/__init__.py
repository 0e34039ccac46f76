"""The server of a contest: pages, API and live streams.

May be touched freely, but for addresses and API, which change only compatibly (docs/api.md). Hostile input: requests.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.server import Serve, run
else:
    __getattr__ = lazy_exports(__name__)
