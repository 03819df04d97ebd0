"""Where the game of a metric cuts scores, so that they can be moved until it is at 0.

To first order a metric is a sum over items: an item adds the derivative of the metric in its cell. Write
tp', fp', fn', tn' for these derivatives. If an item is positive with probability q, predicting it positive
adds ``q tp' + (1 - q) fp'``, and negative ``q fn' + (1 - q) tn'``. Both are linear in q, so that the
adversary is undecided about the item while its score is between the two slopes, ``fn' - tn'`` and
``tp' - fp'``. In the middle of that interval the decision changes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from metricfit.loss.soft_terms import SoftConstraints, SoftObjective

__all__ = ["centre"]

LIMIT = 50.0
"""The largest shift, in units of logits."""
LEAST = 0.5
"""So many items of a game are added to each cell: a game cannot have less than about half an item in one."""

STEP = 1e-3
"""For differences, in items."""


@torch.no_grad()
def centre(
    objective: SoftObjective,
    missed: SoftConstraints,
    counts: Tensor,
    multipliers: Tensor,
    scale: float,
    items: float,
) -> Tensor:
    """Return what is added to logits before games are played for a metric with multipliers.

    Where hardly anything is predicted positive, the derivative of a precision is huge. Measured on so many
    items as a game has, it stays moderate, and the model is not pushed to predict no positives at all.

    Parameters
    ----------
    objective, missed : SoftObjective, SoftConstraints
        The metric and its constraints.
    counts : Tensor, shape (4, 1)
        The confusion matrix of recent decisions.
    multipliers : Tensor, shape (1, constraints)
    scale : float
        Scores are ``scale / n`` times logits.
    items : float
        How many items a game has.

    Examples
    --------
    >>> import metricfit as mf
    >>> counts, multipliers = torch.tensor([[3.0], [1.0], [1.0], [3.0]]), torch.tensor([[1.0]])
    >>> balanced = SoftObjective(mf.accuracy), SoftConstraints((mf.balanced_accuracy >= 0.5,))
    >>> centre(*balanced, counts, multipliers, 8.0, 32).abs() < 1e-6
    tensor(True)
    >>> careful = SoftObjective(mf.accuracy), SoftConstraints((mf.precision >= 0.9,))
    >>> centre(*careful, counts, multipliers, 8.0, 32) > 0.05
    tensor(True)
    """

    def worth(cells: Tensor) -> Tensor:
        priced = (multipliers[0] * missed(cells, 1.0)).sum()
        return -(objective(cells, 1.0) + priced) / (1.0 + multipliers.sum())

    # Apple's GPU has no double precision.
    wide = torch.float32 if counts.device.type == "mps" else torch.float64
    counts = counts.to(wide)
    cells = counts[:, 0] * (items / counts.sum().clamp(min=1e-30)) + LEAST
    # 0.5 * ((fn' - tn') + (tp' - fp')), as a difference: PyTorch's transforms do not nest in checkpoints.
    direction = 0.5 - torch.arange(4, dtype=wide, device=cells.device) % 2
    middle = (worth(cells + STEP * direction) - worth(cells - STEP * direction)) / (2 * STEP)
    shift: Tensor = (middle * cells.sum() / scale).clamp(-LIMIT, LIMIT)
    return shift
