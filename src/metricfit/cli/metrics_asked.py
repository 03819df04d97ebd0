"""The metric that the user asks for, and whether it goes with the target."""

from __future__ import annotations

from collections.abc import Sequence

import metricfit as mf
from metricfit.cli.mistakes import UserMistakeError, listed

__all__ = ["class_metric", "read_metric", "refuse_average"]


def read_metric(metric: str, subject_to: tuple[str, ...] = (), *, playable: bool = False) -> mf.Metric:
    """Return the metric that was asked for, with its constraints.

    Parameters
    ----------
    metric : str
        A name or a formula.
    subject_to : tuple of str
        Constraints.
    playable : bool
        Whether a network has to be trained for it, see :attr:`metricfit.Metric.playable`.

    Examples
    --------
    >>> read_metric("precision", ("recall >= 0.8",))
    Metric(precision = tp/pp subject to recall >= 0.8)
    """
    try:
        found = mf.get_metric(metric)
        for constraint in subject_to:
            found = found.subject_to(*mf.get_metric(f"accuracy subject to {constraint}").constraints)
        if playable:
            found.check_playable()
    except (ValueError, TypeError) as error:
        raise UserMistakeError(f"{error}.") from None
    return found


def class_metric(metric: mf.Metric, target: str, classes: Sequence[str]) -> mf.Metric:
    """Return a metric of several classes, or raise an error that names one to use instead.

    Accuracy needs no average: it is the share of rows that are predicted correctly.

    Examples
    --------
    >>> class_metric(mf.f1, "churn", ["no", "yes", "?"])
    Traceback (most recent call last):
        ...
    metricfit.cli.mistakes.UserMistakeError: The target churn has 3 values (no, yes, ?), and f1 is for two. \
Take --metric macro-f1, its mean over the values, or --metric weighted-f1, weighted by their rows.
    """
    values = f"{len(classes)} values ({listed(classes)})"
    if metric.constraints:
        raise UserMistakeError(
            f"Constraints are for a target of two values, and {target} has {values}. Leave out "
            f"--subject-to, or make a column that is 1 for one of the values and 0 otherwise."
        )
    if metric.size is not None:
        raise UserMistakeError(
            f"{metric.name} is for a target of two values, and {target} has {values}. Take --metric "
            f"macro-f1, or make a column that is 1 for one of the values and 0 otherwise."
        )
    if metric == mf.accuracy:
        return metric
    if metric.average == "micro":
        raise UserMistakeError(
            "The micro average cannot be trained for with one value per row. Take --metric accuracy, which "
            "is the share of rows that are predicted correctly, or --metric macro-f1."
        )
    if metric.average is None:
        raise UserMistakeError(
            f"The target {target} has {values}, and {metric.name} is for two. Take --metric "
            f"macro-{metric.name}, its mean over the values, or --metric weighted-{metric.name}, weighted by "
            f"their rows."
        )
    if metric.average not in ("macro", "weighted"):
        raise UserMistakeError(
            f"The {metric.average} average cannot be trained for with one value per row; take --metric "
            f"macro-{metric.name} or weighted-{metric.name}."
        )
    return metric


def refuse_average(metric: mf.Metric, target: str) -> mf.Metric:
    """Return a metric of two classes, or raise an error if it is an average over more.

    Examples
    --------
    >>> refuse_average(mf.f1.macro(), "churn")
    Traceback (most recent call last):
        ...
    metricfit.cli.mistakes.UserMistakeError: The macro average is over more than two values, and churn has \
two. Take --metric f1, of the positive one.
    """
    if metric.average is not None:
        raise UserMistakeError(
            f"The {metric.average} average is over more than two values, and {target} has two. Take --metric "
            f"{metric.name}, of the positive one."
        )
    return metric
