"""The soft loss as the estimator uses it: after cross-entropy, at the share of positives of the data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from metricfit import Metric, SoftMetricLoss
from metricfit.sklearn.network import CrossEntropy

__all__ = ["SoftAfterCrossEntropy", "warm_epochs"]

TEMPERATURE, CROSS_ENTROPY = 0.5, 5.0
WARM_SHARE, MOST_WARM = 0.2, 10


def warm_epochs(epochs: int) -> int:
    """Return for how many of the epochs cross-entropy comes first.

    Examples
    --------
    >>> warm_epochs(100), warm_epochs(20), warm_epochs(1)
    (10, 4, 0)
    """
    return min(int(WARM_SHARE * epochs), MOST_WARM)


class SoftAfterCrossEntropy(nn.Module):
    """Cross-entropy for the first batches, which leads to a good start, and the soft loss from then on.

    The soft loss holds a cross-entropy that does not move the decision, so that the network goes on to learn.

    Parameters
    ----------
    metric : Metric
        With its constraints.
    warm : int
        So many batches of training are for cross-entropy.
    share, drawn : float
        The share of positives of the data and of the batches. The soft loss weights rows so that it measures
        at the share of the data.

    Examples
    --------
    >>> import metricfit as mf
    >>> loss = SoftAfterCrossEntropy(mf.f1, warm=1)
    >>> logits, targets = torch.zeros(4), torch.tensor([1, 0, 0, 0])
    >>> loss(logits, targets), loss(logits, targets)
    (tensor(0.6931), tensor(3.4783))
    """

    def __init__(self, metric: Metric, *, warm: int, share: float = 0.5, drawn: float = 0.5) -> None:
        super().__init__()
        if metric.size is not None:
            raise ValueError(
                f'{metric.name} is of predictions of one size, and loss="soft" measures decisions at 0; take '
                'loss="metric"'
            )
        self.soft = SoftMetricLoss(metric, temperature=TEMPERATURE, cross_entropy=CROSS_ENTROPY)
        self.plain = CrossEntropy()
        self.warm, self.seen = warm, 0
        self.weights = None
        if drawn > share > 0.0:
            self.weights = (1.0 - share) / (1.0 - drawn), share / drawn

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of a batch."""
        cold = self.seen < self.warm
        if self.training:
            self.seen += 1
        loss: Tensor
        if cold:
            loss = self.plain(logits, targets)
        elif self.weights is None:
            loss = self.soft(logits, targets)
        else:
            negative, positive = self.weights
            loss = self.soft(logits, targets, torch.where(targets > 0, positive, negative))
        return loss

    def get_extra_state(self) -> dict[str, Any]:
        """Return the number of batches, for the checkpoint."""
        return {"seen": self.seen}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Go on after so many batches."""
        self.seen = int(state["seen"])
