"""What is not there, or not for whoever asks: the same words wherever it is asked for."""

from typing import TypeVar

from palestra.errors import Missing
from palestra.text import Words

T = TypeVar("T")
BOARD = Words("There is no board to be seen here.", "这里没有可查看的排行榜。")
FINAL = Words("There is no final standing to be seen.", "暂无可查看的最终成绩。")
RUN = Words("There is no such run to be seen.", "没有可查看的这场评测。")
SUBMISSION = Words("There is no such submission.", "没有这个提交。")
REPORT = Words("There is no such report.", "没有这份报告。")
BUNDLE = Words("There is no such bundle.", "没有这个验证包。")
RESCORING = Words("There is no such set of scores.", "没有这组重新评分。")
AWARD = Words("There is no such award.", "没有这个奖项。")


def there(found: T | None, what: Words) -> T:
    """What was found; else it is said that it is missing."""
    if found is None:
        raise Missing(what.en, what.zh)
    return found
