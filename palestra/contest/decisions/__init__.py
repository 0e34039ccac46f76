"""What people ask of a contest, decided: from the state and a wish to events, or to a refusal in words.

May be touched freely; a new wish is a new function, and what it says in the log is a new kind of event.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.decisions import access, organiser, promotion, rescoring, rule_changes, submissions, teams
    from palestra.contest.decisions.access import licence_digest
    from palestra.contest.decisions.organiser import PLAYABLE
    from palestra.contest.decisions.promotion import promoted_with
    from palestra.contest.decisions.submissions import bundle_due, ours_left
    from palestra.contest.decisions.teams import declaration_digest, digest_of
else:
    __getattr__ = lazy_exports(__name__)
