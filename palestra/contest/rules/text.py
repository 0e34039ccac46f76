"""Texts that people must give: a reason where something is changed."""

from palestra.errors import Told, clean


def require_reason(reason: str) -> str:
    """Why something was done, for whoever reads the log later."""
    found = clean(reason)
    if len(found) < 3:
        raise Told("Say why, in a few words: the reason is kept in the log.", "请简要说明理由：理由会写入比赛日志。")
    return found
