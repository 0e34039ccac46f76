"""What runs wrote down in English is told in Chinese; what is unknown stays as it is."""

from palestra.i18n import recorded_text
from palestra.text import Words


def test_what_a_run_noted_is_told_in_both_languages():
    said = recorded_text("killed: it used more than 4 GiB of memory")
    assert (said.en, said.zh) == ("killed: it used more than 4 GiB of memory", "被终止：占用内存超过 4 GiB")
    assert recorded_text("no answer in time").zh == "未按时回答"


def test_what_nobody_knows_and_what_tells_both_languages_stays():
    assert recorded_text("made up").zh == "made up"
    assert recorded_text(Words("late", "迟到")) == Words("late", "迟到")
