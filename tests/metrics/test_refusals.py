"""Unsupported formulas raise an error that names the term."""

import contextlib
import math
import re
import time

import numpy as np
import pytest
import sympy as sp

import metricfit as mf

REFUSED = [
    ("no cell", lambda C: C.ap / C.all, ["ap/all", "none of the cells tp, fp, fn, tn"]),
    ("constant", lambda C: 1, ["none of the cells"]),
    ("cells that cancel", lambda C: (C.tp + C.fn) / C.all, ["its cells cancel"]),
    ("undefined inside", lambda C: C.tp / (C.pp - C.ap), ["divides by zero at pp = 1, ap = 1, all = 2"]),
    ("undefined off the diagonal", lambda C: C.tp / (C.pp - 2 * C.ap), ["at pp = 2, ap = 1, all = 3"]),
    (
        "complex inside",
        lambda C: C.tp * mf.sqrt(C.ap - C.pp),
        ["root or log of a negative number at pp = 1, ap = 0"],
    ),
    (
        "complex on the border",
        lambda C: C.tp * mf.sqrt(C.pp - 1),
        ["root or log of a negative number at pp = 0"],
    ),
    (
        "complex with all cells filled",
        lambda C: mf.sqrt(C.tp / C.ap - C.fp / C.an),
        ["tp = 1, fp = 1, fn = 2", "negative number"],
    ),
    ("zero in the middle", lambda C: C.tp**2 / (C.tp - C.fp), ["divides by zero", "tp = 1, fp = 1, fn = 1"]),
    ("huge factor", lambda C: 1e20 * C.tp, ["it reaches 1e+20", "divide it by a constant"]),
    ("huge addend", lambda C: C.tp / C.ap + 1e22, ["it reaches 1e+22"]),
    ("huge factor of any formula", lambda C: 1e20 * C.tp * C.tn, ["it reaches 1e+20"]),
    ("huge powers", lambda C: C.tp * (C.pp * C.ap) ** 12 * C.an**12 * C.pn**12, ["it reaches 1.13e+15"]),
    ("many digits", lambda C: C.tp * (C.pp + 1e50) ** 9, ["more than 300 digits"]),
    ("complex everywhere", lambda C: C.tp / mf.sqrt(-C.pp), ["root or log of a negative number"]),
    ("imaginary constant", lambda C: C.tp * sp.I, ["must be real"]),
    ("division by zero", lambda C: C.tp / 0, ["the formula is not supported: it divides by zero"]),
    ("nan", lambda C: C.tp * float("nan"), ["the formula is not supported", "undefined constant"]),
    ("infinity", lambda C: C.tp + float("inf"), ["the formula is not supported", "infinite"]),
    ("huge constant", lambda C: C.tp * 1e300, ["1e-60 to 1e60"]),
    ("huge exponent", lambda C: C.tp * C.pp**1000, ["exponent 1000 is too large"]),
    ("variable exponent", lambda C: C.tp * C.pp**C.ap, ["the exponent ap must be a number"]),
    ("unknown name", lambda C: C.tpr, ["no 'tpr'", "tp, fp, fn, tn", "pp, pn, ap, an, all"]),
    ("foreign symbol", lambda C: C.tp * sp.Symbol("x"), ["holds x, which is not a count"]),
    ("absolute value", lambda C: abs(C.tp - C.fp), ["is none of the operations"]),
    ("nothing", lambda C: None, ["returned nothing"]),
    ("text", lambda C: "tp/pp", ["one expression", "str"]),
    ("several", lambda C: np.array([1, 2]) * C.tp, ["one expression", "ndarray"]),
    ("numpy's root", lambda C: np.sqrt(C.ap) * C.tp, ["use mf.sqrt"]),
    ("math's root", lambda C: math.sqrt(C.ap) * C.tp, ["use mf.sqrt"]),
    ("a branch", lambda C: C.tp if C.pp > 0 else 0, ["no comparisons"]),
    ("expansion", lambda C: C.tp / sp.prod([C.pp + C.ap + i for i in range(20)]), ["more than 500 terms"]),
]


NOT_PLAYABLE = [
    ("product of cells", lambda C: C.tp * C.tn / C.all**2, ["tn*tp multiplies cells", "pp, pn, ap, an, all"]),
    ("square of a cell", lambda C: C.tp**2 / C.ap, [r"tp**2 multiplies cells"]),
    ("product of sums of cells", lambda C: (C.tp - C.fp) * (C.tn + C.tp) / C.all, ["multiplies cells"]),
    ("root of a product", lambda C: mf.sqrt(C.tp * C.tn), ["sqrt(tn*tp) puts a cell inside a root"]),
    (
        "g-mean",
        lambda C: mf.sqrt((C.tp / C.ap) * (C.tn / C.an)),
        ["sqrt(tn*tp/(an*ap)) puts a cell inside a root"],
    ),
    ("log of a cell", lambda C: mf.log(C.fp), ["log(fp) puts a cell inside a root, log or exp"]),
    ("jaccard", lambda C: C.tp / (C.tp + C.fp + C.fn), ["denominator fn + fp + tp, which is ap + pp - tp,"]),
    ("cell below", lambda C: C.ap / C.tp, ["denominator tp still depends on tp", "2*tp + fp + fn = pp + ap"]),
    ("diagnostic odds ratio", lambda C: C.tp * C.tn / (C.fp * C.fn), ["its denominator"]),
    (
        "root of a product of sums",
        lambda C: mf.sqrt((C.tp / C.ap + C.tn / C.an - 1) * (C.tp / C.pp + C.tn / C.pn - 1)),
        ["puts a cell inside a root"],
    ),
    ("share flagged", lambda C: C.pp / C.all, ["its cells cancel: pp, ap and all alone decide its value"]),
]


@pytest.mark.parametrize(
    ("formula", "phrases"), [case[1:] for case in NOT_PLAYABLE], ids=[case[0] for case in NOT_PLAYABLE]
)
def test_a_formula_that_is_not_affine_is_scored_and_not_played(formula, phrases):
    metric = mf.metric(formula)
    assert not metric.playable
    for phrase in phrases:
        assert phrase in metric.why_not_playable
    assert np.isfinite(metric.score([1, 1, 1, 0, 0, 0, 0], [1, 0, 1, 1, 0, 0, 0]))
    refusal = re.escape(f"{metric.why_not_playable}; train it with mf.SoftMetricLoss")
    for call in (
        lambda: metric.table(3),
        lambda: metric.coefficients(1, 1, 3),
        lambda: mf.solve(metric, [0.1, 0.2]),
        lambda: mf.MetricLoss(metric),
    ):
        with pytest.raises(mf.UnsupportedMetricError, match=refusal):
            call()


@pytest.mark.parametrize(
    ("formula", "phrases"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_unsupported_formula_is_refused_with_its_term(formula, phrases):
    with pytest.raises(mf.UnsupportedMetricError) as refusal:
        mf.metric(formula)
    for phrase in phrases:
        assert phrase in str(refusal.value)


def test_the_error_is_a_value_error():
    assert issubclass(mf.UnsupportedMetricError, ValueError)


def test_products_of_cells_that_cancel_are_accepted():
    assert mf.metric(lambda C: (C.tp * C.tn - C.fp * C.fn) / C.all**2).score([1, 0], [1, 0]) == 0.25
    assert mf.metric(lambda C: C.tp * mf.sqrt(C.tp + C.fp)) == mf.metric(lambda C: C.tp * mf.sqrt(C.pp))


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda: mf.fbeta(), "missing a required argument: 'beta'"),
        (lambda: mf.fbeta(1, 2), "too many positional arguments"),
        (lambda: mf.fbeta(gamma=1), "fbeta(beta)"),
        (lambda: mf.fbeta(1e200), "fbeta cannot be written down: its numbers exceed"),
        (lambda: mf.fbeta(1e100), "the constant 1.00000e+200 is beyond the range"),
        (lambda: mf.fbeta(-1), "fbeta needs beta > 0, got -1"),
        (lambda: mf.fbeta(0), "fbeta needs beta > 0, got 0"),
        (lambda: mf.fbeta(float("nan")), "finite number as beta"),
        (lambda: mf.fbeta("2"), "finite number as beta, got '2'"),
        (lambda: mf.fbeta(True), "finite number as beta"),
        (lambda: mf.metric(lambda: 1), "takes no argument"),
    ],
)
def test_wrong_arguments_are_refused(call, phrase):
    with pytest.raises(mf.UnsupportedMetricError) as refusal:
        call()
    assert phrase in str(refusal.value)


def test_the_decorator_refuses_anything_but_a_function():
    with pytest.raises(TypeError, match="decorates a function of the confusion matrix, not str"):
        mf.metric("tp/pp")


BIG = [
    # Undefined nearly everywhere, and minutes of work to bring over one denominator.
    "(f1 + (log(gm_precision_recall) + fp**-0.5 + (mcc/tn)**0.5)**12)",
    "exp(((an+all)*(1e59-gm_precision_recall))**-12*12)",
    "(sqrt(2)*tp + sqrt(3)*tp)**12 / (sqrt(5) + pp)**12",
    # Powers of a root of much.
    "((an + sqrt(mcc + f1))**12)**1.5",
    # A constant of more digits than there are atoms.
    "exp((exp(sqrt(1e59) - fn*7)**-2.5)**0.5)",
]


@pytest.mark.parametrize("formula", BIG, ids=["undefined", "steep", "numbers", "root", "constant"])
def test_no_formula_takes_long(formula):
    began = time.process_time()
    with contextlib.suppress(mf.UnsupportedMetricError):
        mf.get_metric(formula)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("formula", ["(-2)**0.3 * tp", "tp / (-0.5)**(1/3)", "tp * (1 - 3)**0.5"])
def test_a_complex_constant_is_refused(formula):
    with pytest.raises(mf.UnsupportedMetricError, match="root or log of a negative number"):
        mf.get_metric(formula)
