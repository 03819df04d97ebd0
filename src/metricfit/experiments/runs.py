"""Training runs: what identifies one, and which of them an experiment is made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metricfit.experiments.datasets import DATASETS
from metricfit.experiments.protocols import PROTOCOLS
from metricfit.experiments.recipes import RECIPES, metrics_of

__all__ = ["Run", "plan", "run_of"]


@dataclass(frozen=True)
class Run:
    """One training, which fills one cell.

    Attributes
    ----------
    loss : str
        The name of the recipe, which is a loss for most.
    metric : str or None
        What it is trained for; None for a recipe that knows no metric.
    epochs, steps : int, int or None
        The most epochs and the most steps; the smaller budget counts, with three epochs at least.
    scale : float or None
        The scale of the loss where it is not the protocol's.

    Examples
    --------
    >>> run = Run("paper", "abalone", "metricfit", "f1", 0.001, 0, 100, None, None)
    >>> run_of(run.plain()) == run
    True
    """

    protocol: str
    dataset: str
    loss: str
    metric: str | None
    l2: float
    seed: int
    epochs: int
    steps: int | None
    scale: float | None

    @property
    def key(self) -> str:
        """The text that identifies the run."""
        return json.dumps(self.plain(), sort_keys=True)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics it is judged by."""
        return metrics_of(self.loss, self.metric)

    def plain(self) -> dict[str, Any]:
        """Return plain values, for a line of JSON."""
        return asdict(self)

    def epochs_for(self, steps_per_epoch: int) -> int:
        """Return how many epochs the budget allows.

        Examples
        --------
        >>> Run("paper", "adult", "metricfit", "f1", 0.0, 0, 100, 6000, None).epochs_for(1013)
        6
        """
        if self.steps is None:
            return self.epochs
        return min(self.epochs, max(3, round(self.steps / steps_per_epoch)))


def run_of(plain: dict[str, Any]) -> Run:
    """Return the run that a line of JSON stands for."""
    return Run(**{name: plain[name] for name in Run.__dataclass_fields__})


def plan(
    *,
    protocols: Iterable[str],
    datasets: Iterable[str],
    losses: Sequence[str],
    metrics: Sequence[str],
    seeds: Iterable[int],
    l2: Sequence[float] | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    scale: float | None = None,
) -> Iterator[Run]:
    """Yield the runs of an experiment: data set by data set, so that a part of it can be reported.

    Small sets come first.

    Examples
    --------
    >>> runs = plan(protocols=["recommended"], datasets=["adult", "abalone"], losses=["metricfit"],
    ...             metrics=["f1", "f2"], seeds=[0])
    >>> [(run.dataset, run.metric) for run in runs]
    [('abalone', 'f1'), ('abalone', 'f2'), ('adult', 'f1'), ('adult', 'f2')]
    """
    ordered = sorted(datasets, key=lambda name: DATASETS[name].rows)
    for seed in seeds:
        for protocol in (PROTOCOLS[name] for name in protocols):
            for dataset in ordered:
                for loss in losses:
                    for metric in _aims(loss, metrics):
                        network = RECIPES[loss].network
                        for weight in (l2 or protocol.l2) if network else (0.0,):
                            yield Run(
                                protocol.name,
                                dataset,
                                loss,
                                metric,
                                weight,
                                seed,
                                (epochs or protocol.epochs) if network else 1,
                                steps if network else None,
                                scale if loss == "metricfit" else None,
                            )


def _aims(loss: str, metrics: Sequence[str]) -> Sequence[str | None]:
    """Return the metrics that a recipe is trained for, one at a time; None if it does not use a metric."""
    aims = RECIPES[loss].aims
    return [metric for metric in aims if metric in metrics] if aims else [None]
