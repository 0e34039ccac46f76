"""What an export says of itself to whoever opens it, in English and Chinese."""

from collections.abc import Collection
from pathlib import Path

from palestra.contest.log import Head
from palestra.contest.rules import Rules, told

_README = Path(__file__).with_name("readme.md").read_text(encoding="utf-8")

_CHAIN_EN = """
`log.jsonl` has one event in each line: `seq`, `at` (milliseconds since 1970, UTC), `by`, `body` (JSON, as a text) and
`hash`, which is the SHA-256 of the hash before it (64 zeros before the first), `seq`, `at`, `by` and `body`, with a
line feed between them. The last one is event {seq}, `{hash}`. Whoever kept an earlier hash can find it there.
"""
_CHAIN_ZH = """
`log.jsonl` 每行记录一个事件：`seq`（序号）、`at`（自 1970 年起的毫秒数，UTC）、`by`（操作者）、
`body`（JSON 文本）和 `hash`。`hash` 是将上一事件的哈希值（首个事件之前为 64 个零）、`seq`、`at`、`by`
和 `body` 以换行符相连后计算的 SHA-256。最后一个是第 {seq} 号事件：
`{hash}`。
若您此前记下过某个哈希值，可以在日志中核对。
"""
_REBUILD_EN = """
`palestra contest restore` makes the whole contest again from this archive, and computes its results again. It holds
e-mail addresses and may hold the truth of the data: it is for the organiser.
"""
_REBUILD_ZH = """
使用 `palestra contest restore` 可以由此归档重建整个比赛，并重新计算成绩。
归档中含有电子邮件地址，也可能含有标准答案，仅供主办方使用。
"""

# Each with what is told in a full export, and whether a public one has it as well.
_FILES = (
    ("`log.jsonl`", "every event of the contest, as it is kept", "比赛的全部事件，与日志原文一致", False),
    ("`rules/`", "the rules, in each of their versions", "比赛规则的各个版本", True),
    ("`tables/`", "boards and other tables, as CSV and Parquet", "排行榜及其他表格，CSV 与 Parquet 格式", True),
    ("`files/`", "what the events name, by SHA-256: submissions, scores, reports, …",
     "事件所引用的文件，以 SHA-256 命名：提交、得分、报告等", False),
)  # fmt: skip

_GROUPS_ZH = {"submissions": "提交文件", "reports": "报告", "data": "数据包", "recordings": "录制文件"}


def readme(
    rules: Rules, head: Head, as_of: int, fingerprint: str, palestra: str, public: bool, without: Collection[str]
) -> str:
    """The README.md of an archive."""
    listed = [line for line in _FILES if line[3] or not public]
    end = {"seq": head.seq, "hash": head.hash}
    left_out = sorted(without)
    return _README.format(
        contest=rules.id,
        palestra=palestra,
        fingerprint=fingerprint,
        name_en=rules.name.in_language("en"),
        name_zh=rules.name.in_language("zh"),
        as_of_en=told(as_of, rules.zone).en,
        as_of_zh=told(as_of, rules.zone).zh,
        kind_en="What the public may see" if public else "The whole",
        kind_zh="公众可见的内容" if public else "完整归档",
        files_en="\n".join(f"| {name} | {english} |" for name, english, _, _ in listed),
        files_zh="\n".join(f"| {name} | {chinese} |" for name, _, chinese, _ in listed),
        without_en=f"\nLeft out: {', '.join(left_out)}.\n" if left_out else "",
        without_zh=f"\n未包含：{'、'.join(_GROUPS_ZH[one] for one in left_out)}。\n" if left_out else "",
        chain_en="" if public else " and the chain of the log",
        chain_zh="" if public else "以及日志的哈希链",
        chain_text_en="" if public else _CHAIN_EN.format(**end),
        chain_text_zh="" if public else _CHAIN_ZH.format(**end),
        rebuild_en="" if public else _REBUILD_EN,
        rebuild_zh="" if public else _REBUILD_ZH,
    )
