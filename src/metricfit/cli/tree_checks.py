"""Checks of gradient-boosted trees from a file, which scikit-learn's compiled code does not make."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier

__all__ = ["BadTreesError", "check_trees"]

# What scikit-learn raises if a part is missing or has the wrong form.
MISFITS = (AttributeError, TypeError, ValueError, LookupError, OverflowError, ArithmeticError)


class BadTreesError(Exception):
    """Trees that no training produces."""


def check_trees(trees: Any, features: int, classes: int = 2) -> None:
    """Raise BadTreesError unless a prediction by these trees ends, and reads only what is in them.

    scikit-learn follows the numbers of children, features and category sets in a tree without checking
    them. A wrong one reads memory out of bounds, and a child before its parent makes an endless loop.

    Parameters
    ----------
    trees : object
        What was read.
    features : int
        How many features a row has.
    classes : int
        How many classes there are.

    Examples
    --------
    >>> rows = np.arange(80.0).reshape(40, 2)
    >>> trees = HistGradientBoostingClassifier(max_iter=1).fit(rows, rows[:, 0] > 30)
    >>> check_trees(trees, features=2)
    >>> check_trees(trees, features=3)
    Traceback (most recent call last):
        ...
    metricfit.cli.tree_checks.BadTreesError: they are not for 3 features
    """
    if type(trees) is not HistGradientBoostingClassifier:
        raise BadTreesError("they are something else")
    try:
        _check_structure(trees, features, classes)
        trial = trees.decision_function(np.zeros((1, features), dtype=np.float32))
    except MISFITS as error:
        raise BadTreesError("a part is missing or has the wrong form") from error
    if not np.isfinite(trial).all():
        raise BadTreesError("they predict infinite scores")


def _check_structure(trees: Any, features: int, classes: int) -> None:
    if trees.n_features_in_ != features:
        raise BadTreesError(f"they are not for {features} features")
    # scikit-learn has no public way to the nodes. Ours are trained on numbers.
    outputs = classes if classes > 2 else 1
    if len(trees.classes_) != classes or trees.n_trees_per_iteration_ != outputs:
        raise BadTreesError(f"they are not for {classes} classes")
    if np.shape(trees._baseline_prediction) != (1, outputs):
        raise BadTreesError(f"they are not for {classes} classes")
    if trees._preprocessor is not None or np.any(trees._bin_mapper.is_categorical_):
        raise BadTreesError("they are for categories")
    if hasattr(trees, "_in_fit"):
        raise BadTreesError("they are in training")
    for iteration in trees._predictors:
        if len(iteration) != outputs:
            raise BadTreesError("a tree is missing")
        for tree in iteration:
            _check_nodes(tree.nodes, features)


def _check_nodes(nodes: npt.NDArray[Any], features: int) -> None:
    """Check one tree, whose nodes are numbered so that children come after their parent."""
    if nodes.ndim != 1 or not len(nodes):
        raise BadTreesError("a tree has no nodes")
    leaf, categorical = nodes["is_leaf"], nodes["is_categorical"]
    if not np.isin(leaf, (0, 1)).all() or categorical.any():
        raise BadTreesError("a node is of no known kind")
    inner = np.flatnonzero(leaf == 0)
    for side in ("left", "right"):
        child = nodes[side][inner].astype(np.int64)
        if (child <= inner).any() or (child >= len(nodes)).any():
            raise BadTreesError("a node has a child that is not there")
    split = nodes["feature_idx"][inner].astype(np.int64)
    if (split < 0).any() or (split >= features).any():
        raise BadTreesError("a node asks for a feature that is not there")
    if not np.isfinite(nodes["value"][leaf == 1]).all():
        raise BadTreesError("a leaf has an infinite value")
