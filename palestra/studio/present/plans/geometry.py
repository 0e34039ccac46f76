"""A screen in millimetres, pixels and degrees. Places count from its top left corner, x to the right, y down."""

import math
from typing import Annotated

import msgspec

Length = Annotated[float, msgspec.Meta(ge=1, le=100_000)]
Pixels = Annotated[int, msgspec.Meta(ge=100, le=100_000)]
Place = tuple[float, float]


class Screen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The visible area of a display, and how far the eyes are from its middle."""

    width_mm: Length
    height_mm: Length
    distance_mm: Length
    width_px: Pixels | None = None  # where given, the page compares it with what the browser says
    height_px: Pixels | None = None

    @property
    def middle_mm(self) -> Place:
        return self.width_mm / 2, self.height_mm / 2

    def contains(self, place: Place) -> bool:
        return 0 <= place[0] <= self.width_mm and 0 <= place[1] <= self.height_mm


def to_share(screen: Screen, place: Place) -> Place:
    """Millimetres as shares of the width and the height."""
    return place[0] / screen.width_mm, place[1] / screen.height_mm


def to_px(screen: Screen, place: Place, width_px: int, height_px: int) -> Place:
    """Millimetres as pixels of a window that covers the screen."""
    x, y = to_share(screen, place)
    return x * width_px, y * height_px


def from_px(screen: Screen, pixel: Place, width_px: int, height_px: int) -> Place:
    return pixel[0] / width_px * screen.width_mm, pixel[1] / height_px * screen.height_mm


def to_angles(screen: Screen, place: Place) -> Place:
    """Yaw to the right and pitch upwards, in degrees, seen from in front of the middle."""
    x, y = place[0] - screen.middle_mm[0], screen.middle_mm[1] - place[1]
    yaw = math.atan2(x, screen.distance_mm)
    pitch = math.atan2(y, math.hypot(x, screen.distance_mm))
    return math.degrees(yaw), math.degrees(pitch)


def from_angles(screen: Screen, yaw_deg: float, pitch_deg: float) -> Place:
    """Where a gaze of these angles meets the screen."""
    yaw, pitch = math.radians(yaw_deg), math.radians(pitch_deg)
    x = screen.distance_mm * math.tan(yaw)
    y = math.hypot(x, screen.distance_mm) * math.tan(pitch)
    return screen.middle_mm[0] + x, screen.middle_mm[1] - y


def radius_of(screen: Screen, angle_deg: float) -> float:
    """How far from the middle, in millimetres, a gaze of this angle meets the screen."""
    return screen.distance_mm * math.tan(math.radians(angle_deg))
