from pathlib import Path

import cv2
import numpy as np
import pytest

from palestra.report.images import (
    BLANK,
    CLASS_COLOURS,
    GREEN,
    PAPER,
    SIDE,
    VERMILION,
    at_most,
    beside,
    contact_sheet,
    overlay,
    plane,
    png,
    read_image,
    shortened,
    words_drawn_in,
    wrapped,
    write,
    written_px,
)
from palestra.text import Words


def has(image, colour):
    return bool((image == colour).all(axis=2).any())


def centre_of(image, colour):
    """Where a colour lies on a plan, without its legend."""
    rows, columns = np.nonzero((image[: SIDE - 60] == colour).all(axis=2))
    return columns.mean(), rows.mean()


def test_a_grey_file_becomes_rgb(tmp_path):
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    cv2.imwrite(str(tmp_path / "a.png"), grey)
    image = read_image(tmp_path / "a.png")
    assert image.shape == (3, 4, 3) and image.dtype == np.uint8
    assert (image == grey[:, :, None]).all()


@pytest.mark.parametrize("content", [None, b"", b"not a picture"])
def test_a_missing_or_broken_file_becomes_a_card(tmp_path, content):
    file = tmp_path / "a.png"
    if content is not None:
        file.write_bytes(content)
    image = read_image(file)
    assert image.shape == (400, 640, 3)
    assert tuple(image[0, 0]) == BLANK
    assert (image != BLANK).any(), "it says why"


def test_pictures_beside_each_other_have_the_height_of_the_first():
    row = beside(np.zeros((40, 30, 3), np.uint8), np.zeros((80, 20), np.uint8), gap=5)
    assert row.shape == (40, 30 + 5 + 10, 3)
    assert (row[:, 30:35] == PAPER).all()


def test_a_plan_has_x_to_the_right_and_y_up():
    image = plane({"truth": (0.5, 0.5), "answer": (-0.5, -0.1)}, half_width=1)
    assert image.shape == (SIDE, SIDE, 3)
    x, y = centre_of(image, GREEN)
    assert x > SIDE / 2 and y < SIDE / 2
    x, y = centre_of(image, VERMILION)
    assert x < SIDE / 2 and y > SIDE / 2


def test_an_answer_beyond_the_plan_is_drawn_where_the_line_leaves_it():
    x, y = centre_of(plane({"truth": (0, 0), "answer": (4, 2)}, half_width=1), VERMILION)
    assert x > SIDE - 20
    assert y == pytest.approx(SIDE / 2 - (SIDE / 2 - 10) / 2, abs=3)


@pytest.mark.parametrize("answer", [(None, None), (float("nan"), 0.0), (float("inf"), 0.0), (1e300, -1e300)])
def test_an_answer_that_is_no_place_does_not_break_the_plan(answer):
    image = plane({"truth": (0, 0), "answer": answer}, half_width=1)
    assert has(image, GREEN)


def test_a_plan_without_points_is_empty():
    assert plane({}, half_width=1).shape == (SIDE, SIDE, 3)


def test_an_overlay_tints_and_outlines_classes_and_leaves_the_rest():
    image = np.full((60, 60, 3), 100, np.uint8)
    mask = np.zeros((60, 60), np.uint8)
    mask[10:50, 10:50], mask[20:40, 20:40], mask[27:33, 27:33] = 1, 2, 3
    painted = overlay(image, mask)
    assert (painted[:8] == 100).all() and (image == 100).all()
    assert all(has(painted, colour) for colour in CLASS_COLOURS.values())
    assert tuple(painted[15, 15]) == tuple(int(0.55 * 100 + 0.45 * c) for c in CLASS_COLOURS[1])


def test_an_overlay_takes_a_mask_of_another_size_and_an_empty_one():
    image = np.zeros((40, 64), np.uint8)
    assert overlay(image, np.ones((20, 32), np.uint8)).shape == (40, 64, 3)
    assert (overlay(image, np.zeros((40, 64), np.uint8)) == 0).all()


def test_a_png_holds_the_picture_in_its_colours(tmp_path):
    image = np.random.default_rng(0).integers(0, 255, (7, 9, 3), np.uint8)
    file = Path(tmp_path / "a.png")
    file.write_bytes(png(image))
    assert (read_image(file) == image).all()


def test_a_contact_sheet_puts_pictures_in_rows():
    images = [np.full((10, 20, 3), 10 * i, np.uint8) for i in range(1, 4)]
    sheet = contact_sheet(images, columns=2, width=48, gap=8)
    assert sheet.shape == (28, 48, 3)
    assert (sheet[:10, :20] == 10).all() and (sheet[18:, :20] == 30).all()
    assert (sheet[18:, 28:] == PAPER).all()


def test_pictures_are_made_smaller_but_never_larger():
    assert at_most(np.zeros((10, 40, 3), np.uint8), 20).shape == (5, 20, 3)
    assert at_most(np.zeros((10, 10, 3), np.uint8), 20).shape == (10, 10, 3)


def drawn(text, language):
    image = np.full((40, 300, 3), 255, np.uint8)
    with words_drawn_in(language):
        end = write(image, text, (5, 28))
        assert end == pytest.approx(5 + written_px(text), abs=2)
    return image


def test_words_in_pictures_are_in_the_language_that_is_asked_for():
    truth = Words("truth", "真值")
    assert np.array_equal(drawn(truth, "en"), drawn("truth", "zh")), "what is no Words is drawn as it is"
    assert np.array_equal(drawn(truth, "zh"), drawn("真值", "en"))
    assert not np.array_equal(drawn(truth, "en"), drawn(truth, "zh"))


def test_chinese_letters_are_drawn_and_not_boxes_in_their_place():
    letters = [drawn(letter, "zh") for letter in "真值答案绿，。（）µ²°"]
    missing = drawn("\U0010fffd", "zh")  # of a private area, which no font has
    for i, one in enumerate(letters):
        assert (one < 255).any() and not np.array_equal(one, missing)
        assert not any(np.array_equal(one, other) for other in letters[:i])


def test_a_plan_has_its_legend_in_the_language_that_is_asked_for():
    points = {"truth": (0, 0), "answer": (1, 1)}
    with words_drawn_in("zh"):
        chinese = plane(points, half_width=2)
    assert not np.array_equal(chinese, plane(points, half_width=2))


@pytest.mark.parametrize(
    "text", ["Put the red block into the box, then close it.", "把红色方块放进盒子里，然后合上盖子。"]
)
def test_long_words_are_wrapped_or_shortened_to_what_fits(text):
    lines = wrapped(text, 120)
    assert len(lines) > 1 and all(written_px(line) <= 120 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    short = shortened(text, 120)
    assert short.endswith("…") and written_px(short) <= 120 and shortened("a", 120) == "a"
