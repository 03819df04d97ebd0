"""What all candidates of ``metricfit fit`` share: training rows, folds, costs, and a result."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import cpu_count

import metricfit as mf
from metricfit.cli.announced import Announced, Steps
from metricfit.cli.class_decisions import ClassChoice
from metricfit.cli.decisions import Decision
from metricfit.cli.kept_models import KeptModels
from metricfit.cli.mistakes import UserMistakeError, sentence
from metricfit.sklearn import Cut, MetricEnsemble

__all__ = [
    "Candidate",
    "D",
    "FittedCandidate",
    "FittedEnsemble",
    "How",
    "TrainingRows",
    "cost_of",
    "fit_ensemble",
    "folds_for",
    "jobs_for",
]

D = TypeVar("D", bound=Decision | ClassChoice)
# With many rows, three folds are enough, which saves two of five fits.
FOLDS, FOLDS_OF_MANY, MANY = 5, 3, 20_000
# Tables with fewer numbers than this are fitted in one process.
SHARED = 100_000
# The time of a fit relative to one of trees, to estimate the time left.
COSTS = {"network": 12.0, "cross-entropy network": 8.0, "trees": 1.0, "boosted trees": 3.0}


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The rows that candidates are trained on: features, the number of each row's class, and weights."""

    features: npt.NDArray[np.float32]
    codes: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64] | None


@dataclass(frozen=True)
class How:
    """How candidates are trained, beside what each of them is.

    Attributes
    ----------
    seed : int
        Decides on folds and random states.
    steps : Steps
        Called before and after every fit.
    checkpoints : Path
        The folder that fitted models are kept in. Those that an earlier, unfinished run has left there are
        not fitted again.
    jobs : int
        How many fits run at the same time.
    """

    seed: int
    steps: Steps
    checkpoints: Path
    jobs: int = 1


@dataclass(frozen=True, eq=False)
class FittedCandidate(Generic[D]):
    """A trained candidate.

    Attributes
    ----------
    name : str
        What it is called.
    decision : Decision or ClassChoice
        What it decides.
    held_out : Cut
        The metric on rows that its models have not seen, at the best cut of those.
    seconds : float
        How long the training took.
    notes : tuple of str
        What there was to warn of.
    weights : dict of str to float
        The share of each member.
    """

    name: str
    decision: D
    held_out: Cut
    seconds: float
    notes: tuple[str, ...]
    weights: dict[str, float]


class Candidate(Protocol[D]):
    """Something to train, to choose from and to compare with."""

    @property
    def name(self) -> str:
        """What it is called."""

    def fits(self, folds: int) -> list[str]:
        """Return which kinds of model are fitted, one entry per fit."""

    def fit(self, rows: TrainingRows, how: How) -> FittedCandidate[D]:
        """Train it. A setting that does not fit the data is the user's mistake."""


class FittedEnsemble(NamedTuple):
    """An ensemble, its training time, and its warnings."""

    ensemble: MetricEnsemble
    seconds: float
    notes: tuple[str, ...]


def folds_for(rows: int) -> int:
    """Return how many folds a table with this number of rows is split into.

    Examples
    --------
    >>> folds_for(1000), folds_for(50_000)
    (5, 3)
    """
    return FOLDS if rows < MANY else FOLDS_OF_MANY


def jobs_for(rows: TrainingRows, device: str) -> int:
    """Return how many fits at the same time pay: of a small table one, because processes take time to start.

    Examples
    --------
    >>> jobs_for(TrainingRows(np.zeros((100, 3), np.float32), np.repeat([0, 1], 50), None), "cpu")
    1
    """
    return 1 if device != "cpu" or rows.features.size < SHARED else min(FOLDS, cpu_count())


def cost_of(fits: list[str]) -> float:
    """Return about what fits cost together, in fits of trees.

    Examples
    --------
    >>> cost_of(["network", "trees"])
    13.0
    """
    return sum(COSTS[kind] for kind in fits)


def fit_ensemble(
    name: str,
    members: Mapping[str, Any],
    metric: mf.Metric,
    rows: TrainingRows,
    how: How,
    **settings: Any,
) -> FittedEnsemble:
    """Fit an ensemble whose members report and save each fit.

    Parameters
    ----------
    name : str
        What the ensemble is called.
    members : dict of str to classifier
        Its members.
    metric : Metric
        What to decide for.
    rows : TrainingRows
        What to fit it to.
    how : How
        How to fit it.
    **settings
        Further parameters of :class:`metricfit.sklearn.MetricEnsemble`.
    """
    kept = KeptModels(how.checkpoints, name)
    announced = [(kind, Announced(estimator, kind, how.steps, kept)) for kind, estimator in members.items()]
    ensemble = MetricEnsemble(
        announced,
        metric=metric,
        cv=folds_for(len(rows.codes)),
        n_jobs=how.jobs,
        random_state=how.seed,
        **settings,
    )
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ensemble.fit(rows.features, rows.codes, sample_weight=rows.weights)
        except ValueError as error:
            raise UserMistakeError(sentence(str(error))) from error
    texts = [str(warning.message) for warning in caught if _concerns_the_user(warning)]
    notes = tuple(f"{name}: {text}." for text in dict.fromkeys(texts))
    return FittedEnsemble(ensemble, time.perf_counter() - start, notes)


def _concerns_the_user(warning: warnings.WarningMessage) -> bool:
    # scikit-learn warns about classes with fewer rows than folds; nothing has to be done about it.
    return issubclass(warning.category, UserWarning) and "least populated class" not in str(warning.message)
