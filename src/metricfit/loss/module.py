"""The loss as a module."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from metricfit.loss.centre import centre
from metricfit.loss.gathering import add_over_ranks, is_parallel
from metricfit.loss.record import BatchSolution, Recorder
from metricfit.loss.running import Running, RunningConstraints, running_options
from metricfit.loss.settings import (
    DEFAULT_SCALE,
    Constraints,
    GroupSize,
    Infeasible,
    LabelAverage,
    Reduction,
    Scale,
    Settings,
)
from metricfit.loss.shapes import Plan, batch_columns, columns_loss
from metricfit.loss.sized import sized_loss
from metricfit.loss.soft_counts import decisions
from metricfit.loss.soft_inputs import soft_batch
from metricfit.loss.soft_terms import SoftObjective
from metricfit.metrics import Metric, get_metric

__all__ = ["MetricLoss"]

ONE_LABEL = (
    "running constraints in MetricLoss need logits of one column; make one MetricLoss per label, or use "
    "mf.SoftMetricLoss with mf.Running(labels=...)"
)


class MetricLoss(nn.Module):
    r"""A loss that replaces ``BCEWithLogitsLoss`` and trains for a metric.

    A batch of logits :math:`f` with labels `y` is a game for the scores :math:`\psi = (scale / n) f`. With
    `v` its value and `q` the adversary's probabilities (see :func:`metricfit.solve`) the loss and its
    gradient are

    .. math:: \mathrm{metric}(y, y) - v(\psi) - \langle y, \psi \rangle,
              \qquad \frac{\partial}{\partial f} = \frac{scale}{n} (q - y)

    It is convex in the logits, never negative, and 0 when all rows are on the right side by a margin. It is
    not one minus the metric of the decisions, and has no upper limit: random logits can have an F1 loss of 3
    or 4. A logit above 0 is a predicted positive.

    Parameters
    ----------
    metric : Metric or str
        The metric to train for, or its name or formula. Constraints hold on the labels of each game.
    scale : float or "batch"
        How fast the loss falls with the margin; "batch" stands for the number of items of the game.
    solver, tol : str, float
        As for :func:`metricfit.solve`. The solver "device" plays the games on the GPU that holds the logits.
    reduction : {"mean", "sum", "none"}
        How the games of a batch are combined; there is one per label and group. "none" gives a tensor of
        shape ``(groups,)``, ``(groups, labels)`` or, for masks, ``(images, classes)``.
    group_size : int, None or "auto"
        Split the batch into consecutive groups of at most this many items and nearly equal size, and play a
        game with each; None plays one game, however large. "auto" is 32, which trains as well and is much
        faster, or None with `gather`. With masks it is the number of pixels drawn from each image, by default
        256.
    ignore_index : int, optional
        Entries with this target are left out. A game without any other entry contributes nothing.
    gather : bool
        Play over the batches of all ranks of ``torch.distributed`` together. Every rank returns the same
        loss. ``DistributedDataParallel`` averages the gradients over the ranks, and the result is that of a
        single process with the joint batch. For this, each rank multiplies its part of the gradient by the
        number of ranks.
    average : {"macro", "weighted"} or int
        How the games of labels or classes are combined: their mean, their mean weighted by the actual
        positives, or the game of one class only.
    infeasible : {"error", "skip"}
        What to do with a game whose constraints cannot be met on its labels. A skipped game contributes
        nothing; there is a warning for the first one.
    constraints : "game", "running" or Running
        Where the constraints of the metric hold. "game": for the predictor of each game, on the labels of the
        game. "running": for the decisions at 0 of recent batches. Games are then played for a mean of the
        metric and the constrained metrics, with the weight 1 and multipliers that follow these decisions (of
        all ranks with `gather`). The options are in :class:`metricfit.Running`. Logits must have one column.

    Attributes
    ----------
    settings : Settings
        The arguments, not to be changed.
    last_solution : BatchSolution or None
        The games of the last forward pass in this thread: solutions, value, gap and time.
    running : RunningConstraints or None
        Constraints over the data, with ``multipliers``, ``counts`` and ``violations``; in the state dict.

    Notes
    -----
    Games are solved in double precision, whatever the type of the logits; the loss has at least single
    precision. The loss is piecewise linear, so second derivatives are zero. The returned value is a lower
    bound of the exact loss, at most the certified gap below it, and the gradient is that of the bound.

    With ``constraints="running"`` the scores are shifted before the games are played, so that the games
    decide at 0, as the model does. The running counts determine the shift.

    Logits of shape ``(n, classes)`` with integer targets ``(n,)`` are one game per class, with the scores
    :math:`f_c = z_c - \max_{d \ne c} z_d`. One of them is above 0; predict by ``argmax``. Masks of shape
    ``(images, classes, height, width)``, with targets of that shape or class indices ``(images, height,
    width)``, are one game per image and class. The image is divided into `group_size` stretches of pixels. A
    game has one pixel of each: a random one in training mode, the middle one in evaluation mode.

    ``metric(y, y)`` stands for the best value that a prediction can reach on these labels under the
    constraints. It is the metric of the truth if the truth satisfies the constraints and no prediction is
    better.

    Examples
    --------
    >>> import torch
    >>> import metricfit as mf
    >>> criterion = mf.MetricLoss(mf.f1, solver="exact-lp")
    >>> logits = torch.tensor([[1.0], [-2.0], [0.5]], requires_grad=True)
    >>> loss = criterion(logits, torch.tensor([[1], [0], [0]]))
    >>> loss.backward()
    >>> logits.grad.shape, criterion.last_solution.gap < 1e-4
    (torch.Size([3, 1]), True)
    """

    def __init__(
        self,
        metric: Metric | str,
        *,
        scale: Scale = DEFAULT_SCALE,
        solver: str = "auto",
        tol: float = 1e-4,
        reduction: Reduction = "mean",
        group_size: GroupSize = "auto",
        ignore_index: int | None = None,
        gather: bool = False,
        infeasible: Infeasible = "error",
        constraints: Constraints | Running = "game",
        average: LabelAverage = "macro",
    ) -> None:
        super().__init__()
        chosen, options = get_metric(metric), running_options(constraints, ("game", "running"))
        if options is not None and options.labels != 1:
            raise ValueError(ONE_LABEL)
        self.settings = Settings(
            chosen,
            scale,
            solver,
            tol,
            reduction,
            group_size,
            ignore_index,
            gather,
            infeasible,
            "game" if options is None else "running",
            average,
        )
        self.running = None
        if options is not None and chosen.constraints:
            self.running = RunningConstraints(chosen.constraints, options)
            self._objective = SoftObjective(chosen)
        self._plan = Plan.of(self.settings)
        self._recorder = Recorder()
        self._number = self._recorder.number

    def forward(self, logits: Tensor, targets: Tensor, size_scores: Tensor | None = None) -> Tensor:
        """Return the loss of logits against targets of 0 and 1 of the same shape, or class indices.

        With `size_scores`, one number for each of 0 to n actual positives, the batch is one game with these
        scores of sizes, see :func:`metricfit.solve`. Their gradient is that of a classifier of the number of
        positives: the adversary's weights of the sizes, less 1 at the true one.
        """
        if size_scores is not None:
            return sized_loss(logits, targets, size_scores, self.settings)
        plan, draw = self._plan, self.training
        logits, targets = batch_columns(logits, targets, plan)
        if self.running is None:
            return columns_loss(logits, targets, plan, self._number, draw=draw)
        if logits.dim() >= 2 and logits.shape[1] > 1:
            raise ValueError(ONE_LABEL)
        self.running.prepare(logits.device)
        multipliers = self.running.multipliers.clone()
        moved = self._centred(logits, self.running) if logits.dim() else logits
        loss = columns_loss(moved, targets, plan, self._number, multipliers, draw=draw)
        if self.training:
            # Not earlier: the checks above may refuse the batch.
            decided = decisions(soft_batch(logits, targets, None, self.settings.ignore_index), per_label=True)
            if self.settings.gather and is_parallel():
                (decided,) = add_over_ranks(decided)
            self.running.update(decided)
        return loss

    def _centred(self, logits: Tensor, running: RunningConstraints) -> Tensor:
        """Move logits so that the games separate at 0, where the model decides."""
        rows = logits.shape[0]
        if self.settings.gather and is_parallel():
            (joint,) = add_over_ranks(torch.tensor(float(rows), device=logits.device))
            rows = int(joint)
        items = rows / max(self.settings.group_count(rows), 1)
        scale = items if self.settings.scale == "batch" else self.settings.scale
        shift = centre(self._objective, running.missed, running.counts, running.multipliers, scale, items)
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        return wide + shift.to(wide.device, wide.dtype)

    @property
    def metric(self) -> Metric:
        """The metric that is trained for."""
        return self.settings.metric

    @property
    def multipliers(self) -> Tensor | None:
        """The multipliers of constraints over the data, shape (1, constraints); None if there are none."""
        return None if self.running is None else self.running.multipliers

    @property
    def last_solution(self) -> BatchSolution | None:
        """The games of the last forward pass in this thread; None before the first."""
        return self._recorder.last

    def extra_repr(self) -> str:
        """Return what is printed between the parentheses."""
        default = Settings(self.metric)
        changed = [
            f"{name}={value!r}"
            for name, value in vars(self.settings).items()
            if value != getattr(default, name)
        ]
        return ", ".join([repr(self.metric), *changed])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_recorder"], state["_number"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore: Any = super().__setstate__
        restore(state)
        self._recorder = Recorder()
        self._number = self._recorder.number
