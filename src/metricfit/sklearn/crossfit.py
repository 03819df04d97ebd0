"""Cross-fitting: a model for each fold, and for every row the score of a model that has not seen it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from sklearn import get_config
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed

from metricfit.sklearn.threads import threads_for

__all__ = ["Member", "crossfit", "make_folds", "rows_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Fold = tuple[IntArray, IntArray]

# Nearer to 0 and 1 than this no probability is believed.
LEAST = 1e-9


@dataclass(frozen=True)
class Member:
    """The models of one estimator, one for each fold.

    Attributes
    ----------
    name : str
        What the estimator is called in the ensemble.
    models : list of classifiers
        The fitted clones.
    floor : float or None
        How near to 0 and 1 a probability may come before its logit is taken: half of the smallest distance
        seen out-of-fold. None for an estimator with a decision function.
    """

    name: str
    models: list[Any]
    floor: float | None

    def scores(self, X: Any) -> FloatArray:
        """Return the mean score of the models: of their decision functions, or of their logits."""
        with threads_for(X):
            scores = [_finite(_raw_scores(model, X), self.floor) for model in self.models]
        return np.asarray(np.mean(scores, axis=0))


def make_folds(cv: Any, X: Any, labels: IntArray, groups: Any, seed: int) -> list[Fold]:
    """Return the rows to train on and the rows to score, for each fold.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        With a number, the folds have equal shares of positives, and rows of a group are in one fold.
    X, labels, groups
        What is split; the labels are 0 and 1.
    seed : int
        Decides on the folds, if `cv` is a number.

    Examples
    --------
    >>> [scored.size for _, scored in make_folds(3, None, np.repeat([0, 1], 6), None, 0)]
    [4, 4, 4]
    """
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        folds = _enough_folds(int(cv), labels, groups)
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        splitter = kind(folds, shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv, labels, classifier=True)
    splits = [
        (_as_rows(train), _as_rows(test))
        for train, test in splitter.split(np.zeros(len(labels)) if X is None else X, labels, groups)
    ]
    for train, _ in splits:
        if len(np.unique(labels[train])) < 2:
            raise ValueError(
                "a fold trains on rows of one class only; give fewer folds, or rows in another order"
            )
    scored = np.concatenate([test for _, test in splits])
    if len(np.unique(scored)) < len(scored):
        raise ValueError(
            "cv scores some rows more than once; give a splitter whose test parts do not overlap"
        )
    return splits


def _enough_folds(folds: int, labels: IntArray, groups: Any) -> int:
    if folds < 2:
        raise ValueError(f"cv must be 2 or more, a splitter or a list of splits, got {folds}")
    members = [
        int((labels == label).sum())
        if groups is None
        else len(np.unique(np.asarray(groups)[labels == label]))
        for label in (0, 1)
    ]
    what = "rows" if groups is None else "groups"
    most = min(members)
    if most < 2:
        raise ValueError(
            f"cross-fitting needs two {what} of each class at least, "
            f"got {members[1]} positive and {members[0]} negative"
        )
    if most < folds:
        warnings.warn(
            f"the rarer class has {most} {what} only, so cv={folds} becomes cv={most}", stacklevel=4
        )
    return min(folds, most)


def _as_rows(index: Any) -> IntArray:
    index = np.asarray(index)
    return np.flatnonzero(index) if index.dtype == bool else index.astype(np.int64)


def crossfit(
    estimators: Sequence[tuple[str, Any]],
    X: Any,
    labels: IntArray,
    folds: Sequence[Fold],
    *,
    sample_weight: FloatArray | None,
    random: np.random.RandomState,
    n_jobs: int | None,
) -> tuple[list[Member], FloatArray]:
    """Fit every estimator on every fold.

    Returns
    -------
    members : list of Member
        In the order of the estimators.
    scores : ndarray of shape (members, rows)
        The out-of-fold scores; NaN for rows that no fold scores.
    """
    for name, estimator in estimators:
        if sample_weight is not None:
            _weight_arguments(name, estimator, sample_weight)
        if not (hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")):
            raise TypeError(
                f"{name} has neither decision_function nor predict_proba, so it cannot be a member"
            )
    tasks = [
        delayed(_fit_one)(name, _seeded(estimator, random), X, labels, train, test, sample_weight)
        for name, estimator in estimators
        for train, test in folds
    ]
    fitted = Parallel(n_jobs=n_jobs)(tasks)
    members = []
    scores = np.full((len(estimators), len(labels)), np.nan)
    for index, (name, _) in enumerate(estimators):
        part = fitted[index * len(folds) : (index + 1) * len(folds)]
        floor = _floor(part)
        members.append(Member(name, [model for model, _ in part], floor))
        for (_, test), (_, raw) in zip(folds, part, strict=True):
            scores[index, test] = _finite(raw, floor)
    return members, scores


def rows_of(X: Any, rows: IntArray) -> Any:
    """Return some rows of an array, a sparse matrix or a data frame.

    Examples
    --------
    >>> rows_of(np.array([[1.0], [2.0]]), np.array([1]))
    array([[2.]])
    """
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _fit_one(
    name: str, estimator: Any, X: Any, labels: IntArray, train: IntArray, test: IntArray, weights: Any
) -> tuple[Any, FloatArray]:
    arguments = {} if weights is None else _weight_arguments(name, estimator, weights[train])
    with threads_for(X):
        model = estimator.fit(rows_of(X, train), labels[train], **arguments)
        # A network that Ctrl-C stops keeps its best epoch; half of an ensemble is of no use.
        if getattr(_last_step(model), "interrupted_", False):
            raise KeyboardInterrupt
        raw = _raw_scores(model, rows_of(X, test))
    if np.isnan(raw).any():
        raise ValueError(
            f"the scores of {name} are NaN for {int(np.isnan(raw).sum())} of {len(raw)} rows that it has not "
            "seen; look at its features, or leave this member out"
        )
    return model, raw


def _last_step(model: Any) -> Any:
    return _last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def _raw_scores(model: Any, X: Any) -> FloatArray:
    """Return the decision function, or else the probability of the positive class."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        if scores.ndim != 1:
            raise ValueError(_misshapen(model, "decision_function", scores, "one score per row"))
        return scores
    chances = np.asarray(model.predict_proba(X), dtype=np.float64)
    if chances.ndim != 2 or chances.shape[1] != 2:
        raise ValueError(_misshapen(model, "predict_proba", chances, "a probability for each of two classes"))
    return chances[:, 1]


def _misshapen(model: Any, method: str, found: FloatArray, needed: str) -> str:
    return (
        f"{method} of {type(_last_step(model)).__name__} returned the shape {found.shape} for two classes; a "
        f"member has to return {needed}, so leave it out, or wrap it"
    )


def _floor(part: Sequence[tuple[Any, FloatArray]]) -> float | None:
    if hasattr(part[0][0], "decision_function"):
        return None
    seen = np.concatenate([raw for _, raw in part])
    distances = np.minimum(seen, 1.0 - seen)
    return max(float(distances[distances > 0.0].min(initial=0.5)) / 2, LEAST)


def _finite(raw: FloatArray, floor: float | None) -> FloatArray:
    return raw if floor is None else np.asarray(logit(np.clip(raw, floor, 1.0 - floor)))


def _weight_arguments(name: str, estimator: Any, weights: FloatArray) -> dict[str, Any]:
    """Return what passes weights to the fit of an estimator, or of the last step of a pipeline."""
    prefix = ""
    inner = estimator
    # With metadata routing, a pipeline takes the weights itself and hands them to the steps that asked.
    while isinstance(inner, Pipeline) and not get_config()["enable_metadata_routing"]:
        step, inner = inner.steps[-1]
        prefix += f"{step}__"
    if not isinstance(inner, Pipeline) and "sample_weight" not in inspect.signature(inner.fit).parameters:
        raise ValueError(f"{name} takes no sample_weight; fit without weights, or leave this member out")
    return {f"{prefix}sample_weight": weights}


def _seeded(estimator: Any, random: np.random.RandomState) -> Any:
    """Return a clone in which every random state that is None is a number."""
    copy = clone(estimator)
    settings = copy.get_params(deep=True)
    unset = [
        name
        for name, value in sorted(settings.items())
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    ]
    return copy.set_params(**{name: int(random.randint(2**31 - 1)) for name in unset})
