"""What pages and API show, as records.

May be touched only compatibly: the API sends these too.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.models import desk, live, missing, people, public, rules
    from palestra.web.models.api import Begin, Contest, Me, Problem, Progress, Submitted
    from palestra.web.models.live import LiveNews, ScreenTeam
    from palestra.web.models.missing import BOARD, there
    from palestra.web.models.public import BoardRow, Column, ErrorPage, Notice, Rehearsal, SubmissionPage, UploadForm
    from palestra.web.models.rules import RuleRow, RuleSection
else:
    __getattr__ = lazy_exports(__name__)
