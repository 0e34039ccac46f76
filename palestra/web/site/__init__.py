"""What every room of the server needs: the contest as this process holds it, how it was set up, templates.

May be touched freely; it imports no other room of the web but models, stream and text.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.site.refusal import Refusal, Sent
    from palestra.web.site.rendering import STATIC, render
    from palestra.web.site.setup import PER_ADDRESS, Oidc, Setup
    from palestra.web.site.site import Site, in_thread
    from palestra.web.site.writes import NotWell
else:
    __getattr__ = lazy_exports(__name__)
