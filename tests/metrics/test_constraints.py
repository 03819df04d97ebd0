"""A metric compared with a number is a constraint; every other comparison is an error."""

from fractions import Fraction

import numpy as np
import pytest

import metricfit as mf


def test_both_directions_and_both_orders_of_a_comparison():
    for made in (
        mf.recall >= 0.8,
        mf.recall >= 0.8,
        mf.recall >= np.float64(0.8),
        np.float64(0.8) <= mf.recall,
    ):
        assert (made.metric, made.sense, made.threshold) == (mf.recall, ">=", 0.8)
    for made in (mf.specificity <= 0.9, 0.9 >= mf.specificity, np.float32(0.9) >= mf.specificity):  # noqa: SIM300
        assert (made.metric, made.sense) == (mf.specificity, "<=")
        assert made.threshold == pytest.approx(0.9)


def test_thresholds_may_be_ints_fractions_and_numpy_scalars():
    for one in (1, 1.0, np.int64(1), np.float32(1), Fraction(1)):
        assert (mf.recall >= one).threshold == 1.0


def test_several_constraints_add_up_and_equal_ones_count_once():
    metric = mf.precision.subject_to(mf.recall >= 0.8).subject_to(mf.specificity >= 0.9, mf.recall >= 0.8)
    assert metric.constraints == (mf.recall >= 0.8, mf.specificity >= 0.9)
    assert metric != mf.precision
    np.testing.assert_array_equal(metric.table(4), mf.precision.table(4))
    # Both bind: the game is worth less than with either alone.
    scores, labels = [0.2, 0.1, 0.0, -0.1], [1, 0, 1, 0]
    free, recall, specificity, both = (
        mf.solve(made, scores, labels, solver="exact-lp").value
        for made in (
            mf.precision,
            mf.precision.subject_to(mf.recall >= 0.8),
            mf.precision.subject_to(mf.specificity >= 0.9),
            metric,
        )
    )
    assert both < min(recall, specificity) - 1e-3
    assert max(recall, specificity) < free - 1e-3


def test_named_families_are_the_plain_metric_with_its_constraints():
    assert mf.precision_at_recall(0.8) == mf.precision.subject_to(mf.recall >= 0.8)
    assert mf.precision_at_recall(0.8).name == "precision_at_recall(0.8)"
    assert mf.recall_at_precision(0.6) == mf.recall.subject_to(mf.precision >= 0.6)
    both = mf.precision_at_recall_specificity(0.8, 0.9)
    assert both == mf.precision.subject_to(mf.recall >= 0.8, mf.specificity >= 0.9)


@pytest.mark.parametrize(
    ("compare", "error", "phrase"),
    [
        (lambda: mf.recall >= mf.precision, TypeError, "compares one metric with a number"),
        (lambda: mf.recall <= mf.precision, TypeError, "compares one metric with a number"),
        (
            lambda: mf.recall >= 1.5,
            ValueError,
            "recall >= 1.5 is outside the range of recall, which is 0 to 1",
        ),
        (lambda: mf.recall <= -0.1, ValueError, "outside the range of recall"),
        (lambda: mf.mcc >= -1.01, ValueError, "which is -1 to 1"),
        (lambda: mf.recall >= float("nan"), ValueError, "NaN"),
        (lambda: mf.recall >= float("inf"), ValueError, "outside the range"),
        (lambda: mf.recall >= True, TypeError, "not bool"),
        (lambda: mf.recall >= "0.8", TypeError, "not str"),
        (lambda: mf.recall >= None, TypeError, "NoneType"),
        (lambda: mf.recall > 0.8, TypeError, "write recall >= 0.8"),
        (lambda: mf.recall < 0.8, TypeError, "write recall <= 0.8"),
        (lambda: 0.5 <= mf.recall <= 0.9, TypeError, "two constraints"),
        (lambda: mf.precision.subject_to(), TypeError, "at least one constraint"),
        (lambda: mf.precision.subject_to(0.8), TypeError, "constraints such as mf.recall >= 0.8, not float"),
        (lambda: mf.precision.subject_to(mf.recall), TypeError, "not Metric"),
        (lambda: mf.precision_at_recall(0.5) >= 0.5, ValueError, "constraints of its own"),
        (lambda: mf.precision_at_recall(1.5), ValueError, "outside the range of recall"),
    ],
)
def test_other_comparisons_are_errors_that_say_what_to_write(compare, error, phrase):
    with pytest.raises(error) as refusal:
        compare()
    assert phrase in str(refusal.value)


def test_the_ends_of_the_range_are_thresholds():
    for metric, low in ((mf.recall, 0), (mf.mcc, -1), (mf.kappa, -1), (mf.gm_precision_recall, 0)):
        assert (metric >= low).threshold == low
        assert (metric <= 1).threshold == 1


def test_a_metric_that_grows_with_the_batch_takes_any_large_threshold():
    lift = mf.get_metric("(tp/pp)/(ap/all)")
    assert (lift >= 500).threshold == 500
    with pytest.raises(ValueError, match="which is 0 to inf"):
        lift >= -1  # noqa: B015


def test_a_constraint_that_cannot_be_played_makes_the_metric_unplayable():
    constrained = mf.precision.subject_to(mf.recall >= 0.5, mf.g_mean >= 0.5)
    assert not constrained.playable
    assert constrained.why_not_playable == mf.g_mean.why_not_playable
    assert mf.precision.playable
    with pytest.raises(mf.UnsupportedMetricError, match=r"sqrt\(tn\*tp/\(an\*ap\)\) cannot be played"):
        mf.solve(constrained, [0.1, 0.2], [0, 1])


def test_a_constraint_prints_and_compares_by_value():
    assert str(mf.recall >= 0.8) == "recall >= 0.8"
    assert repr(mf.recall >= 0.8) == "Constraint(recall >= 0.8)"
    assert (mf.recall >= 0.8) == (mf.get_metric("tp/ap") >= 0.8)
    assert hash(mf.recall >= 0.8) == hash(mf.recall >= 0.8)
    assert (mf.recall >= 0.8).latex() == r"\frac{\mathrm{TP}}{\mathrm{AP}} \ge 0.8"
