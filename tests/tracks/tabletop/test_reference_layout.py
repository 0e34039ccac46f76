"""Reference layouts: recorded, and drawn for referees."""

from xml.etree import ElementTree

import msgspec

from palestra.contest.match.cases import cases_of
from palestra.tracks.tabletop.case_catalogue import read_sheet
from palestra.tracks.tabletop.reference_layout import Layout, drawing


def test_a_layout_is_drawn_to_scale_with_every_number(table_data):
    found = read_sheet(table_data, hidden=True)
    for _, case in cases_of(found.groups):
        record = found.layouts[case.layout]
        svg = ElementTree.fromstring(drawing(record))
        space = "{http://www.w3.org/2000/svg}"
        assert {int(text.text or "") for text in svg.iter(f"{space}text")} == set(case.things)
        for thing, drawn in zip(
            msgspec.json.decode(record, type=Layout).things, svg.iter(f"{space}polygon"), strict=True
        ):
            across = [int(point.partition(",")[0]) for point in drawn.attrib["points"].split()]
            ys = [y for _, y in thing.outline_m]
            assert abs((max(across) - min(across)) - 1000 * (max(ys) - min(ys))) <= 1
