"""What people can do on the site, each declared once: what it needs to be told, who may do it, what it does.

May be touched only compatibly: every action is also an API.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.actions import accounts, desk, teams
    from palestra.web.actions.desk import Amend
    from palestra.web.actions.idempotency import perform
    from palestra.web.actions.registry import ACTIONS, Action, Done, action, require_plain
else:
    __getattr__ = lazy_exports(__name__)
