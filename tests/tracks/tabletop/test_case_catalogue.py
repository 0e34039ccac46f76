"""Cases as referees and teams read them: numbered objects, sizes, what is played."""

from dataclasses import replace
from hashlib import sha256

from palestra import registry
from palestra.contest.match.cases import cases_of, check_sheet
from palestra.tracks.tabletop.case_catalogue import catalogue, read_sheet, size_text

MATCH = registry.track("tabletop-manip-v1").match


def test_objects_are_numbered_once_and_keep_their_numbers_when_others_come(cases, hidden):
    practice, whole = catalogue(cases), catalogue(cases, hidden)
    assert [thing.number for thing in whole.things] == list(range(1, len(whole.things) + 1))
    assert whole.things[: len(practice.things)] == practice.things
    assert len(whole.things) > len(practice.things)
    assert len({(thing.model, thing.colour, thing.size_mm) for thing in practice.things}) == len(practice.things)


def test_two_alike_in_one_scene_are_two_objects(cases):
    first = cases[0]
    twin = replace(first.scene.things[0], id="twin", position=(0.2, 0.3))
    scene = replace(first.scene, things=(*first.scene.things, twin))
    known = catalogue([replace(first, scene=scene)])
    assert len(set(known.numbers(scene).values())) == len(scene.things)


def test_sizes_are_in_millimetres(cases):
    block = next(thing for case in cases for thing in case.scene.things if thing.kind == "block")
    known = catalogue(cases)
    number = next(known.numbers(case.scene)[block.id] for case in cases if block in case.scene.things)
    edge = round(1000 * block.size[0])
    assert size_text(known.things[number - 1]) == f"{edge} × {edge} × {edge}"


# What is played


def test_every_thing_of_a_scene_has_a_number_of_its_own(table_data, hidden):
    found = read_sheet(table_data, hidden=True).first()
    check_sheet(found.groups, found.things)
    laid = {case.id: len(case.scene.things) for case in hidden}
    assert {case.id: len(set(case.things)) for _, case in cases_of(found.groups)} == laid


def test_a_sheet_has_the_cases_that_are_asked_for_and_published_numbers_stay(table_data, cases, hidden):
    practice, secret = (MATCH.sheet(table_data, which) for which in ("practice", "hidden"))
    assert {case.id for _, case in cases_of(practice.groups)} == {case.id for case in cases}
    assert {case.id for _, case in cases_of(secret.groups)} == {case.id for case in hidden}
    assert all(case.goals for _, case in cases_of(secret.groups))
    assert secret.things[: len(practice.things)] == practice.things


def test_each_case_names_its_layout_by_digest(table_data):
    found = read_sheet(table_data, hidden=False)
    assert {case.layout for _, case in cases_of(found.groups)} == set(found.layouts)
    assert all(sha256(layout).hexdigest() == digest for digest, layout in found.layouts.items())
