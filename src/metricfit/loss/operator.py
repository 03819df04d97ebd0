"""The operator ``torch.ops.metricfit.metric_loss``, as PyTorch's dispatcher, autograd and compiler see it.

Its settings are one line of text, because an operator only takes tensors and plain values. PyTorch only knows
the shape of its results and their derivative. Games are played on the host, wherever the logits are, or on
their device; `play_batch` decides.
"""

from __future__ import annotations

import inspect
import math
import warnings
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from metricfit.loss.games import Outcome, play
from metricfit.loss.gathering import gather_batch, is_parallel
from metricfit.loss.path import on_device
from metricfit.loss.priced import on_grid, priced
from metricfit.loss.record import NOBODY, Recorder, find_recorder
from metricfit.loss.settings import Settings, from_text
from metricfit.solving import ConvergenceWarning
from metricfit.solving.solution import gap_text, has_converged

__all__ = [
    "MetricLossFunction",
    "SkippedGameWarning",
    "apply_metric_loss",
    "is_watched",
    "metric_loss",
    "play_batch",
]


class SkippedGameWarning(UserWarning):
    """A game was left out, because its constraints cannot be met on its labels.

    Examples
    --------
    >>> import warnings
    >>> import metricfit as mf
    >>> careful = mf.specificity.subject_to(mf.recall >= 0.9, mf.precision <= 0.1)
    >>> loss = mf.MetricLoss(careful, infeasible="skip")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     value = loss(torch.tensor([0.5, -0.5]), torch.tensor([1, 1]))
    >>> caught[0].category is mf.SkippedGameWarning, value.item()
    (True, 0.0)
    """


def play_batch(
    logits: Tensor, targets: Tensor, settings: str, recorder: int, multipliers: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Return the loss and its slope: the derivative in every logit of the loss it takes part in.

    Parameters
    ----------
    logits, targets : Tensor, shape (n,), (n, 1) or (n, labels)
        The batch.
    settings : str
        A text of `Settings`.
    recorder : int
        Id of the recorder to update.
    multipliers : Tensor, shape (1, constraints), optional
        What constraints over the data are multiplied with.
    """
    parsed = from_text(settings)
    if multipliers is not None:
        parsed = priced(parsed, on_grid(multipliers))
    targets = _checked_targets(logits, targets)
    if on_device(logits, parsed):
        return solve_on_device(logits, targets, parsed, find_recorder(recorder))
    return solve_on_host(logits, targets, parsed, find_recorder(recorder))


def solve_on_device(
    logits: Tensor, targets: Tensor, settings: Settings, recorder: Recorder | None
) -> tuple[Tensor, Tensor]:
    """Solve the games on the device of the logits, without waiting for it."""
    # Imported only when needed, because it imports the kernel's tables and a compiler.
    from metricfit.loss.device import play_on_device

    outcome = play_on_device(logits, targets, settings)
    if recorder is not None:
        recorder.keep(outcome.record)
    games = outcome.count if settings.reduction == "mean" else 1
    losses = outcome.losses if settings.reduction == "none" else outcome.losses.sum() / games
    dtype = _result_dtype(logits)
    slope = (outcome.slopes / games).reshape(logits.shape)
    return losses.reshape(_loss_shape(logits, settings)).to(dtype), slope.to(dtype).contiguous()


def solve_on_host(
    logits: Tensor, targets: Tensor, settings: Settings, recorder: Recorder | None
) -> tuple[Tensor, Tensor]:
    """Solve the games on the host, and copy the results to the device of the logits."""
    ranks, own = 1, slice(None)
    batch = logits, targets
    if settings.gather and is_parallel():
        batch, own, ranks = gather_batch(logits, targets)
    outcome = play(*_on_host(*batch), settings)
    _report(outcome, settings, recorder)
    games = max(outcome.played, 1) if settings.reduction == "mean" else 1
    losses: ArrayLike = outcome.losses
    if settings.reduction != "none":
        losses = math.fsum(outcome.losses.flat) / games
    slope = outcome.slopes[own]
    if ranks != games:
        # Data parallel training averages over the ranks the gradients that each has for its own part only.
        slope = slope * (ranks / games)
    return _like(logits, losses, _loss_shape(logits, settings)), _like(logits, slope, logits.shape)


metric_loss = torch.library.custom_op("metricfit::metric_loss", play_batch, mutates_args=())


@metric_loss.register_fake
def _(
    logits: Tensor, targets: Tensor, settings: str, recorder: int, multipliers: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    dtype = _result_dtype(logits)
    shape = _loss_shape(logits, from_text(settings))
    return logits.new_empty(shape, dtype=dtype), logits.new_empty(logits.shape, dtype=dtype)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])
    ctx.dtype = inputs[0].dtype


def _backward(ctx: Any, grad_loss: Tensor, _grad_slope: Tensor) -> tuple[Tensor | None, ...]:
    # The slope is constant between the kinks of the loss, so its incoming gradient has no effect.
    (slope,) = ctx.saved_tensors
    return _times(grad_loss, slope, ctx.dtype), None, None, None, None


def _times(grad_loss: Tensor, slope: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the gradient of the logits from that of the loss, which has one entry per game or none."""
    if grad_loss.dim() and grad_loss.shape[0] > 1:
        groups, n = grad_loss.shape[0], slope.shape[0]
        grad_loss = grad_loss[torch.arange(n, device=slope.device) * groups // n]
    return (grad_loss * slope).to(dtype)


metric_loss.register_autograd(_backward, setup_context=_save)


class MetricLossFunction(torch.autograd.Function):
    """The operator for ``torch.func``, whose transforms enter such functions but no custom operator."""

    @staticmethod
    def forward(
        logits: Tensor, targets: Tensor, settings: str, recorder: int, multipliers: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Call the operator."""
        result: tuple[Tensor, Tensor] = metric_loss(logits, targets, settings, recorder, multipliers)
        return result

    setup_context = staticmethod(_save)
    backward = staticmethod(_backward)

    @staticmethod
    def vmap(
        info: Any,
        in_dims: tuple[int | None, ...],
        logits: Tensor,
        targets: Tensor,
        settings: str,
        recorder: int,
        multipliers: Tensor | None,
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        """Call the operator for each batch of a batch of batches."""

        def part(tensor: Tensor, dim: int | None, index: int) -> Tensor:
            return tensor if dim is None else tensor.select(dim, index)

        apply: Any = MetricLossFunction.apply
        results = [
            apply(part(logits, in_dims[0], i), part(targets, in_dims[1], i), settings, recorder, multipliers)
            for i in range(info.batch_size)
        ]
        losses, slopes = zip(*results, strict=True)
        return (torch.stack(losses), torch.stack(slopes)), (0, 0)


# Function.apply binds its arguments to the signature at every call, and would look for it every time.
vars(MetricLossFunction.forward)["__signature__"] = inspect.signature(MetricLossFunction.forward)


class HostFunction(torch.autograd.Function):
    """The operator without the dispatcher, which takes as long as the rest of the loss on small batches."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, rest: tuple[Tensor, str, int, Tensor | None]) -> Tensor:
        """Solve the games. The settings are one argument, because PyTorch inspects each argument."""
        loss, slope = play_batch(logits, *rest)
        ctx.save_for_backward(slope, logits)
        return loss

    @staticmethod
    def backward(ctx: Any, grad_loss: Tensor) -> tuple[Tensor | None, ...]:
        """Multiply with the slope."""
        slope, logits = ctx.saved_tensors
        result = _times(grad_loss, slope, logits.dtype)
        if torch.is_grad_enabled():
            # A second derivative has to find the logits, and is zero.
            result = result + 0.0 * logits
        return result, None


def apply_metric_loss(
    logits: Tensor, targets: Tensor, settings: str, recorder: int, multipliers: Tensor | None = None
) -> Tensor:
    """Return the loss alone, differentiable in every way that PyTorch has."""
    apply: Any
    loss: Tensor
    if torch.compiler.is_compiling():
        # An exported program outlives the loss, and numbers of recorders mean nothing elsewhere.
        number = NOBODY if torch.compiler.is_exporting() else recorder
        loss = metric_loss(logits, targets, settings, number, multipliers)[0]
    elif is_watched() or not logits.is_cpu or type(logits) not in (Tensor, torch.nn.Parameter):
        apply = MetricLossFunction.apply
        loss = apply(logits, targets, settings, recorder, multipliers)[0]
    else:
        apply = HostFunction.apply
        loss = apply(logits, (targets, settings, recorder, multipliers))
    return loss


# These are not public; should they go, the operator is always called.
_transforms = getattr(torch._C, "_are_functorch_transforms_active", None)
_modes = getattr(torch._C, "_len_torch_dispatch_stack", None)


def is_watched() -> bool:
    """Whether a transform of ``torch.func`` or a tracer is active, which has to see an operator."""
    return _transforms is None or _modes is None or _transforms() or _modes() > 0


def _result_dtype(logits: Tensor) -> torch.dtype:
    # As autocast has it for losses: single precision at least.
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _loss_shape(logits: Tensor, settings: Settings) -> tuple[int, ...]:
    if settings.reduction != "none":
        return ()
    return (settings.group_count(logits.shape[0]), *logits.shape[1:])


def _on_host(logits: Tensor, targets: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return one column per label, in the double precision that games are played in."""
    shape = logits.shape[0], logits.shape[1] if logits.dim() == 2 else 1
    if not logits.is_cuda:
        return _column(logits).reshape(shape), _column(targets).reshape(shape)
    # One copy for both, to pinned memory, and one wait for it.
    both = torch.stack((logits.detach().reshape(shape).double(), targets.detach().reshape(shape).double()))
    pinned = torch.empty(both.shape, dtype=both.dtype, pin_memory=True)
    pinned.copy_(both, non_blocking=True)
    torch.cuda.current_stream(logits.device).synchronize()
    return pinned[0].numpy(), pinned[1].numpy()


def _column(tensor: Tensor) -> NDArray[np.float64]:
    try:
        return np.asarray(tensor.numpy(force=True), np.float64)
    except TypeError:
        # NumPy does not know all types with few bits.
        return tensor.double().numpy(force=True)


def _like(logits: Tensor, values: ArrayLike, shape: tuple[int, ...]) -> Tensor:
    dtype = np.float64 if logits.dtype == torch.float64 else np.float32
    result = torch.from_numpy(np.asarray(values, dtype).reshape(shape))
    if logits.is_cuda:
        return result.pin_memory().to(logits.device, non_blocking=True)
    return result if logits.is_cpu else result.to(logits.device)


def _checked_targets(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the targets in the shape of the logits."""
    if not logits.dtype.is_floating_point:
        raise TypeError(
            f"logits must be floating point numbers, not {logits.dtype}; give the model's raw scores, which "
            "are cut at 0"
        )
    if targets.dtype.is_complex:
        raise TypeError(f"targets must be bool, int or float, not {targets.dtype}")
    if logits.dim() not in (1, 2):
        raise ValueError(
            "logits must have the shape (n,), (n, 1), (n, labels), (n, classes) or (images, classes, height, "
            f"width), not {tuple(logits.shape)}; add the dimension of classes to masks by unsqueeze(1), or "
            "make one game of all entries by logits.flatten() and targets.flatten()"
        )
    if logits.device != targets.device:
        raise ValueError(f"logits are on {logits.device} and targets on {targets.device}; move one of them")
    if logits.shape == targets.shape:
        return targets
    given = tuple(logits.shape), tuple(targets.shape)
    if given in (((n := logits.shape[0],), (n, 1)), ((n, 1), (n,))):
        return targets.reshape(logits.shape)
    raise ValueError(
        f"logits of shape {given[0]} and targets of shape {given[1]} do not match; give one target of 0 or 1 "
        "per logit, or the index of a class per row"
    )


def _report(outcome: Outcome, settings: Settings, recorder: Recorder | None) -> None:
    if recorder is not None:
        recorder.keep(outcome.record)
    if not has_converged(outcome.gap, settings.tol):
        gap = gap_text(outcome.gap, settings.tol)
        _warn(
            f"solver {settings.solver!r} stopped with a gap of {gap}, more than "
            f"tol={settings.tol:g}; the gradients of such batches are approximate",
            ConvergenceWarning,
            recorder,
        )
    if outcome.infeasible:
        _warn(f"games are left out of the loss: {outcome.infeasible}", SkippedGameWarning, recorder)


def _warn(message: str, category: type[Warning], recorder: Recorder | None) -> None:
    if recorder is None or recorder.is_first(category):
        warnings.warn(message, category, stacklevel=2)
