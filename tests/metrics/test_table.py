"""The two tables say exactly what the formula says, at every cell."""

import itertools
import time
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given

import metricfit as mf
from formulas import BUILT_IN_FORMULAS, by_the_rule, close, supported_formulas, value_of

SIZES = range(1, 6)


def label_pairs(n):
    """Every pair of label vectors, as (tp, predicted positives, actual positives)."""
    vectors = list(itertools.product([0, 1], repeat=n))
    for predicted, actual in itertools.product(vectors, vectors):
        yield sum(p & a for p, a in zip(predicted, actual, strict=True)), sum(predicted), sum(actual)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("name", BUILT_IN_FORMULAS)
def test_table_equals_the_definition_for_every_pair_of_label_vectors(name, n):
    alpha, beta = mf.get_metric(name).table(n)
    for tp, k, l in label_pairs(n):
        expected = by_the_rule(value_of(BUILT_IN_FORMULAS[name], tp, k, l, n), k, l, n)
        assert close(alpha[k, l] * tp + beta[k, l], expected), (tp, k, l)


def test_a_formula_with_many_roots_is_not_factored_for_hours():
    # Expanded, its numerator is a polynomial in ten variables, counting the roots.
    text = "(5*fp*pp/an + 2*tn*pn/an**2 + 17*tn*an/all + all/sqrt(pn*ap)) / (1.5*ap + 2/7*an)"
    alpha, beta = mf.get_metric(text).table(5)
    # k = 2, l = 3, tp = 1: fp = 1, tn = 1.
    expected = (5 * 2 / 2 + 2 * 3 / 4 + 17 * 2 / 5 + 5 / 9**0.5) / (1.5 * 3 + 2 / 7 * 2)
    assert close(alpha[2, 3] * 1 + beta[2, 3], expected)


@given(supported_formulas())
def test_table_equals_any_supported_formula_for_every_pair_of_label_vectors(formula):
    try:
        metric = mf.get_metric(formula)
    except mf.UnsupportedMetricError as error:
        # Drawn cells can cancel, as in tp + fn or tp - tp; that is refused, and rightly.
        assume("its cells cancel" not in str(error))
        assume("none of the cells" not in str(error))
        raise
    for n in SIZES:
        alpha, beta = metric.table(n)
        assert np.isfinite(alpha).all()
        assert np.isfinite(beta).all()
        for tp, k, l in set(label_pairs(n)):
            expected = value_of(formula, tp, k, l, n)
            if expected is not None:
                assert close(alpha[k, l] * tp + beta[k, l], expected), (tp, k, l, n)


@pytest.mark.parametrize(
    "spelling",
    [
        "2*tp/(2*tp+fp+fn)",
        "2*(tp/pp)*(tp/ap)/(tp/pp+tp/ap)",
        "2*tp/(ap+pp)",
        "1-(fp+fn)/(ap+pp)",
        "2/(1/precision+1/recall)",
        "fbeta(1)",
        "fbeta(1.0)",
    ],
)
def test_every_spelling_of_f1_has_the_tables_of_f1(spelling):
    metric = mf.get_metric(spelling)
    assert metric == mf.f1
    assert hash(metric) == hash(mf.f1)
    for ours, theirs in zip(metric.table(7), mf.f1.table(7), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_constants_may_be_numpy_scalars_ints_floats_and_fractions():
    for two in (2, 2.0, np.float64(2), np.float32(2), np.int64(2), np.uint8(2), Fraction(2)):
        assert mf.metric(lambda C, two=two: two * C.tp / (C.ap + C.pp))() == mf.f1
        assert mf.metric(lambda C: C.tp * two / (C.ap + C.pp)) == mf.f1  # noqa: B023
    assert mf.get_metric("0.1*tp") == mf.metric(lambda C: C.tp / 10)


@pytest.mark.parametrize(
    "formula", ["tp*(pp+1)", "tp*(1/pp)", "tp/all**2", "tp/sqrt(ap*pp)", "(tp+1)/(pp+2)"]
)
def test_sums_may_be_shifted_inverted_squared_and_rooted(formula):
    alpha, beta = mf.get_metric(formula).table(4)
    for tp, k, l in label_pairs(4):
        expected = by_the_rule(value_of(formula, tp, k, l, 4), k, l, 4)
        assert close(alpha[k, l] * tp + beta[k, l], expected)


@pytest.mark.parametrize("name", BUILT_IN_FORMULAS)
def test_coefficients_are_exact_to_twelve_digits_at_a_hundred_thousand_samples(name):
    n = 100_000
    cells = [1, 2, 3, 777, 50_000, 99_998, 99_999]
    alpha, beta = mf.get_metric(name).coefficients(np.array(cells)[:, None], np.array(cells)[None, :], n)
    with mpmath.workdps(40):
        for (row, k), (column, l) in itertools.product(enumerate(cells), enumerate(cells)):
            low, high = max(0, k + l - n), min(k, l)
            first, last = (value_of(BUILT_IN_FORMULAS[name], tp, k, l, n) for tp in (low, high))
            a, b = alpha[row, column], beta[row, column]
            assert abs(a * low + b - first) <= 1e-12 * (abs(a * low) + abs(b))
            assert abs(a * high + b - last) <= 1e-12 * (abs(a * high) + abs(b))


@pytest.mark.parametrize("name", BUILT_IN_FORMULAS)
def test_no_cell_of_a_large_table_is_infinite(name):
    corner = np.array([0, 1, 99_999, 100_000])
    for values in mf.get_metric(name).coefficients(corner[:, None], corner[None, :], 100_000):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("name", BUILT_IN_FORMULAS)
def test_coefficients_at_cells_equal_the_table(name):
    metric = mf.get_metric(name)
    rows, columns = np.array([[0], [3], [9]]), np.array([0, 4, 8, 9])
    for part, table in zip(metric.coefficients(rows, columns, 9), metric.table(9), strict=True):
        assert part.shape == (3, 4)
        assert part.dtype == np.float64
        np.testing.assert_array_equal(part, table[rows, columns])
    assert metric.coefficients(2, 3, 9)[0] == metric.table(9)[0][2, 3]


def test_undefined_border_is_one_where_prediction_and_truth_cannot_differ_and_zero_elsewhere():
    alpha, beta = mf.mcc.table(3)
    border = np.ones((4, 4), dtype=bool)
    border[1:3, 1:3] = False
    expected = np.zeros((4, 4))
    expected[0, 0] = expected[3, 3] = 1
    np.testing.assert_array_equal(alpha[border], 0)
    np.testing.assert_array_equal(beta[border], expected[border])


def test_a_defined_border_keeps_its_value():
    assert mf.accuracy.score([1, 0, 0, 0], [0, 0, 0, 0]) == 0.75
    assert mf.kappa.score([1, 1], [0, 0]) == 0


@pytest.mark.parametrize(
    ("flags", "index"),
    [({"positive": True}, [0]), ({"negative": True}, [4]), ({"positive": True, "negative": True}, [0, 4])],
)
def test_special_cases_overwrite_row_and_column(flags, index):
    plain_alpha, plain_beta = mf.accuracy.table(4)
    forced = mf.accuracy.with_special_cases(**flags)
    alpha, beta = forced.table(4)
    for k, l in itertools.product(range(5), repeat=2):
        if k in index or l in index:
            assert alpha[k, l] == 0
            assert beta[k, l] == float(k == l)
        else:
            assert (alpha[k, l], beta[k, l]) == (plain_alpha[k, l], plain_beta[k, l])
    assert forced != mf.accuracy
    assert forced.with_special_cases() == mf.accuracy


@pytest.mark.parametrize("name", ["precision", "recall", "f1", "f2", "gm_precision_recall"])
def test_the_papers_special_case_for_positives_changes_nothing_where_the_paper_sets_it(name):
    metric = mf.get_metric(name)
    for ours, theirs in zip(metric.table(6), metric.with_special_cases(positive=True).table(6), strict=True):
        rows, columns = np.ogrid[:7, :7]
        tp_is_free = (rows > 0) & (columns > 0)
        np.testing.assert_array_equal(ours[tp_is_free], theirs[tp_is_free])
    for k, l in ((0, 0), (0, 3), (3, 0)):
        truth, guess = [1] * l + [0] * (6 - l), [1] * k + [0] * (6 - k)
        assert metric.score(truth, guess) == metric.with_special_cases(positive=True).score(truth, guess)


def test_tables_of_one_and_of_two_thousand_samples():
    assert mf.f1.table(1)[0].shape == (2, 2)
    start = time.perf_counter()
    alpha, beta = mf.mcc.evaluate.table(2000)
    assert time.perf_counter() - start < 2
    assert alpha.shape == beta.shape == (2001, 2001)
    assert alpha.flags.c_contiguous
    assert beta.flags.c_contiguous


def test_the_short_last_batch_does_not_evict_the_table_of_the_common_one():
    metric = mf.get_metric("3*tp/(2*ap+pp)")
    common = metric.table(25)
    for n in range(1, 8):
        metric.table(n)
        assert metric.table(25) is common


def test_tables_are_read_only():
    for part in mf.f1.table(3):
        with pytest.raises(ValueError, match="read-only"):
            part[0, 0] = 1


@pytest.mark.parametrize("n", [0, -3])
def test_a_table_needs_a_sample(n):
    with pytest.raises(ValueError, match=f"at least one sample, got n = {n}"):
        mf.f1.table(n)


@pytest.mark.parametrize("wrong", [-1, 4, float("nan")])
def test_coefficients_beyond_the_table_are_refused(wrong):
    with pytest.raises(ValueError, match="k must be between 0 and n = 3"):
        mf.f1.coefficients([1, wrong], 2, 3)
    with pytest.raises(ValueError, match="l must be between 0 and n = 3"):
        mf.f1.coefficients(1, wrong, 3)


def test_tables_that_fill_the_memory_are_refused():
    with pytest.raises(ValueError, match="of n = 1000000000 samples would take"):
        mf.f1.table(10**9)
    assert mf.f1.coefficients(10**9, 10**9, 10**9)[0] == 1e-9


def test_a_formula_undefined_inside_a_larger_table_names_the_cell():
    metric = mf.get_metric("tp/(pp-100)")
    metric.table(50)
    with pytest.raises(mf.UnsupportedMetricError, match=r"tp/\(pp - 100\).*pp = 100, ap = 1, all = 200"):
        metric.table(200)


def test_a_formula_beyond_float64_names_the_cell():
    with pytest.raises(mf.UnsupportedMetricError, match="exceeds the range of float64 at pp = 1420"):
        mf.get_metric("tp*exp(pp/2)").table(1500)


def test_value_range_covers_every_confusion_matrix():
    assert mf.recall.value_range(5) == (0, 1)
    low, high = mf.mcc.value_range(5)
    assert close(low, -1)
    assert close(high, 1)
