"""A cut at which constraints hold on new rows, with a confidence over the draw of the data.

The cut is chosen on held-out rows that no member, calibration or weight has seen, by fixed-sequence testing
("Learn then Test", Angelopoulos, Bates, Candès, Jordan and Lei, 2021). The other rows alone decide on a
sequence of cuts, from the one that should be safest to the one that is best for the metric. On the held-out
rows, the hypothesis "the constraints do not hold at this cut" is tested at each in turn, until one is not
rejected. A wrong rejection has a probability of one less the confidence at most, since it includes that of
the first hypothesis that is true; so any of the cuts before the end may be used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from metricfit import Constraint, Metric
from metricfit.sklearn.binomial import Share, as_share, bounds
from metricfit.sklearn.cut_curve import Cut, CutCurve, population_value

__all__ = ["NotShownError", "confident_cut", "need_enough_rows"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
# Cuts of the sequence, of which the tests are a part.
CUTS = 1000
# Shares of positives, and rates of either class, at which a metric is evaluated between their bounds.
POINTS = 5


class NotShownError(ValueError):
    """The held-out rows do not show that the constraints hold, at any cut that was tested."""


def need_enough_rows(
    constraints: Sequence[Constraint], confidence: float, held_out: IntArray, labels: IntArray
) -> None:
    """Raise an error if there are too few held-out rows for any classifier to pass the test.

    Parameters
    ----------
    constraints : sequence of Constraint
        What is promised.
    confidence : float
        With which probability.
    held_out, labels : ndarray
        The labels of the rows that are held out, and of all rows, as 0 and 1.

    Examples
    --------
    >>> import metricfit as mf
    >>> labels = np.repeat([0, 1], [380, 20])
    >>> need_enough_rows([mf.recall >= 0.9], 0.95, labels[::4], labels)
    Traceback (most recent call last):
        ...
    metricfit.sklearn.confidence.NotShownError: recall >= 0.9 with confidence 0.95 needs 29 positive rows held
    out, and there are 5; give about 116 positive rows in all (there are 20), a larger holdout, or a lower
    confidence
    """
    for constraint in constraints:
        share = as_share(constraint)
        if share is None:
            continue
        cells = {*share.successes, *share.failures}
        kind, there, total = "", len(held_out), len(labels)
        if cells <= {"tp", "fn"}:
            kind, there, total = "positive ", int(held_out.sum()), int(labels.sum())
        elif cells <= {"tn", "fp"}:
            kind, there, total = "negative ", int((held_out == 0).sum()), int((labels == 0).sum())
        needed = share.trials_needed(confidence)
        if there < needed:
            enough = math.ceil(needed * len(labels) / len(held_out))
            raise NotShownError(
                f"{constraint} with confidence {confidence:g} needs {needed} {kind}rows held out, and there "
                f"are {there}; give about {enough} {kind}rows in all (there are {total}), a larger holdout, "
                "or a lower confidence"
            )


def confident_cut(
    metric: Metric, plan: CutCurve, scores: FloatArray, labels: IntArray, confidence: float
) -> Cut:
    """Return the best cut at which the held-out rows show that the constraints hold.

    Parameters
    ----------
    metric : Metric
        With constraints.
    plan : CutCurve
        Of rows other than the held-out ones: it decides on the sequence of tests, and which of the cuts that
        pass is best.
    scores, labels : ndarray of shape (n,)
        Of the held-out rows; the labels are 0 and 1.
    confidence : float
        The probability with which the constraints hold on new rows.

    Returns
    -------
    Cut
        Its value and violation are those on the held-out rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> random = np.random.default_rng(0)
    >>> labels = random.integers(0, 2, 2000)
    >>> scores = np.clip(0.3 * labels + 0.7 * random.random(2000), 0, 1)
    >>> plan = CutCurve.of(scores[:1000], labels[:1000])
    >>> metric = mf.precision.subject_to(mf.recall >= 0.8)
    >>> cut = confident_cut(metric, plan, scores[1000:], labels[1000:], 0.95)
    >>> 0.8 < mf.recall.score(labels[1000:], scores[1000:] > cut.threshold) < 0.9
    True
    """
    plan = plan.some(CUTS)
    held_out = CutCurve.of(scores, labels, thresholds=plan.thresholds)
    scale = len(labels) / plan.n
    planned = _cells(plan.hits * scale, plan.predicted * scale, plan.actual * scale, plan.n * scale)
    counted = _cells(held_out.hits, held_out.predicted, held_out.actual, held_out.n)
    ranks = plan.ranks(metric)
    best = int(np.argmax(ranks))
    safest = int(np.argmax(_safety(metric.constraints, planned, confidence)))
    step = 1 if best >= safest else -1
    sequence = np.arange(safest, best + step, step)
    shown = _shown(metric.constraints, counted, confidence)[sequence]
    passed = sequence[: len(sequence) if shown.all() else int(np.argmin(shown))]
    if not len(passed):
        raise NotShownError(_sentence(metric, held_out, safest, confidence))
    return held_out.at(metric, int(passed[np.argmax(ranks[passed])]))


def _cells(hits: FloatArray, predicted: FloatArray, actual: float, n: float) -> dict[str, FloatArray]:
    return {"tp": hits, "fp": predicted - hits, "fn": actual - hits, "tn": n - actual - predicted + hits}


def _shown(
    constraints: Sequence[Constraint], cells: dict[str, FloatArray], confidence: float
) -> npt.NDArray[np.bool_]:
    """Return at which cuts every constraint is shown; it takes all, so that none needs a correction."""
    results = []
    for constraint in constraints:
        share = as_share(constraint)
        if share is not None:
            results.append(share.p_values(cells) <= 1.0 - confidence)
        else:
            results.append(_worst(constraint, cells, confidence) >= 0.0)
    return np.asarray(np.all(results, axis=0))


def _safety(constraints: Sequence[Constraint], cells: dict[str, FloatArray], confidence: float) -> FloatArray:
    """Return how surely each cut is expected to pass, by the constraint that is nearest to failing."""
    results = []
    for constraint in constraints:
        share = as_share(constraint)
        if share is None:
            results.append(_worst(constraint, cells, confidence))
        else:
            results.append(_evidence(share, cells))
    return np.asarray(np.min(results, axis=0))


def _evidence(share: Share, cells: dict[str, FloatArray]) -> FloatArray:
    """Return Chernoff's bound of minus the logarithm of the p-value; negative where the claim looks wrong."""
    successes, trials = share.counts(cells)
    rate = (successes + 0.5) / (trials + 1.0)
    divergence = rate * np.log(rate / share.least) + (1.0 - rate) * np.log((1.0 - rate) / (1.0 - share.least))
    return np.asarray(np.sign(rate - share.least) * trials * divergence)


def _worst(constraint: Constraint, cells: dict[str, FloatArray], confidence: float) -> FloatArray:
    """Return the least excess over the populations that are within the bounds of share and rates.

    Each of the six bounds is wrong with a sixth of the allowed probability.
    """
    error = (1.0 - confidence) / 6.0
    actual = cells["tp"] + cells["fn"]
    others = cells["fp"] + cells["tn"]
    ranges = [
        _between(*bounds(actual, actual + others, error)),
        _between(*bounds(cells["tp"], actual, error)),
        _between(*bounds(cells["tn"], others, error)),
    ]
    share, tpr, tnr = ranges[0][:, None, None], ranges[1][None, :, None], ranges[2][None, None, :]
    excess = population_value(constraint.metric, share, tpr, tnr) - constraint.threshold
    return np.asarray((excess if constraint.sense == ">=" else -excess).min(axis=(0, 1, 2)))


def _between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return points from the lower to the upper bounds, on a new first axis."""
    return np.linspace(low, high, POINTS)


def _sentence(metric: Metric, held_out: CutCurve, index: int, confidence: float) -> str:
    found = ", ".join(
        f"{constraint.metric.name} is {held_out.values(constraint.metric)[index]:.3g}"
        for constraint in metric.constraints
    )
    wanted = ", ".join(str(constraint) for constraint in metric.constraints)
    return (
        f"the {held_out.n} rows held out do not show {wanted} with confidence {confidence:g}: at the safest "
        f"cut, {found} on them; give more rows, ask for less, or lower the confidence"
    )
