"""What reports say in English, and its Chinese: tables, figures, notes. Templates as in phrasebook.py.

What belongs to one track alone may stand in its `chinese`; a test makes every track's report and finds what is missing.
"""

from palestra.i18n.faults import FAULT_PHRASES
from palestra.i18n.run_reports import RUN, VERIFICATION
from palestra.i18n.runs import ATTEMPTS, ENDINGS, FRAMES, SANDBOXES, VERIFICATIONS

# Names of columns, groups and their values: each is also known with a capital letter.
NOUNS = {
    "person": "受试者",
    "people": "受试者",
    "tester": "测试者",
    "sequence": "序列",
    "sequences": "序列",
    "session": "场次",
    "case": "用例",
    "cases": "用例",
    "unit": "单位",
    "group": "组",
    "groups": "组",
    "step": "步",
    "movement": "眼动类型",
    "fixation": "注视",
    "saccade": "扫视",
    "pursuit": "平滑追踪",
    "blink": "眨眼",
    "pattern": "刺激模式",
    "random": "随机",
    "ring": "环形",
    "glasses": "眼镜",
    "makeup": "化妆",
    "sex": "性别",
    "female": "女",
    "male": "男",
    "eye colour": "眼睛颜色",
    "blue": "蓝色",
    "brown": "棕色",
    "green": "绿色",
    "grey": "灰色",
    "hazel": "榛色",
    "black": "黑色",
    "asian": "亚裔",
    "caucasian": "白人",
    "other": "其他",
    "under 21": "21 岁以下",
    "known": "训练集中出现过",
    "new": "新受试者",
    "emotion": "情绪",
    "valence": "效价",
    "video": "视频",
    "videos": "视频",
    "split": "划分",
    "train": "训练集",
    "validation": "验证集",
    "calibration": "标定集",
    "test": "测试集",
    "total": "合计",
    "all": "全部",
    "average": "平均",
    "trial": "试次",
    "trials": "试次",
    "frames": "帧",
    "images": "图像",
    "given labels": "已给出的标注",
    "error": "误差",
    "loss": "损失",
    "share": "比例",
    "degrees": "度",
    "points": "个点",
    "s": "秒",
    "lower": "越低越好",
    "higher": "越高越好",
    "yes": "是",
    "no": "否",
    "baseline": "基线",
    "pick": "抓取",
    "place": "放置",
    "stack": "堆叠",
    "insert": "插入",
    "long": "长程任务",
}

PAGE = {
    "✓ Valid": "✓ 有效",
    "✗ Not valid": "✗ 无效",
    "95 % interval": "95% 置信区间",
    "{n} rows": "{n} 行",
    "{n} s": "{n} 秒",
    "{n} min": "{n} 分钟",
    "{n} h": "{n} 小时",
    "{n} of {m}": "{n}/{m}",
    "{n} or more": "至少 {n}",
    "{n} points": "{n} 个点",
    "{track} · {n} trials": "{track} · {n} 个试次",
    "{track} · {n} entrants · {time} UTC": "{track} · {n} 个参赛程序 · {time} UTC",
    "{Track}: the data set": "{Track}：数据集",
}

RESULT = {
    "Summary": "总览",
    "Metric": "指标",
    "Value": "数值",
    "Better": "方向",
    "Too few of the unit “{Unit}” took part for an interval.": "参与的{Unit}太少，无法给出置信区间。",
    "† Published on the original data; this data set is another one, so compare with care.": (
        "† 在原始数据上发表的结果；本数据集与之不同，请谨慎比较。"
    ),
    "baseline (50-sample line)": "基线（50 个样本的直线外推）",
    "DE + SVM, reproduced": "DE + SVM（复现）",
    "Cumulative error": "误差累积分布",
    "share of trials": "试次比例",
    "{share}\u00a0% of the trials lie beyond the right edge.": "有 {share}% 的试次超出右边界。",
    "Error by gaze direction": "不同视线方向的误差",
    "mean {Error} (°)": "平均{Error} (°)",
    "yaw (°)": "水平角 (°)",
    "pitch (°)": "俯仰角 (°)",
    "Mean of each {n}° × {m}° cell.": "每个 {n}° × {m}° 格内的平均值。",
    "Cells with fewer than {n} trials show them as dots.": "不足 {n} 个试次的格子用点画出各试次。",
    "Each {Unit}, best first": "各{Unit}（由好到差）",
    "{Unit}, best first": "{Unit}（由好到差）",
    "Lower is better.": "越低越好。",
    "Higher is better.": "越高越好。",
    "Dashed: over all trials.": "虚线：全部试次。",
    "By {Column}": "按{Column}",
    "Worst trials": "误差最大的试次",
    "Median trials": "误差居中的试次",
    "Some trials": "部分试次",
    "No trial has an error.": "所有试次均无误差。",
    "no answer": "没有答案",
    "{n} more trial had no answer; they are charged as the rules say.": "另有 {n} 个试次没有答案，按规则计分。",
    "{n} more trials had no answer; they are charged as the rules say.": "另有 {n} 个试次没有答案，按规则计分。",
    "Where this result comes from": "成绩来源",
    "Palestra": "Palestra 版本",
    "Code": "代码",
    "Data": "数据",
    "Answers": "答案",
    "Seed": "随机种子",
    "Resamples": "重采样次数",
    "Sandbox": "沙箱",
    "Host": "主机",
    "Made at": "生成时间",
    "Setting {name}": "设置 {name}",
    "the host sent {n} of {m} decisions more than {k}% of their deadline late (at worst {worst} ms); {Most}": (
        "主机发送 {m} 次判断请求中的 {n} 次时，延误超过时限的 {k}%（最多 {worst} ms）；{Most}"
    ),
    "at most {n}% may be": "此类请求最多允许 {n}%",
    "the run was stopped after {n} of {m} decisions": "评测在 {m} 次判断中的第 {n} 次之后被中止",
}

PICTURED = {
    "Green: where the person looked.": "绿色（truth）：实际注视点。",
    "Orange: the answer.": "橙色（answer）：答案。",
    "The last picture that was given.": "左图：给出的最后一帧。",
    "A second of EEG; from line to line the voltage at the top right.": "一秒脑电；相邻两线的间距为右上角所示电压。",
    "Green: the emotion that was shown.": "绿色（truth）：实际诱发的情绪。",
    "From the left: the picture, the true mask, the answer.": "自左至右：原图、真值掩码、答案。",
    "From the left: the table at the start, from the side and from above, and then at the end.": (
        "自左至右：开始时的桌面（侧视、俯视），结束时的桌面（侧视、俯视）。"
    ),
}

DATA = {
    "Samples": "样本",
    "Spread evenly over the data set.": "在数据集中均匀选取。",
    "People and pictures": "受试者与图像",
    "Some people are in more than one split.": "部分受试者出现在多个划分中。",
    "Gaze directions": "视线方向",
    "% of the split": "占该划分的百分比",
    "Labelled frames of each split, on one colour scale.": "各划分中带标注的帧，使用同一色标。",
    "Labelled frames of each sequence": "各序列的标注帧",
    "sequence, in decreasing order": "序列（由高到低）",
    "labelled frames (%)": "标注帧比例 (%)",
    "{n} sequences with {labels} labels and {frames} frames each; {m} of {k} frames are labelled ({share}\u00a0%).": (
        "共 {n} 个序列，每个 {frames} 帧，其中 {labels} 帧有标注；合计 {k} 帧中 {m} 帧有标注（{share}%）。"
    ),
}

LIVE_GAZE = {
    "PE after each point": "每个点之后的 PE",
    "PE so far (°)": "当前 PE (°)",
    "point": "点",
    "Among the first 19 points one miss puts PE at 90° or more; of all {n} it takes {m}.": (
        "前 19 个点中漏答一个，PE 即不低于 90°；全部 {n} 个点中须漏答 {m} 个才会如此。"
    ),
    "Error at each point": "每个点的误差",
    "error (°)": "误差 (°)",
    "Crosses: {n} point without a usable answer.": "叉号：{n} 个点没有可用的答案。",
    "Crosses: {n} points without a usable answer.": "叉号：{n} 个点没有可用的答案。",
    "Testers": "测试者",
    "Points": "点数",
    "Misses": "漏答数",
    "Median latency (ms)": "延迟中位数 (ms)",
    "Slowest (ms)": "最慢 (ms)",
    "Why there was no answer": "没有答案的原因",
    "{n} for other reasons": "{n} 次为其他原因",
}

EEG = {
    "Emotions taken for others": "情绪混淆矩阵",
    "answer": "回答",
    "shown": "真值",
    "Share of each row, and seconds.": "数字为所占行的比例及秒数。",
    "Lines part the valences.": "白线分隔不同效价。",
    "Accuracy by emotion": "各情绪的准确率",
    "right seconds (%)": "正确秒数 (%)",
    "Dots are people.": "每个点为一名受试者。",
    "Dashed: guessing evenly, {n}\u00a0%.": "虚线：均匀猜测，{n}%。",
    "Dashed: guessing evenly.": "虚线：均匀猜测。",
    "Accuracy within a video": "视频进程中的准确率",
    "right (%)": "正确 (%)",
    "time in the video (s)": "视频内时间 (秒)",
    "decisions": "判断数",
    "All decisions, in steps of {n}\u00a0s.": "全部判断，每 {n} 秒一段。",
    "Faint: fewer than {n} of them.": "浅色：不足 {n} 个判断。",
    "People and emotions": "受试者与情绪",
    "Right seconds in per cent.": "正确秒数的百分比。",
    "Recordings": "记录",
    "Batch": "批次",
    "Minutes": "分钟",
    "What test people watched is the truth, and not told here.": "测试集受试者观看的内容即真值，此处不列出。",
    "Blocks of the training people": "训练集受试者的区块",
    "Blocks": "区块",
    "A block, s": "区块时长 (秒)",
    "A video, s": "视频时长 (秒)",
    "Shortest, median and longest.": "依次为最短、中位数、最长。",
    "The sitting of {person}": "{person} 的实验过程",
    "minutes": "分钟",
    "Grey: blocks.": "灰色：区块。",
    "In a test person's sitting the videos have changed places, across blocks and valences.": (
        "在测试集受试者的实验过程中，视频的先后次序被打乱，跨越区块和效价。"
    ),
    "Some seconds of EEG": "数秒脑电",
    "s from the start of video {n}": "距视频 {n} 开始的时间 (秒)",
    "{person}, against CPz, between {n} and {m}\u00a0Hz; the files hold it unfiltered.": (
        "{person}，以 CPz 为参考，{n}–{m} Hz；文件中为未滤波的信号。"
    ),
    "Spectrum": "功率谱",
    "µV² per Hz": "µV²/Hz",
    "Median of {n} training people, in their longest videos.": "{n} 名训练集受试者在其最长视频中的中位数。",
    "Seconds": "秒数",
    "Label": "标签",
    "In Chinese": "中文",
    "Some are odd.": "有少数例外。",
    "{video} lasts {n}\u00a0s, but longer for {Whom}: the {Crop} is cut.": (
        "视频 {video} 时长 {n} 秒，{Whom}的记录较长，已裁去{Crop}。"
    ),
    "person {n}": "第 {n} 号受试者",
    "people {n} to {m}": "第 {n} 至 {m} 号受试者",
    "start": "开头",
    "end": "结尾",
    "Shortened data sets have none of these.": "缩短的数据集没有这些例外。",
}

TABLE = {
    "Scores by group": "各组得分",
    "share of sub-goals met": "子目标达成率",
    "Bars: the mean of a group.": "柱：该组平均值。",
    "Dots: its cases.": "点：组内各用例。",
    "Met": "达成",
    "Time (ms)": "用时 (ms)",
    "Not met": "未达成",
    "The total is compared in whole seconds.": "总用时按整秒比较。",
    "time (s)": "时间 (秒)",
    "Blue: the sub-goal holds.": "蓝色：子目标成立。",
    "Orange: it holds for the first time.": "橙色：首次成立。",
    "To practise on": "练习用例",
    "Hidden": "保密用例",
    "Practice cases at their start": "练习用例的初始状态",
    "What is wished for": "指令",
    # What referees decided on a case: contest/match/outcomes.py.
    "time was up": "时间到",
    "the 55 minutes ended": "55 分钟结束",
    "abandoned": "放弃",
    "not reached": "未进行",
    "running": "进行中",
    "result taken away: {reason}": "成绩取消：{reason}",
    "{points} deducted: {reason}": "扣 {points} 分：{reason}",
    "corrected: {reason}": "更正：{reason}",
    "ruled: {reason}": "裁定：{reason}",
}

# Frames around other phrases: they fit much, and so come last.
AROUND = {
    "{n} × {Why}; {More}": "{n} × {Why}；{More}",
    "{n} × {Why}": "{n} × {Why}",
    "{Low} – {High}": "{Low} – {High}",
    "{Name} †": "{Name} †",
    "{Metric} (°)": "{Metric} (°)",
    "{Split} ({n})": "{Split}（{n}）",
}

_CAPITAL = {word[:1].upper() + word[1:]: chinese for word, chinese in NOUNS.items()}
_OWN = {**PAGE, **RESULT, **PICTURED, **DATA, **LIVE_GAZE, **EEG, **TABLE, **RUN, **VERIFICATION}
_SAID = {**ATTEMPTS, **VERIFICATIONS, **ENDINGS, **SANDBOXES, **FRAMES}
SENTENCES: dict[str, str] = {**_CAPITAL, **NOUNS, **_OWN, **_SAID, **AROUND}
PHRASES: dict[str, str] = {**_CAPITAL, **NOUNS, **_OWN, **_SAID, **FAULT_PHRASES, **AROUND}
