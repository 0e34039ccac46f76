"""Files that come and go: uploads that go on where they broke off, downloads by ranges, names that are only names."""

import asyncio
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palestra.contest.log import events as e
from palestra.errors import PalestraError
from palestra.web.api import transfers
from palestra.web.api.transfers import PIECE_BYTES, _range, hand_in
from palestra.web.auth.middleware import SESSION
from tests.web.asking import Answer, ask
from tests.web.conftest import As, World
from tests.web.uploading import append, begin, complete, submitted

FILE = bytes(range(256)) * 20


@pytest.fixture
def sent(people: dict[str, As]) -> str:
    return submitted(people["captain"], FILE, name='Ergebnis "für" 眼.csv')


def get(world: World, path: str, method: str = "GET", account: str = "ann", **headers: str) -> Answer:
    cookie = {"cookie": f"{SESSION}={world.session(account)}"}
    return asyncio.run(ask(world.app, method, path, {**cookie, **headers}))


# Up


def test_an_upload_goes_on_where_it_broke_off(world: World, people: dict[str, As]) -> None:
    ann = people["captain"]
    upload = begin(ann, size=len(FILE)).json()["upload"]
    assert append(ann, upload, 0, FILE[:1000]).json()["received"] == 1000
    assert ann.get(f"/api/uploads/{upload}").json() == {
        "upload": upload, "received": 1000, "bytes": len(FILE), "submission": "",
    }  # fmt: skip
    append(ann, upload, 1000, FILE[1000:])
    name = complete(ann, upload).json()["submission"]
    assert world.contest.files.read(world.state.submissions[name].file) == FILE
    assert ann.get(f"/api/uploads/{upload}").json()["submission"] == name


@pytest.mark.parametrize(
    ("language", "says"), [("en", "takes files that end in .csv."), ("zh", "扩展名为 .csv 的文件")]
)
def test_a_file_of_the_wrong_kind_is_refused_before_a_byte_is_sent(
    people: dict[str, As], world: World, language: str, says: str
) -> None:
    headers = people["captain"]._headers({"x-csrf-token": people["captain"].csrf, "accept-language": language})
    asked = {"phase": "first", "name": "answers.zip", "bytes": 10}
    answer = people["captain"].client.post("/api/uploads", json=asked, headers=headers)
    assert answer.status_code == 409
    assert says in answer.json()["error"]
    assert world.site.uploads.under_way("ann") == []


@pytest.mark.parametrize("offset", [0, 999, 1001, 10**14])
def test_bytes_that_do_not_follow_are_refused_with_the_right_place(people: dict[str, As], offset: int) -> None:
    upload = begin(people["captain"], size=5000).json()["upload"]
    append(people["captain"], upload, 0, FILE[:1000])
    answer = append(people["captain"], upload, offset, FILE[1000:])
    assert answer.status_code == 409
    assert answer.json()["received"] == 1000


@pytest.mark.parametrize("offset", ["", "-1", "1e3", "0x10", " 5", "9" * 40, "１.５"])
def test_an_offset_that_is_none_is_refused(people: dict[str, As], offset: str) -> None:
    upload = begin(people["captain"]).json()["upload"]
    answer = people["captain"].client.patch(
        f"/api/uploads/{upload}",
        content=b"x",
        headers={
            **people["captain"]._headers({"x-csrf-token": people["captain"].csrf}),
            b"upload-offset": offset.encode(),  # type: ignore[dict-item]
        },
    )
    assert answer.status_code == 409
    assert "Upload-Offset" in answer.json()["error"]


def test_a_piece_that_is_too_large_is_refused(people: dict[str, As]) -> None:
    upload = begin(people["captain"], size=3 * PIECE_BYTES).json()["upload"]
    answer = append(people["captain"], upload, 0, b"x" * (PIECE_BYTES + 1))
    assert answer.status_code == 409
    assert "A piece has at most" in answer.text
    assert append(people["captain"], upload, 0, b"x" * (11 << 20)).status_code == 413
    assert people["captain"].get(f"/api/uploads/{upload}").json()["received"] == 0


def test_a_connection_that_breaks_in_the_middle_of_a_piece_leaves_the_upload_as_it_was(
    world: World, people: dict[str, As]
) -> None:
    upload = begin(people["captain"], size=100).json()["upload"]
    headers = people["captain"]._headers({"x-csrf-token": people["captain"].csrf, "upload-offset": "0"})

    async def cut() -> Answer:
        return await ask(world.app, "PATCH", f"/api/uploads/{upload}", headers, parts=[b"x" * 10], cut=True)

    answer = asyncio.run(cut())
    assert answer.status < 500
    assert people["captain"].get(f"/api/uploads/{upload}").json()["received"] == 0
    assert append(people["captain"], upload, 0, b"y" * 100).status_code == 200


def test_a_body_that_comes_in_many_pieces_is_one_piece_of_the_file(world: World, people: dict[str, As]) -> None:
    upload = begin(people["captain"], size=50).json()["upload"]
    headers = people["captain"]._headers({"x-csrf-token": people["captain"].csrf, "upload-offset": "0"})
    parts = [b"x"] * 50
    answer = asyncio.run(ask(world.app, "PATCH", f"/api/uploads/{upload}", headers, parts=parts))
    assert answer.json["received"] == 50


def test_an_upload_that_was_given_up_is_gone(people: dict[str, As]) -> None:
    ann = people["captain"]
    upload = begin(ann).json()["upload"]
    headers = ann._headers({"x-csrf-token": ann.csrf})
    assert ann.client.delete(f"/api/uploads/{upload}", headers=headers).status_code == 204
    assert ann.get(f"/api/uploads/{upload}").status_code == 404
    assert append(ann, upload, 0, b"x").status_code == 404


@pytest.mark.parametrize("upload", ["0" * 32, "..", "x", "%2e%2e%2fcontest.db", "0" * 31 + "g", "０" * 32])
def test_an_upload_that_was_never_begun_is_not_there(people: dict[str, As], upload: str) -> None:
    assert people["captain"].get(f"/api/uploads/{upload}").status_code == 404


def test_of_two_requests_that_complete_an_upload_at_once_the_second_gets_the_first_ones_submission(
    world: World, people: dict[str, As], monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = begin(people["captain"]).json()["upload"]
    append(people["captain"], upload, 0, b"x" * 10)
    stale = world.site.uploads.find(upload)  # as the second request read it, before the first was done
    first = complete(people["captain"], upload).json()["submission"]
    assert hand_in(world.site, stale) == first
    monkeypatch.setattr(transfers.submissions, "require_open", _closed)
    assert hand_in(world.site, stale) == first


def _closed(*_: Any) -> None:
    raise PalestraError("The quota is used up.")


# Down


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("", 200, slice(None)), ("bytes=0-0", 206, slice(0, 1)), ("bytes=10-19", 206, slice(10, 20)),
        ("bytes=5000-", 206, slice(5000, None)), ("bytes=-7", 206, slice(-7, None)),
        ("bytes=0-999999", 206, slice(None)), ("bytes=-999999", 206, slice(None)), ("bytes=5120-", 416, None),
        ("bytes=9-3", 416, None), ("bytes=-0", 416, None),
        ("bytes=-", 416, None), ("bytes=a-b", 416, None), ("bytes=0-1,3-4", 416, None), ("lines=0-1", 416, None),
        ("bytes=" + "0-1," * 2000, 416, None), ("bytes=" + "9" * 400 + "-", 416, None), ("bytes", 416, None),
    ],
)  # fmt: skip
def test_the_range_that_was_asked_for_is_sent(world: World, sent: str, asked: str, status: int, part: Any) -> None:
    answer = get(world, f"/api/submissions/{sent}/file", **({"range": asked} if asked else {}))
    assert answer.status == status
    if part is None:
        assert answer.header("content-range") == "bytes */5120"
        assert FILE[:8] not in answer.body
        return
    assert answer.body == FILE[part]
    assert int(answer.header("content-length")) == len(answer.body)
    if status == 206:
        first, last = range(len(FILE))[part][0], range(len(FILE))[part][-1]
        assert answer.header("content-range") == f"bytes {first}-{last}/5120"


@given(st.text(max_size=40), st.integers(1, 10**9))
def test_a_range_is_within_the_file_or_refused(text: str, size: int) -> None:
    for asked in (text, f"bytes={text}"):
        start, end = _range(asked, size)
        assert start is None or 0 <= start < end <= size


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(1, 1000))
def test_a_range_that_can_be_had_is_what_was_asked_for(first: int, last: int, size: int) -> None:
    start, end = _range(f"bytes={first}-{last}", size)
    expected = range(size)[first : last + 1]
    assert (start is None) == (len(expected) == 0)
    assert start is None or range(start, end) == expected


def test_a_download_is_gone_on_with_only_where_it_is_the_same_file(world: World, sent: str) -> None:
    whole = get(world, f"/api/submissions/{sent}/file")
    tag = whole.header("etag")
    same = get(world, f"/api/submissions/{sent}/file", **{"range": "bytes=100-", "if-range": tag})
    assert (same.status, same.body) == (206, FILE[100:])
    other = get(world, f"/api/submissions/{sent}/file", **{"range": "bytes=100-", "if-range": '"another"'})
    assert (other.status, other.body) == (200, FILE)


@pytest.mark.parametrize("asked", [{}, {"range": "bytes=10-19"}, {"range": "bytes=9-3"}])
def test_head_answers_as_get_does_and_reads_no_file(
    world: World, sent: str, asked: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world.add(e.DataPacked("first", "starter", world.put("the starter"), 11))
    for path in (f"/api/submissions/{sent}/file", "/api/submissions/s1/result", "/api/data/first/starter"):
        whole = get(world, path, **asked)
        with monkeypatch.context() as patched:
            patched.setattr(type(world.contest.files), "stream", None)
            head = get(world, path, "HEAD", **asked)
        assert head.body == b""
        assert (head.status, head.headers) == (whole.status, whole.headers)
        if head.status != 416:
            assert head.header("accept-ranges") == "bytes"
            assert head.header("digest") == f"sha-256={head.header('etag').strip(chr(34))}"
            assert int(head.header("content-length")) == len(whole.body) > 0


@pytest.mark.parametrize("name", ["board-first.csv", "submissions.parquet", "events.csv"])
def test_head_tells_of_an_export_what_get_does(world: World, name: str) -> None:
    whole, head = (get(world, f"/desk/exports/{name}", method, "olga") for method in ("GET", "HEAD"))
    assert whole.body
    assert (head.status, head.headers, head.body) == (200, whole.headers, b"")
    assert name == "events.csv" or int(head.header("content-length")) == len(whole.body)
    refused = get(world, f"/desk/exports/{name}", "HEAD")
    assert (refused.status, refused.body) == (403, b"")


def test_head_finds_no_more_than_get_does(world: World) -> None:
    for path in ("/api/submissions/s2/file", "/api/data/first/view", "/api/submissions/s1/scores"):
        head = get(world, path, "HEAD")
        assert (head.status, head.body) == (404, b"")


def test_a_file_comes_back_under_its_name_and_as_nothing_that_runs(world: World, sent: str) -> None:
    answer = get(world, f"/api/submissions/{sent}/file")
    kind, _, name = answer.header("content-disposition").partition("; filename*=UTF-8''")
    assert kind == "attachment"
    assert name.isascii()
    assert '"' not in name
    assert unquote(name) == 'Ergebnis "für" 眼.csv'
    assert answer.header("content-type") == "application/octet-stream"
    assert answer.header("x-content-type-options") == "nosniff"


@pytest.mark.parametrize(
    "name", ["a\r\nSet-Cookie: x=y.csv", "a;b='c'.csv", "...csv", "x" * 900 + ".csv", "\u202egpj.csv", "%0d%0aX.csv"]
)
def test_no_file_name_breaks_out_of_its_header(world: World, people: dict[str, As], name: str) -> None:
    answer = get(world, f"/api/submissions/{submitted(people['captain'], FILE, name=name)}/file")
    assert answer.status == 200
    assert answer.header("set-cookie") == ""
    assert len(answer.header("content-disposition")) < 1000
    assert all("\r" not in value and "\n" not in value for _, value in answer.headers)


def test_what_is_asked_of_a_submission_is_one_of_its_files(world: World) -> None:
    assert get(world, "/api/submissions/s1/result").body == b"{}"
    for what in ("scores", "report", "trace", "..", "file2", "organiser-report"):
        assert get(world, f"/api/submissions/s1/{what}").status == 404


def test_data_is_for_who_was_granted_it_once_the_phase_has_begun(world: World, people: dict[str, As]) -> None:
    for part in ("view", "truth", "starter"):
        world.add(e.DataPacked("first", part, world.put(f"the {part}"), 10))  # type: ignore[arg-type]
    seen = {
        who: [part for part in ("view", "truth", "starter") if person.get(f"/api/data/first/{part}").status_code == 200]
        for who, person in people.items()
    }
    assert seen == {
        "organiser": ["view", "truth", "starter"], "captain": ["view", "starter"], "member": ["view", "starter"],
        "rival": ["starter"], "viewer": ["starter"], "referee": ["starter"], "nobody": ["starter"],
    }  # fmt: skip
    assert people["captain"].get("/api/data/first/view/manifest").json()["bytes"] == len("the view")
    assert people["captain"].get("/api/data/first/truth/manifest").status_code == 404
    world.add(e.TeamDisqualified("t1", "two accounts"))
    assert people["captain"].get("/api/data/first/view").status_code == 404
