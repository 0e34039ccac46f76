"""EYEDIAP on disk, as the release has it: what others import. It is read lazily, and written by the same names.

Data/<P>_<C>_<T>_<H>/  head_pose.txt, eye_tracking.txt, ball_tracking.txt or screen_coordinates.txt,
                       rgb_vga.mov, rgb_hd.mov (not always), depth.mov, and a …_calibration.txt for each camera
Metadata/ScreenCalibration/screen_calibration.txt, Metadata/Participants/eyes_position_<P>.txt
Annotations/…/<session>/gaze_state.txt    (none for DS)
"""

from palestra.tracks.remote_gaze.eyediap.calibration import camera, depth_model, display, eyeballs, screen_calibration
from palestra.tracks.remote_gaze.eyediap.depth import DepthModel, depth_m, disparity_of, rgb_of
from palestra.tracks.remote_gaze.eyediap.digits import drawn_index
from palestra.tracks.remote_gaze.eyediap.names import (
    ALL,
    HEADS,
    RATE_HZ,
    TARGETS,
    VIDEOS,
    Name,
    Which,
    has_video,
    name_of,
    sessions,
)
from palestra.tracks.remote_gaze.eyediap.states import STATES
from palestra.tracks.remote_gaze.eyediap.tracking import (
    EYES,
    POSE,
    SCREEN,
    TARGET,
    Tracking,
    frame_count,
    frames,
    has_target,
    tracking,
)
from palestra.tracks.remote_gaze.eyediap.video import Video, verify_index, video
from palestra.tracks.remote_gaze.eyediap.writing import Recording, write_metadata, write_session

__all__ = [
    "ALL", "EYES", "HEADS", "POSE", "RATE_HZ", "SCREEN", "STATES", "TARGET", "TARGETS", "VIDEOS",
    "DepthModel", "Name", "Recording", "Tracking", "Video", "Which",
    "camera", "depth_m", "depth_model", "disparity_of", "display", "drawn_index", "eyeballs", "frame_count", "frames",
    "has_target", "has_video", "name_of", "rgb_of", "screen_calibration", "sessions", "tracking", "verify_index",
    "video", "write_metadata", "write_session",
]  # fmt: skip
