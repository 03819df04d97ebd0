"""Which of the trained classifiers is used, and the constant classifier to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.report import Method
from metricfit.sklearn import Cut, cut_at

__all__ = ["GO_ON", "about_constant", "about_interruption", "best_of", "constant_method", "why_chosen"]

if TYPE_CHECKING:
    from metricfit.cli.results import Result

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
GO_ON = "The same command with --resume goes on."


def best_of(held_out: Sequence[Cut]) -> int:
    """Return the index of the best result on held-out rows; of equal ones the first.

    Examples
    --------
    >>> best_of([Cut(0.0, 0.7, 0.0), Cut(0.0, 0.9, 0.1), Cut(0.0, 0.7, 0.0)])
    0
    """
    return max(range(len(held_out)), key=lambda index: (held_out[index].rank, -index))


def why_chosen(names: Sequence[str], held_out: Sequence[Cut], chosen: int, where: str) -> str:
    """Return a sentence that says which classifier is used, and by which numbers.

    Examples
    --------
    >>> cuts = [Cut(0.0, 0.71, 0.0), Cut(0.0, 0.7, 0.0)]
    >>> why_chosen(["ensemble", "trees"], cuts, 0, "out-of-fold")
    'The model is: ensemble. It is the best out-of-fold: 0.710, against 0.700 (trees).'
    """
    said = f"The model is: {names[chosen]}."
    others = [
        f"{held_out[index].value:.3f} ({names[index]}{_missed(held_out[index])})"
        for index in range(len(names))
        if index != chosen
    ]
    if not others:
        return said
    own = f"{held_out[chosen].value:.3f}{_missed(held_out[chosen])}"
    return f"{said} It is the best {where}: {own}, against {' and '.join(others)}."


def constant_method(
    metric: mf.Metric, codes: IntArray, weights: FloatArray | None, test_rows: int
) -> tuple[Method, Cut]:
    """Return the better of always and never predicting positive on the training rows, and its score there."""
    answers = [(name, sign) for name, sign in (("always positive", 1.0), ("never positive", -1.0))]
    cuts = [cut_at(metric, np.full(len(codes), sign), codes, 0.0, weights=weights) for _, sign in answers]
    name, sign = answers[best := best_of(cuts)]
    method = Method(name, np.full(test_rows, sign), [], 1, 0.0, 0.0, held_out=cuts[best].value, constant=True)
    return method, cuts[best]


def about_constant(name: str, at_train: Cut, result: Result, metric: str, target: str) -> list[str]:
    """Return a warning if a constant classifier is no worse than the model."""
    if at_train.rank < result.held_out.rank:
        return []
    return [
        f"Warning: the classifier that is {name} scores {at_train.value:.3f} on the training rows, which is "
        f"no worse than the model on held-out rows. {metric} rewards it here, or the columns say little "
        f"about {target}."
    ]


def about_interruption(result: Result) -> list[str]:
    """Return what to say of a training that Ctrl-C ended."""
    if not result.interrupted:
        return []
    return [f"Training was interrupted; this is the best so far, and the comparison is not complete. {GO_ON}"]


def _missed(cut: Cut) -> str:
    return "" if cut.rank == cut.value else ", misses a constraint"
