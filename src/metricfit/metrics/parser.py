"""Metrics from text: a name, a call such as ``fbeta(0.5)``, or a formula. Nothing is evaluated as code."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any, cast, get_args

import sympy as sp

from metricfit.metrics.builtin import BUILT_IN
from metricfit.metrics.confusion import CELLS, SUMS, ConfusionMatrix
from metricfit.metrics.constraint import Constraint
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.family import MetricFamily
from metricfit.metrics.limits import MAX_EXPONENT, MAX_MAGNITUDE
from metricfit.metrics.metric_class import Metric, from_expression
from metricfit.metrics.names import canonical, hint, known_metric
from metricfit.metrics.scoring import Average

__all__ = ["get_metric", "read_formula"]

MAX_LENGTH = 500
MAX_DEPTH = 100
MAX_BITS = 600

_SYMBOLS = {name: getattr(ConfusionMatrix, name) for name in CELLS + SUMS}
_FUNCTIONS = {"sqrt": sp.sqrt, "log": sp.log, "exp": sp.exp}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def get_metric(metric: str | Metric) -> Metric:
    """Return a metric by its name or its formula.

    Parameters
    ----------
    metric : str or Metric
        The name of a built-in metric (``"mcc"``), a member of a family (``"fbeta(0.5)"``, or short
        ``"f0.5"``), or a formula over ``tp fp fn tn pp pn ap an all`` with ``+ - * / **``, ``sqrt``, ``log``,
        ``exp`` and the names of built-in metrics. Other common names of these, such as ``"sensitivity"``, are
        known too. ``"macro f1"`` and ``"f1_macro"`` are averages over labels or classes. ``"precision@100"``
        and ``"precision@5%"`` are for predictions of one size, see :meth:`Metric.at_size`. Constraints follow
        after ``subject to``, separated by commas. A metric is returned as it is.

    Returns
    -------
    Metric

    Raises
    ------
    UnsupportedMetricError
        If the text is none of these; the message says what in it is not understood.

    Examples
    --------
    >>> get_metric("f2")
    Metric(f2 = 5*tp/(4*ap + pp))
    >>> get_metric("2*tp/(2*tp+fp+fn)") == get_metric("f1")
    True
    >>> get_metric("precision@100").size, get_metric("precision at 5 %").size
    (100, 0.05)
    >>> get_metric("precision subject to recall >= 0.8, specificity >= 0.9")
    Metric(precision = tp/pp subject to recall >= 0.8, specificity >= 0.9)
    >>> get_metric("__import__('os')")
    Traceback (most recent call last):
        ...
    metricfit.metrics.errors.UnsupportedMetricError: "__import__('os')" is not a formula: ...
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        family = f"; call it with its numbers: {metric.call}" if isinstance(metric, MetricFamily) else ""
        raise TypeError(
            "a metric must be a Metric, or its name or formula as a string, not "
            f"{type(metric).__name__}{family}"
        )
    if len(metric) > MAX_LENGTH:
        raise UnsupportedMetricError(
            f"the formula has {len(metric)} characters; {MAX_LENGTH} is the longest that is read"
        )
    objective, *rest = re.split(r"\s+subject\s+to\s+", metric.strip(), maxsplit=1)
    objective, average = _split_average(objective)
    made = _sized_metric(objective)
    if average is not None:
        made = made.averaged(average)
    if rest:
        made = made.subject_to(*(_constraint(text) for text in _split_at_commas(rest[0])))
    return made


def _split_average(text: str) -> tuple[str, Average | None]:
    """Return the text of a metric and its average, which stands before or after it: ``f1_macro``."""
    averages = "|".join(get_args(Average))
    before = re.fullmatch(rf"({averages})[\s_-]+(.+)", text, re.IGNORECASE)
    if before:
        return before[2], cast("Average", before[1].lower())
    after = re.fullmatch(rf"(.+?)[\s_-]+({averages})", text, re.IGNORECASE)
    return (after[1], cast("Average", after[2].lower())) if after else (text, None)


def _sized_metric(text: str) -> Metric:
    """Return a metric that may be followed by the size of the predictions, as in ``precision@10``."""
    parts = re.fullmatch(r"(.+?)\s*(?:@|\sat\s(?:size\s|top\s)?)\s*(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    if parts is None:
        return _plain_metric(text)
    metric, number = _plain_metric(parts[1]), float(parts[2])
    size = number / 100 if parts[3] else number if "." in parts[2] else int(parts[2])
    return metric.at_size(size).named(f"{metric.name}@{parts[2]}{parts[3]}")


def _split_at_commas(text: str) -> list[str]:
    """Split at the commas outside of parentheses."""
    return re.split(r",(?![^(]*\))", text)


def _constraint(text: str) -> Constraint:
    sides = re.fullmatch(r"\s*([^<>=]+?)\s*(>=|<=)\s*([^<>=]+?)\s*", text)
    if not sides:
        raise UnsupportedMetricError(f"{text.strip()!r} is not a constraint such as recall >= 0.8")
    left, sense, right = sides.groups()
    if _is_number(left):
        left, right = right, left
        sense = "<=" if sense == ">=" else ">="
    if not _is_number(right):
        raise UnsupportedMetricError(f"{text.strip()!r} must compare a metric with a number")
    metric = _plain_metric(left)
    return metric >= float(right) if sense == ">=" else metric <= float(right)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", text) is not None


def _plain_metric(text: str) -> Metric:
    text = text.strip()
    short = re.fullmatch(r"[fF](\d{1,6}(\.\d{1,9})?)", text)
    if short and text.lower() not in BUILT_IN:
        return _member("fbeta", [_number(text, _parsed(short[1]))])
    if known_metric(text):
        found = BUILT_IN[canonical(text)]
        if isinstance(found, Metric):
            return found
        raise UnsupportedMetricError(
            f"{found.name} is a family of metrics; give its parameters: {found.call}"
        )
    tree = _parsed(text)
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and known_metric(tree.func.id):
        if tree.keywords:
            raise _not_understood(text, tree, "give parameters by position")
        return _member(canonical(tree.func.id), [_number(text, argument) for argument in tree.args])
    made = from_expression("", _Reader(text).read(tree))
    return made.named(made.formula)


def read_formula(text: str) -> sp.Expr:
    """Return the expression that a formula of any length stands for.

    Examples
    --------
    >>> read_formula("tp/(tp + fp)")
    tp/(fp + tp)
    """
    return _Reader(text).read(_parsed(text))


def _member(name: str, parameters: list[float]) -> Metric:
    family = BUILT_IN[name]
    if isinstance(family, Metric):
        raise UnsupportedMetricError(f"{name} is a metric without parameters; write {name}, not {name}(...)")
    return family(*parameters)


def _parsed(text: str) -> ast.expr:
    if not text:
        raise UnsupportedMetricError(
            "the formula is empty; give a name, such as f1, or a formula, such as tp/pp"
        )
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error) or "it is nested too deeply"
        raise UnsupportedMetricError(f"{_quoted(text)} is not a formula: {reason}") from None


def _number(text: str, node: ast.expr) -> float:
    sign = 1
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = -sign if isinstance(node.op, ast.USub) else sign
        node = node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _not_understood(text, node, "a parameter must be a number")
    return sign * value


def _quoted(text: str) -> str:
    return f'"{text}"'


def _not_understood(text: str, node: ast.AST, remedy: str) -> UnsupportedMetricError:
    part = ast.get_source_segment(text, node) or type(node).__name__
    return UnsupportedMetricError(f"{_quoted(text)} is not a formula: {part} is not understood; {remedy}")


class _Reader:
    """Builds an expression from a syntax tree, node by node, out of an explicit list of what is allowed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.AST, depth: int = 0) -> sp.Expr:
        if depth > MAX_DEPTH:
            raise UnsupportedMetricError(f"the formula is nested deeper than {MAX_DEPTH} levels")
        value = self._value(node, depth + 1)
        self._refuse_large(value)
        return value

    def _value(self, node: ast.AST, depth: int) -> sp.Expr:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return sp.sympify(node.value)
        if isinstance(node, ast.Name):
            return self._named(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            operand = self.read(node.operand, depth)
            return -operand if isinstance(node.op, ast.USub) else operand
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self.read(node.left, depth), self.read(node.right, depth)
            if isinstance(node.op, ast.Pow):
                self._refuse_exponent(node, right)
            return _OPERATORS[type(node.op)](left, right)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            raise _not_understood(self.text, node, "write powers as **")
        if isinstance(node, ast.Call):
            return self._called(node, depth)
        raise _not_understood(
            self.text, node, "a formula holds numbers, names, + - * / **, sqrt, log and exp"
        )

    def _named(self, node: ast.Name) -> sp.Expr:
        name = node.id.lower()
        if name in _SYMBOLS:
            return _SYMBOLS[name]
        found = BUILT_IN.get(canonical(name))
        if isinstance(found, Metric) and not found.constraints:
            return found.expression
        known = f"the counts are {', '.join(_SYMBOLS)}, the metrics {', '.join(BUILT_IN)}"
        raise _not_understood(self.text, node, hint(name) + known)

    def _called(self, node: ast.Call, depth: int) -> sp.Expr:
        function = _FUNCTIONS.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if function is None:
            raise _not_understood(self.text, node, "the functions of a formula are sqrt, log and exp")
        if len(node.args) != 1 or node.keywords:
            raise _not_understood(self.text, node, "sqrt, log and exp take one argument")
        return function(self.read(node.args[0], depth))

    def _refuse_exponent(self, node: ast.BinOp, exponent: sp.Expr) -> None:
        if not exponent.is_Number or not abs(exponent) <= MAX_EXPONENT:
            raise _not_understood(
                self.text,
                node.right,
                f"an exponent must be a number between -{MAX_EXPONENT} and {MAX_EXPONENT}",
            )

    def _refuse_large(self, value: sp.Expr) -> None:
        """Refuse constants before they grow: powers of powers reach billions of digits within a line."""
        if not value.is_number or value.is_zero or not value.is_finite:
            return
        if value.is_Rational:
            large = max(int(value.p).bit_length(), int(value.q).bit_length()) > MAX_BITS
        else:
            large = False
        size = abs(value.evalf(15))
        if large or not 1 / MAX_MAGNITUDE <= size <= MAX_MAGNITUDE:
            raise UnsupportedMetricError(
                f"{_quoted(self.text)} holds a constant beyond the range 1e-60 to 1e60; use smaller numbers"
            )
