"""English sentences of ours and their Chinese: what the log keeps for people to read, and errors that have no Chinese
of their own. Templates are as in palestra/i18n/phrasebook.py."""

from palestra.i18n import ATTEMPTS, ENDINGS, FAULT_PHRASES, FRAMES, VERIFICATIONS
from palestra.web.text.rule_phrases import RULE_PHRASES

# Names that nothing has, and errors of parts that speak English alone.
ERRORS = {
    "There is no {Kind} {quoted}. Did you mean {near}?": "没有名为 {quoted} 的{Kind}。是否为 {near}？",
    "There is no {Kind} {quoted}. Known: none.": "没有名为 {quoted} 的{Kind}，目前一个也没有。",
    "There is no {Kind} {quoted}. Known: {known}.": "没有名为 {quoted} 的{Kind}。已有：{known}。",
    "There is no submission {quoted}.": "没有编号为 {quoted} 的提交。",
    "This contest has not been opened yet: run `palestra contest init`.": (
        "比赛尚未创建：请运行 `palestra contest init`。"
    ),
    "The database does not answer. Try again soon.": "数据库没有响应，请稍后再试。",
    "The database does not answer.": "数据库没有响应。",
    "Something failed on our side. The organiser can find out by the number below.": (
        "平台出现故障。主办方可凭下面的编号查明原因。"
    ),
    "The request is not what was expected.": "请求的内容不符合要求。",
    "Not Found": "没有这个地址。",
    "Method Not Allowed": "该地址不支持这种请求方法。",
    "Bad Request": "请求的内容不符合要求。",
    "Unauthorized": "请先登录。",
    "Forbidden": "您无权进行此操作。",
    "Request Entity Too Large": "发送的内容超过上限。",
    "Too Many Requests": "请求过于频繁，请稍候再试。",
    "Service Unavailable": "服务暂不可用，请稍后再试。",
    "Internal Server Error": "服务器出了问题。",
}

# What is wrong with a request, as msgspec says it.
REQUESTS = {
    "{Fault} - at `{path}`": "{Fault}（位于 {path}）",
    "Object missing required field `{name}`": "缺少必填项 {name}",
    "Expected `{kind}`, got `{other}`": "应为 {kind}，实际为 {other}",
    "Invalid enum value {value}": "取值 {value} 无效",
}

# These stand inside of sentences alone: somebody's reason may be the same word.
PARTS = {
    "reproduced": "通过",
    "differs": "结果不一致",
    "failed": "失败",
    "late": "超时",
    "phase of this contest": "赛段",
    "team": "队伍",
    "account": "账号",
    "scope of a token": "令牌权限",
    "purpose of a link": "链接用途",
    "track (one outside the package needs --tracks-dir)": "赛道",
    "every field filled in as its label says": "每一项都按标签要求填写",
    "a password that is hard to guess": "不易猜到的密码",
    "{n} characters": "{n} 个字符",
    "{n} characters; at least {m}": "{n} 个字符；至少 {m} 个",
    "{n} characters; at most {m}": "{n} 个字符；最多 {m} 个",
    "the same few characters again and again": "只是少数几个字符的重复",
    "little more than the name of the account": "与用户名几乎相同",
    "one of the most common passwords": "属于最常见的密码",
    "{n} days": "{n} 天",
    "more than nothing, and at most {n} days": "大于零，最多 {n} 天",
    "some of what a {Role} may do: {names}": "{Role}权限中的若干项：{names}",
    "organiser": "主办方",
    "referee": "裁判",
    "member": "参赛者",
    "viewer": "观众",
    "none": "无",
    "at least one of {names}": "至少选择 {names} 中的一项",
    "exactly one of {names}": "恰好选择 {names} 中的一项",
    "{n} purposes": "{n} 种用途",
}

SENTENCES: dict[str, str] = {**FRAMES, **ATTEMPTS, **VERIFICATIONS, **ERRORS, **REQUESTS}
PHRASES: dict[str, str] = {**SENTENCES, **ENDINGS, **PARTS, **FAULT_PHRASES, **RULE_PHRASES}
