"""A near-infrared close-up of an eye, 640 × 400 grey, with its exact mask: what a headset's camera would see.

Who is seen and by which camera is in scene.py; torch_renderer.py renders the same, many at a time, with torch.
"""

from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

from palestra.eyes.simulator import optics, skin
from palestra.eyes.simulator.layers import HEIGHT, WIDTH, Array, Region, noise_bank
from palestra.eyes.simulator.scene import Camera, Look, Person, through_lens
from palestra.eyes.simulator.textures import IRIS_RINGS, IRIS_SPOKES, iris_texture

Ellipse = tuple[float, float, float, float, float]  # centre x, centre y, long axis, short axis (px), angle (deg)

BACKGROUND, SCLERA, IRIS, PUPIL = 0, 1, 2, 3
TRACE_PX = 8  # spacing of the rays that are traced through the cornea; between them the map is smooth
LENS_MIRROR = 0.75  # how far the eye's own lens throws a light to the other side of the pupil, of the cornea's glint
EDGE_MM, EDGE_SHINE = 0.1, 0.25  # of a contact lens
GLINT, GLINT_ON_WHITE = 620, 380  # grey levels of a light mirrored by the cornea, and by the white at full exposure
SHUTTER = (-0.5, 0.0, 0.5)
LANDMARKS = np.linspace(0, 80, 9).astype(int)  # of the 81 points of a lid's margin
NARROW_PX = 5.0  # a gap below this shows lashes and tears, not an iris


@dataclass(frozen=True)
class Picture:
    """One rendered moment. Ellipses are whole, as if no lid hid a part; None when nothing of them shows."""

    image: npt.NDArray[np.uint8]  # (400, 640)
    mask: npt.NDArray[np.uint8]  # (400, 640): 0 background, 1 sclera, 2 iris, 3 pupil
    pupil: Ellipse | None
    iris: Ellipse | None
    glints: Array  # (n, 2) px, LED reflections on the cornea that no lid covers
    lids: Array  # (2, 9, 2) px, along the upper and the lower margin from the nasal to the temporal corner


@dataclass(frozen=True)
class _Window:
    """The iris and pupil in a square of the picture, before any lid covers them."""

    left: int
    top: int
    cover: Array  # half size: 0 sclera … 1 iris or pupil, blurred
    value: Array  # half size: reflectance, already weighted with cover
    iris: Array  # full size, uint8 0 or 1, exact
    pupil: Array


@dataclass(frozen=True)
class Kept:
    """What a renderer painted and worked out beforehand, for a renderer of another kind to go on from."""

    person: Person
    camera: Camera  # as it sees through glasses
    ball: optics.Ball
    still: skin.Still
    region: Region
    margins: skin.Margins
    iris_texture: Array
    lashes: tuple[optics.Lashes, ...]
    window_px: int
    rest_px: Array


class Renderer:
    """Everything of one person before one camera that does not move, and what it takes to add what does."""

    def __init__(self, person: Person, camera: Camera) -> None:
        self._person, self._camera = person, through_lens(camera, person.glasses)
        self._ball = optics.ball_of(person)
        rng = np.random.default_rng(person.texture_seed)
        self._iris_texture = iris_texture(person, rng)
        self._lashes = tuple(optics.draw_lashes(person, upper, rng) for upper in (True, False))
        self._region = self._moving_region()
        self._columns = self._region.half_columns_px
        self._rows = self._region.half_rows_px
        self._still = skin.paint_still(person, camera, self._camera, self._region, rng)
        self._margins = skin.shade_margins(person, self._camera)
        self._column_map = np.tile(np.arange(len(self._columns), dtype=np.float32), (len(self._rows), 1))
        self._place_window()
        # Noise as two unsigned tiles, what to add and what to take: saturating uint8 sums are the fastest.
        grain = noise_bank()[0][: HEIGHT + 128, : WIDTH + 256] * np.float32(camera.noise_sd)
        self._more, self._less = cv2.convertScaleAbs(np.maximum(grain, 0)), cv2.convertScaleAbs(np.minimum(grain, 0))

    def kept(self) -> Kept:
        return Kept(
            person=self._person,
            camera=self._camera,
            ball=self._ball,
            still=self._still,
            region=self._region,
            margins=self._margins,
            iris_texture=self._iris_texture,
            lashes=self._lashes,
            window_px=self._window_px,
            rest_px=self._rest_px,
        )

    def _moving_region(self) -> Region:
        high, low = (optics.lids_at(self._person, pitch_deg, 1.15) for pitch_deg in (25.0, -25.0))
        upper, lower = (
            np.concatenate([self._camera.project(curve) for curve in (lids.crease_mm, lids.lower_mm)])
            for lids in (high, low)
        )
        shut = optics.lids_at(self._person, -25.0, 0.0)
        lashes = [optics.lash_curves(self._lashes[side], lids) for side, lids in ((0, high), (0, shut), (1, low))]
        ends = np.concatenate([upper, lower, *(self._camera.project(path).reshape(-1, 2) for path in lashes)])
        left, top = np.clip(ends.min(0) - 24, 0, [WIDTH - 64, HEIGHT - 64]).astype(int) // 2 * 2
        right, bottom = np.clip(ends.max(0) + 24, 64, [WIDTH, HEIGHT]).astype(int) // 2 * 2
        return Region(int(left), int(top), int(right), int(bottom))

    def _place_window(self) -> None:
        """The window holds the nearest, frontal iris with room for blur; a multiple of the ray spacing."""
        near_mm = float(np.linalg.norm(self._camera.position_mm)) - self._ball.limbus_z_mm - 0.5
        across_mm = max(self._person.iris_mm, 2 * self._person.contact_lens_mm)
        # Beyond the outermost rays, half a spacing from its edge, nothing is known.
        span_px = across_mm * self._camera.focal_px / near_mm + 8 * self._camera.blur_px + TRACE_PX
        self._window_px = int(np.ceil(span_px / TRACE_PX)) * TRACE_PX
        steps = (np.arange(self._window_px // TRACE_PX) + 0.5) * TRACE_PX - 0.5
        self._trace_grid = np.stack(np.meshgrid(steps, steps), axis=-1)
        self._rest_px = self._camera.project(np.array([0.0, 0.0, self._ball.limbus_z_mm]))

    def render(self, look: Look, rng: np.random.Generator) -> Picture:
        noise_y, noise_x = int(rng.integers(128)), int(rng.integers(256))
        rotation = optics.eye_rotation(self._person, look.gaze)
        lids = optics.lids_at(self._person, optics.angles_deg(look.gaze)[1], look.opening)
        window = self._window(rotation, look.pupil_mm, look.smear_px)
        mask = self._mask(window, lids)
        moving = cv2.convertScaleAbs(self._compose(window, lids))
        image = self._still.picture.copy()
        region = image[self._region.full]
        cv2.resize(moving, region.shape[::-1], dst=region, interpolation=cv2.INTER_LINEAR)
        cornea_px, white_px = optics.reflections(self._ball, self._camera, rotation)
        for place_px in cornea_px:
            self._add_glint(image, mask, place_px, self._camera.glint_px, GLINT)
        pupil_px = self._camera.project(rotation @ [*self._person.pupil_offset_mm, self._ball.iris_z_mm])
        in_pupil = mask == PUPIL
        for place_px in pupil_px - LENS_MIRROR * (cornea_px - pupil_px):  # hollow, so it mirrors the other way round
            self._add_glint(image, in_pupil, place_px, self._camera.glint_px, GLINT * self._person.lens_shine)
        for place_px in white_px:  # rough, so wider and dimmer
            self._add_glint(image, mask, place_px, 1.8 * self._camera.glint_px, GLINT_ON_WHITE * self._camera.exposure)
        self._add_lashes(region, lids)
        image = cv2.add(image, self._more[noise_y : noise_y + HEIGHT, noise_x : noise_x + WIDTH])
        image = cv2.subtract(image, self._less[noise_y : noise_y + HEIGHT, noise_x : noise_x + WIDTH])
        if self._camera.quality is not None:
            image = _compressed(image, self._camera.quality)
        margins = self._camera.project(np.stack([lids.upper_mm, lids.lower_mm])[:, LANDMARKS])
        return self._picture(image, mask, window, cornea_px, margins)

    def _window(self, rotation: Array, pupil_mm: float, smear_px: tuple[float, float]) -> _Window:
        """Traces a few rays through the cornea and fills in between."""
        ball, size = self._ball, self._window_px
        middle = self._camera.project(rotation[:, 2] * ball.limbus_z_mm)
        left, top = (int(value) // 2 * 2 - size // 2 for value in middle)
        rays = self._camera.rays(self._trace_grid + [left, top]) @ rotation
        traced = optics.trace_iris(ball, self._camera.position_mm @ rotation, rays).astype(np.float32)
        traced[..., :2] -= np.asarray(self._person.pupil_offset_mm, np.float32)
        across, down, limbus = cv2.split(cv2.resize(traced, (size, size), interpolation=cv2.INTER_LINEAR))
        iris = (limbus < ball.limbus_mm).view(np.uint8)
        pupil = (cv2.magnitude(across, down) < pupil_mm / 2).view(np.uint8) & iris
        cover, value = _smeared(self._iris_light(traced, pupil_mm), smear_px)
        return _Window(left, top, cover, value, iris, pupil)

    def _iris_light(self, traced: Array, pupil_mm: float) -> Array:
        """(…, 2) how much of each half-size pixel is not white, and that part's reflectance."""
        half = self._window_px // 2
        across, down, limbus = cv2.split(cv2.resize(traced, (half, half), interpolation=cv2.INTER_LINEAR))
        radius, angle = cv2.cartToPolar(across, down)
        from_pupil = radius - np.float32(pupil_mm / 2)
        ring = from_pupil * np.float32((IRIS_RINGS - 1) / (0.95 * self._ball.limbus_mm - pupil_mm / 2))
        spoke = angle * np.float32(IRIS_SPOKES / (2 * np.pi))
        texture = cv2.remap(self._iris_texture, spoke, ring, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        pixel_mm = 2 * self._person.iris_mm / self._window_px
        cover = np.clip((np.float32(self._ball.limbus_mm - 0.1) - limbus) * np.float32(1 / 0.5) + 0.5, 0, 1)
        beside_pupil = np.clip(from_pupil * np.float32(1 / pixel_mm) + 0.5, 0, 1)
        value = cover * texture * beside_pupil
        if self._person.contact_lens_mm:
            value += self._contact_lens_edge(limbus)
        return np.asarray(cv2.GaussianBlur(cv2.merge([cover, value]), (0, 0), self._camera.blur_px / 2))

    def _contact_lens_edge(self, radius_mm: Array) -> Array:
        """A thin bright line on the white, with its shadow outside."""
        away = (radius_mm - np.float32(self._person.contact_lens_mm)) * np.float32(1 / EDGE_MM)
        line = np.exp(-(away**2)) - 0.6 * np.exp(-((away - 2) ** 2))
        return np.asarray(np.float32(EDGE_SHINE * self._person.sclera_tone) * line)

    def _overlap(self, window: _Window, step: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """The part that window and region share, in steps of pixels: its place in the region, and in the window."""
        size = self._window_px // step
        left, top = (window.left - self._region.left) // step, (window.top - self._region.top) // step
        width, height = self._region.right - self._region.left, self._region.bottom - self._region.top
        x = np.clip([left, left + size], 0, width // step)
        y = np.clip([top, top + size], 0, height // step)
        return (slice(*y), slice(*x)), (slice(y[0] - top, y[1] - top), slice(x[0] - left, x[1] - left))

    def _mask(self, window: _Window, lids: optics.Lids) -> npt.NDArray[np.uint8]:
        columns = np.arange(self._region.left, self._region.right, dtype=np.float64)
        rows = np.arange(self._region.top, self._region.bottom, dtype=np.float32)[:, None]
        upper, beyond = optics.column_heights(self._camera, lids.upper_mm, columns)
        lower, _ = optics.column_heights(self._camera, lids.lower_mm, columns)
        upper[beyond > 0] = HEIGHT  # no eye beyond its corners
        inside = ((rows >= upper) & (rows <= lower)).view(np.uint8) & self._still.clear
        here, there = self._overlap(window, 1)
        wide = ((lower - upper)[here[1]] >= NARROW_PX).view(np.uint8)
        inside[here] *= 1 + (window.iris[there] + window.pupil[there]) * wide
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        mask[self._region.full] = inside
        return mask

    def _compose(self, window: _Window, lids: optics.Lids) -> Array:
        """Half-size grey levels of ball, lids and skin, with the light that the margins leave."""
        still, rows, margins = self._still, self._rows, self._margins
        upper_px, beyond_px = optics.column_heights(self._camera, lids.upper_mm, self._columns)
        lower_px, _ = optics.column_heights(self._camera, lids.lower_mm, self._columns)
        crease_px, _ = optics.column_heights(self._camera, lids.crease_mm, self._columns)
        upper, lower, crease = rows - upper_px, lower_px - rows, rows - crease_px
        sharp = np.float32(1 / (0.6 + 0.5 * self._camera.blur_px))
        near = np.exp(-np.maximum(beyond_px, 0) / 9)  # margins fade into the skin beyond the corners
        folded = np.clip(-beyond_px / 60, 0, 1) ** 0.7  # and the fold before it reaches them
        above_lower = np.clip(lower * sharp + 0.5, 0, 1)
        inside = np.clip(upper * sharp + 0.5, 0, 1) * above_lower * (beyond_px <= 0)
        by_lower = cv2.addWeighted(lower, 2, lower, 0, 128, dtype=cv2.CV_8U)
        eye = self._eyeball(window) + cv2.LUT(by_lower, margins.tear) * still.tear_gain
        outside = still.skin.copy()
        end = int(np.clip((upper_px.max() - self._region.top) / 2 + 4, 1, len(rows)))  # no lid skin further down
        sliding = cv2.remap(
            still.lid,
            self._column_map[:end],
            upper[:end] * np.float32(-0.5),
            cv2.INTER_LINEAR,
            None,
            cv2.BORDER_REFLECT,
        )
        lid = sliding * still.face_gain[:end] + still.haze[:end] * np.float32(0.8)
        on_lid = np.clip(crease[:end] * sharp + 0.5, 0, 1) * above_lower[:end] * folded
        outside[:end] += (lid - outside[:end]) * on_lid
        by_upper = cv2.addWeighted(upper, 2, upper, 0, 128, dtype=cv2.CV_8U)
        by_crease = cv2.addWeighted(crease, 2, crease, 0, 128, dtype=cv2.CV_8U)
        # A closing lid smoothes its own fold.
        fold = 1 + cv2.LUT(by_crease, margins.crease - 1) * (folded * np.float32(0.3 + 0.7 * min(lids.opening, 1.0)))
        shade = cv2.LUT(by_lower, margins.lower) * cv2.LUT(by_upper, margins.upper)
        picture = (outside + (eye - outside) * inside) * fold * (1 + (shade - 1) * near)
        return np.asarray(picture if still.through is None else picture * still.through + still.added)

    def _eyeball(self, window: _Window) -> Array:
        """Grey levels of the ball between the lids, before they shade it."""
        here, there = self._overlap(window, 2)
        margin = skin.SCLERA_MARGIN_PX
        moved_px = np.array([window.left, window.top]) + self._window_px / 2 - self._rest_px
        x, y = margin - np.clip(moved_px / 2, -margin, margin).astype(int)
        white = self._still.white[y : y + len(self._rows), x : x + len(self._columns)].copy()
        white[here] = white[here] * (1 - window.cover[there]) + window.value[there]
        white = white * (1 - self._still.caruncle) + self._still.caruncle_value
        return np.asarray(white * self._still.ball_gain + self._still.haze)

    def _add_glint(self, image: Array, mask: Array, place_px: Array, radius_px: float, peak: float) -> None:
        """A spot where the eye is not covered, saturated in the middle."""
        reach = int(4 * radius_px) + 2
        left, top = (int(value) - reach for value in place_px)
        if left < 0 or top < 0 or left + 2 * reach >= WIDTH or top + 2 * reach >= HEIGHT:
            return
        part = slice(top, top + 2 * reach), slice(left, left + 2 * reach)
        if not mask[part].any():
            return
        spot = optics.spot(place_px - [left, top], radius_px, 2 * reach)
        image[part] = np.minimum(image[part] + peak * spot * (mask[part] > 0), 255)

    def _add_lashes(self, region: Array, lids: optics.Lids) -> None:
        person = self._person
        layer: Array = np.zeros(region.shape, np.uint8)
        for lashes, thick_px in zip(self._lashes, (person.lash_px, 1), strict=True):
            path = self._camera.project(optics.lash_curves(lashes, lids)) - [self._region.left, self._region.top]
            path = np.round(np.clip(path, -2000, 2000) * 8).astype(np.int32)
            for points, level, extra_px in ((6, 130, -1), (5, 200, 0), (3, 255, 1)):  # thinner towards the tip
                cv2.polylines(layer, list(path[:, :points]), False, level, max(1, thick_px + extra_px), cv2.LINE_8, 3)
        layer = cv2.GaussianBlur(layer, (5, 5), 0.4 + 0.25 * self._camera.blur_px)
        left_over = cv2.convertScaleAbs(layer, alpha=-person.lash_dark, beta=255)
        cv2.multiply(region, left_over, dst=region, scale=1 / 255)

    def _picture(self, image: Array, mask: Array, window: _Window, glints_px: Array, lids_px: Array) -> Picture:
        origin = float(window.left), float(window.top)
        shown = int(mask.max())
        pupil = optics.ellipse_of(window.pupil, origin) if shown == PUPIL else None
        iris = optics.ellipse_of(window.iris, origin) if shown >= IRIS else None
        at = np.clip(np.round(glints_px).astype(int), 0, [WIDTH - 1, HEIGHT - 1])
        return Picture(image, mask, pupil, iris, glints_px[mask[at[:, 1], at[:, 0]] >= IRIS], lids_px)


def _smeared(window: Array, smear_px: tuple[float, float]) -> Array:
    """The mean of what is seen at the beginning, in the middle and at the end of the exposure; (cover, value)."""
    if smear_px != (0.0, 0.0):
        x, y = (value / 2 for value in smear_px)  # of half-size pixels
        size = window.shape[1::-1]
        moves = (np.array([[1, 0, s * x], [0, 1, s * y]]) for s in SHUTTER)
        seen = [cv2.warpAffine(window, move, size, borderMode=cv2.BORDER_REPLICATE) for move in moves]
        window = np.asarray(np.mean(seen, axis=0, dtype=np.float32))
    return np.moveaxis(window, -1, 0)


def _compressed(image: Array, quality: int) -> Array:
    """As it comes out of the device's JPEG."""
    coded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return np.asarray(cv2.imdecode(coded, cv2.IMREAD_GRAYSCALE))
