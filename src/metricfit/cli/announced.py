"""Classifiers that report when they are fitted, and reuse the models of an unfinished run."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from metricfit.cli.decisions import scores
from metricfit.cli.kept_models import KeptModels
from metricfit.sklearn import MetricClassifier, MetricEnsemble

__all__ = ["Announced", "Steps", "StepsFile", "models_of"]


class Steps(Protocol):
    """Receives the name of the model that is being fitted, to show it."""

    def begin(self, name: str) -> None:
        """Show that a fit begins."""

    def end(self, name: str) -> None:
        """Show that it ended."""


class StepsFile:
    """Writes the beginnings and ends of fits into a file, a line each, from any process.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     steps = StepsFile(Path(folder, "steps"))
    ...     steps.begin("trees")
    ...     steps.end("trees")
    ...     steps.path.read_text().splitlines()
    ['begin trees', 'end trees']
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, name: str) -> None:
        """Note that a fit begins."""
        self._note(f"begin {name}")

    def end(self, name: str) -> None:
        """Note that it ended."""
        self._note(f"end {name}")

    def _note(self, line: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


class Announced(ClassifierMixin, BaseEstimator):
    """A classifier that reports when it is fitted, saves the fitted model, and stops at Ctrl-C.

    What the classifier alone warns of is not passed on: the ensemble decides, and has warnings of its own.

    Attributes
    ----------
    model_ : torch.nn.Module or HistGradientBoostingClassifier
        The network or the trees.
    """

    def __init__(self, estimator: Any, name: str, steps: Steps, kept: KeptModels) -> None:
        self.estimator = estimator
        self.name = name
        self.steps = steps
        self.kept = kept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Announced:
        """Fit the classifier, or load the model that an unfinished run has fitted."""
        self.steps.begin(self.name)
        self.classes_ = np.unique(y)
        key = self.kept.key(self.estimator, X, y, sample_weight)
        self.model_ = self.kept.take(key, X.shape[1], len(self.classes_))
        if self.model_ is None:
            self.model_ = self._fitted(X, y, sample_weight)
            self.kept.keep(key, self.model_)
        self.steps.end(self.name)
        return self

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(self.estimator).fit(X, y, sample_weight=sample_weight)
        # The network catches Ctrl-C and keeps its best epoch, but a part of an ensemble cannot be used.
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt
        return fitted.net_.module_.cpu().eval() if isinstance(fitted, MetricClassifier) else fitted

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classifier."""
        return scores(self.model_, X)


def models_of(ensemble: MetricEnsemble) -> dict[str, list[Any]]:
    """Return the networks and trees of an ensemble of such classifiers, by the names of its members."""
    return {name: [model.model_ for model in member.models] for name, member in ensemble.members_.items()}
