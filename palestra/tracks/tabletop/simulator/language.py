"""What is said at the table, in English and Chinese: names of things, instructions in several wordings, sub-goals."""

from collections.abc import Sequence

from palestra.tracks.tabletop.simulator.objects import Thing

LANGUAGES = ("en", "zh")
WORDINGS = 3  # of each instruction in each language

COLOUR_WORDS = {
    "red": ("red", "红色"), "green": ("green", "绿色"), "blue": ("blue", "蓝色"), "yellow": ("yellow", "黄色"),
    "orange": ("orange", "橙色"), "purple": ("purple", "紫色"), "pink": ("pink", "粉色"),
    "turquoise": ("turquoise", "青绿色"), "brown": ("brown", "棕色"),
}  # fmt: skip
KIND_WORDS = {
    "block": ("block", "方块"), "brick": ("brick", "长方块"), "can": ("can", "罐子"), "bowl": ("bowl", "碗"),
    "cup": ("cup", "杯子"), "plate": ("plate", "盘子"), "tray": ("tray", "托盘"), "box": ("box", "盒子"),
    "peg": ("square peg", "方形插销"), "dowel": ("round peg", "圆形插销"), "socket": ("square socket", "方孔座"),
    "round_socket": ("round socket", "圆孔座"), "drawer": ("drawer", "抽屉"),
}  # fmt: skip

# What a step of an instruction can be called, by language. {0}, {1} … are the things.
CLAUSES: dict[str, dict[str, tuple[str, ...]]] = {
    "on": {
        "en": ("put {0} on {1}", "place {0} on top of {1}", "pick up {0} and set it down on {1}"),
        "zh": ("把{0}放到{1}上", "将{0}放在{1}上面", "拿起{0}，放到{1}上"),
    },
    "inside": {
        "en": ("put {0} in {1}", "place {0} inside {1}", "pick up {0} and drop it into {1}"),
        "zh": ("把{0}放进{1}里", "将{0}放入{1}中", "拿起{0}，放到{1}里面"),
    },
    "inside_any": {
        "en": ("put {0} in one of the bowls", "place {0} inside either bowl", "pick up {0} and drop it into any bowl"),
        "zh": ("把{0}放进任意一个碗里", "将{0}放入其中一个碗中", "拿起{0}，随便放到哪个碗里面"),
    },
    "left_of": {
        "en": ("put {0} to the left of {1}", "place {0} on the left side of {1}", "move {0} to be left of {1}"),
        "zh": ("把{0}放到{1}的左边", "将{0}放在{1}左侧", "移动{0}，让它在{1}的左边"),
    },
    "right_of": {
        "en": ("put {0} to the right of {1}", "place {0} on the right side of {1}", "move {0} to be right of {1}"),
        "zh": ("把{0}放到{1}的右边", "将{0}放在{1}右侧", "移动{0}，让它在{1}的右边"),
    },
    "behind": {
        "en": ("put {0} behind {1}", "place {0} right behind {1}", "move {0} to be behind {1}"),
        "zh": ("把{0}放到{1}的后面", "将{0}放在{1}后方", "移动{0}，让它在{1}的后面"),
    },
    "in_front_of": {
        "en": ("put {0} in front of {1}", "place {0} just in front of {1}", "move {0} to be in front of {1}"),
        "zh": ("把{0}放到{1}的前面", "将{0}放在{1}前方", "移动{0}，让它在{1}的前面"),
    },
    "apart": {
        "en": ("move {0} at least 20 cm away from {1}", "take {0} away from {1}, 20 cm or more",
               "separate {0} from {1} by 20 cm or more"),
        "zh": ("把{0}移到离{1}至少20厘米的地方", "将{0}从{1}旁边拿开，相距20厘米以上",
               "让{0}与{1}分开，距离不少于20厘米"),
    },
    "stack_2": {
        "en": ("stack {1} on {0}", "put {1} on top of {0}", "build a tower of two: {0} below, {1} above"),
        "zh": ("把{1}叠到{0}上", "将{1}放在{0}顶上", "搭一座两层的塔：{0}在下，{1}在上"),
    },
    "stack_3": {
        "en": ("stack {1} on {0}, and {2} on top", "build a tower: {0} at the bottom, then {1}, then {2}",
               "pile up {0}, {1} and {2}, in this order from the bottom"),
        "zh": ("把{1}叠到{0}上，再把{2}放在最上面", "搭一座塔：最下面是{0}，然后是{1}，最上面是{2}",
               "从下往上依次叠放{0}、{1}和{2}"),
    },
    "stack_any": {
        "en": ("stack {0} and {1}, in any order", "put {0} and {1} on top of each other, either way round",
               "make one stack of {0} and {1}; the order does not matter"),
        "zh": ("把{0}和{1}叠在一起，顺序不限", "将{0}与{1}上下叠放，谁在上都可以", "用{0}和{1}叠成一摞，先后不限"),
    },
    "inserted": {
        "en": ("insert {0} into {1}", "put {0} into the hole of {1}", "pick up {0} and plug it into {1}"),
        "zh": ("把{0}插入{1}", "将{0}放进{1}的孔里", "拿起{0}，插到{1}中"),
    },
    "put_away": {
        "en": ("put {0} in {1} and close it", "place {0} inside {1}, then shut it",
               "put {0} away in {1} and push it shut"),
        "zh": ("把{0}放进{1}并关上", "将{0}放入{1}，然后关好", "把{0}收到{1}里，再把它推上"),
    },
    "closed": {
        "en": ("close {0}", "push {0} shut", "shut {0}"),
        "zh": ("关上{0}", "把{0}推上", "合上{0}"),
    },
    "opened": {
        "en": ("open {0}", "pull {0} open", "open {0} wide"),
        "zh": ("打开{0}", "拉开{0}", "把{0}完全拉开"),
    },
}  # fmt: skip
GOALS = {
    "on": ("{0} is on {1}", "{0}在{1}上"),
    "inside": ("{0} is in {1}", "{0}在{1}里"),
    "left_of": ("{0} is to the left of {1}", "{0}在{1}的左边"),
    "right_of": ("{0} is to the right of {1}", "{0}在{1}的右边"),
    "behind": ("{0} is behind {1}", "{0}在{1}的后面"),
    "in_front_of": ("{0} is in front of {1}", "{0}在{1}的前面"),
    "apart": ("{0} is 20 cm or more from {1}", "{0}与{1}相距20厘米以上"),
    "inserted": ("{0} is in the hole of {1}", "{0}插在{1}中"),
    "closed": ("{0} is closed", "{0}已关上"),
    "opened": ("{0} is open", "{0}已打开"),
    "upright": ("{0} stands upright", "{0}直立"),
}
AND = {"en": " and ", "zh": "，且"}
OR = {"en": ", or ", "zh": "，或者"}
_JOINED = {  # for each wording: how the first, the middle and the last step are said
    "en": (("first {0}", ", then {0}", ", and finally {0}"), ("{0}", "; after that {0}", "; last, {0}"),
           ("please {0}", ", next {0}", ", and at the end {0}")),
    "zh": (("先{0}", "，再{0}", "，最后{0}"), ("{0}", "；然后{0}", "；最后{0}"), ("请{0}", "，接着{0}", "，最后{0}")),
}  # fmt: skip
_FULL_STOP = {"en": ".", "zh": "。"}


def name_of(thing: Thing, language: str) -> str:
    """A thing as people call it: the red block, 红色方块."""
    which = LANGUAGES.index(language)
    colour, kind = COLOUR_WORDS[thing.colour][which], KIND_WORDS[thing.kind][which]
    return f"the {colour} {kind}" if language == "en" else f"{colour}{kind}"


def instruction(steps: Sequence[tuple[str, Sequence[Thing]]], language: str) -> tuple[str, ...]:
    """The steps as one instruction, in each of its wordings."""
    return tuple(_sentence(steps, language, wording) for wording in range(WORDINGS))


def goal_text(rule: str, things: Sequence[Thing], language: str) -> str:
    """A condition as people say it."""
    return GOALS[rule][LANGUAGES.index(language)].format(*(name_of(thing, language) for thing in things))


def sentence(text: str, language: str) -> str:
    """With a capital letter and a full stop."""
    return text[0].upper() + text[1:] + _FULL_STOP[language]


def _sentence(steps: Sequence[tuple[str, Sequence[Thing]]], language: str, wording: int) -> str:
    clauses = [
        CLAUSES[clause][language][wording].format(*(name_of(thing, language) for thing in things))
        for clause, things in steps
    ]
    if len(clauses) == 1:
        return sentence(clauses[0], language)
    first, middle, last = _JOINED[language][wording]
    joined = [first, middle] if len(clauses) == 2 else [first, *[middle] * (len(clauses) - 2), last]
    return sentence("".join(form.format(clause) for form, clause in zip(joined, clauses, strict=True)), language)
