"""The referees' table in browsers: pages of referees, head referee and team, the hall's screen, results.

May be touched freely; a view shows nothing that is not the viewer's to know.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.match import hall_screen, opening, slots, topics
    from palestra.web.match.pages import MATCHES
    from palestra.web.match.public_pages import HALL
else:
    __getattr__ = lazy_exports(__name__)
