"""Formulas that no game can be played for: scored exactly, and handed on as expressions in the counts."""

import itertools
import pickle

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from formulas import BUILT_IN_FORMULAS, SOFT_ONLY_FORMULAS, close, value_of
from metricfit.metrics.plain import from_plain, to_plain

FORMULAS = BUILT_IN_FORMULAS | SOFT_ONLY_FORMULAS
TEXTBOOK_MCC = "sqrt(informedness*markedness)"


def labels_of(tp, fp, fn, tn):
    return np.repeat([[1, 0, 1, 0], [1, 1, 0, 0]], [tp, fp, fn, tn], axis=1)


def matrices(n, least=0):
    for cells in itertools.product(range(least, n + 1), repeat=4):
        if sum(cells) == n:
            yield cells


@st.composite
def smooth_formulas(draw):
    """Draw sums of products, quotients, roots and logarithms of cells that have a value everywhere."""
    part = st.sampled_from(
        ["tp", "fp", "fn", "tn", "pp", "ap", "(tp+1)/(all+fp)", "sqrt(tp*tn+1)", "log(1+fn)"]
    )
    terms = draw(st.lists(st.tuples(part, part, part), min_size=1, max_size=3))
    return "+".join(f"{a}*{b}/(1+{c})" for a, b, c in terms)


@given(smooth_formulas())
def test_the_score_is_the_formula_at_every_confusion_matrix(formula):
    metric = mf.get_metric(formula)
    for tp, fp, fn, tn in matrices(4):
        expected = value_of(formula, tp, tp + fp, tp + fn, 4)
        assert close(metric.score(*labels_of(tp, fp, fn, tn)), expected)


@given(smooth_formulas())
def test_any_formula_survives_pickling_and_being_written_down(formula):
    metric = mf.get_metric(formula)
    for twin in (
        pickle.loads(pickle.dumps(metric)),
        from_plain(to_plain(metric)),
        mf.get_metric(metric.formula),
    ):
        assert twin == metric
        assert hash(twin) == hash(metric)
        assert twin.why_not_playable == metric.why_not_playable


@pytest.mark.parametrize(
    "formula", [*FORMULAS, TEXTBOOK_MCC, "2/(1/recall+1/specificity)", "tp*tn/(1+fp*fn)"]
)
def test_the_expression_in_counts_is_the_metric_wherever_it_has_a_value(formula):
    metric = mf.get_metric(formula)
    expression = metric.expression_in_counts()
    assert {symbol.name for symbol in expression.free_symbols} <= {"tp", "fp", "fn", "tn"}
    compiled = sp.lambdify(sp.symbols("tp fp fn tn"), expression, "math")
    for tp, fp, fn, tn in matrices(6):
        try:
            value = compiled(tp, fp, fn, tn)
        except ZeroDivisionError:
            value = None
        score = metric.score(*labels_of(tp, fp, fn, tn))
        assert close(score, float(fp == fn == 0) if value is None else value), (tp, fp, fn, tn)


def test_the_textbook_mcc_is_the_size_of_the_mcc():
    metric = mf.get_metric(TEXTBOOK_MCC)
    assert not metric.playable
    for cells in matrices(7, least=1):
        assert metric.score(*labels_of(*cells)) == pytest.approx(abs(mf.mcc.score(*labels_of(*cells))))


def test_the_root_of_a_square_is_the_absolute_value():
    metric = mf.get_metric("1 - sqrt((pp-ap)**2)/all")
    assert not metric.playable
    assert metric.score([1, 1, 1, 0], [0, 0, 0, 1]) == 0.5
    assert mf.get_metric("sqrt((tp-fp)**2)/all").score([1, 0, 0, 0], [1, 1, 1, 1]) == 0.5


def test_spellings_of_one_formula_are_equal():
    assert mf.get_metric("1/(1 + (fp+fn)/tp)") == mf.jaccard
    assert mf.get_metric("f1/(2-f1)") == mf.jaccard
    assert hash(mf.get_metric("tp/(ap+pp-tp)")) == hash(mf.jaccard)
    assert mf.jaccard != mf.f1
    assert mf.jaccard != mf.jaccard.with_special_cases(negative=True)


def test_special_cases_hold_for_any_formula():
    assert mf.jaccard.score([1, 1], [0, 1]) == 0.5
    assert mf.jaccard.with_special_cases(negative=True).score([1, 1], [0, 1]) == 0.0


def test_a_confusion_matrix_without_a_value_is_named():
    odds = mf.get_metric("tp*tn/(fp*fn)")
    assert odds.score([1, 1, 0, 0, 0], [1, 0, 1, 0, 0]) == 2.0
    with pytest.raises(
        mf.UnsupportedMetricError, match="no value at tp = 1, fp = 0, fn = 1, tn = 1: it divides"
    ):
        odds.score([1, 1, 0], [1, 0, 0])
    with pytest.raises(mf.UnsupportedMetricError, match="no value at tp = 0, fp = 1, fn = 1, tn = 1"):
        mf.get_metric("log(recall)").score([1, 0, 0], [0, 1, 0])
    # 0/0 is 1 if all is right, and 0 otherwise.
    assert odds.score([1, 0], [0, 0]) == 0
    harmonic = mf.get_metric("2/(1/recall+1/specificity)")
    assert harmonic.score([1, 1, 0], [0, 0, 1]) == 0
    assert mf.get_metric("1-tp*fp/(fp+fn)").score([1, 1, 0], [1, 1, 0]) == 1
    # At the border it is 1 if all is right, and 0 otherwise.
    assert odds.score([1, 1], [1, 1]) == 1
    assert odds.score([0, 0], [1, 0]) == 0


def test_the_range_of_any_formula_covers_the_confusion_matrices_that_have_a_value():
    assert mf.jaccard.value_range(5) == (0, 1)
    assert mf.get_metric("tp*tn/(fp*fn)").value_range(5) == (0, 2)
    with pytest.raises(ValueError, match="at least one sample, got n = 0"):
        mf.jaccard.value_range(0)
    with pytest.raises(ValueError, match="too many for n = 100000; 1000 is the largest"):
        mf.jaccard.value_range(100_000)
    assert (mf.g_mean <= 1).threshold == 1
    with pytest.raises(ValueError, match="outside the range of jaccard, which is 0 to 1"):
        mf.jaccard >= 1.5  # noqa: B015


def test_a_constraint_on_any_formula_is_printed_and_read():
    metric = mf.get_metric("jaccard subject to g_mean >= 0.5")
    assert repr(metric) == "Metric(jaccard = tp/(fn + fp + tp) subject to g_mean >= 0.5)"
    assert metric.latex().endswith(r"\ge 0.5")
    assert metric == mf.jaccard.subject_to(mf.g_mean >= 0.5)
