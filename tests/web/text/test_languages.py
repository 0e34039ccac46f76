"""People are refused in their language: every error that they may meet has a Chinese text that says the same."""

import re
from pathlib import Path
from types import SimpleNamespace

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.exceptions import NotFoundException
from sqlalchemy.exc import OperationalError

from palestra import registry
from palestra.contest.accounts import passwords, tokens
from palestra.contest.decisions import submissions
from palestra.contest.log import events as e
from palestra.contest.rules import calendar
from palestra.contest.rules.model import encode as encode_rules
from palestra.contest.workers import score, worker
from palestra.contest.workers.compare import Comparison, Difference
from palestra.contest.workers.live_run import Unplayable
from palestra.contest.workers.verify_bundle import _words as verified
from palestra.errors import Fault, Faults, Refused, UnknownName
from palestra.sandbox.running_program import SIGNALS, Report, words_of
from palestra.scoring.submission import collect
from palestra.text import Words, printable, say
from palestra.web import health
from palestra.web.actions.accounts import Named
from palestra.web.actions.registry import require_plain
from palestra.web.auth.request import preferred
from palestra.web.responses.errors import problem_of
from palestra.web.text.validation import validation_told
from tests.contest.story import a_phase, some_rules
from tests.web.text.chinese import CHINESE, english_in

# What the log keeps


@pytest.mark.parametrize("text", [worker.RAISED, worker.CRASHED, worker.LOST, score.OUR_FAULT])
def test_what_the_log_says_of_our_own_faults_is_told_in_chinese(text):
    assert CHINESE.search(text.zh) and not re.search("[A-Za-z]", text.zh)
    assert text.en.endswith(".") and not CHINESE.search(text.en)


@pytest.mark.parametrize(
    ("found", "tolerance"),
    [
        (Comparison(1200, 0, 0.0), 0.0),
        (Comparison(1200, 0, 1e-7), 1e-6),
        (Comparison(12, 3, 0.5, (Difference("a/1", {}, {}, 0.5),), 0), 0.0),
        (Comparison(12, 3, 0.5, (Difference("a/1", {}, {}, None),), 2), 1e-6),
    ],
)
def test_what_a_verification_says_is_told_in_chinese(found, tolerance):
    told = verified(found, tolerance).zh
    assert CHINESE.search(told)
    assert not re.search(r"[a-z]{3,}", told)


def report(cause: str, code: int, clean: bool) -> Report:
    return Report(cause, code, "EPERM", clean, cpu_s=1.0, memory_bytes=1, group="")


@pytest.mark.parametrize("cause", ["killed", "wall", "cpu", "memory", "tmp", "broken", "ended"])
@pytest.mark.parametrize("code", [3, *(-number for number in SIGNALS), -64])
def test_how_a_program_ended_is_told_in_chinese(cause, code):
    plan = SimpleNamespace(wall_s=5, cpu_s=6, memory_bytes=7, tmp_bytes=8)
    told = words_of(report(cause, code, clean=False), plan)
    assert CHINESE.search(told.zh) and not english_in(told.zh)


def test_what_a_program_printed_stays_as_it_is():
    why = say("{why}.", why=words_of(report("ended", 3, clean=True), None))
    told = Unplayable(why, "Traceback\na file: found nothing, expected x").in_language("zh")
    assert told == "自行退出，退出码 3。\n程序的输出：\nTraceback\na file: found nothing, expected x"


def test_several_faults_are_told_line_by_line():
    faults = Faults()
    for row in range(30):
        faults.gap(f"a.csv: {row}", say("no answer"), say("an empty text"))
    with pytest.raises(Refused) as caught:
        faults.finish()
    lines = say("What it wrote is no submission: {why}", why=caught.value.text).zh.split("\n")
    assert lines[0] == "程序写出的内容不是有效的提交：a.csv: 0——实际：没有答案；应为：空文本"
    assert (len(lines), lines[-1]) == (21, "……另有 10 处")


@given(st.text(), st.text(), st.text())
def test_what_a_stranger_wrote_is_never_changed(where, found, expected):
    """But for letters that a terminal would obey."""
    where = printable(where)
    fault = Fault.of(where, repr(found), repr(expected))
    assert fault.text.zh == f"{where}——实际：{found!r}；应为：{expected!r}"
    body = e.AttemptFailed("s1", 1, "contestant", where, message_zh=e.chinese_of(Words.same(where)))
    assert (body.message_zh, e.told(e.decode(e.encode(body)))) == ("", Words.same(where))


def test_events_from_before_there_was_chinese_are_told_as_they_are():
    old = '{"kind":"submission.refused","submission":"s1","faults":["a: found b, expected c"],"count":1}'
    body = e.decode(old)
    assert e.faults_told(body) == [Words.same("a: found b, expected c")]
    assert e.encode(body) == old
    ended = '{"kind":"run.ended","run":"r1","outcome":"failed","message":"Nobody can take part."}'
    assert e.encode(e.decode(ended)) == ended
    assert e.told(e.decode(ended)).in_language("zh") == "Nobody can take part."


# Faults that each track of files finds


def whole(track_id: str, trials: pl.DataFrame) -> bytes:
    """A file with an answer to every trial."""
    rows = trials.rows(named=True)
    if track_id == "near-eye-gaze-v1":
        lines = [f"{row['person']},{row['group']},{row['frame']},1.5,2" for row in rows]
        return "\n".join(["person,group,frame,x,y", *lines, ""]).encode()
    if track_id == "eye-segmentation-v1":
        return msgspec.json.encode({row["trial"]: "AAAA" for row in rows})
    vectors: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        vectors.setdefault(row["sequence"], {})[str(row["step"])] = [1.5, 2, 3]
    return msgspec.json.encode(vectors)


def broken(good: bytes) -> dict[str, bytes]:
    """Files that are wrong in ways that people's are."""
    lines = good.split(b"\n")
    return {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "utf16": good.decode().encode("utf-16"),
        "latin1": good[:-5] + b"\xfc" + good[-5:],
        "nul": good[:20] + b"\0" + good[20:],
        "nan": good.replace(b"1.5", b"NaN", 1),
        "texts": good.replace(b"1.5", b'"one"', 1),
        "far": good.replace(b"1.5", b"1e9", 1),
        "hole": good.replace(b"1.5,", b",", 1).replace(b"[,", b"["),
        "zero": good.replace(b"1.5,2.0,3.0", b"0,0,0", 1),
        "escapes": good.replace(b"AAAA", b"\\n", 1),
        "number": good.replace(b'"AAAA"', b"12", 1),
        "few": lines[0] + b"\n" + lines[-2] if lines[1:] else b"{}",
        "no_header": b"\n".join(lines[1:]),
        "header": lines[0],
        "semicolons": good.replace(b",", b";"),
        "twice": good + lines[-2] if lines[2:] else good[:-1] + b"," + good[1:],
        "unknown": good + b"nobody,1,1,1,1" if lines[2:] else good.replace(b"{", b'{"x": {},', 1),
        "column": good.replace(b"frame,x,y", b"frame,x,z", 1),
        "decimal_commas": good.replace(b"1.5,2", b"1,5,2", 1),
        "array": b"[1, 2, 3]",
        "null": b"null",
        "deep": b"[" * 100,
        "no_zip": b"PK\x03\x04" + good,
        "after": good + b"}",
    }


def faults_of(track_id: str, data: Path, folder: Path) -> list[Fault]:
    track = registry.track(track_id)
    trials, found = track.trials(data), []
    for name, content in broken(whole(track_id, trials)).items():
        for ending in (track.suffix, ".zip"):
            file = folder / f"{name}{ending}"
            file.write_bytes(content)
            try:
                answers = collect(track, file, trials)
                if track.inspect:
                    track.inspect(answers)
            except Refused as refusal:
                found += refusal.faults
    return found


@pytest.mark.parametrize("track_id", ["near-eye-gaze-v1", "gaze-prediction-v1", "eye-segmentation-v1"])
def test_faults_of_submitted_files_are_told_in_chinese(track_id, tiny, tmp_path):
    faults = faults_of(track_id, tiny(track_id), tmp_path)
    assert len({(fault.found, fault.expected) for fault in faults}) > 12
    assert [fault.zh for fault in faults if "——实际：" not in fault.zh or english_in(fault.zh)] == []


def refusals() -> list[Refused]:
    """What contest/ and web/ refuse with `refuse`, each once."""
    kept = submissions._require_size
    causes = [
        lambda: kept("", 1, 1), lambda: kept("a.csv", 0, 1), lambda: kept("a.csv", 9_000, 1_000),
        lambda: calendar.require_name("{team}_{date}.csv", "b.csv", "A", 0, "Asia/Shanghai"),
        lambda: tokens.require_power("member", ["organise"]), lambda: tokens._checked("token", []),
        lambda: tokens._checked("link", ["found", "join"]),
    ]  # fmt: skip
    found = []
    for cause in causes:
        with pytest.raises(Refused) as caught:
            cause()
        found.append(caught.value)
    return found


def test_what_decisions_refuse_is_told_in_chinese():
    for fault in (fault for refusal in refusals()[:4] for fault in refusal.faults):
        assert "——实际：" in fault.zh and not english_in(fault.zh), fault
    assert problem_of(refusals()[2], "zh").error == "a.csv——实际：9,000 字节；应为：最多 1,000"
    assert problem_of(refusals()[3], "zh").error == (
        "文件名——实际：'b.csv'；应为：'A_19700101.csv'，其中日期为 Asia/Shanghai 时区的今天"
    )


def test_what_accounts_refuse_is_told_in_chinese():
    for fault in (fault for refusal in refusals()[4:] for fault in refusal.faults):
        assert "——实际：" in fault.zh and not english_in(fault.zh), fault


def test_a_weak_password_is_refused_in_chinese():
    with pytest.raises(Refused) as caught:
        passwords.hashed("ann", "ann")
    told = problem_of(caught.value, "zh")
    assert told.faults[0] == "密码——实际：3 个字符；至少 10 个；应为：不易猜到的密码"
    assert not any(map(english_in, told.faults))


# Answers


def test_an_unknown_name_is_told_in_chinese():
    error = UnknownName(say("phase of this contest"), "fist", ["first", "second"])
    assert problem_of(error, "zh").error == "没有名为 'fist' 的赛段。是否为 'first'？"
    assert problem_of(error).error == str(error)


def test_that_the_database_is_away_is_told_in_chinese(people, monkeypatch):
    away = OperationalError("SELECT", {}, Exception("gone"))
    assert problem_of(away, "zh").error == "数据库没有响应，请稍后再试。"

    def fail(*_):
        raise away

    monkeypatch.setattr(health.chain, "last_seq", fail)
    told = people["nobody"].get("/health", **{"accept-language": "zh"})
    assert told.json()["status"] == 503
    assert told.json()["error"] == "数据库没有响应，请稍后再试。"


@pytest.mark.parametrize("text", ["x" * 200_001, "a\0b"])
def test_a_field_that_no_table_holds_is_refused_in_chinese(text):
    with pytest.raises(Refused) as caught:
        require_plain(Named(text))
    told = problem_of(caught.value, "zh").error
    assert told in ("某一项——实际：200,001 个字符；应为：最多 200,000", r"某一项——实际：'a\x00b'；应为：可打印的字符")


def test_a_board_that_one_may_not_see_is_told_of_in_chinese(people, world):
    world.clock.advance(1)
    rules = some_rules(a_phase(board_for="organisers"), *world.state.rules().phases[1:])
    world.add(e.RulesAmended(encode_rules(rules), world.clock(), "for organisers"))
    asked = {who: people[who].get("/api/boards/first?lang=zh") for who in ("captain", "nobody")}
    assert (asked["captain"].status_code, asked["captain"].json()["error"]) == (403, "您不能查看该排行榜。")
    assert (asked["nobody"].status_code, asked["nobody"].json()["error"]) == (404, "这里没有可查看的排行榜。")


def test_the_desk_refuses_in_chinese(people):
    refused = people["organiser"].get("/desk/promotion/first?without.t1=x&lang=zh")
    assert refused.status_code == 409
    assert "请简要说明理由：理由会写入比赛日志。" in refused.text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Object missing required field `name` - at `$.team`", "缺少必填项 name（位于 $.team）"),
        ("Expected `int`, got `str`", "应为 int，实际为 str"),
        ("Expected `str` of length <= 80 - at `$.name`", "应为长度 <= 80 的 str（位于 $.name）"),
        ("Expected `int` >= 0", "应为 int，且 >= 0"),
        ("Invalid enum value 'x'", "取值 'x' 无效"),
        ("Something new", "Something new"),
    ],
)
def test_what_is_wrong_with_a_request_is_told_in_chinese(text, told):
    assert validation_told(text) == Words(text, told)


def test_what_the_framework_says_is_told_in_chinese():
    assert problem_of(NotFoundException(), "zh").error == "没有这个地址。"
    assert problem_of(ZeroDivisionError(), "zh").error.startswith("平台出现故障")


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"), ("zh", "zh"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("en-GB,en;q=0.9,zh;q=0.8", "en"),
        ("fr, zh-Hans;q=0.5", "zh"), ("fr", "en"), ("en;q=0.1, zh;q=1.0", "zh"), ("zh;q=0", "en"), ("zh;q=x,en", "en"),
    ],
)  # fmt: skip
def test_the_language_is_what_the_browser_likes_best(header, language):
    assert preferred(header) == language


@given(st.text())
def test_any_header_gives_a_language_of_ours(header):
    assert preferred(header) in ("en", "zh")


def test_programs_are_refused_in_the_language_they_ask_for(people):
    path = "/api/submissions/s99"
    assert people["captain"].get(path).json() == {"status": 404, "error": "There is no such submission."}
    asked = people["captain"].get(path, **{"accept-language": "zh-CN"})
    assert asked.json() == {"status": 404, "error": "没有这个提交。"}
    assert people["captain"].get(f"{path}?lang=zh").json()["error"] == "没有这个提交。"
    assert people["nobody"].get(path, **{"accept-language": "zh"}).json() == {"status": 401, "error": "请先登录。"}
    desk = people["rival"].get("/api/log?lang=zh").json()
    assert desk["status"] == 403
    assert CHINESE.search(desk["error"])


def test_a_form_is_refused_in_the_language_of_its_page(people):
    form = {"name": "", "next": "/team"}
    english = people["captain"].post("/do/rename-team", form)
    chinese = people["captain"].post("/do/rename-team", form, **{"accept-language": "zh"})
    assert (english.status_code, chinese.status_code) == (409, 409)
    assert "keeps its name" in english.text
    assert "已有提交的队伍不能自行改名，请联系主办方。" in chinese.text
    assert '<html lang="zh-CN"' in chinese.text


def test_a_closed_phase_says_when_it_closed_in_both_languages(people, world):
    world.clock.at = world.state.phase("first").closes
    begun = {"phase": "first", "name": "a.csv", "bytes": 10}
    captain = people["captain"]
    told = [
        captain.client.post(
            "/api/uploads", json=begun, headers=captain._headers({"x-csrf-token": captain.csrf, **more})
        )
        for more in ({}, {"accept-language": "zh"})
    ]
    english, chinese = (answer.json()["error"] for answer in told)
    assert "It closed" in english
    assert "截止，不再接收提交" in chinese
    assert [answer.status_code for answer in told] == [409, 409]


def test_what_the_log_says_of_a_submission_is_shown_in_the_pages_language(people, world):
    world.submit("s9", "t1")
    fault = Fault.of(say("{file}: line {line:,}, {key}", file="s9.csv", line=3, key="x"), "'abc'", say("a text"))
    world.add(e.SubmissionRefused("s9", (str(fault),), 1, (fault.zh,)), by="worker:w")
    english, chinese = (people["captain"].get(f"/submissions/s9?lang={language}").text for language in ("en", "zh"))
    assert "found &#39;abc&#39;, expected a text" in english
    assert "s9.csv，第 3 行，x——实际：&#39;abc&#39;；应为：一段文字" in chinese
    record = people["captain"].get("/api/submissions/s9", **{"accept-language": "zh"}).json()
    assert record["faults"] == ["s9.csv，第 3 行，x——实际：'abc'；应为：一段文字"]
    assert people["captain"].get("/api/submissions/s9").json()["faults"] == [str(fault)]


def test_our_own_faults_are_shown_in_the_pages_language(people, world):
    world.submit("s9", "t1")
    told = worker.LOST
    world.add(e.AttemptFailed("s9", 1, "platform", told.en, "", last=True, message_zh=told.zh), by="worker:w")
    assert "处理该提交的机器失去了联系" in people["captain"].get("/submissions/s9?lang=zh").text
    assert "处理该提交的机器失去了联系" in people["organiser"].get("/desk?lang=zh").text
    assert told.en in people["organiser"].get("/desk?lang=en").text
