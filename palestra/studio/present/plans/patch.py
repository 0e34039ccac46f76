"""The photodiode's patch in the lower right corner: what it covers, nobody can look at."""

from palestra.studio.present.plans.geometry import Place, Screen
from palestra.studio.present.plans.paths import position
from palestra.studio.present.plans.plan import Path

LOOKS = 32  # places of a moving target that are tried


def covers(screen: Screen, patch_mm: float, target_mm: float, path: Path) -> bool:
    """Whether a target on this path comes under the patch."""
    looks = 1 if path.shape == "still" else LOOKS
    return any(_is_under(screen, patch_mm, target_mm, position(path, i / LOOKS)) for i in range(looks + 1))


def _is_under(screen: Screen, patch_mm: float, target_mm: float, place: Place) -> bool:
    reach = patch_mm + target_mm / 2
    return patch_mm > 0 and place[0] > screen.width_mm - reach and place[1] > screen.height_mm - reach
