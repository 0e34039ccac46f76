"""Addresses of pages: public ones, the organiser's desk, signing in.

May be touched freely; a test walks every route as every role.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.pages.desk import DESK, FOR_ORGANISERS
    from palestra.web.pages.public import PAGES, Asked, show
    from palestra.web.pages.sign_in import OUTSIDE
else:
    __getattr__ = lazy_exports(__name__)
