"""How much each column matters to a trained model: by how much the metric falls when it is shuffled."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from metricfit.cli.model_files import Model
from metricfit.report import Importance

__all__ = ["column_importance"]

ROWS, REPEATS = 4000, 3
ONCE_SECONDS, AGAIN_SECONDS = 30.0, 5.0


def column_importance(
    model: Model,
    score: Callable[..., float],
    table: pd.DataFrame,
    codes: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64] | None,
    *,
    seed: int,
    seconds: float = ONCE_SECONDS,
) -> tuple[tuple[Importance, ...], list[str]]:
    """Return the importance of the columns that the model uses, and a note if time was short.

    ``score`` takes labels, predictions and weights. It is measured on at most 4000 of the test rows. Every
    column is shuffled once; a table with so many columns that this takes longer than ``seconds`` keeps those
    that were measured, at least one, and the note says how many. Each is shuffled twice more as long as the
    whole takes less than five seconds.
    """
    random = np.random.default_rng(seed)
    rows = random.permutation(len(table))[:ROWS]
    part, truth = table.iloc[rows].reset_index(drop=True), codes[rows]
    counts = None if weights is None else weights[rows]
    used = [name for name, kind in model.columns.kinds.items() if kind != "unused"]

    def value(shuffled: pd.DataFrame) -> float:
        predicted = model.decision.predicted(model.encoded(shuffled, ignore_unknown=True))
        return score(truth, predicted, counts)

    whole = value(part)
    begin = time.monotonic()
    drops: dict[str, list[float]] = {}
    for limit in (seconds, *(REPEATS - 1) * (min(AGAIN_SECONDS, seconds),)):
        for name in used:
            if drops and time.monotonic() - begin > limit:
                break
            shuffled = part[name].to_numpy()[random.permutation(len(part))]
            drops.setdefault(name, []).append(whole - value(part.assign(**{name: shuffled})))
    found = tuple(Importance(name, float(np.mean(drop)), float(np.std(drop))) for name, drop in drops.items())
    if len(found) == len(used):
        return found, []
    return found, [
        f"The importance was measured for the first {len(found)} of {len(used)} columns only: "
        f"it would have taken more than {seconds:.0f} seconds."
    ]
