"""The soft loss as a module."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from metricfit.loss.running import Running, RunningConstraints, running_options
from metricfit.loss.settings import Reduction
from metricfit.loss.soft import soft_loss
from metricfit.loss.soft_settings import Average, SoftSettings, slack_of
from metricfit.loss.soft_terms import SoftObjective
from metricfit.metrics import Metric, get_metric

__all__ = ["SoftMetricLoss"]


class SoftMetricLoss(nn.Module):
    r"""One minus the metric of soft counts, for any formula over the confusion matrix.

    With :math:`p = \sigma(\mathrm{logit} / \mathrm{temperature})`, targets `y` and weights `w` the counts are

    .. math:: tp = \sum w p y, \quad fp = \sum w p (1 - y), \quad
              fn = \sum w (1 - p) y, \quad tn = \sum w (1 - p) (1 - y)

    and the loss is ``1 - metric(tp, fp, fn, tn)``. It is fast and takes soft targets and weights. It is not
    convex, so the result depends on the first weights. With constraints the loss is a Lagrangian, divided by
    the sum of its factors,

    .. math:: \frac{1 - m(\text{soft counts}) + \sum_c \lambda_c (\tau_c - m_c(\text{soft counts}))}
              {1 + \sum_c \lambda_c},

    whose multipliers follow the *decisions* of recent batches; see :class:`metricfit.Running`. The division
    keeps gradients at one size while multipliers move, as optimizers such as Adam expect.

    Parameters
    ----------
    metric : Metric or str
        The metric to train for, or its name or formula.
    temperature : float
        Logits are divided by it. With a low temperature the soft counts are closer to those of the decision
        at 0; with a high one, entries far from 0 get larger gradients. The attribute may be changed while
        training.
    reduction : {"mean", "sum", "none"}
        How labels and groups are combined. "none" gives a tensor of shape ``(groups,)`` or ``(groups,
        labels)``.
    group_size : int, optional
        Compute the metric of consecutive groups of at most this many rows, instead of the whole batch. With
        masks and 1, every class of every image has its own.
    ignore_index : int, optional
        Entries with this target are left out. A label or group without any other entry does not count.
    gather : bool
        Treat the batches of all ranks of ``torch.distributed`` as one. Every rank returns the same loss.
        ``DistributedDataParallel`` averages the gradients, and the result is that of a single process with
        the joint batch.
    average : {"macro", "weighted", "micro", "samples"} or int
        Take the metric of each label or class, the same weighted by the actual positives, that of all entries
        together, of each row or image, or of one label or class only.
    constraints : "running" or Running
        How the multipliers of constraints move; for several labels, ``mf.Running(labels=...)``. They follow
        the decisions of all ranks with `gather`, and of this rank without.
    bounds : bool or float
        Measure constraints by a lower bound of the true positives and an upper bound of the false positives
        of the decision, in place of soft counts. A constraint that gets easier with more true and fewer false
        positives is then met with a reserve. A number between 0 and 1 is the slack of the bounds; True is
        0.05.
    cross_entropy : float
        The weight of a cross-entropy that is added. A soft metric hardly moves rows that are far on the wrong
        side, so a network that could still learn them stops; cross-entropy goes on. Before it is measured,
        each label gets the bias for which the cross-entropy of the batch is smallest. So it does not move the
        decision at 0, which stays up to the metric and its constraints. With temperature 0.5, 5 is good for
        networks that can fit the training rows. Linear models do not need it.

    Notes
    -----
    Logits of shape ``(n, classes)`` with integer targets ``(n,)``, or ``(images, classes, height, width)``
    with ``(images, height, width)``, are one label per class, with the softmax as probability at
    temperature 1. Predict by ``argmax``.

    Attributes
    ----------
    settings : SoftSettings
        The arguments, not to be changed.
    temperature : float
        The temperature in use.
    running : RunningConstraints or None
        The constraints, with ``multipliers``, ``counts`` and ``violations``. They are part of the state dict.

    Examples
    --------
    >>> import torch
    >>> import metricfit as mf
    >>> criterion = mf.SoftMetricLoss(mf.f1)
    >>> logits = torch.tensor([2.0, -1.0, 0.5], requires_grad=True)
    >>> loss = criterion(logits, torch.tensor([1, 0, 0]))
    >>> loss.backward()
    >>> logits.grad.sign()
    tensor([-1.,  1.,  1.])
    """

    def __init__(
        self,
        metric: Metric | str,
        *,
        temperature: float = 1.0,
        reduction: Reduction = "mean",
        group_size: int | None = None,
        ignore_index: int | None = None,
        gather: bool = False,
        average: Average = "macro",
        constraints: Literal["running"] | Running = "running",
        bounds: bool | float = False,
        cross_entropy: float = 0.0,
    ) -> None:
        super().__init__()
        self.settings = SoftSettings(
            get_metric(metric),
            temperature,
            reduction,
            group_size,
            ignore_index,
            gather,
            average,
            slack_of(bounds),
            cross_entropy,
        )
        self.temperature = temperature
        self.running = None
        options = running_options(constraints, ("running",))
        if self.metric.constraints and options is not None:
            self.running = RunningConstraints(self.metric.constraints, options)
        self._objective = SoftObjective(self.metric)

    def forward(self, logits: Tensor, targets: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Return the loss of logits against targets between 0 and 1, with a weight per row or per entry."""
        running = self.running
        return soft_loss(
            logits,
            targets,
            sample_weight,
            self.settings,
            self.temperature,
            self._objective,
            None if running is None else running.missed,
            None if running is None or self.training else running.weights,
            running if self.training else None,
        )

    @property
    def metric(self) -> Metric:
        """The metric that is trained for."""
        return self.settings.metric

    @property
    def multipliers(self) -> Tensor | None:
        """The multipliers of the constraints, shape (labels, constraints); None if there are none."""
        return None if self.running is None else self.running.multipliers

    def extra_repr(self) -> str:
        """Return what is printed between the parentheses."""
        default = SoftSettings(self.metric)
        changed = [
            f"{name}={value!r}"
            for name, value in vars(self.settings).items()
            if value != getattr(default, name)
        ]
        return ", ".join([repr(self.metric), *changed])
