"""Masks, pupils and gaze on a user's own pictures of eyes: `palestra annotate`.

May be touched freely. Hostile input: pictures come from strangers, and are measured before they are decoded.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.annotation import adapt, gaze_points, jobs, run, table
    from palestra.annotation.correct import learn_correction
    from palestra.annotation.jobs import Job
    from palestra.annotation.labels import read_labels
    from palestra.annotation.orientation import Orientation, is_upside_down
else:
    __getattr__ = lazy_exports(__name__)
