"""What requests are answered with: a page for whoever asked, or an error in words or as JSON.

May be touched freely; what only the organiser may read goes to the log, never into an answer.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.web.responses.errors import PROBLEMS, answer_error, problem_of
    from palestra.web.responses.html import page
else:
    __getattr__ = lazy_exports(__name__)
