"""The error a formula is refused with."""

__all__ = ["UnsupportedMetricError"]


class UnsupportedMetricError(ValueError):
    """A formula that cannot be trained for; the message names the term and the rule it breaks.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.get_metric("tp/(tp+fp+fn)")
    Traceback (most recent call last):
        ...
    metricfit.metrics.errors.UnsupportedMetricError: tp/(fn + fp + tp) is not supported: its denominator ...
    """
