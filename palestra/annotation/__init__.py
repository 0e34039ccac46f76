"""Masks, pupils and gaze on a user's own pictures of eyes: `palestra annotate`.

May be touched freely. Hostile input: pictures come from strangers, and are measured before they are decoded.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.annotation import jobs, run, table
else:
    __getattr__ = lazy_exports(__name__)
