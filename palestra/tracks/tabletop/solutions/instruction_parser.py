"""A small grammar of instructions at the table, in English and Chinese: from a sentence to wishes in their order.

Things are found by their colour and kind and stand as <0>, <1> … in the sentence. Each form of words below begins and
ends with such a mark or with a verb, so whatever polite words are around it do not matter.
"""

import re
from dataclasses import dataclass

from palestra.tracks.tabletop.simulator.language import COLOUR_WORDS, KIND_WORDS

ANY = ""  # the colour of a thing when any will do


@dataclass(frozen=True)
class Named:
    """A thing as an instruction calls it."""

    colour: str  # of COLOURS; ANY where the instruction leaves it open
    kind: str  # of KINDS


@dataclass(frozen=True)
class Wish:
    """Something that shall be so: a rule said of things, the one to be moved first."""

    rule: str  # on, inside, inserted, either_on, left_of, right_of, behind, in_front_of, apart, closed, opened
    of: tuple[Named, ...]


_THING = r"<(\d+)>"
_MOST = 4000  # characters of an instruction that are read


def _form(words: str) -> re.Pattern[str]:
    """A form of words; T stands for a thing, a blank for one or more, and ~ for a few words that do not matter."""
    return re.compile(words.replace(" ", r"\s+").replace("T", _THING).replace("~", r"[^<>;.]{0,30}\b"))


# Form → rules with the things' places in the form. Of forms that begin at the same word, the first one counts.
_FORMS: tuple[tuple[re.Pattern[str], tuple[tuple[str, tuple[int, ...]], ...]], ...] = tuple(
    (_form(words), rules)
    for words, rules in (
        # towers
        (r"T on(?: top of)? T,? and(?: then)? T on top\b", (("on", (0, 1)), ("on", (2, 0)))),
        (r"tower[^<]*T at the bottom,? then T,? then T", (("on", (1, 0)), ("on", (2, 1)))),
        (r"(?:pile|stack) up T, T,? and T,? in this order from the bottom", (("on", (1, 0)), ("on", (2, 1)))),
        (r"T below, T above", (("on", (1, 0)),)),
        (r"T and T(?= on top of each other|[,;]? (?:in any|in either|the) order)", (("either_on", (0, 1)),)),
        (r"(?:stack|pile) T and T", (("either_on", (0, 1)),)),
        # drawers
        (r"T(?: away)? (?:in|into|inside) T(?: and|,? then) (?:close|shut|push) it(?: shut)?",
         (("inside", (0, 1)), ("closed", (1,)))),
        (r"(?:close|shut) T|push T shut", (("closed", (0,)),)),
        (r"open T|pull T open", (("opened", (0,)),)),
        # from one place to another
        (r"T into the hole of T", (("inserted", (0, 1)),)),
        (r"insert T (?:in|into) T", (("inserted", (0, 1)),)),
        (r"T and plug it into T|plug T into T", (("inserted", (0, 1)),)),
        (r"T(?: and drop it| and put it)? (?:in|into|inside) T", (("inside", (0, 1)),)),
        (r"T(?: and set it down| and put it)? (?:on|onto|on top of) T", (("on", (0, 1)),)),
        (r"T~left(?: side)? of T", (("left_of", (0, 1)),)),
        (r"T~right(?: side)? of T", (("right_of", (0, 1)),)),
        (r"T~behind T", (("behind", (0, 1)),)),
        (r"T~in front of T", (("in_front_of", (0, 1)),)),
        (r"T~(?:away|apart) from T|separate T from T", (("apart", (0, 1)),)),
        # Chinese
        (r"T[叠放]到T上，再把T放在最上面", (("on", (0, 1)), ("on", (2, 0)))),
        (r"最下面是T，然后是T，最上面是T", (("on", (1, 0)), ("on", (2, 1)))),
        (r"从下往上依次叠放T、T[和与]T", (("on", (1, 0)), ("on", (2, 1)))),
        (r"T在下，T在上", (("on", (1, 0)),)),
        (r"T[和与]T(?:叠|上下叠放)", (("either_on", (0, 1)),)),
        (r"T(?:放进|放入|收到)T里?中?(?:并|，再|，然后)(?:把它)?(?:关|推)", (("inside", (0, 1)), ("closed", (1,)))),
        (r"(?:关上|合上|关好)T|把T(?:推上|关上|合上)", (("closed", (0,)),)),
        (r"(?:打开|拉开)T|把T(?:完全)?(?:拉开|打开)", (("opened", (0,)),)),
        (r"T(?:，)?(?:插入|插到|插进)T|T放[进入]T的孔", (("inserted", (0, 1)),)),
        (r"T(?:，)?(?:放到|放在|让它在|移到)T的?左[边侧面]", (("left_of", (0, 1)),)),
        (r"T(?:，)?(?:放到|放在|让它在|移到)T的?右[边侧面]", (("right_of", (0, 1)),)),
        (r"T(?:，)?(?:放到|放在|让它在|移到)T的?后[方面边]", (("behind", (0, 1)),)),
        (r"T(?:，)?(?:放到|放在|让它在|移到)T的?前[方面边]", (("in_front_of", (0, 1)),)),
        (r"T移到离T|T从T旁边拿开|T与T分开", (("apart", (0, 1)),)),
        (r"T(?:，)?(?:随便)?(?:放进|放入|放到|放在)T[里中]", (("inside", (0, 1)),)),
        (r"T(?:，)?(?:叠到|叠在|放到|放在)T(?:上|顶上)", (("on", (0, 1)),)),
    )
)  # fmt: skip

_ANY_OF = {  # any of a kind, in either language
    "bowl": r"(?:one of the|either of the|any of the|either|any) bowls?|(?:任意一个|其中一个|随便一个|哪个|任何一个)碗",
    "box": r"(?:one of the|either of the|any of the|either|any) box(?:es)?|(?:任意一个|其中一个|哪个|任何一个)盒子",
    "cup": r"(?:one of the|either of the|any of the|either|any) cups?|(?:任意一个|其中一个|哪个|任何一个)杯子",
}


def understand(instruction: str) -> tuple[Wish, ...]:
    """What an instruction asks for, in its order; nothing where no form of words is known."""
    text, names = _marked(instruction[:_MOST].lower())
    wishes: list[Wish] = []
    at = 0
    while at < len(text):
        found = [(match.start(), i, match) for i, (form, _) in enumerate(_FORMS) if (match := form.search(text, at))]
        if not found:
            break
        _, i, match = min(found, key=lambda each: each[:2])
        named = [names[int(mark)] for mark in match.groups() if mark is not None]
        wishes += [Wish(rule, tuple(named[which] for which in of)) for rule, of in _FORMS[i][1]]
        at = match.end()
    return tuple(wishes)


def _marked(text: str) -> tuple[str, list[Named]]:
    """The text with a mark in place of each thing, and the things."""
    names: list[Named] = []

    def mark(match: re.Match[str]) -> str:
        names.append(_named(match))
        return f"<{len(names) - 1}>"

    return _NAMES.sub(mark, text.replace("<", " ").replace(">", " ")), names


def _named(match: re.Match[str]) -> Named:
    if match["any"]:
        return Named(ANY, next(kind for kind, words in _ANY_OF.items() if re.fullmatch(words, match["any"])))
    colour = _COLOURS[match["colour_en"] or match["colour_zh"]]
    return Named(colour, _KINDS[re.sub(r"\s+", " ", match["kind_en"] or match["kind_zh"])])


def _either(words: list[str]) -> str:
    """One of these words, the longest that fits."""
    return "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in sorted(words, key=len, reverse=True))


_COLOURS = {word.removesuffix("色"): name for name, words in COLOUR_WORDS.items() for word in words}
_KINDS = {word: name for name, words in KIND_WORDS.items() for word in words}
_ENGLISH = [[word for word in words if word.isascii()] for words in (_COLOURS, _KINDS)]
_CHINESE = [[word for word in words if not word.isascii()] for words in (_COLOURS, _KINDS)]
_NAMES = re.compile(
    rf"(?P<any>{'|'.join(_ANY_OF.values())})"
    rf"|(?:\b(?:the|a|an)\s+)?\b(?P<colour_en>{_either(_ENGLISH[0])})\s+(?P<kind_en>{_either(_ENGLISH[1])})\b"
    rf"|(?P<colour_zh>{_either(_CHINESE[0])})色?的?(?P<kind_zh>{_either(_CHINESE[1])})"
)
