"""Measures of pictures of eyes, and the synthetic ones beside two real headsets."""

import re

import cv2
import numpy as np
import pytest

from palestra.eyes.simulator.image_statistics import Row, format_statistics, measure, statistics
from palestra.eyes.simulator.layers import HEIGHT, WIDTH, Array
from palestra.eyes.simulator.renderer import IRIS, PUPIL, SCLERA

QUANTITIES = (  # every line of the real devices' table
    "pupil grey level",
    "iris",
    "sclera",
    "skin",
    "sd inside pupil / iris / sclera (median)",
    "pupil to iris contrast, levels",
    "pupil edge, 10–90 % width, px",
    "pupil long axis, px",
    "pupil axis ratio",
    "iris width, px",
    "pupil / iris width",
    "visible iris height / width",
    "pupil centre, of width and height",
    "eye corner to corner, of width",
    "lid opening / eye width",
    "share of sclera, iris, pupil (median)",
    "bright spots on iris and pupil (≥ 235, ≥ 3 px)",
    "bright spots elsewhere",
    "pixels ≥ 250",
    "left / right, top / bottom mean light",
    "corner / centre light",
    "pixels ≤ 10",
    "neighbour difference sd inside the pupil",
    "spectrum slope, log10 power per decade (.02–.22 cycles/px)",
)
CENTRE = 300, 210
PUPIL_LEVEL, IRIS_LEVEL, SCLERA_LEVEL, SKIN_LEVEL = 30, 75, 100, 120


def numbers(text: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(r"−?\d*\.?\d+", text)]


def drawn_mask() -> Array:
    """An eye 400 wide and 200 high, its iris 180 and its pupil 60 wide."""
    mask: Array = np.zeros((HEIGHT, WIDTH), np.uint8)
    cv2.ellipse(mask, (CENTRE, (400, 200), 0), SCLERA, -1)
    cv2.circle(mask, CENTRE, 90, IRIS, -1)
    cv2.circle(mask, CENTRE, 30, PUPIL, -1)
    return mask


def drawn_image(mask: Array) -> Array:
    levels = np.array([SKIN_LEVEL, SCLERA_LEVEL, IRIS_LEVEL, PUPIL_LEVEL], np.uint8)
    return np.asarray(levels[mask])


def value(found: dict[str, Array], name: str) -> float:
    assert found[name].shape == (1,)
    return float(found[name][0])


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return statistics(np.random.default_rng(8), people=20, looks=2)


@pytest.fixture(scope="module")
def drawn() -> dict[str, Array]:
    mask = drawn_mask()
    return measure(drawn_image(mask), mask)


# The table


def test_every_quantity_of_the_real_devices_has_its_line(rows: list[Row]) -> None:
    assert tuple(row.quantity for row in rows) == QUANTITIES


def test_ours_is_told_in_the_form_of_the_real_ones(rows: list[Row]) -> None:
    for row in rows:
        assert np.isfinite(numbers(row.ours)).all()
        assert "nan" not in row.ours
        assert len(numbers(row.ours)) == len(numbers(row.device_a.split(" (")[0])), row


def test_percentiles_rise(rows: list[Row]) -> None:
    for row in rows:
        for part in row.ours.split(","):
            if "median" not in row.quantity:
                assert numbers(part) == sorted(numbers(part)), row


@pytest.mark.parametrize(
    ("quantity", "factor"),
    [("pupil grey level", 1.0), ("iris", 1.0), ("sclera", 1.0), ("skin", 1.1), ("iris width, px", 1.05)],
)
def test_medians_lie_between_the_lowest_and_the_highest_real_ones(
    rows: list[Row], quantity: str, factor: float
) -> None:
    row = next(row for row in rows if row.quantity == quantity)
    real = numbers(row.device_a) + numbers(row.device_b)
    assert min(real) / factor <= numbers(row.ours)[1] <= max(real) * factor


# Lines of medians have one value on each device; ours lies between the two, to the digit that they are told with.
MEDIANS = {"sd inside pupil / iris / sclera (median)": 0.5, "share of sclera, iris, pupil (median)": 0.0005}
NONE = 0.0005  # what the real table calls ≈ 0


def spans(row: Row, text: str) -> list[tuple[float, float]]:
    """The lowest and the highest value of each quantity that a line tells."""
    parts = re.split(r", (?:area )?", text.split(" (")[0])
    if row.quantity in MEDIANS:
        return [(value, value) for part in parts for value in numbers(part)]
    return [(min(numbers(part)), max(numbers(part))) for part in parts]


@pytest.mark.slow
def test_our_ranges_cover_both_real_devices() -> None:
    for row in statistics(np.random.default_rng(3)):
        real = zip(spans(row, row.device_a), spans(row, row.device_b), strict=True)
        for (low, high), devices in zip(spans(row, row.ours), real, strict=True):
            lowest, highest = min(one for one, _ in devices), max(one for _, one in devices)
            if row.quantity in MEDIANS:
                assert lowest - MEDIANS[row.quantity] <= low <= highest + MEDIANS[row.quantity], row
            else:
                assert low <= lowest + NONE and high >= highest, row


def test_a_seed_gives_the_same_table_again_and_another_one_does_not() -> None:
    first, again, other = (statistics(np.random.default_rng(seed), people=2, looks=2) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_text_holds_every_cell(rows: list[Row]) -> None:
    text = format_statistics(rows).splitlines()
    for row, line in zip(rows, text[1:], strict=True):
        assert re.split(r" {2,}", line) == [row.quantity, row.device_a, row.device_b, row.ours]


# One picture


def test_levels_of_a_drawn_eye(drawn: dict[str, Array]) -> None:
    levels = [value(drawn, name) for name in ("pupil", "iris", "sclera", "skin", "contrast")]
    assert levels == [PUPIL_LEVEL, IRIS_LEVEL, SCLERA_LEVEL, SKIN_LEVEL, IRIS_LEVEL - PUPIL_LEVEL]
    assert [value(drawn, name) for name in ("pupil sd", "iris sd", "sclera sd", "grain")] == [0] * 4


def test_shapes_of_a_drawn_eye(drawn: dict[str, Array]) -> None:
    assert value(drawn, "pupil axis") == pytest.approx(60, abs=1)
    assert value(drawn, "pupil ratio") == pytest.approx(1, abs=0.01)
    assert value(drawn, "iris width") == pytest.approx(181, abs=1)
    assert value(drawn, "iris height") == pytest.approx(1, abs=0.01)
    assert value(drawn, "pupil x") == pytest.approx(CENTRE[0] / WIDTH, abs=0.002)
    assert value(drawn, "pupil y") == pytest.approx(CENTRE[1] / HEIGHT, abs=0.002)
    assert value(drawn, "corner to corner") == pytest.approx(400 / WIDTH, abs=0.005)
    assert value(drawn, "opening") == pytest.approx(0.5, abs=0.01)
    assert value(drawn, "pupil share") == pytest.approx(np.pi * 30**2 / (WIDTH * HEIGHT), rel=0.05)


def test_a_blurred_edge_is_as_wide_as_its_blur() -> None:
    mask = drawn_mask()
    for blur_px in (2.0, 3.0):
        found = measure(cv2.GaussianBlur(drawn_image(mask), None, blur_px), mask)
        assert value(found, "edge") == pytest.approx(2.56 * blur_px, abs=1.1)  # 10 to 90 % of a Gaussian step


def test_the_edge_of_an_oblique_pupil_is_found_all_around() -> None:
    mask = drawn_mask()
    mask[mask == PUPIL] = IRIS
    cv2.ellipse(mask, (CENTRE, (80, 50), 30), PUPIL, -1)
    found = measure(drawn_image(mask), mask)
    assert value(found, "edge") <= 2
    assert value(found, "pupil ratio") == pytest.approx(50 / 80, abs=0.02)


def test_spots_are_counted_on_the_iris_and_elsewhere() -> None:
    mask = drawn_mask()
    image = drawn_image(mask)
    for x, y, size in ((300, 210, 4), (340, 210, 3), (120, 210, 5), (20, 20, 2), (60, 20, 1)):
        image[y : y + size, x : x + size] = 255
    found = measure(image, mask)
    assert sorted(found["spot area"]) == [9, 16]
    assert value(found, "spots") == 2
    assert value(found, "spots elsewhere") == 2  # a single pixel is noise
    assert value(found, "burnt") == pytest.approx((16 + 9 + 25 + 4 + 1) / (WIDTH * HEIGHT))


def test_light_from_one_side_from_above_and_in_the_centre() -> None:
    mask = drawn_mask()
    image: Array = np.full((HEIGHT, WIDTH), 100, np.uint8)
    image[:, WIDTH // 2 :] = 50
    assert value(measure(image, mask), "sideways") == pytest.approx(2)
    assert value(measure(image[:, ::-1], mask), "sideways") == pytest.approx(2)
    image[:], image[: HEIGHT // 2] = 50, 200
    assert value(measure(image, mask), "downwards") == pytest.approx(4)
    image[:] = 200
    for y in (0, -40):
        for x in (0, -40):
            image[y : y + 40 or None, x : x + 40 or None] = 10
    found = measure(image, mask)
    assert value(found, "corners") == pytest.approx(0.05)
    assert value(found, "black") == pytest.approx(4 * 1600 / (WIDTH * HEIGHT))


def test_spectrum_slope_tells_white_noise_from_smooth_noise() -> None:
    mask, rng = drawn_mask(), np.random.default_rng(0)
    frequency = np.hypot(np.fft.fftfreq(HEIGHT)[:, None], np.fft.fftfreq(WIDTH))
    frequency[0, 0] = 1
    for slope in (0.0, -3.0):
        spectrum = np.fft.fft2(rng.standard_normal((HEIGHT, WIDTH))) * frequency ** (slope / 2)
        noise = np.fft.ifft2(spectrum).real
        found = measure(np.clip(128 + 30 * noise / noise.std(), 0, 255).astype(np.uint8), mask)
        assert value(found, "slope") == pytest.approx(slope, abs=0.15)


def test_a_closed_or_half_marked_eye_is_not_measured() -> None:
    mask = drawn_mask()
    image = drawn_image(mask)
    for part in (SCLERA, IRIS, PUPIL):
        assert measure(image, np.where(mask == part, 0, mask)) == {}


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 pictures"):
        statistics(np.random.default_rng(0), people=1, looks=0)
