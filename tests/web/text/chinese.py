"""Whether a text was told in Chinese, whatever names and quotes stand in it."""

import re
from string import Formatter

CHINESE = re.compile(r"[\u4e00-\u9fff]")
QUOTES = re.compile(r"b?'(?:[^'\\]|\\.)*'?|b?\"(?:[^\"\\]|\\.)*\"?")
# Words that few English sentences do without, and that are no name in a file.
SENTENCE = """
    a an and are as at be by can did does each for from has have how if in is it its least letters many more most must
    no not nothing of on or other than that the their then there they this those was what when which while whose with
    without you your
"""
LITTLE = frozenset(SENTENCE.split())


def english_in(chinese: str) -> set[str]:
    """English words that were left in a Chinese text, outside of quotes."""
    return set(LITTLE & set(re.findall(r"(?<![\w.\-/])[a-z]+(?![\w\-/=]|\.\w)", QUOTES.sub("", chinese).lower())))


def names_in(template: str) -> list[str]:
    """What is to be filled in."""
    return sorted({name for _, name, _, _ in Formatter().parse(template) if name})
