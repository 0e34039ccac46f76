"""The API: what can be read, every action, uploads in pieces, downloads in ranges.

May be touched only compatibly (docs/api.md). Hostile input.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.api.routes import READS, action_routes, keep_session
    from palestra.web.api.transfers import READING, TRANSFERS
else:
    __getattr__ = lazy_exports(__name__)
