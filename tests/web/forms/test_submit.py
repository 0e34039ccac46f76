"""From a form's fields to what an action takes."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.datastructures import FormMultiDict

from palestra.errors import Refused
from palestra.web.actions.accounts import MakeToken, Named
from palestra.web.actions.desk import Judge, MovePhase, Promote
from palestra.web.actions.teams import MakeTeam
from palestra.web.auth.request import local_path
from palestra.web.forms.submit import Kept, _next, as_notice, notice_of, read

ZONE = "Asia/Shanghai"


def form(**fields: Any) -> FormMultiDict:
    pairs = [(name, one) for name, value in fields.items() for one in (value if isinstance(value, list) else [value])]
    return FormMultiDict([(name.replace("__", "."), value) for name, value in pairs])


def test_texts_numbers_and_lists_are_read() -> None:
    assert read(form(label="x", scopes=["read", "submit"], days="30"), MakeToken, ZONE) == MakeToken(
        "x", ["read", "submit"], 30
    )
    assert read(form(label="x", scopes="read"), MakeToken, ZONE) == MakeToken("x", ["read"], 90)


@pytest.mark.parametrize(
    ("given_", "ticked"), [("yes", True), ("on", True), ("", False), ("no", False), ("FALSE", False), ("0", False)]
)
def test_a_box_that_is_ticked_is_yes(given_: str, ticked: bool) -> None:
    rest = {"team": "t1", "phase": "first", "reasons": "x"}
    assert read(form(**rest, ok=given_), Judge, ZONE) == Judge("t1", "first", ticked, "x")
    assert read(form(**rest), Judge, ZONE) == Judge("t1", "first", False, "x")


def test_a_time_is_in_the_contest_s_zone() -> None:
    found = read(
        form(phase="first", opens="2022-11-09T21:20", closes="2022-11-10T00:00:30", reason="x"), MovePhase, ZONE
    )
    assert found == MovePhase("first", 1_668_000_000_000, 1_668_009_630_000, "x")


@pytest.mark.parametrize("text", [
    "2022-13-01T00:00", "2022-02-30T00:00", "2022-01-01T25:00", "0001-01-01T00:00", "9999-12-31T23:59", "tomorrow", "",
    "1e400", "9" * 400,
])  # fmt: skip
def test_a_time_that_is_none_is_refused_in_words(text: str) -> None:
    with pytest.raises(Refused) as refused:
        read(form(phase="first", opens=text, closes="2022-11-10T00:00", reason="x"), MovePhase, ZONE)
    assert refused.value.faults[0].where in ("the time", "the form")


def test_fields_with_a_dot_are_a_table_and_empty_ones_are_left_out() -> None:
    found = read(form(phase="first", preview="p", reason="x", without__t1="late", without__t2=""), Promote, ZONE)
    assert found == Promote("first", "p", "x", {"t1": "late"})


def test_a_field_that_is_missing_is_refused_and_one_too_many_is_passed_over() -> None:
    with pytest.raises(Refused, match="every field filled in"):
        read(form(), Named, ZONE)
    assert read(form(id="x", csrf="y", next="/", once="z", other="1"), Named, ZONE) == Named("x")


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=20), max_size=6))
def test_whatever_is_sent_is_read_or_refused(fields: dict[str, str]) -> None:
    for kind in (MakeToken, MovePhase, Promote, Named, MakeTeam):
        known = {field.name: "2022-01-01T00:00" for field in msgspec.structs.fields(kind)[::2]}
        try:
            assert isinstance(read(FormMultiDict({**known, **fields}), kind, ZONE), kind)
        except Refused as refused:
            assert refused.faults


# Where one goes on


@given(st.text(max_size=30))
def test_an_address_to_go_on_to_is_ours(wanted: str) -> None:
    found = local_path(wanted)
    assert found.startswith("/")
    assert not found.startswith(("//", "/\\"))
    assert found.isprintable()
    assert _next(form(next=wanted)) == found


def test_without_an_address_one_goes_home() -> None:
    assert _next(form()) == "/"


# What is told on the next page


class _Request:
    def __init__(self, cookie: str) -> None:
        self.cookies = {"palestra_notice": cookie}


@pytest.mark.parametrize(
    "cookie", ["", "x", "====", "bnVsbA==", "W10=", "eyJ0ZXh0IjogNX0=", "é", "A" * 5000, "eyJraW5kIjoiZXZpbCJ9"]
)
def test_a_notice_that_we_did_not_write_is_passed_over(cookie: str) -> None:
    assert notice_of(_Request(cookie)) is None  # type: ignore[arg-type]


def test_a_notice_is_shown_with_its_kind_and_without_its_secret() -> None:
    shown = as_notice(Kept("Done.", secret="plt_x"))
    assert shown is not None
    assert "plt_x" not in repr(shown)
    assert as_notice(Kept()) is None
