"""The error for formulas that are not supported."""

__all__ = ["UnsupportedMetricError"]


class UnsupportedMetricError(ValueError):
    """A formula that is not a metric, or a metric that cannot be played; the message names the term.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.jaccard.table(3)
    Traceback (most recent call last):
        ...
    metricfit.metrics.errors.UnsupportedMetricError: tp/(fn + fp + tp) cannot be played as a game: its ...
    """
