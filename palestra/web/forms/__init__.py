"""Forms: sent, refused with what was typed still there, brought back after they ran out.

May be touched freely. Hostile input.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.forms.expired import require_own_form
    from palestra.web.forms.refusal import fields_of, refused
    from palestra.web.forms.submit import Kept, as_notice, do, notice_of, read
else:
    __getattr__ = lazy_exports(__name__)
