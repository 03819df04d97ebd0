"""Games of several labels, in which rare positives are not alone."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from metricfit import MetricLoss

__all__ = ["ROWS", "LabelGames"]

# The rows of a game. Of rare labels, games of 32 rows have one positive or two, and teach less.
ROWS = 64


class LabelGames(nn.Module):
    r"""The loss of several labels with one game per label and batch.

    If a batch is split into groups, most games of a rare label are without positives, and say only that the
    label is rare. Here a label has one game per batch, of all its rows. Of a batch of more than `size` rows,
    the game has the positives, up to the larger of `share` and their share of the batch, and rows without the
    label that are drawn at random. Labels without positives in the batch are left out. Positives are then
    more frequent than in the data, so that the cut has to be chosen on other rows. In evaluation mode the
    whole batch is played in groups.

    Parameters
    ----------
    share : float
        The least share of positives of a game, if the batch has so many.
    size : int
        The most rows of a game.
    **settings
        As for :class:`metricfit.MetricLoss`.

    Examples
    --------
    >>> logits, targets = torch.zeros(64, 3), torch.zeros(64, 3)
    >>> targets[:2, 0] = 1
    >>> games = LabelGames(share=0.1, metric="f1")
    >>> bool(games(logits, targets) > 0)
    True
    >>> [solution.adversary.shape for solution in games.loss.last_solution.solutions]
    [(64,)]
    """

    def __init__(self, *, share: float, size: int = ROWS, **settings: Any) -> None:
        super().__init__()
        self.share, self.size = share, size
        self.loss = MetricLoss(group_size=None, **settings)
        self.groups = MetricLoss(group_size=size, **settings)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over the labels."""
        if not self.training:
            loss: Tensor = self.groups(logits, targets)
            return loss
        rows = self._rows(targets)
        chosen = targets.gather(0, rows)
        known = (chosen == 1).any(0)
        if not bool(known.any()):
            return 0.0 * logits.sum()
        found: Tensor = self.loss(logits.gather(0, rows)[:, known], chosen[:, known])
        return found

    def _rows(self, targets: Tensor) -> Tensor:
        """Return the rows of the game of each label, drawn at random."""
        n = len(targets)
        size = min(self.size, n)
        positive = targets == 1
        counts = positive.sum(0)
        drawn = torch.rand(targets.shape, device=targets.device)
        place = torch.where(positive, drawn, -1.0).argsort(0, descending=True).argsort(0)
        kept = torch.clamp((size * counts / n).round(), min=math.ceil(self.share * size))
        # First the positives that are to take part, then negatives, then further positives.
        group = torch.where(positive, torch.where(place < kept, 2.0, 0.0), 1.0)
        return (group + drawn).argsort(0, descending=True)[:size]
