"""The rules as everybody reads them, in words and in both languages; and what each version changed."""

import dataclasses
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import msgspec
import pytest

from palestra.contest.log import events as e
from palestra.contest.rules.keys import TABLES
from palestra.contest.rules.model import Promotion, Quota, Rules
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.rules.reader import parse
from palestra.contest.rules.writer import written
from palestra.text import Words
from palestra.web.text import CHOICES
from palestra.web.text.rules_in_words import NOT_TOLD, sections
from palestra.web.views.rules import changes, compared
from tests.contest.rules.test_writer import full_rules
from tests.contest.story import DAY, START, a_phase, some_rules
from tests.web.conftest import As, World
from tests.web.html_forms import forms_in, links_in


def with_phase(rules: Rules, **other: object) -> Rules:
    first = msgspec.structs.replace(rules.phases[0], **other)
    return msgspec.structs.replace(rules, phases=(first, *rules.phases[1:]))


def amend(world: World, rules: Rules, reason: str = "more runs", after: int = 0) -> None:
    world.clock.advance(1000)
    world.add(e.RulesAmended(encode_rules(rules), world.clock() + after, reason))


# In words


def test_every_key_of_a_contest_file_has_a_name_for_people() -> None:
    tables = {table.strip("[]").removeprefix("phase."): keys for table, keys in TABLES.items()}
    told = {kind: tables[kind] for kind in tables if kind not in ("weights", "award")}
    needed = [(kind, name) for kind, keys in told.items() for name in keys if name not in NOT_TOLD.get(kind, ())]
    assert [(kind, name) for kind, name in needed if name not in CHOICES[f"rule_{kind}"]] == []


def test_all_that_rules_say_is_told_and_nothing_of_where_the_data_lies() -> None:
    told = {row.key: row for section in sections(full_rules()) for row in section.rows}
    assert told["phase.first.quota"].value == Words("3 submissions in any 1 d", told["phase.first.quota"].value.zh)
    assert told["phase.first.closes"].at == START + 10 * DAY
    assert told["phase.first.promotion.to"].value == Words("second")
    assert told["phase.first.entry"].value == Words("every team", "所有队伍")
    assert told["contest.notice"].value == Words("3 days", "3 天")
    assert told["phase.first.verification.name"].value.en == "{team}.zip"
    assert told["weights.first"].value.en == "25 %"
    assert told["awards.0"].value == Words("for 1 team, by Final standing", "1 支队伍，依据总成绩")
    assert not [row for row in told.values() if "data/first" in row.value.en + row.value.zh]
    assert all(row.at is not None or row.value.in_language("zh") for row in told.values())


def test_what_a_file_track_has_no_use_for_is_not_told() -> None:
    keys = {row.key for section in sections(some_rules()) for row in section.rows}
    assert "phase.first.pace" not in keys
    assert "phase.first.freeze_own" not in keys


# What is other


def test_a_change_is_told_with_what_was_before() -> None:
    before = some_rules(a_phase(quota=Quota(5, "day")))
    (change,) = changes(before, some_rules(a_phase(quota=Quota(3, "week"))))
    assert change.before is not None
    assert change.after is not None
    assert (change.section.en, change.label.en) == ("first", "Submissions")
    assert (change.before.value.en, change.after.value.en) == ("5 submissions per day", "3 submissions per week")


def test_what_is_new_and_what_is_gone_is_told() -> None:
    before = some_rules(a_phase(file_name="{team}.csv"))
    later = a_phase("second", entry="promoted", opens=START + 11 * DAY, closes=START + 12 * DAY)
    found = changes(before, some_rules(a_phase(promotion=Promotion("second", 3)), later))
    new = {change.label.en for change in found if change.before is None}
    assert {"Teams go on to", "How many go on", "Track"} <= new
    (gone,) = [change for change in found if change.after is None]
    assert gone.label.en == "Name of the file"


def test_the_same_rules_change_nothing() -> None:
    assert changes(full_rules(), full_rules()) == []
    assert list(compared(written(full_rules()), written(full_rules()))) == []


def test_lines_of_the_file_are_compared() -> None:
    before, after = (written(some_rules(a_phase(quota=Quota(count, "week")))) for count in (5, 3))
    found = list(compared(before, after))
    assert [(line.kind, line.text) for line in found if line.kind in ("gone", "new")] == [
        ("gone", 'quota = "5 per week"'), ("new", 'quota = "3 per week"'),
    ]  # fmt: skip


# Pages


@pytest.mark.parametrize("who", ["nobody", "captain", "organiser"])
def test_everybody_reads_the_rules_in_force(world: World, people: dict[str, As], who: str) -> None:
    amend(world, with_phase(world.state.rules(), quota=Quota(7, "week")))
    english, chinese = (people[who].get(f"/rules?lang={language}").text for language in ("en", "zh"))
    assert "7 submissions per week" in english
    assert "Version 2" in english
    assert "In force" in english
    assert "more runs" in english
    assert "提交次数" in chinese
    assert "我们独立参赛。" in chinese
    assert "/rules" in links_in(people[who].get("/").text)


def test_each_version_can_be_read_and_one_that_is_not_is_told(world: World, people: dict[str, As]) -> None:
    amend(world, with_phase(world.state.rules(), quota=Quota(7, "week")), after=DAY)
    now = people["nobody"].get("/rules").text
    assert "Version 1" in now[: now.index("<section")]
    coming = people["nobody"].get("/rules/2").text
    assert "Announced, not in force yet" in coming
    assert "7 submissions per week" in coming[: coming.index('id="versions"')]
    world.clock.advance(2 * DAY)
    assert "No longer in force" in people["nobody"].get("/rules/1").text
    assert people["nobody"].get("/rules/3").status_code == 404
    assert people["nobody"].get("/rules/0").status_code == 404


def test_a_phase_that_was_moved_is_told_with_its_time_and_the_reason(world: World, people: dict[str, As]) -> None:
    moved = START + 15 * DAY
    world.add(e.PhaseMoved("first", START, moved, "a power cut"))
    html = people["nobody"].get("/rules").text
    assert datetime.fromtimestamp(moved / 1000, UTC).isoformat().replace("+00:00", "Z") in html
    assert "a power cut" in html


def test_the_contest_file_is_offered_without_where_the_data_lies(world: World, people: dict[str, As]) -> None:
    amend(world, with_phase(world.state.rules(), data="data/secret-place", quota=Quota(7, "week")))
    answer = people["nobody"].get("/api/rules/2/contest.toml")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "secret-place" not in answer.text
    assert parse(answer.text, "contest.toml").phases[0].quota == Quota(7, "week")
    assert people["nobody"].get("/api/rules/9/contest.toml").status_code == 404
    assert "secret-place" not in people["nobody"].get("/rules").text


def test_the_box_at_the_desk_begins_with_the_rules_that_were_announced_last(
    world: World, people: dict[str, As]
) -> None:
    amend(world, with_phase(world.state.rules(), data="data/first"), after=DAY)
    html = people["organiser"].get("/desk/rules").text
    start = html.index(">\n", html.index('<textarea id="text"')) + 2
    text = unescape(html[start : html.index("</textarea>", start)])
    assert parse(text, "contest.toml") == world.state.versions[-1].rules


def test_the_box_and_the_preview_keep_the_comments_of_the_file_which_nobody_else_sees(
    world: World, people: dict[str, As], tmp_path: Path
) -> None:
    file = tmp_path / "contest.toml"
    file.write_text("# For us alone.\n" + written(world.state.rules()).replace("closes", "# soon\ncloses"), "utf-8")
    world.site.setup = dataclasses.replace(world.site.setup, file=file)
    amend(world, with_phase(world.state.rules(), quota=Quota(7, "week")), after=DAY)
    html = people["organiser"].get("/desk/rules").text
    start = html.index(">\n", html.index('<textarea id="text"')) + 2
    text = unescape(html[start : html.index("</textarea>", start)])
    assert parse(text, "contest.toml") == world.state.versions[-1].rules
    assert text.startswith("# For us alone.\n")
    given = {"text": text.replace("7 per week", "8 per week"), "counts_from": "2022-12-01 00:00", "reason": "more runs"}
    html = people["organiser"].post("/desk/rules", given).text
    preview = html[html.index('class="preview"') : html.index('action="/do/amend-rules"')]
    assert [line for line in preview.splitlines() if "− " in line or "+ " in line] == [
        '<span class="gone">− quota = &#34;7 per week&#34;</span>',
        '<span class="new">+ quota = &#34;8 per week&#34;</span>',
    ]
    assert "For us alone" not in people["nobody"].get("/api/rules/2/contest.toml").text


def test_a_preview_tells_what_changes_in_words_and_lines_and_not_as_json(world: World, people: dict[str, As]) -> None:
    text = written(with_phase(world.state.rules(), quota=Quota(7, "week")))
    given = {"text": text, "counts_from": "2022-12-01 00:00", "reason": "more runs"}
    html = people["organiser"].post("/desk/rules", given).text
    preview = html[html.index('class="preview"') : html.index('action="/do/amend-rules"')]
    assert "7 submissions per week" in preview
    assert "+ quota = &#34;7 per week&#34;" in preview
    assert "window_ms" not in preview
    assert any(form.action == "/do/amend-rules" for form in forms_in(html))


def test_where_tracks_lie_cannot_be_changed_at_the_desk(world: World, people: dict[str, As]) -> None:
    text = written(with_phase(world.state.rules(), quota=Quota(7, "week")))
    text = text.replace("[contest]\n", '[contest]\ntracks = "uploads"\n', 1)
    given = {"text": text, "counts_from": "2022-12-01 00:00", "reason": "more runs"}
    for address in ("/desk/rules", "/do/amend-rules"):
        answer = people["organiser"].post(address, given).text
        assert "Where tracks lie can only be changed there" in answer
        assert "preview" not in answer or 'action="/do/amend-rules"' not in answer
    assert len(world.state.versions) == 1
