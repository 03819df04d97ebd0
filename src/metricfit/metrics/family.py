"""The decorator that turns a function of the confusion matrix into a metric, or a family of metrics."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from numbers import Real
from typing import Concatenate, ParamSpec, overload

from metricfit.metrics.confusion import ConfusionMatrix
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.metric_class import Metric, from_expression

__all__ = ["MetricFamily", "metric", "ready_made"]

_P = ParamSpec("_P")


class MetricFamily:
    """Metrics that differ by parameters; calling it with the parameters gives a :class:`Metric`.

    Examples
    --------
    >>> import metricfit as mf
    >>> @mf.metric
    ... def tversky_like(C, weight):
    ...     return C.tp / (weight * C.ap + (1 - weight) * C.pp)
    >>> tversky_like(0.25)
    Metric(tversky_like(0.25) = tp/(0.25*ap + 0.75*pp))
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self.name = function.__name__
        self.__doc__ = inspect.getdoc(function)
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__
        self._function = function
        signature = inspect.signature(function)
        self._signature = signature.replace(parameters=list(signature.parameters.values())[1:])

    @property
    def call(self) -> str:
        """How a member is written, such as ``fbeta(beta)``."""
        return f"{self.name}({', '.join(self._signature.parameters)})"

    def __call__(self, *args: object, **kwargs: object) -> Metric:
        """Return the member of the family with these parameters."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise UnsupportedMetricError(f"{self.call} was called wrongly: {error}") from error
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
                raise UnsupportedMetricError(f"{self.name} needs a finite number as {name}, got {value!r}")
        made = _evaluated(self._function, *bound.args, **bound.kwargs)
        text = ", ".join(_number_text(value) for value in bound.arguments.values())
        name = f"{self.name}({text})"
        return made.named(name) if isinstance(made, Metric) else from_expression(name, made, self.__doc__)

    def __reduce__(self) -> str:
        # Pickled like a function, by its name in its module, since the decorator replaced the function there.
        return self.__qualname__

    def __repr__(self) -> str:
        return f"MetricFamily({self.call})"


@overload
def metric(function: Callable[Concatenate[ConfusionMatrix, float, _P], object]) -> MetricFamily: ...
@overload
def metric(function: Callable[[ConfusionMatrix], object]) -> Metric: ...
def metric(function: Callable[..., object]) -> Metric | MetricFamily:
    """Turn a function of the confusion matrix into a metric.

    Parameters
    ----------
    function : callable
        Takes the confusion matrix and returns a formula over it. If it takes further arguments, the result is
        a family, to be called with them.

    Returns
    -------
    Metric or MetricFamily

    Raises
    ------
    UnsupportedMetricError
        If the formula is no metric, for instance because it is complex or holds a name that is no count.

    Examples
    --------
    >>> import metricfit as mf
    >>> @mf.metric
    ... def lift(C):
    ...     return (C.tp / C.pp) / (C.ap / C.all)
    >>> lift.formula
    'all*tp/(ap*pp)'
    """
    if not callable(function):
        raise TypeError(f"metric decorates a function of the confusion matrix, not {type(function).__name__}")
    parameters = list(inspect.signature(function).parameters)
    if not parameters:
        raise UnsupportedMetricError(
            f"{function.__name__} takes no argument; its first argument must be the confusion matrix, "
            f"as in def {function.__name__}(C)"
        )
    if len(parameters) > 1:
        return MetricFamily(function)
    made = _evaluated(function)
    built = made if isinstance(made, Metric) else from_expression("", made, inspect.getdoc(function))
    return built.named(built.formula if function.__name__ == "<lambda>" else function.__name__)


def ready_made(function: Callable[[ConfusionMatrix], object]) -> Metric:
    """Turn a function of this library into a metric, whose formula is checked when it is first used.

    SymPy takes milliseconds for each, and a program seldom uses more than one.

    Examples
    --------
    >>> @ready_made
    ... def hits(C):
    ...     "Share of samples that are true positives."
    ...     return C.tp / C.all
    >>> hits
    Metric(hits = tp/all)
    """
    return Metric(function.__name__, function, doc=inspect.getdoc(function))


def _evaluated(function: Callable[..., object], *args: object, **kwargs: object) -> object:
    try:
        return function(ConfusionMatrix(), *args, **kwargs)
    except (OverflowError, ZeroDivisionError) as error:
        raise UnsupportedMetricError(
            f"the formula of {function.__name__} cannot be written down: its numbers exceed the range of "
            "float64 or divide by zero; use other parameters"
        ) from error
    except (TypeError, AttributeError) as error:
        raise UnsupportedMetricError(
            f"the formula of {function.__name__} cannot be written down ({error}); use mf.sqrt, mf.log and "
            "mf.exp rather than those of math or numpy, and no comparisons"
        ) from error


def _number_text(value: object) -> str:
    return format(value, ".12g") if isinstance(value, float) else str(value)
