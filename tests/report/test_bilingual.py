"""Reports are told in both languages, and a stranger's words in neither."""

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import escape

from palestra import registry
from palestra.records import Table
from palestra.report.bilingual import marked, marked_figure, only
from palestra.report.labels import label
from palestra.report.page import Page, result_page, write_data_page, write_page
from palestra.scoring import score
from palestra.text import Words, say, words_of
from tests.changed import changed
from tests.report.test_page import Parsed, make_track, page_of, rows_of
from tests.web.text.chinese import CHINESE

# Names and units that Chinese papers write as they are.
SAME = {"Palestra", "Linux", "Python", "Landlock"}
WORD = re.compile(r"[A-Za-z][a-z]{2,}")


def shown_in_chinese(page, folder):
    """What the Chinese page says, without the title of its window, which has both languages."""
    file = folder / "zh.html"
    write_page(page, file, "zh")
    return re.sub(r"<title>.*?</title>", "", file.read_text("utf-8"))


def words_in(html):
    plain = re.sub(r"<style.*?</style>|<[^>]+>|sha256:\w+", " ", html, flags=re.DOTALL)
    return set(WORD.findall(plain))


def known_names(track, rows, result):
    """What is called so by the data or by somebody, and stays."""
    names = [track.id, *rows["trial"].to_list(), *track.display.published, result.entrant, *map(str, rows[result.unit])]
    about = result.provenance
    names += [about.host, *about.settings, *map(str, about.settings.values())]
    return SAME | {word for name in names for word in WORD.findall(name)}


def some_answers(track, trials):
    """The template's answers; the last few are missing, in a live track for a reason."""
    answers = track.blank(trials)
    kept = answers.head(answers.height - max(answers.height // 10, 1))
    if not track.live:
        return kept
    return kept.with_columns(latency_s=pl.lit(0.1), note=pl.lit(""))


def without_pictures(track):
    """The same track with pictures that cost nothing."""
    return changed(track, picture=lambda data, row: np.zeros((4, 6, 3), np.uint8))


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_no_english_stands_in_the_chinese_report_of_a_track(track_id, tiny, tmp_path):
    track, data = without_pictures(registry.track(track_id)), tiny(track_id)
    sheet = score.load(track, data)
    scored = score.score(track, sheet, some_answers(track, sheet.trials), "us")
    html = shown_in_chinese(result_page(track, scored, data), tmp_path)
    assert words_in(html) - known_names(track, scored.rows, scored.result) == set()
    assert '<html lang="zh-CN">' in html and f"<h1>{track.title.zh}</h1>" in html


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_no_english_stands_in_the_chinese_page_of_a_data_set(track_id, tiny, tmp_path):
    track, data = registry.track(track_id), tiny(track_id)
    described = track.dataset.describe(data) if track.dataset.describe else []
    blocks = [block for block in described if block.title != say("What is wished for")]  # both languages side by side
    found = words_in(shown_in_chinese(Page("", "", blocks), tmp_path))
    channels = {"Fp", "Oz", "Pz", "Cz", "CPz"}
    people = {word for row in track.trials(data).iter_rows() for cell in row for word in WORD.findall(str(cell))}
    assert found - SAME - people - channels == set()


@pytest.mark.parametrize("track_id", sorted(registry.tracks()))
def test_every_metric_has_a_chinese_title_or_one_without_words(track_id):
    for metric in registry.track(track_id).metrics:
        title = words_of(metric.title)
        assert CHINESE.search(title.zh) or not WORD.search(title.en), metric.name


# A page in one language


def test_a_page_is_read_in_one_language(tmp_path):
    table = Table(Words("Totals", "合计"), [say("Metric"), ""], [[True, say("no answer")]])
    page = Page(say("Summary"), Words("a lead", "导语"), [table])
    texts = {}
    for language in ("en", "zh", "both"):
        write_page(page, tmp_path / "p.html", language)
        html = (tmp_path / "p.html").read_text("utf-8")
        texts[language] = Parsed(re.sub("<title>.*?</title>", "", html)).text
    assert "a lead" in texts["en"] and "Totals" in texts["en"] and not CHINESE.search(texts["en"])
    assert "导语" in texts["zh"] and "合计" in texts["zh"] and not WORD.search(texts["zh"])
    assert "Totals" in texts["both"] and "合计" in texts["both"]


def test_what_holds_both_languages_becomes_the_same_page_as_was_asked_for(tmp_path):
    track = make_track(rows_of())
    scored = score.score(track, score.load(track, tmp_path), track.truth(None).select("trial", x="truth_x"), "us")
    page = result_page(track, scored, tmp_path)
    for language in ("en", "zh", "both"):
        write_page(page, tmp_path / f"{language}.html", language)
    both = (tmp_path / "both.html").read_text("utf-8")
    for language in ("en", "zh"):
        assert only(both, language) == (tmp_path / f"{language}.html").read_text("utf-8")
    assert only(only(both, "zh"), "en") != only(both, "en"), "what was chosen stays"


def test_names_that_strangers_chose_stay_as_they_are(tmp_path):
    page = page_of(make_track(rows_of()), tmp_path, entrant="Summary")
    assert page.text.count("Summary") == 2
    board = Table("Board", ["Entrant"], [["Valid"], ["Average"]])
    html = shown_in_chinese(Page("t", "", [board]), tmp_path)
    assert ">Valid<" in html and ">Average<" in html


HOSTILE = st.text(max_size=40) | st.sampled_from(
    ['<span class="en">a</span><span class="zh">b</span>', "</tspan><script>", '"><b>', "By <i>x</i>", "&lt;b&gt;"]
)


@given(HOSTILE)
def test_a_text_is_only_text_in_either_language(text):
    html = str(marked(text))
    assert only(html, "en") == str(escape(text))
    assert "<" not in only(html, "zh")


@given(HOSTILE)
def test_words_of_figures_are_only_text(text):
    svg = f"<svg><text x='1'>{escape(text)}</text></svg>"
    told = marked_figure(svg, {text: "<b>译文</b>"})
    assert re.sub("</?(svg|text|tspan)[^>]*>", "", only(told, "zh")) == str(escape("<b>译文</b>"))


def test_words_of_figures_are_told_in_both_languages():
    told = marked_figure("<svg><text>share of trials</text><text>1.0</text></svg>", {"share of trials": "试次比例"})
    assert only(told, "zh") == "<svg><text>试次比例</text><text>1.0</text></svg>"
    assert only(told, "en") == "<svg><text>share of trials</text><text>1.0</text></svg>"


def test_a_track_may_bring_its_own_chinese(tmp_path):
    labels = {"step": Words("step", "步骤"), "glasses": "spectacles", "winner": Words("winner", "冠军")}
    track = changed(make_track(rows_of()), title=Words("Imagined gaze", "假想视线"), labels=labels)
    write_data_page(track, tmp_path, tmp_path / "d.html", "zh")
    assert "假想视线：数据集" in (tmp_path / "d.html").read_text("utf-8")
    scored = score.score(track, score.load(track, tmp_path), track.truth(None).select("trial", x="truth_x"), "us")
    html = shown_in_chinese(result_page(track, scored, tmp_path), tmp_path)
    assert "按步骤" in html and "冠军 †" in html and "按spectacles" in html, "what is no Words is shown as it is"
    assert str(label("step", labels)) == "step"


def test_commands_write_their_pages_in_the_language_that_is_asked_for(cli, tiny, tmp_path):
    words = ("view", "near-eye-live-v1", "data", "--data", tiny("near-eye-live-v1"), "--out", tmp_path / "d.html")
    assert cli(*words, "--language", "zh").code == 0
    assert "近眼视线估计（实时）：数据集</h1>" in (tmp_path / "d.html").read_text("utf-8")
    assert cli(*words).code == 0
    assert "Near-eye gaze, live: the data set</h1>" in (tmp_path / "d.html").read_text("utf-8")
    assert cli(*words, "--language", "fr").code == 2
