"""Whether the games of a batch are played on the host or on the device of its logits."""

from __future__ import annotations

from torch import Tensor

from metricfit.loss.ceiling import always_feasible
from metricfit.loss.settings import DEVICE, Settings

__all__ = ["on_device"]

DEVICE_ITEMS, CONSTRAINED_ITEMS = 64, 256
"""Largest games that "auto" plays on a GPU, without and with constraints.

Without, the 16 cores beside an H200 were faster at 128 items, for 1 to 64 games. With constraints they take
up to five times as long, the GPU about as long: it was faster for 16 games of up to 256 items, the most that
was measured.
"""


def on_device(logits: Tensor, settings: Settings) -> bool:
    """Whether to play on the device of the logits.

    Examples
    --------
    >>> import torch
    >>> import metricfit as mf
    >>> on_device(torch.zeros(8), Settings(mf.f1))
    False
    >>> on_device(torch.zeros(8), Settings(mf.f1, solver="device"))
    True
    """
    if settings.solver == DEVICE:
        return True
    if settings.solver != "auto" or not logits.is_cuda or settings.why_not_on_device():
        return False
    n = logits.shape[0]
    groups = settings.group_count(n)
    if not 0 < n <= groups * (CONSTRAINED_ITEMS if settings.metric.constraints else DEVICE_ITEMS):
        return False
    if settings.metric.constraints and settings.infeasible == "error":
        # The host can raise an exception for constraints that cannot be met; the device only returns NaN.
        return all(always_feasible(settings.metric, size) for size in {n // groups, -(-n // groups)})
    return True
