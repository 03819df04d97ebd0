"""Constraints over the data: multipliers that follow the decisions of the model as it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor, nn

from metricfit.loss.settings import is_count, is_positive
from metricfit.loss.soft_terms import SoftConstraints
from metricfit.metrics import Constraint

__all__ = ["LARGEST", "SMALLEST", "Running", "RunningConstraints"]

SMALLEST, LARGEST = 0.01, 100.0
"""Where multipliers stop."""


@dataclass(frozen=True)
class Running:
    r"""How the multipliers of constraints over the data move.

    In training mode every batch moves running counts of the *decisions at 0* by an exponential average. Then
    each multiplier grows or shrinks with the violation on these counts: for :math:`m_c \ge \tau_c`

    .. math:: \lambda_c \leftarrow
              \lambda_c \exp(\mathrm{rate} \cdot (\tau_c + \mathrm{margin} - m_c(\text{counts})))

    within 0.01 to 100. In evaluation mode nothing moves.

    Parameters
    ----------
    labels : int
        How many labels the logits have. Each constraint holds for every label on its own.
    rate : float
        How fast multipliers move.
    start : float
        Where they begin. A constraint that is hard to meet wants a larger number: the model is then led to
        where the constraint holds before the objective matters.
    memory : float
        How many batches the counts remember.
    margin : float
        By how much decisions are asked to be better than the bound, so that noise falls on the safe side.

    Examples
    --------
    >>> import metricfit as mf
    >>> loss = mf.SoftMetricLoss(mf.recall_at_precision(0.9), constraints=mf.Running(start=10.0))
    >>> loss.multipliers
    tensor([[10.]])
    """

    labels: int = 1
    rate: float = 0.1
    start: float = 3.0
    memory: float = 20.0
    margin: float = 0.01

    def __post_init__(self) -> None:
        if not is_count(self.labels):
            raise ValueError(f"labels must be a positive integer, got {self.labels!r}")
        if not is_positive(self.rate):
            raise ValueError(f"rate must be a positive number, got {self.rate!r}")
        if not (is_positive(self.start) and SMALLEST <= self.start <= LARGEST):
            raise ValueError(f"start must be a number from {SMALLEST:g} to {LARGEST:g}, got {self.start!r}")
        if not (is_positive(self.memory) and self.memory >= 1):
            raise ValueError(f"memory must be a number of batches, 1 or more, got {self.memory!r}")
        if isinstance(self.margin, bool) or not isinstance(self.margin, Real) or not 0.0 <= self.margin < 1.0:
            raise ValueError(f"margin must be a number from 0 to 1, got {self.margin!r}")


class RunningConstraints(nn.Module):
    """Counts of recent decisions, and one multiplier per constraint and label that follows them.

    Attributes
    ----------
    multipliers : Tensor, shape (labels, constraints)
    counts : Tensor, shape (4, labels)
        True positives, false positives, false negatives and true negatives of recent batches.

    Examples
    --------
    >>> import metricfit as mf
    >>> running = RunningConstraints((mf.recall >= 0.75,), Running())
    >>> running.update(torch.tensor([[1.0], [0.0], [1.0], [2.0]]))
    >>> running.violations, running.multipliers
    (tensor([[0.2500]]), tensor([[3.0790]]))
    """

    multipliers: Tensor
    counts: Tensor

    def __init__(self, constraints: tuple[Constraint, ...], options: Running) -> None:
        super().__init__()
        self.options = options
        self.missed = SoftConstraints(constraints)
        shape = options.labels, len(constraints)
        self.register_buffer("multipliers", torch.full(shape, float(options.start)))
        self.register_buffer("counts", torch.zeros(4, options.labels))

    @property
    def violations(self) -> Tensor:
        """By how much recent decisions miss each constraint; negative where it is met."""
        return self.missed(self.counts, 1.0)

    @torch.no_grad()
    def update(self, decided: Tensor, unit: Tensor | float = 1.0) -> None:
        """Take the decisions of one batch into account, counts of shape (4, labels)."""
        if decided.shape != self.counts.shape:
            raise ValueError(
                f"the running constraints are for {self.counts.shape[1]} labels and the batch has "
                f"{decided.shape[1]}; set constraints=mf.Running(labels={decided.shape[1]})"
            )
        if self.counts.device != decided.device:
            self.to(decided.device)
        self.counts.mul_(1.0 - 1.0 / self.options.memory).add_(decided)
        missed = self.missed(self.counts, unit) + self.options.margin
        self.multipliers.mul_(torch.exp(self.options.rate * missed)).clamp_(SMALLEST, LARGEST)

    def extra_repr(self) -> str:
        """Return what is printed between the parentheses."""
        return ", ".join(map(str, self.missed.constraints))


def running_options(constraints: object, words: tuple[str, ...]) -> Running | None:
    """Return how multipliers move, or None where `constraints` says that there are none.

    Examples
    --------
    >>> running_options("running", ("running",)) == Running()
    True
    """
    if isinstance(constraints, Running):
        return constraints
    if constraints not in words:
        allowed = " or ".join(f'"{word}"' for word in words)
        raise ValueError(f"constraints must be {allowed}, or mf.Running(...), got {constraints!r}")
    return Running() if constraints == "running" else None
