"""What the manual says of the table."""

from palestra import registry
from palestra.contest.manual.blocks import Drawing, Grid
from palestra.tracks.tabletop.case_catalogue import catalogue

MATCH = registry.track("tabletop-manip-v1", {"size": "64"}).match


def test_every_practice_case_has_a_drawing_with_all_its_numbers(table_data, cases):
    layouts = next(section for section in MATCH.manual(table_data) if section.id == "layouts")
    drawings = [block for block in layouts.blocks if isinstance(block, Drawing)]
    assert len(drawings) == 1 + len(cases)
    known = catalogue(cases)
    for case, drawing in zip(cases, drawings[1:], strict=True):
        assert all(f">{number}</text>" in drawing.svg for number in known.numbers(case.scene).values())


def test_pictures_have_the_size_that_the_phase_says(table_data):
    sections = {section.id: section for section in MATCH.manual(table_data)}
    observed = next(block for block in sections["interfaces"].blocks if isinstance(block, Grid))
    assert {row[2] for row in observed.rows if str(row[0]).startswith("depth_")} == {"64 × 64"}
    assert "Pictures of 64 × 64 pixels" in sections["cameras"].blocks[0].text.en
