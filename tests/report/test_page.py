"""The report holds everything, needs nothing else, and shows what people typed as text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import metricfit as mf
from metricfit.report import Comparison, Method, in_words, render
from metricfit.report.svg import Plot
from metricfit.report.tables import score_table
from report.pages import FIGURES, a_comparison, a_page

VOID = {"meta", "link", "br", "line"}


class Balance(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_every_figure_of_every_comparison_is_there():
    page = a_page()
    for index in (0, 1):
        for name in FIGURES:
            assert page.count(f'id="{name}-{index}"') == 1


def test_tags_are_balanced():
    parser = Balance()
    parser.feed(a_page())
    assert parser.open == []


def test_nothing_is_fetched_and_nothing_runs():
    page = a_page()
    assert set(re.findall(r"(?:src|href)\s*=\s*(\S+?)[\s>]", page)) == {'"data:,"'}
    assert "<script" not in page
    assert "url(" not in page
    assert "@import" not in page


def test_both_colour_schemes_and_small_screens_are_provided_for():
    page = a_page()
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport"' in page


def test_text_of_the_user_is_escaped():
    page = a_page()
    assert "trained for &lt;precision&gt;" in page
    assert "mind &lt;this&gt;" in page
    assert "a &lt; b" in page
    assert "used &lt;so&gt;" in page
    assert "column &lt;0&gt;" in page
    for text in ("column <", "<so>", "<this>", "<precision>"):
        assert text not in page


def test_metric_formula_constraints_intervals_and_versions_are_shown():
    page = a_page()
    for text in (
        "<code>tp/pp</code>",
        "recall &gt;= 0.7",
        "95% interval",
        f"metricfit {mf.__version__}",
        "torch ",
    ):
        assert text in page


def test_the_constant_classifier_is_a_line_of_the_table_and_has_no_curve():
    page = render([a_comparison(mf.f1)], command="", title="")
    table = page[page.index("<table class=scores>") : page.index("</table>")]
    assert "never positive" in table
    assert ">precision<" in table
    assert ">recall<" in table
    scores = page[page.index('id="scores-0"') : page.index("Columns</h3>")]
    assert "never positive" not in scores


def test_the_comparison_is_said_in_words():
    labels = np.array([1, 0] * 100)
    good = Method("A", np.where(np.arange(200) < 180, labels - 0.5, 0.5 - labels), [], 1, 0.0, 0.0)
    bad = Method("B", np.where(np.arange(200) < 100, labels - 0.5, 0.5 - labels), [], 1, 0.0, 0.0)
    better, same = in_words(Comparison("", mf.accuracy, labels, (good, bad, good)))
    assert better.startswith("A scores 0.400 higher than B (95 % interval 0.3")
    assert same.startswith("A scores the same as A (95 % interval 0.000 to 0.000)")
    (worse,) = in_words(Comparison("", mf.accuracy, labels, (bad, good)))
    assert worse.startswith("B scores 0.400 lower than A (95 % interval 0.3")


def test_weights_count_like_copies_of_rows():
    random = np.random.default_rng(0)
    labels, margins = random.integers(0, 2, 80), random.normal(size=80)
    weights = random.integers(1, 4, 80)
    once = Method("m", margins, [], 1, 0.0, 0.0)
    weighted = Comparison("", mf.jaccard, labels, (once,), weights=weights.astype(float))
    copies = Method("m", np.repeat(margins, weights), [], 1, 0.0, 0.0)
    copied = Comparison("", mf.jaccard, np.repeat(labels, weights), (copies,))
    assert weighted.value(once) == pytest.approx(copied.value(copies))
    assert weighted.confusion(once) == copied.confusion(copies)
    assert weighted.intervals[0].low < weighted.value(once) < weighted.intervals[0].high


def test_constraints_are_drawn():
    page = render([a_comparison()], command="", title="")
    figure = page[page.index('id="precision-recall-0"') : page.index('id="threshold-0"')]
    assert figure.count("line rule") == 2


@pytest.mark.parametrize("margin", [0.0, -1.0, 1e300])
def test_scores_that_are_all_the_same_can_be_shown(margin):
    method = Method("flat", np.full(4, margin), [{"valid_metric": 0.0}], 1, 0.0, 0.0)
    page = render([Comparison("flat", mf.f1, np.array([0, 1, 0, 0]), (method,))], command="", title="")
    assert "nan" not in page[page.index("<body") :].lower()


def test_the_best_value_counts_only_within_the_constraints():
    labels = np.array([1, 1, 0, 0])
    within = Method("within", np.array([1.0, 1.0, 1.0, -1.0]), [], 1, 0.0, 0.0)
    outside = Method("outside", np.array([1.0, -1.0, -1.0, -1.0]), [], 1, 0.0, 0.0)
    comparison = Comparison("", mf.precision_at_recall(0.9), labels, (outside, within))
    assert comparison.value(outside) > comparison.value(within)
    assert comparison.rank(outside) < comparison.rank(within)
    assert "<b>0.667</b>" in render([comparison], command="", title="")


def test_the_style_sheet_is_in_the_package():
    import metricfit.report

    assert (Path(metricfit.report.__file__).parent / "page.css").is_file()


def test_epochs_are_labelled_by_whole_numbers():
    drawing = Plot("", (1, 12), (0, 1), "", "", counted=True).svg()
    ticks = re.findall(r'text-anchor="middle">([\d.]+)</text>', drawing)
    assert ticks
    assert all("." not in tick for tick in ticks)


def test_a_score_has_one_column_of_the_table():
    table = score_table(a_comparison(mf.precision.subject_to(mf.recall >= 0.7)))
    heads = re.findall(r"<th scope=col>([^<]*)</th>", table)
    assert heads.count("precision") == 1
    assert "recall" not in heads
    assert "recall &gt;= 0.7" in heads
