"""What an export says of itself to whoever opens it, in English and then in Chinese."""

from collections.abc import Collection, Iterator

from palestra.contest.log import Head
from palestra.contest.rules import Rules, told
from palestra.text import LANGUAGES, Text, Words, in_language, joined, message, say, sentences

CHECK = "    python verify.py"
CHECK_SIGNATURE = "    openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in manifest.json -sigfile manifest.sig"
# Each with what is told in a full export, and whether a public one has it as well.
_FILES = (
    ("`log.jsonl`", message("every event of the contest, as it is kept"), False),
    ("`rules/`", message("the rules, in each of their versions"), True),
    ("`tables/`", message("boards and other tables, as CSV and Parquet"), True),
    ("`files/`", message("what the events name, by SHA-256: submissions, scores, reports, …"), False),
    ("`verify.py`", message("checks all of this"), True),
    (
        "`manifest.json`, `manifest.sig`, `public.pem`",
        message("every file's SHA-256, signed with Ed25519, and the key"),
        True,
    ),
)
_GROUPS = {
    "submissions": message("submissions", "left out"),
    "reports": message("reports", "left out"),
    "data": message("data", "left out"),
    "recordings": message("recordings", "left out"),
}


def readme(
    rules: Rules, head: Head, as_of: int, fingerprint: str, palestra: str, public: bool, without: Collection[str]
) -> str:
    """The README.md of an archive."""
    parts = [
        joined(["# ", rules.name], ""),
        _what(rules, as_of, palestra, public),
        _files(public),
        *_left_out(without),
        *_how_to_check(fingerprint, public),
        *([] if public else _of_the_whole(head)),
        say(
            "CSV files are UTF-8; a text that a spreadsheet program would take for a formula has an apostrophe before "
            "it. Parquet files have the texts as they are."
        ),
    ]
    return "\n\n".join(in_language(part, language) for language in LANGUAGES for part in parts) + "\n"


def _what(rules: Rules, as_of: int, palestra: str, public: bool) -> Words:
    kind = say("What the public may see") if public else say("The whole")
    found = say(
        "{kind} of the contest `{contest}`, as of {as_of}, written by Palestra {palestra}.",
        kind=kind,
        contest=rules.id,
        as_of=told(as_of, rules.zone),
        palestra=palestra,
    )
    return Words(f"{found.en}\n[中文](#{_check_it().zh})", found.zh)


def _files(public: bool) -> Words:
    rows = [
        joined([f"| {name} | ", say(what), " |"], "") for name, what, is_public in _FILES if is_public or not public
    ]
    head = joined(["| ", say("file"), " | ", say("content"), " |\n|---|---|"], "")
    return joined([head, *rows], "\n")


def _left_out(without: Collection[str]) -> Iterator[Words]:
    if without:
        yield say("Left out: {groups}.", groups=joined(say(_GROUPS[one]) for one in sorted(without)))


def _check_it() -> Words:
    return say("To check it")


def _how_to_check(fingerprint: str, public: bool) -> Iterator[Text]:
    yield joined(["## ", _check_it()], "")
    yield CHECK
    again = (
        say("It computes every digest again.")
        if public
        else say("It computes every digest and the chain of the log again.")
    )
    yield sentences(
        say("It needs nothing but Python."),
        again,
        say("The signature is checked where the package `cryptography` is installed, or by hand:"),
    )
    yield CHECK_SIGNATURE
    yield say(
        "A signature is worth as much as the key. The organiser can tell you whether the contest's key is the one with "
        "this fingerprint:"
    )
    yield f"    {fingerprint}"


def _of_the_whole(head: Head) -> Iterator[Words]:
    yield say(
        "`log.jsonl` has one event in each line: `seq`, `at` (milliseconds since 1970, UTC), `by`, `body` (JSON, as a "
        "text) and `hash`, which is the SHA-256 of the hash before it (64 zeros before the first), `seq`, `at`, `by` "
        "and `body`, with a line feed between them. The last one is event {seq}, `{hash}`. Whoever kept an earlier "
        "hash can find it there.",
        seq=head.seq,
        hash=head.hash,
    )
    yield say(
        "`palestra contest restore` makes the whole contest again from this archive, and computes its results again. "
        "It holds e-mail addresses and may hold the truth of the data: it is for the organiser."
    )
