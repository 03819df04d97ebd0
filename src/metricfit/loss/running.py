"""Constraints over the data: multipliers that follow the decisions of the model as it is trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from metricfit.loss.settings import is_count, is_positive, is_weight
from metricfit.loss.soft_terms import SoftConstraints, is_on_host
from metricfit.metrics import Constraint

__all__ = ["LARGEST", "SMALLEST", "Running", "RunningConstraints"]

SMALLEST, LARGEST = 0.01, 100.0
"""Where multipliers stop."""
REACH = 0.1
"""Violations beyond this size, either way, move multipliers no faster."""
RIGHT = 0.1
"""So many items of each class that are decided rightly are added to what multipliers follow."""


@dataclass(frozen=True)
class Running:
    r"""How the multipliers of constraints over the data move.

    In training mode every batch moves running counts of the *decisions at 0* by an exponential average. With
    the violation on these counts, for :math:`m_c \ge \tau_c`

    .. math:: v_c = \tau_c + \mathrm{margin} - m_c(\text{counts}), \qquad
              \ell_c \leftarrow \ell_c \exp(\mathrm{rate} \cdot v_c), \qquad
              \lambda_c = \ell_c \exp(\mathrm{gain} \cdot v_c),

    between 0.01 and 100, and with :math:`v_c` cut off at 0.1 either way. This is a proportional and integral
    controller on a logarithmic scale: the level :math:`\ell_c` finds the size that keeps the constraint, and
    the second factor answers a violation at once, so that the two do not swing around each other. (A
    controller of this kind for multipliers is nuPI, Sohrabi et al., ICML 2024.) In evaluation mode nothing
    moves.

    A bound that recent decisions say nothing about, as of the precision when nothing is predicted positive,
    counts as met, so that the objective can bring such decisions back.

    Where a bound is so close to the best value, 1 for :math:`\ge` and 0 for :math:`\le`, that less than 0.1
    is left, violations and the margin are in proportion to what is left.

    Parameters
    ----------
    labels : int
        How many labels the logits have. Each constraint holds for every label on its own.
    rate : float
        How fast the levels move.
    gain : float
        How strongly multipliers answer the violation of the moment.
    start : float
        Where levels begin. A constraint that is hard to meet needs a larger number: the model then first
        learns to meet the constraint, before the objective matters.
    memory : float
        How many batches the counts remember.
    margin : float
        By how much decisions should be better than the bound, as a reserve for noise.

    Examples
    --------
    >>> import metricfit as mf
    >>> loss = mf.SoftMetricLoss(mf.recall_at_precision(0.9), constraints=mf.Running(start=10.0))
    >>> loss.multipliers
    tensor([[10.]])
    """

    labels: int = 1
    rate: float = 0.1
    gain: float = 30.0
    start: float = 3.0
    memory: float = 20.0
    margin: float = 0.01

    def __post_init__(self) -> None:
        if not is_count(self.labels):
            raise ValueError(f"labels must be a positive integer, got {self.labels!r}")
        if not is_positive(self.rate):
            raise ValueError(f"rate must be a positive number, got {self.rate!r}")
        if not is_weight(self.gain):
            raise ValueError(f"gain must be a number, 0 or more, got {self.gain!r}")
        if not (is_positive(self.start) and SMALLEST <= self.start <= LARGEST):
            raise ValueError(f"start must be a number from {SMALLEST:g} to {LARGEST:g}, got {self.start!r}")
        if not (is_positive(self.memory) and self.memory >= 1):
            raise ValueError(f"memory must be a number of batches, 1 or more, got {self.memory!r}")
        if not (is_weight(self.margin) and self.margin < 1.0):
            raise ValueError(f"margin must be a number from 0 to 1, got {self.margin!r}")


class RunningConstraints(nn.Module):
    """Counts of recent decisions, and one multiplier per constraint and label that follows them.

    Attributes
    ----------
    multipliers : Tensor, shape (labels, constraints)
    levels : Tensor, shape (labels, constraints)
        What the multipliers are where the constraints are just met.
    counts : Tensor, shape (4, labels)
        True positives, false positives, false negatives and true negatives of recent batches.

    Examples
    --------
    >>> import metricfit as mf
    >>> running = RunningConstraints((mf.recall >= 0.75,), Running())
    >>> running.update(torch.tensor([[1.0], [0.0], [1.0], [2.0]]))
    >>> running.violations, running.multipliers
    (tensor([[0.2500]]), tensor([[60.8622]]))
    """

    multipliers: Tensor
    levels: Tensor
    counts: Tensor
    scales: Tensor
    right: Tensor

    def __init__(self, constraints: tuple[Constraint, ...], options: Running) -> None:
        super().__init__()
        self.options = options
        self.missed = SoftConstraints(constraints)
        shape = options.labels, len(constraints)
        self.register_buffer("multipliers", torch.full(shape, float(options.start)))
        self.register_buffer("levels", torch.full(shape, float(options.start)))
        self.register_buffer("counts", torch.zeros(4, options.labels))
        scales = torch.tensor([_scale(bound) for bound in constraints])
        right = torch.tensor([[RIGHT], [0.0], [0.0], [RIGHT]])
        self.register_buffer("scales", scales, persistent=False)
        self.register_buffer("right", right, persistent=False)

    @property
    def violations(self) -> Tensor:
        """By how much recent decisions miss each constraint; negative where it is met."""
        return self.missed(self.counts, 1.0)

    @property
    def weights(self) -> Tensor:
        """Of the objective and of the violations in the loss: 1 and the multipliers, divided by their sum."""
        weights = pad(self.multipliers, (1, 0), value=1.0)
        return weights / weights.sum(1, keepdim=True)

    def prepare(self, device: torch.device) -> None:
        """Move the state to a device, in single precision at least, which sums over many rows need."""
        if self.counts.device != device or self.counts.dtype in (torch.float16, torch.bfloat16):
            self.to(device, torch.promote_types(self.counts.dtype, torch.float32))

    @torch.no_grad()
    def update(self, decided: Tensor, unit: Tensor | float = 1.0) -> None:
        """Take the decisions of one batch into account, counts of shape (4, labels)."""
        if decided.shape != self.counts.shape:
            raise ValueError(
                f"the running constraints are for {self.counts.shape[1]} labels and the batch has "
                f"{decided.shape[1]}; set constraints=mf.Running(labels={decided.shape[1]})"
            )
        self.prepare(decided.device)
        state = (self.counts, self.levels, self.multipliers, self.scales, self.right, decided)
        if is_on_host(decided) and self.counts.dtype == torch.float32:
            # On a few numbers NumPy has a fraction of the cost per call.
            self._move([part.numpy() for part in state], float(unit), self.missed.on_host, np.exp)
        else:
            self._move(state, unit, self.missed, torch.exp)

    def _move(
        self, state: Sequence[Any], unit: Any, missed: Callable[..., Any], exp: Callable[..., Any]
    ) -> None:
        """Move the first three of the state in place, as tensors or as arrays."""
        counts, levels, multipliers, scales, right, decided = state
        options = self.options
        counts[...] = (1.0 - 1.0 / options.memory) * counts + decided
        # Where no decision says anything about a bound, as of precision if nothing is predicted positive any
        # more, old mistakes must not hold the multiplier up for ever: it could then stay like that.
        violated = missed(counts + right * unit, unit) / scales + options.margin
        violated = violated.clip(-REACH, REACH)
        levels[...] = (levels * exp(options.rate * violated)).clip(SMALLEST, LARGEST)
        multipliers[...] = (levels * exp(options.gain * violated)).clip(SMALLEST, LARGEST)

    def extra_repr(self) -> str:
        """Return what is printed between the parentheses."""
        return ", ".join(map(str, self.missed.constraints))


def _scale(bound: Constraint) -> float:
    """Return what violations are measured in: less than 1 where a bound leaves little room.

    Examples
    --------
    >>> import metricfit as mf
    >>> _scale(mf.recall >= 0.8), round(_scale(mf.recall >= 0.99), 6), round(_scale(mf.recall <= 0.02), 6)
    (1.0, 0.1, 0.2)
    """
    room = 1.0 - bound.threshold if bound.sense == ">=" else bound.threshold
    # Bounds at or beyond the best value leave no room to measure by.
    return min(room / REACH, 1.0) if room > 0.0 else 1.0


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
