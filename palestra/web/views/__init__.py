"""Builds what pages are given from the state, as far as the viewer may see it.

May be touched freely; whatever is shown goes through palestra.contest's visibility.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.views import (
        audit,
        board_cache,
        certificate,
        desk,
        judging,
        live,
        manual,
        public,
        rules,
        team,
        upload_limits,
    )
    from palestra.web.views.desk import ORGANISER
    from palestra.web.views.manual import page_of
    from palestra.web.views.public import frame
    from palestra.web.views.team import result_written
else:
    __getattr__ = lazy_exports(__name__)
