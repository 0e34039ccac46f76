"""Recording data of one's own: what a person is shown, and what cameras and signals say meanwhile, on one clock.

Stimuli and pages may be touched freely; recordings and run logs only compatibly: they hold what cannot be recorded
again. Nothing outside imports it but its commands: delete the folder, and `palestra studio` is gone.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.studio.calibrate.boards import print_board
    from palestra.studio.calibrate.camera import calibrate_camera
    from palestra.studio.calibrate.disparity_run import calibrate_depth
    from palestra.studio.calibrate.gaze import calibrate_gaze
    from palestra.studio.calibrate.offset import calibrate_offset
    from palestra.studio.calibrate.report import Report as CalibrationReport
    from palestra.studio.calibrate.screen_run import calibrate_screen
    from palestra.studio.calibrate.stereo import calibrate_stereo
    from palestra.studio.capture.check import check, segment_count
    from palestra.studio.capture.recording import Recording
    from palestra.studio.capture.run import record
    from palestra.studio.capture.writer import How
    from palestra.studio.gaze.label import draw_residuals, label, pictures_in, read_points, write_labels
    from palestra.studio.gaze.rig import read_rig
    from palestra.studio.present.plans.examples import EXAMPLES
    from palestra.studio.present.show import ShowOptions, plan_rows, show_run, summary_text
    from palestra.studio.sitting.capture_file import PORT, CaptureFile
    from palestra.studio.sitting.prepare import prepare_data, sources_named
    from palestra.studio.sync.find_leds import find_leds, write_marked
    from palestra.studio.sync.sync import align_recordings, require_writable, write_aligned, write_frame_table
    from palestra.studio.track.head_start import Reach
    from palestra.studio.track.run import pointed_at, track_ball, track_head
    from palestra.studio.track.set_up import set_up
    from palestra.studio.track.tracking_files import Session
else:
    __getattr__ = lazy_exports(__name__)
