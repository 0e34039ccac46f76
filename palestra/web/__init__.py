"""The server of a contest: pages, API and live streams.

May be touched freely, but for addresses and API, which change only compatibly (docs/api.md). Hostile input: requests.
"""

from typing import TYPE_CHECKING

from palestra.door import lazy_exports

if TYPE_CHECKING:
    from palestra.web.errors import page, problem_of
    from palestra.web.rendering import STATIC, render
    from palestra.web.server import Serve, run
    from palestra.web.site import Site, in_thread
else:
    __getattr__ = lazy_exports(__name__)
