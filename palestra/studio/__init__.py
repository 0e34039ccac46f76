"""Recording data of one's own: what a person is shown, and what cameras and signals say meanwhile, on one clock.

Stimuli and pages may be touched freely; recordings and run logs only compatibly: they hold what cannot be recorded
again. Nothing outside imports it but its commands: delete the folder, and `palestra studio` is gone.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.studio.capture.check import check, segment_count
    from palestra.studio.capture.recording import Recording
    from palestra.studio.capture.run import record
    from palestra.studio.capture.writer import How
    from palestra.studio.present.plans.examples import EXAMPLES
    from palestra.studio.present.show import ShowOptions, plan_rows, show_run, summary_text
    from palestra.studio.sitting.capture_file import PORT, CaptureFile
    from palestra.studio.sitting.prepare import prepare_data, sources_named
    from palestra.studio.track.head_start import Reach
    from palestra.studio.track.run import pointed_at, track_ball, track_head
    from palestra.studio.track.set_up import set_up
    from palestra.studio.track.tracking_files import Session
else:
    __getattr__ = lazy_exports(__name__)
