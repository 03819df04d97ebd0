"""How much each column matters to a trained model: by how much the metric falls when it is shuffled."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import pandas as pd

import metricfit as mf
from metricfit.cli.model_files import Model
from metricfit.report import Importance

__all__ = ["column_importance"]

ROWS, REPEATS = 4000, 3
SECONDS = 5.0


def column_importance(
    model: Model,
    metric: mf.Metric,
    table: pd.DataFrame,
    codes: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64] | None,
    *,
    seed: int,
    seconds: float = SECONDS,
) -> tuple[Importance, ...]:
    """Return the importance of the columns that the model uses, as far as the time allows.

    It is measured on at most 4000 of the test rows. Every column is shuffled once, and if there is time
    twice more.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(len(table))[:ROWS]
    part, truth = table.iloc[rows].reset_index(drop=True), codes[rows]
    counts = None if weights is None else weights[rows]
    used = [name for name, kind in model.columns.kinds.items() if kind != "unused"]

    def value(shuffled: pd.DataFrame) -> float:
        predicted = model.decision.predicted(model.encoded(shuffled, ignore_unknown=True))
        return float(metric.objective.score(truth, predicted, sample_weight=counts))

    end = time.monotonic() + seconds
    whole = value(part)
    drops: dict[str, list[float]] = {name: [] for name in used}
    for _ in range(REPEATS):
        for name in used:
            if time.monotonic() > end:
                break
            shuffled = part[name].to_numpy()[random.permutation(len(part))]
            drops[name].append(whole - value(part.assign(**{name: shuffled})))
    return tuple(
        Importance(name, float(np.mean(found)), float(np.std(found)))
        for name, found in drops.items()
        if found
    )
