"""The operator ``torch.ops.metricfit.metric_loss``, as PyTorch's dispatcher, autograd and compiler see it.

Its arguments are tensors and plain values, its metric is a line of text, and all that PyTorch knows of it is
the shape of its results and their derivative. Any device without a kernel of its own is served by the one
here, which plays on the host; a kernel for a device is added by ``metric_loss.register_kernel(device)``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from metricfit.game import InfeasibleConstraintsError
from metricfit.loss.games import Outcome, Rules, group_count, play
from metricfit.loss.gathering import gather_rows, is_parallel
from metricfit.loss.record import find_recorder
from metricfit.metrics.text import from_text
from metricfit.solvers import ConvergenceWarning

__all__ = ["metric_loss"]

PLAIN_ARGUMENTS = 10


class SkippedGameWarning(UserWarning):
    """A game was left out, because its constraints cannot be met on its labels."""


@torch.library.custom_op("metricfit::metric_loss", mutates_args=())
def metric_loss(
    logits: Tensor,
    targets: Tensor,
    metric: str,
    scale: float | None,
    solver: str,
    tol: float,
    reduction: str,
    group_size: int | None,
    ignore_index: int | None,
    gather: bool,
    skip_infeasible: bool,
    recorder: int,
) -> tuple[Tensor, Tensor]:
    """Return the loss and its slope, the derivative of every game's part of it in the logits."""
    targets = _checked_targets(logits, targets)
    rules = Rules(from_text(metric), scale, solver, tol, group_size, ignore_index, skip_infeasible)
    dtype = _result_dtype(logits)
    # Columns of labels on the host, in double precision: what the games are played with.
    rows = torch.stack((logits.detach().double(), targets.double()))
    rows = rows.reshape(2, logits.shape[0], -1)
    own = slice(None)
    weight = 1.0
    if gather and is_parallel():
        gathered, start = gather_rows(rows.transpose(0, 1).contiguous())
        own = slice(start, start + rows.shape[1])
        rows = gathered.transpose(0, 1)
        # Data parallel training averages the gradients of the ranks, of which each has its own part only.
        weight = float(torch.distributed.get_world_size())
    if rows.shape[1] == 0:
        raise ValueError("the batch is empty; leave it out, or use drop_last=True in the DataLoader")
    batch = rows.cpu().numpy()
    outcome = play(batch[0], batch[1], rules)
    _report(outcome, rules, recorder)

    losses = outcome.losses
    if reduction == "mean":
        weight /= max(outcome.played, 1)
    loss = np.asarray(losses.sum() / max(outcome.played, 1) if reduction == "mean" else losses.sum())
    if reduction == "none":
        loss = losses.reshape(losses.shape[0], *logits.shape[1:])
    slope = outcome.slopes[own].reshape(logits.shape) * weight
    return (
        torch.from_numpy(loss).to(logits.device, dtype),
        torch.from_numpy(slope).to(logits.device, dtype),
    )


@metric_loss.register_fake
def _(logits: Tensor, targets: Tensor, *plain: Any) -> tuple[Tensor, Tensor]:
    reduction, group_size = plain[4], plain[5]
    shape = (group_count(logits.shape[0], group_size), *logits.shape[1:]) if reduction == "none" else ()
    dtype = _result_dtype(logits)
    return logits.new_empty(shape, dtype=dtype), logits.new_empty(logits.shape, dtype=dtype)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])
    ctx.dtype = inputs[0].dtype
    ctx.grouped = inputs[6] == "none" and inputs[7] is not None


def _backward(ctx: Any, grad_loss: Tensor, _grad_slope: Tensor) -> tuple[Tensor | None, ...]:
    # The slope is constant between the kinks of the loss: what comes in for it has no effect.
    (slope,) = ctx.saved_tensors
    if ctx.grouped:
        groups, n = grad_loss.shape[0], slope.shape[0]
        grad_loss = grad_loss[torch.arange(n, device=slope.device) * groups // n]
    return (grad_loss * slope).to(ctx.dtype), *(None,) * (1 + PLAIN_ARGUMENTS)


metric_loss.register_autograd(_backward, setup_context=_save)


@metric_loss.register_vmap
def _(info: Any, in_dims: tuple[int | None, ...], logits: Tensor, targets: Tensor, *plain: Any) -> Any:
    def part(tensor: Tensor, dim: int | None, index: int) -> Tensor:
        return tensor if dim is None else tensor.select(dim, index)

    results = [
        metric_loss(part(logits, in_dims[0], i), part(targets, in_dims[1], i), *plain)
        for i in range(info.batch_size)
    ]
    losses, slopes = zip(*results, strict=True)
    return (torch.stack(losses), torch.stack(slopes)), (0, 0)


def _result_dtype(logits: Tensor) -> torch.dtype:
    # As autocast has it for losses: single precision at least.
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _checked_targets(logits: Tensor, targets: Tensor) -> Tensor:
    if not logits.dtype.is_floating_point:
        raise TypeError(f"logits must be floating point numbers, not {logits.dtype}; they are cut at 0, not 0.5")
    if targets.dtype.is_complex:
        raise TypeError(f"targets must be bool, int or float, not {targets.dtype}")
    if logits.dim() not in (1, 2):
        raise ValueError(
            f"logits must have the shape (n,), (n, 1) or (n, labels), not {tuple(logits.shape)}; "
            "flatten them for one game, or reshape them to one column per label"
        )
    if targets.shape not in ((shape := logits.shape), shape[:1] if shape[1:] == (1,) else (*shape, 1)):
        raise ValueError(
            f"logits of shape {tuple(logits.shape)} and targets of shape {tuple(targets.shape)} do not match; "
            "give one target of 0 or 1 per logit"
        )
    if logits.device != targets.device:
        raise ValueError(f"logits are on {logits.device} and targets on {targets.device}; move one of them")
    return targets.reshape(logits.shape)


def _report(outcome: Outcome, rules: Rules, number: int) -> None:
    recorder = find_recorder(number)
    if recorder is not None:
        recorder.last = outcome.record
    if outcome.record.gap > rules.tol:
        _warn(
            recorder,
            f"solver {rules.solver!r} stopped with a gap of {outcome.record.gap:.2g}, more than "
            f"tol={rules.tol:g}; the gradients of such batches are approximate",
            ConvergenceWarning,
        )
    if outcome.infeasible:
        _warn(recorder, f"games are left out of the loss: {outcome.infeasible}", SkippedGameWarning)


def _warn(recorder: Any, message: str, category: type[Warning]) -> None:
    if recorder is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        recorder.warn(message, category)
