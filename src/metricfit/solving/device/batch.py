"""A batch of games, as the solver takes and returns it: tensors on one device."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int, c_longlong, c_void_p
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from metricfit import _core
from metricfit.solving.device.tables import Layout, placed

__all__ = ["INFEASIBLE", "MISSED", "NOT_FINITE", "SOLVED", "SolvedGames", "solve_games"]

MAX_ITERATIONS = 150
"""Newton steps of the first attempt; others may follow with up to four times as many."""

SOLVED, MISSED, NOT_FINITE, INFEASIBLE = range(4)
"""What the first column of `SolvedGames.report` says; as in ``cpp/gpu/solve.hpp``."""

BLOCKS_PER_PROCESSOR = 2
"""At most so many games are solved at a time on each multiprocessor; each has a work space."""

MOST_WORKSPACE = 8 * 2**30
"""Bytes of work space together; fewer games are solved at a time if they would need more."""

# Threads of a block up to a number of items, as benchmarks/gpu.py found.
THREADS = ((48, 128),)
MOST_THREADS = 256


class _Batch(ctypes.Structure):
    """The argument of the kernel; ``struct Batch`` in ``cpp/gpu/solve.hpp``."""

    _fields_ = (
        ("scores", c_void_p),
        ("targets", c_void_p),
        ("games", c_void_p),
        ("ranges", c_void_p),
        ("adversary", c_void_p),
        ("predictor", c_void_p),
        ("bounds", c_void_p),
        ("multipliers", c_void_p),
        ("report", c_void_p),
        ("workspace", c_void_p),
        ("workspace_size", c_longlong),
        ("count", c_int),
        ("constraints", c_int),
        ("max_iterations", c_int),
        ("tolerance", c_double),
    )


@dataclass(frozen=True, eq=False)
class SolvedGames:
    """What the solver found. Reading any of it waits for the device.

    Attributes
    ----------
    adversary, predictor : Tensor, shape (items,)
        Probability of each item to be in either player's set.
    bounds : Tensor, shape (games, 2)
        Lower and upper bound of the value of each game, whose scores were cut at the reach of its metric.
        What was cut off belongs to items that the adversary surely includes, or surely does not.
    multipliers : Tensor, shape (games, constraints)
    report : Tensor, shape (games, 2)
        0 for a game that was solved to the tolerance and 1 for one that was not; 2 for one whose scores are
        not finite, or whose targets are neither 0 nor 1 and needed by constraints, and 3 for one whose
        constraints cannot be met: their other results are NaN. Then the number of Newton steps.
    """

    adversary: Tensor
    predictor: Tensor
    bounds: Tensor
    multipliers: Tensor
    report: Tensor


def solve_games(
    layout: Layout,
    scores: Tensor,
    tol: float = 1e-4,
    *,
    targets: Tensor | None = None,
    max_iter: int = MAX_ITERATIONS,
    threads: int | None = None,
) -> SolvedGames:
    """Solve games on the device that their scores are on, without waiting for it.

    Parameters
    ----------
    layout : Layout
        Which games there are.
    scores : Tensor of float64
        The scores of all of them.
    tol : float
        Gap to reach.
    targets : Tensor of float64, optional
        The labels of all items; only constraints need them.
    max_iter : int
        Newton steps of the first attempt.
    threads : int, optional
        Threads of a block on a GPU: a multiple of 32, 256 at most.

    Examples
    --------
    >>> import metricfit as mf
    >>> solved = solve_games(Layout(mf.accuracy, (0,), (3,)), torch.tensor([0.5, -0.5, 0.0]).double())
    >>> solved.adversary.round(decimals=3)
    tensor([1.0000, 0.0000, 0.5000], dtype=torch.float64)
    """
    _check(layout, scores, targets, threads)
    device, count = scores.device, len(layout.sizes)
    constraints = len(layout.metric.constraints)
    size = _core.block_bytes(layout.largest, constraints)
    at_once = min(BLOCKS_PER_PROCESSOR * _processors(device), max(MOST_WORKSPACE // size, 1))
    blocks = min(count, at_once)
    known = placed(device, layout)
    workspace = torch.empty(blocks * size, dtype=torch.uint8, device=device)
    adversary, predictor = torch.empty((2, scores.numel()), dtype=torch.float64, device=device)
    bounds = torch.empty((count, 2), dtype=torch.float64, device=device)
    multipliers = torch.zeros((count, constraints), dtype=torch.float64, device=device)
    report = torch.empty((count, 2), dtype=torch.int32, device=device)
    tensors = (scores, targets, known.games, known.ranges, adversary, predictor, bounds, multipliers, report)
    pointers = [0 if tensor is None else tensor.data_ptr() for tensor in (*tensors, workspace)]
    batch = _Batch(*pointers, size, count, constraints, max_iter, tol)
    if scores.is_cuda:
        from metricfit.solving.device.cuda import kernel

        stream = torch.cuda.current_stream(device).cuda_stream
        with torch.cuda.device(device):
            kernel(device.index).launch(batch, blocks, threads or _threads(layout.largest), stream)
    else:
        _core.solve_on_host(ctypes.addressof(batch), blocks)
    return SolvedGames(adversary, predictor, bounds, multipliers, report)


def _check(layout: Layout, scores: Tensor, targets: Tensor | None, threads: int | None) -> None:
    for name, tensor in (("scores", scores), ("targets", targets)):
        if tensor is None:
            continue
        if tensor.dtype != torch.float64 or not tensor.is_contiguous():
            raise TypeError(
                f"{name} must be a contiguous tensor of float64; use {name}.double().contiguous()"
            )
        if tensor.numel() < layout.items:
            raise ValueError(f"the games have {layout.items} items, but there are {tensor.numel()} {name}")
        if tensor.device != scores.device:
            raise ValueError(f"scores are on {scores.device} and {name} on {tensor.device}; move one of them")
    if targets is None and layout.metric.constraints:
        raise ValueError("constraints need the targets of all items; pass targets=")
    if threads is not None and threads not in range(32, MOST_THREADS + 1, 32):
        raise ValueError(f"a block has 32, 64, ... or {MOST_THREADS} threads, got threads={threads}")


def _threads(n: int) -> int:
    """Return the usual number of threads of a block for games of up to `n` items."""
    return next((threads for limit, threads in THREADS if n <= limit), MOST_THREADS)


@lru_cache(maxsize=64)
def _processors(device: torch.device) -> int:
    """Return the number of multiprocessors; on the CPU games are solved one after the other."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
