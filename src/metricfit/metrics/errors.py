"""The error a formula is refused with."""

__all__ = ["UnsupportedMetricError"]


class UnsupportedMetricError(ValueError):
    """A formula that is no metric, or a metric that cannot be played; the message names the term.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.jaccard.table(3)
    Traceback (most recent call last):
        ...
    metricfit.metrics.errors.UnsupportedMetricError: tp/(fn + fp + tp) cannot be played as a game: its ...
    """
