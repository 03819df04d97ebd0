"""Metrics: formulas over the confusion matrix that can be trained for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import sympy as sp

from metricfit.metrics.confusion import ConfusionMatrix
from metricfit.metrics.constraint import Boundable, Constraint
from metricfit.metrics.count_formula import CountFormula
from metricfit.metrics.derivation import evaluation
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.evaluation import FloatArray, checked_size
from metricfit.metrics.normal_form import in_counts
from metricfit.metrics.printing import formula_latex, formula_text
from metricfit.metrics.scoring import Average, Scored
from metricfit.metrics.table import Coefficients
from metricfit.metrics.written import checked

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Metric", "from_expression"]

TABLES_KEPT = 8
_Table = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False, repr=False)
class Metric(Boundable, Scored):
    """A performance metric: a formula over the confusion matrix.

    Metrics are made by :func:`metricfit.metric`, :func:`metricfit.get_metric` or taken ready-made
    (``mf.f1``). They are immutable, and equal when their formulas, special cases and constraints mean the
    same: the name does not matter, nor how the formula is spelled.

    There are two kinds of support. Every metric can be scored, and trained with ``SoftMetricLoss``. If the
    formula is affine in the true positives, once the numbers of predicted and actual positives are fixed, the
    metric is `playable`: it has tables, a game (:func:`metricfit.solve`) and a convex loss
    (:class:`metricfit.MetricLoss`). Those raise :class:`UnsupportedMetricError` for any other metric.

    Attributes
    ----------
    name : str
        The name it is printed with.
    formula : str
        The formula as it was written; that of the objective where there are constraints.
    constraints : tuple of Constraint
        What :meth:`subject_to` added.
    average : str or None
        How :meth:`score` averages over several labels by default; see :meth:`averaged`.
    size : int, float or None
        How many items a prediction chooses, or which share of them; see :meth:`at_size`.
    expression : sympy.Expr
        The formula as an expression, for further work with SymPy.
    playable : bool
        Whether the metric, with its constraints, can be played as a game.
    why_not_playable : str or None
        If not, the reason, which names the term.

    Examples
    --------
    >>> import metricfit as mf
    >>> @mf.metric
    ... def lift(C):
    ...     return (C.tp / C.pp) / (C.ap / C.all)
    >>> lift
    Metric(lift = all*tp/(ap*pp))
    >>> lift.score([1, 1, 0, 0], [1, 0, 0, 0])
    2.0
    >>> lift.playable, mf.jaccard.playable
    (True, False)
    """

    name: str
    written: sp.Expr | Callable[[ConfusionMatrix], object]
    given: Coefficients | CountFormula | None = None
    constraints: tuple[Constraint, ...] = ()
    doc: str | None = None
    average: Average | None = None
    size: int | float | None = None

    def __post_init__(self) -> None:
        if self.doc:
            object.__setattr__(self, "__doc__", self.doc)

    @cached_property
    def expression(self) -> sp.Expr:
        """The formula as it was written; that of a ready-made metric is made when it is first needed."""
        return self.written if isinstance(self.written, sp.Expr) else checked(self.written(ConfusionMatrix()))

    @cached_property
    def evaluate(self) -> Coefficients | CountFormula:
        """What computes the metric: as given, or derived from the expression."""
        return self.given or evaluation(self.expression)

    @cached_property
    def _table(self) -> Callable[[int], _Table]:
        return lru_cache(maxsize=TABLES_KEPT)(cast("Coefficients", self.evaluate).table)

    @property
    def formula(self) -> str:
        """The formula of the objective, as it was written."""
        return formula_text(self.expression)

    @property
    def playable(self) -> bool:
        """Whether the metric, with its constraints, can be played as a game.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.f1.playable, mf.jaccard.playable, mf.f1.subject_to(mf.jaccard >= 0.5).playable
        (True, False, False)
        """
        return self.why_not_playable is None

    @property
    def why_not_playable(self) -> str | None:
        """The reason why the metric cannot be played, which names the term, or None.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.get_metric("tp*tn/all**2").why_not_playable
        'tn*tp/all**2 cannot be played as a game: tn*tp multiplies cells; ...'
        """
        for metric in (self, *(constraint.metric for constraint in self.constraints)):
            if isinstance(metric.evaluate, CountFormula):
                return f"{metric.formula} cannot be played as a game: {metric.evaluate.form.reason}"
        return None

    def check_playable(self) -> None:
        """Raise UnsupportedMetricError, with the reason, if the metric cannot be played as a game.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.f1.check_playable()
        """
        if why := self.why_not_playable:
            raise UnsupportedMetricError(f"{why}; train it with mf.SoftMetricLoss")

    def expression_in_counts(self) -> sp.Expr:
        """Return the formula as a SymPy expression in the four cells ``tp``, ``fp``, ``fn`` and ``tn``.

        It is meant for code that is generated from the formula, such as that of a soft loss. Constants are
        exact fractions. The expression is the formula as it was written, unless that is 0/0 at some counts
        where the metric has a value; then common factors are cancelled. Constraints are not included: use
        ``constraint.metric`` of each.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.f1.expression_in_counts()
        2*tp/(fn + fp + 2*tp)
        >>> mf.kappa.expression_in_counts().free_symbols == {*sp.symbols("tp fp fn tn")}
        True
        """
        return in_counts(self.expression)

    def coefficients(self, k: npt.ArrayLike, l: npt.ArrayLike, n: int) -> _Table:
        """Return the two coefficients of ``metric = alpha * tp + beta`` at some cells of the table.

        Parameters
        ----------
        k, l : array_like of int
            Numbers of predicted and of actual positives, 0 to ``n``; they are broadcast.
        n : int
            The number of samples. Any size works, no table is built.

        Returns
        -------
        alpha, beta : ndarray of float64
            Of the broadcast shape; finite everywhere.

        Examples
        --------
        >>> import metricfit as mf
        >>> alpha, beta = mf.recall.coefficients([1, 2], 4, 100_000)
        >>> alpha, beta
        (array([0.25, 0.25]), array([0., 0.]))
        """
        self.check_playable()
        n = checked_size(n)
        for name, counts in (("k", np.asarray(k)), ("l", np.asarray(l))):
            if not ((counts >= 0) & (counts <= n)).all():
                raise ValueError(f"{name} must be between 0 and n = {n}")
        return cast("Coefficients", self.evaluate)(k, l, n)

    def table(self, n: int) -> _Table:
        """Return ``alpha`` and ``beta`` for every number of predicted and actual positives of ``n`` samples.

        With ``k`` predicted positives, ``l`` actual positives and ``tp`` of them in both, the metric is
        ``alpha[k, l] * tp + beta[k, l]``. Constraints are not included.

        Parameters
        ----------
        n : int
            The number of samples.

        Returns
        -------
        alpha, beta : ndarray of float64, shape (n + 1, n + 1)
            Read-only. The two take ``16 * (n + 1)**2`` bytes, which is 11 kB at n = 25 and 64 MB at
            n = 2000; the tables of the eight sizes used last are kept.

        Examples
        --------
        >>> import metricfit as mf
        >>> alpha, beta = mf.f1.table(2)
        >>> alpha
        array([[0.        , 2.        , 1.        ],
               [2.        , 1.        , 0.66666667],
               [1.        , 0.66666667, 0.5       ]])
        >>> beta[0, 0]
        np.float64(1.0)
        """
        self.check_playable()
        return self._table(n)

    def value_range(self, n: int) -> tuple[float, float]:
        """Return the smallest and the largest value over all confusion matrices of ``n`` samples.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.informedness.value_range(10)
        (-1.0, 1.0)
        """
        return self.evaluate.value_range(n)

    @property
    def objective(self) -> Self:
        """The same metric without its constraints.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.precision_at_recall(0.8).objective == mf.precision
        True
        """
        return replace(self, constraints=())

    def subject_to(self, *constraints: Constraint) -> Self:
        """Return this metric under constraints on the prediction.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.precision.subject_to(mf.recall >= 0.8, mf.specificity >= 0.9)
        Metric(precision = tp/pp subject to recall >= 0.8, specificity >= 0.9)
        """
        if not constraints:
            raise TypeError("subject_to needs at least one constraint, as in subject_to(mf.recall >= 0.8)")
        for constraint in constraints:
            if not isinstance(constraint, Constraint):
                raise TypeError(
                    f"subject_to takes constraints such as mf.recall >= 0.8, not {type(constraint).__name__}"
                )
        return replace(self, constraints=tuple(dict.fromkeys(self.constraints + constraints)))

    def at_size(self, k: int | float) -> Self:
        """Return this metric for predictions of `k` positives only, such as precision at the top 10.

        In a game the predictor may choose sets of this size only; the decision is the `k` highest scores.
        `score` measures any prediction, whatever its size.

        Parameters
        ----------
        k : int or float
            A number of items, or a share of them between 0 and 1, which is at least one item. If there are
            fewer than `k` items, all are chosen.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.precision.at_size(10)
        Metric(precision = tp/pp at size 10)
        >>> sol = mf.solve(mf.precision.at_size(1), [0.4, 0.1, -0.2], solver="exact-lp")
        >>> round(sol.predictor.sum(), 6)
        np.float64(1.0)
        """
        whole = isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1
        if not whole and not (isinstance(k, Real) and not isinstance(k, Integral) and 0.0 < float(k) < 1.0):
            raise ValueError(
                f"a size must be a whole number from 1 on, or a share between 0 and 1, got {k!r}"
            )
        return replace(self, size=int(k) if whole else float(k))

    def sizes(self, n: int) -> tuple[int, ...] | None:
        """Return the sizes that a prediction for `n` items may have; None stands for all.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.f1.sizes(20), mf.f1.at_size(3).sizes(20), mf.f1.at_size(0.1).sizes(20)
        (None, (3,), (2,))
        """
        if self.size is None:
            return None
        return (min(self.size, n) if isinstance(self.size, int) else max(1, round(self.size * n)),)

    def with_special_cases(self, *, positive: bool = False, negative: bool = False) -> Self:
        """Return this metric with the special cases of the paper forced, where its formula is defined too.

        Without them a metric that is undefined because there are no positives or no negatives is 1 if the
        prediction can only equal the truth, and 0 otherwise.

        Parameters
        ----------
        positive : bool
            Where no sample is predicted positive, or none is, the metric is 1 if both hold and 0 otherwise.
        negative : bool
            The same for negatives.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.accuracy.score([0, 1], [0, 0])
        0.5
        >>> mf.accuracy.with_special_cases(positive=True).score([0, 1], [0, 0])
        0.0
        """
        return replace(self, given=replace(self.evaluate, positive=bool(positive), negative=bool(negative)))

    def named(self, name: str) -> Self:
        """Return this metric under another name.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.get_metric("tp/ap").named("sensitivity")
        Metric(sensitivity = tp/ap)
        """
        return replace(self, name=name)

    def latex(self) -> str:
        r"""Return the formula as LaTeX.

        Examples
        --------
        >>> import metricfit as mf
        >>> print(mf.precision.latex())
        \frac{\mathrm{TP}}{\mathrm{PP}}
        """
        formula = formula_latex(self.expression)
        if self.size is not None:
            formula += rf" \quad\text{{at size }} {self.size}"
        if self.constraints:
            bounds = r",\; ".join(constraint.latex() for constraint in self.constraints)
            formula += rf" \quad\text{{subject to}}\quad {bounds}"
        return formula

    def _repr_latex_(self) -> str:
        name = self.name.replace("_", r"\_")
        return rf"$\displaystyle \text{{{name}}} = {self.latex()}$"

    def __repr__(self) -> str:
        text = f"{self.name} = {self.formula}" if self.name != self.formula else self.formula
        if self.average:
            text = f"{self.average} {text}"
        if self.size is not None:
            text += f" at size {self.size}"
        if self.constraints:
            text += " subject to " + ", ".join(str(constraint) for constraint in self.constraints)
        forced = [side for side in ("positive", "negative") if getattr(self.evaluate, side)]
        if forced:
            text += f"; special cases: {', '.join(forced)}"
        return f"Metric({text})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        mine, theirs = (
            (metric.evaluate, metric.constraints, metric.average, metric.size) for metric in (self, other)
        )
        return self is other or mine == theirs

    @cached_property
    def _hash(self) -> int:
        return hash((self.evaluate, self.constraints, self.average, self.size))

    def __hash__(self) -> int:
        return self._hash

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # By value, never by reference to the function that was decorated: that one may live in a notebook,
        # which another process cannot import.
        parts = (
            self.name,
            self.expression,
            self.evaluate,
            self.constraints,
            self.doc,
            self.average,
            self.size,
        )
        return (type(self), parts)


def from_expression(name: str, expression: object, doc: str | None = None) -> Metric:
    """Build a metric from an expression over the confusion matrix, after every check.

    Examples
    --------
    >>> import metricfit as mf
    >>> C = mf.ConfusionMatrix()
    >>> from_expression("recall", C.tp / C.ap)
    Metric(recall = tp/ap)
    """
    written = checked(expression)
    return Metric(name, written, evaluation(written), (), doc)
