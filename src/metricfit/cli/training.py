"""Single networks to compare: for the metric, and cross-entropy without and with a tuned threshold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.cli.mistakes import UserMistakeError, sentence
from metricfit.report import Method
from metricfit.sklearn import Cut, MetricClassifier
from metricfit.sklearn.cut_curve import CutRule

__all__ = ["Trained", "Way", "as_method", "the_ways", "train"]

Watch = Callable[[str, int], Sequence[Any]]


@dataclass(frozen=True)
class Way:
    """One way of training."""

    key: str
    name: str
    loss: Literal["metric", "cross-entropy"]
    cut: CutRule


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained classifier, its training time, and its warnings."""

    way: Way
    classifier: MetricClassifier
    seconds: float
    notes: tuple[str, ...]

    @property
    def held_out(self) -> Cut:
        """The metric on the held-out rows, at the threshold."""
        best = self.classifier.history_[self.classifier.best_epoch_ - 1]
        return Cut(best["threshold"], best["valid_metric"], best["violation"])


def the_ways(metric: mf.Metric, cut: CutRule = "expected") -> tuple[Way, ...]:
    """Return the ways to compare, ours first.

    Examples
    --------
    >>> [way.name for way in the_ways(mf.f2)]
    ['trained for f2', 'cross-entropy', 'cross-entropy, tuned threshold']
    """
    name = metric.name if len(metric.name) <= 30 else "the metric"
    # The same rule as for the metric: the best threshold as counted scores too high on these rows.
    tuned: CutRule = "empirical" if cut == "zero" else cut
    return (
        Way("ours", f"trained for {name}", "metric", cut),
        Way("plain", "cross-entropy", "cross-entropy", "zero"),
        Way("tuned", "cross-entropy, tuned threshold", "cross-entropy", tuned),
    )


def train(
    way: Way,
    features: npt.NDArray[np.float32],
    codes: npt.NDArray[np.int64],
    metric: mf.Metric,
    *,
    epochs: int,
    seed: int,
    device: str = "cpu",
    watch: Watch | None = None,
    checkpoint: Path | None = None,
    weights: npt.NDArray[np.float64] | None = None,
) -> Trained:
    """Train in one way; a setting that does not fit the data is the user's mistake."""
    classifier = MetricClassifier(
        metric,
        loss=way.loss,
        cut=way.cut,
        max_epochs=epochs,
        device=device,
        callbacks=watch(way.name, epochs) if watch else None,
        checkpoint=checkpoint,
        random_state=seed,
    )
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            classifier.fit(features, codes, sample_weight=weights)
        except ValueError as error:
            raise UserMistakeError(sentence(str(error))) from error
    ours = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    notes = tuple(f"{way.name}: {text}." for text in dict.fromkeys(ours))
    return Trained(way, classifier, time.perf_counter() - start, notes)


def as_method(trained: Trained, margins: npt.NDArray[np.float64]) -> Method:
    """Return what the report says of a training, with the margins of the test rows."""
    classifier = trained.classifier
    return Method(
        trained.way.name,
        margins,
        classifier.history_,
        classifier.best_epoch_,
        classifier.threshold_,
        trained.seconds,
        held_out=trained.held_out.value,
    )
