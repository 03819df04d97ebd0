"""``metricfit demo``: the three ways side by side, on data that ship with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import metricfit as mf
from metricfit.cli.terminal import Screen
from metricfit.cli.training import Trained, Way, the_ways, train
from metricfit.report import Comparison, Method

__all__ = ["compare_demo_data"]

FOLDS = 5


@dataclass(frozen=True, eq=False)
class _Task:
    name: str
    features: npt.NDArray[np.float64]
    codes: npt.NDArray[np.int64]


def compare_demo_data(metric: mf.Metric, screen: Screen, *, epochs: int, seed: int) -> Iterator[Comparison]:
    """Yield a comparison per task; every row is tested once, by a model that has not seen it."""
    for task in _tasks():
        with screen.progress:
            methods = [_tested(way, task, metric, screen, epochs, seed) for way in the_ways(metric)]
        facts = {
            "tested": f"every row once, by {FOLDS} models each trained without a fifth of the rows",
            "training": "the same network, steps and choice of the epoch each time; only the loss differs",
        }
        found = tuple(method for method, _ in methods)
        notes = tuple(dict.fromkeys(note for _, notes in methods for note in notes))
        yield Comparison(task.name, metric, task.codes, found, notes, facts)
        for running in screen.progress.task_ids:
            screen.progress.remove_task(running)


def _tasks() -> list[_Task]:
    diabetes, progression = load_diabetes(return_X_y=True)
    digits, digit = load_digits(return_X_y=True)
    fast = progression > np.quantile(progression, 0.8)
    return [
        _Task("diabetes: among the fastest fifth?", diabetes, fast.astype(np.int64)),
        _Task("digits: is it an 8?", digits, (digit == 8).astype(np.int64)),
    ]


def _tested(
    way: Way, task: _Task, metric: mf.Metric, screen: Screen, epochs: int, seed: int
) -> tuple[Method, tuple[str, ...]]:
    margins = np.zeros(len(task.codes))
    trained: list[Trained] = []
    (bar,) = screen.watch(f"{way.name}, 1/{FOLDS}", epochs)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for index, (rows, held_out) in enumerate(folds.split(task.features, task.codes), start=1):
        bar.restart(f"{way.name}, {index}/{FOLDS}")
        scaler = StandardScaler().fit(task.features[rows])
        features = scaler.transform(task.features).astype(np.float32)
        one = train(
            way, features[rows], task.codes[rows], metric, epochs=epochs, seed=seed, watch=lambda *_: (bar,)
        )
        if one.classifier.interrupted_:
            raise KeyboardInterrupt
        margins[held_out] = one.classifier.decision_function(features[held_out])
        trained.append(one)
    first = trained[0].classifier
    method = Method(
        way.name,
        margins,
        first.history_,
        first.best_epoch_,
        first.threshold_,
        sum(one.seconds for one in trained),
    )
    return method, tuple(note for one in trained for note in one.notes)
