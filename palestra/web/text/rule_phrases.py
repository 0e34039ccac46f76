"""What faults of a contest file say, as palestra/contest rules say it; see
translate.py. Templates are as in palestra/i18n/phrasebook.py."""

from palestra.contest.rules import TABLES

NEEDED = sorted({name for keys in TABLES.values() for name, key in keys.items() if key.needed})

# What the parser of TOML has against a line.
SYNTAX = {
    "a line such as key = value, [table], or a comment after #": "形如 key = value 或 [table] 的一行，或 # 开头的注释",
    "the end of the line after a value": "值之后换行",
    "each table once; one that may come often has two brackets, such as [[phase]]": (
        "每个表只出现一次；可多次出现的表使用双方括号，如 [[phase]]"
    ),
    "each key once in its table": "同一个表中每个键只出现一次",
    "all keys of a {{ … }} between its brackets": "{{ … }} 的所有键都写在括号内",
    "each table once": "每个表只出现一次",
    "each key once between {{ and }}": "{{ 与 }} 之间每个键只出现一次",
    "] at the end of a table's name": "表名以 ] 结尾",
    "]] at the end of a table's name": "表名以 ]] 结尾",
    "a = between a key and its value": "键与值之间用 = 连接",
    "a key of letters, digits, _ and -": "由字母、数字、_ 和 - 组成的键",
    "a , between two values of a list, and ] at its end": "列表的值之间用 , 分隔，并以 ] 结尾",
    "a , between two keys of a table, and }} at its end, on the same line": (
        "表的键之间用 , 分隔，并在同一行以 }} 结尾"
    ),
    "\\\\ for one \\, or a text between single quotes": "用 \\\\ 表示一个 \\，或使用单引号文本",
    "digits and a–f after \\u": "\\u 之后为数字和 a–f",
    "a letter that exists after \\u": "\\u 之后为存在的字符",
    "a quote at the end of a text": "文本以引号结尾",
    'a quote at the end of a text; one of several lines stands between """ and """': (
        '文本以引号结尾；多行文本写在 """ 与 """ 之间'
    ),
    "no invisible letters": "不含不可见字符",
    "a day or a time that there is, such as 2022-08-01 or 2022-08-01T09:00:00": (
        "存在的日期或时间，如 2022-08-01 或 2022-08-01T09:00:00"
    ),
    "a value: a text in quotes, a number, true, false, a day, or a list of those between [ and ]": (
        "一个值：带引号的文本、数字、true、false、日期，或写在 [ 与 ] 之间的这些值的列表"
    ),
    "an empty line": "空行",
    "tables, lists or keys more than {n} deep": "表、列表或键的嵌套超过 {n} 层",
    "a number with thousands of digits": "长达数千位的数字",
    "numbers of a usual length": "通常长度的数字",
    "bytes that are not UTF-8": "不是 UTF-8 的字节",
    "a text file, saved as UTF-8": "以 UTF-8 保存的文本文件",
    "more than {n} bytes": "超过 {n} 字节",
    "a contest file of {n} bytes at most": "最多 {n} 字节的比赛文件",
    "{n} at most": "最多 {n}",
}

# Which tables and keys there are.
KEYS = {
    **{f"no {name}": f"缺少 {name}" for name in NEEDED},
    **{f"{name} = …": f"填写 {name} = …" for name in NEEDED},
    "no [{table}]": "缺少 [{table}]",
    "a table [{table}], with one pair of brackets": "一个表 [{table}]，使用单方括号",
    "a table [{table}]": "一个表 [{table}]",
    "[[{table}]], with two pairs of brackets, for each {name}": "每个 {name} 一个 [[{table}]]，使用双方括号",
    "one [[{table}]] at least": "至少一个 [[{table}]]",
    "[weights] with a share for each phase": "[weights]，其中每个赛段一个权重",
    "a key of {table}. {Hint}": "{table} 的键。{Hint}",
    "a table of the file. {Hint}": "文件中的表。{Hint}",
    "Did you mean {near}?": "是否为 {near}？",
    "Known: none.": "目前一个也没有。",
    "Known: {known}.": "已有：{known}。",
    "a table": "一个表",
    "an empty table": "空表",
    "a list": "一个列表",
    "an empty list": "空列表",
}

VALUES = {
    'a text, or {{ en = "…", zh = "…" }}': '一段文字，或 {{ en = "…", zh = "…" }}',
    "the language {quoted}": "语言 {quoted}",
    "en = {Value}": "en 的值为 {Value}",
    "zh = {Value}": "zh 的值为 {Value}",
    "an empty text": "空文本",
    'small letters, digits and single hyphens between them, 64 at most, such as "near-eye-2022"': (
        '小写字母、数字和其间的单个连字符，最多 64 个，如 "near-eye-2022"'
    ),
    "true or false": "true 或 false",
    "a whole number from {n} to {m}": "{n} 至 {m} 的整数",
    "a number, 0 or more": "不小于 0 的数字",
    "a share between 0 and 1, such as 0.3": "0 与 1 之间的比例，如 0.3",
    "a share above 0, 1 at most, such as 0.4": "大于 0、不超过 1 的比例，如 0.4",
    'names with a text, a number, true or false, such as {{ rule = "preliminary" }}': (
        '名称及其文本、数字、true 或 false，如 {{ rule = "preliminary" }}'
    ),
    'names of metrics, each once, and "earlier" last if at all, such as ["misses", "earlier"]': (
        '指标名称，各出现一次，"earlier" 只能放在最后，如 ["misses", "earlier"]'
    ),
    'a folder beside this file, such as "data/preliminary"; a link in it may lead elsewhere': (
        '本文件旁的文件夹，如 "data/preliminary"；其中的链接可以指向别处'
    ),
    'the name of a file in which {{team}} and {{date}} may stand, such as "{{team}}_Test_{{date}}.csv"': (
        '文件名，其中可以使用 {{team}} 和 {{date}}，如 "{{team}}_Test_{{date}}.csv"'
    ),
    "{{{name}}} in {quoted}": "{quoted} 中的 {{{name}}}",
    'a time zone by its place, such as "Asia/Shanghai", "Europe/Zurich" or "UTC". {Hint}': (
        '以地名表示的时区，如 "Asia/Shanghai"、"Europe/Zurich" 或 "UTC"。{Hint}'
    ),
    'a time zone by its place, such as "Asia/Shanghai", "Europe/Zurich" or "UTC"': (
        '以地名表示的时区，如 "Asia/Shanghai"、"Europe/Zurich" 或 "UTC"'
    ),
    "days without quotes, such as [2022-10-03, 2022-10-04]": "不带引号的日期，如 [2022-10-03, 2022-10-04]",
    "Saturdays and Sundays: other days are working days already": "周六或周日：其他日子本来就是工作日",
    "{day}, which is neither": "{day}，两者都不是",
    "a day such as 2022-08-01 or a time such as 2022-08-01T09:00:00, without quotes": (
        "日期（如 2022-08-01）或时间（如 2022-08-01T09:00:00），不带引号"
    ),
    "a day such as 2022-08-01 or a time such as 2022-08-01T09:00:00": (
        "日期（如 2022-08-01）或时间（如 2022-08-01T09:00:00）"
    ),
    "a year from {n} to {m}": "{n} 至 {m} 年",
    "{time}, which in {zone} comes twice, as clocks are put back": "{time}，因时钟回拨，该时间在 {zone} 出现两次",
    "{time}, which in {zone} does not exist, as clocks are put forward": "{time}，因时钟拨快，该时间在 {zone} 不存在",
    "another time, or one with its offset from UTC, such as {time}": "另一个时间，或注明与 UTC 的时差，如 {time}",
}

# What must fit together.
FITTING = {
    "an end that is not after the start": "结束时间不晚于开始时间",
    "opens before closes": "opens 早于 closes",
    "{day}, which is among the holidays": "{day}，同时列为节假日",
    "a day in one of the two": "同一天只列入其中之一",
    "{quoted}, which an earlier phase has": "{quoted}，前面的赛段已使用",
    "an id of its own": "不重复的 id",
    "a time outside the phase": "赛段之外的时间",
    "a time between opens and closes": "opens 与 closes 之间的时间",
    "no freeze": "没有设置 freeze",
    "the time of a freeze beside it": "同时设置封榜时间 freeze",
    '"promoted", and no phase that promotes to it': '"promoted"，但没有赛段晋级到此',
    '[phase.promotion] with to = "{phase}" in an earlier phase': '在前面的赛段中设置 [phase.promotion]，to = "{phase}"',
    "[phase.promotion] as well, since it is promoted teams who hand in bundles": (
        "同时设置 [phase.promotion]，因为验证包由晋级队伍提交"
    ),
    "verification without promotion": "有 verification 而没有 promotion",
    "the phase {quoted}, which does not come after this one": "赛段 {quoted}，它不在本赛段之后",
    "the phase {quoted}, which everyone may enter": "赛段 {quoted}，它对所有人开放",
    "the phase {quoted}, which opens before this one closes": "赛段 {quoted}，它在本赛段结束前开始",
    "the phase {quoted}": "赛段 {quoted}",
    "a later phase. {Hint}": "后面的赛段。{Hint}",
    "a later phase": "后面的赛段",
    'entry = "promoted" in {quoted}': '在 {quoted} 中设置 entry = "promoted"',
    "a phase that opens once this one has closed and its board is settled": "在本赛段结束、排名确定之后开始的赛段",
    "the id of a phase. {Hint}": "某个赛段的 id。{Hint}",
    "weights that sum to {n}": "权重之和为 {n}",
    "phases in which the lowest value is the best: {names}": "以低值为优的赛段：{names}",
    "phases that rank by a metric of which more is better, such as a score": "以越高越好的指标（如得分）排名的赛段",
    "phases that rank by metrics of unlike units": "排名指标单位不同的赛段",
    "metrics of one unit": "单位相同的指标",
    'phase = "…", or [weights] for a final standing over several phases': (
        '设置 phase = "…"，或用 [weights] 设置多个赛段的总排名'
    ),
    "an award for no phase": "奖项没有对应的赛段",
    "a track that is installed. {Hint}": "已安装的赛道。{Hint}",
    "settings that {track} has. {Hint}": "{track} 具有的设置。{Hint}",
    "setting of {track}": "设置项（{track}）",
    "{track} has no settings; --set takes none here.": "{track} 没有可设置的项。",
    "{Choices}; the default is {default}.": "{Choices}；默认为 {default}。",
    "metrics of {track} or 'earlier'. {Hint}": "{track} 的指标或 'earlier'。{Hint}",
    "pace or timing": "pace 或 timing",
    "a match in {track}": "{track} 中的现场比赛",
    "a track in which a robot acts at a table": "机器人在桌面上操作的赛道",
    "none, since the rules of a match part equals": "不设置，因为现场比赛的规则已规定同分如何排序",
    "neither, since {track} takes files and has no clock": "两者都不设置，因为 {track} 以文件作答，没有时钟",
}

RULE_PHRASES = {**SYNTAX, **KEYS, **VALUES, **FITTING}
