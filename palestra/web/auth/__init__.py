"""Who asks: sessions, tokens, OpenID Connect, rate limits, and no other site speaking in somebody's name.

Hostile input. May be touched with a test that attacks it.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.auth import oidc
    from palestra.web.auth.id_token import Identity
    from palestra.web.auth.middleware import (
        BROWSER,
        SESSION,
        Caller,
        FormRunOut,
        Gate,
        caller_of,
        needs,
        organisers_only,
        require_csrf,
        signed_out,
        viewer_from,
    )
    from palestra.web.auth.request import LANGUAGE, NO_PAGES, address_of, came_from, is_program, language_of, local_path
else:
    __getattr__ = lazy_exports(__name__)
