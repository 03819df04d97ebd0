"""A batch of games, as the solver takes and returns it: tensors on one device."""

from __future__ import annotations

import ctypes
from ctypes import c_double, c_int, c_longlong, c_void_p
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from metricfit.game.tables import whole_tables
from metricfit.metrics import Metric

__all__ = ["MOST_ITEMS", "Layout", "PlayedGames", "launch_shape", "solve_games", "workspace_numbers"]

MOST_ITEMS = 1024
"""Largest game that is laid out; the work space grows with its square."""

MAX_ITERATIONS = 150
"""Newton steps of the first attempt; two more may follow with four times as many."""

SOLVED, MISSED, NOT_FINITE = range(3)
"""What the first column of `PlayedGames.report` says."""

BLOCKS_PER_PROCESSOR = 2
"""At most so many games are played at a time on each multiprocessor; each has a work space."""

TEAM_ITEMS = 64
"""Smallest game that two blocks play together; in smaller ones that was slower on an H200."""

# Threads of a block and kilobytes of its shared memory, up to a number of items, as benchmarks/gpu.py found.
SHAPES = ((64, 384, 113), (MOST_ITEMS, 384, 220))


class _Batch(ctypes.Structure):
    """The argument of the kernel; ``struct Batch`` in ``kernel/solving.cu``."""

    _fields_ = (
        ("scores", c_void_p),
        ("targets", c_void_p),
        ("best", c_void_p),
        ("games", c_void_p),
        ("reach", c_void_p),
        ("adversary", c_void_p),
        ("predictor", c_void_p),
        ("bounds", c_void_p),
        ("losses", c_void_p),
        ("slopes", c_void_p),
        ("report", c_void_p),
        ("workspace", c_void_p),
        ("workspace_size", c_longlong),
        ("count", c_int),
        ("most", c_int),
        ("best_stride", c_int),
        ("quick_size", c_int),
        ("tolerance", c_double),
    )


@dataclass(frozen=True)
class Layout:
    """Which games there are: game g has the scores from ``starts[g]`` on, ``sizes[g]`` of them.

    Examples
    --------
    >>> import metricfit as mf
    >>> Layout(mf.f1, (0, 3), (3, 2)).sizes
    (3, 2)
    """

    metric: Metric
    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.metric.constraints:
            raise ValueError('constraints are not supported on the device; use solver="fast"')
        if not self.sizes or min(self.sizes) < 1 or max(self.sizes) > MOST_ITEMS:
            raise ValueError(f"games on the device have 1 to {MOST_ITEMS} items, got sizes {self.sizes[:8]}")

    @cached_property
    def items(self) -> int:
        """How many scores there have to be."""
        return max(start + n for start, n in zip(self.starts, self.sizes, strict=True))

    @cached_property
    def largest(self) -> int:
        """The number of items of the largest game."""
        return max(self.sizes)


@dataclass(frozen=True, eq=False)
class PlayedGames:
    """What the solver found. Reading any of it waits for the device.

    Attributes
    ----------
    adversary, predictor : Tensor, shape (items,)
        Probability of each item to be in either player's set.
    bounds : Tensor, shape (games, 2)
        Lower and upper bound of the value of each game, whose scores were cut at the reach of its metric.
        What was cut off belongs to items that the adversary surely includes, or surely does not.
    report : Tensor, shape (games, 2)
        0 for a game that was solved to the tolerance, 1 for one that was not, 2 for one whose scores are not
        finite, and whose other results are NaN; then the number of Newton steps.
    losses : Tensor, shape (games,)
        The loss of each game; NaN if a target is neither 0 nor 1. Without targets these are not computed.
    slopes : Tensor, shape (items,)
        Its derivative in the scores; likewise.
    """

    adversary: Tensor
    predictor: Tensor
    bounds: Tensor
    report: Tensor
    losses: Tensor
    slopes: Tensor


@dataclass(frozen=True, eq=False)
class _Placed:
    """What the kernel needs to know of a layout, on a device."""

    games: Tensor
    reach: Tensor
    tables: tuple[Tensor, ...]


@lru_cache(maxsize=64)
def _tables_on(device: torch.device, metric: Metric, n: int) -> Tensor:
    tables = whole_tables(metric, n)
    both = np.stack((tables.alpha, tables.beta, tables.alpha.T, tables.beta.T))
    return torch.from_numpy(both).to(device)


@lru_cache(maxsize=64)
def _placed(device: torch.device, layout: Layout) -> _Placed:
    tables = {n: _tables_on(device, layout.metric, n) for n in set(layout.sizes)}
    reach = {n: whole_tables(layout.metric, n).reach for n in tables}
    pairs = zip(layout.starts, layout.sizes, strict=True)
    games = torch.tensor([(start, n, tables[n].data_ptr()) for start, n in pairs], dtype=torch.int64)
    limits = torch.tensor([reach[n] for n in layout.sizes], dtype=torch.float64)
    return _Placed(games.to(device), limits.to(device), tuple(tables.values()))


def workspace_numbers(n: int) -> int:
    """Return how many numbers a block needs to remember in a game of `n` items; see `take_memory`."""
    return 4960 * n + 25000


def launch_shape(n: int) -> tuple[int, int]:
    """Return the threads of a block for games of up to `n` items, and the numbers in its shared memory.

    Examples
    --------
    >>> launch_shape(32)
    (384, 14464)
    """
    threads, kilobytes = next((t, k) for limit, t, k in SHAPES if n <= limit)
    return threads, 128 * kilobytes


def solve_games(
    layout: Layout,
    scores: Tensor,
    tol: float = 1e-4,
    *,
    targets: Tensor | None = None,
    best: Tensor | None = None,
    max_iter: int = MAX_ITERATIONS,
    threads: int | None = None,
    team: int | None = None,
) -> PlayedGames:
    """Solve games on the device that their scores are on, without waiting for it.

    Parameters
    ----------
    layout : Layout
        Which games there are.
    scores : Tensor of float64
        The scores of all of them.
    tol : float
        Gap to reach.
    targets, best : Tensor of float64, optional
        The labels of all items and, in a row for each game, the best value of its metric by the number of
        positives. With them the losses are computed too.
    max_iter : int
        Newton steps of the first of three attempts.
    threads : int, optional
        Threads of a block: a multiple of 32 on a GPU, 384 at most; up to 12 on the CPU.
    team : int, optional
        Blocks that play a game together, 1 or 2; two need a GPU since sm_90. By default there are two in
        games of `TEAM_ITEMS` or more, where that leaves a multiprocessor to each.

    Examples
    --------
    >>> import metricfit as mf
    >>> played = solve_games(Layout(mf.accuracy, (0,), (3,)), torch.tensor([0.5, -0.5, 0.0]).double())
    >>> played.adversary.round(decimals=3)
    tensor([1.0000, 0.0000, 0.5000], dtype=torch.float64)
    """
    if scores.dtype != torch.float64 or not scores.is_contiguous():
        raise TypeError("scores must be a contiguous tensor of float64; use scores.double().contiguous()")
    device, count, largest = scores.device, len(layout.sizes), layout.largest
    if threads is not None:
        check_threads(threads, device.type)
    if layout.items > scores.numel():
        raise ValueError(f"the games have more items than the {scores.numel()} scores")
    placed = _placed(device, layout)
    usual, quick = launch_shape(largest)
    team = team or _team(device, count, largest)
    blocks = team * min(count, max(BLOCKS_PER_PROCESSOR * _processors(device) // team, 1))
    numbers = workspace_numbers(largest)
    workspace = torch.empty(blocks * numbers, dtype=torch.float64, device=device)
    adversary, predictor, slopes = torch.empty((3, scores.numel()), dtype=torch.float64, device=device)
    bounds = torch.empty((count, 2), dtype=torch.float64, device=device)
    losses = torch.empty(count, dtype=torch.float64, device=device)
    report = torch.empty((count, 2), dtype=torch.int32, device=device)
    inputs = (scores, targets, best, placed.games, placed.reach)
    outputs = (adversary, predictor, bounds, losses, slopes, report)
    pointers = [0 if tensor is None else tensor.data_ptr() for tensor in (*inputs, *outputs, workspace)]
    width = 0 if best is None else best.shape[-1]
    batch = _Batch(*pointers, numbers, count, max_iter, width, quick, tol)
    if scores.is_cuda:
        from metricfit.solving.device.cuda import kernel, shared_limit

        batch.quick_size = min(quick, shared_limit(device.index) // 8)
        stream = torch.cuda.current_stream(device).cuda_stream
        with torch.cuda.device(device):
            kernel(device.index).launch(batch, blocks, threads or usual, 8 * batch.quick_size, stream, team)
    else:
        from metricfit.solving.device.host import library

        library().solve_games(ctypes.byref(batch), blocks, threads or 1, team)
    return PlayedGames(adversary, predictor, bounds, report, losses, slopes)


def check_threads(threads: int, kind: str) -> None:
    """Refuse numbers of threads that a block cannot have on this kind of device: a GPU would never return.

    Examples
    --------
    >>> check_threads(48, "cuda")
    Traceback (most recent call last):
    ...
    ValueError: on cuda a block has 32, 64, ... or 384 threads, got threads=48
    """
    if kind == "cuda" and threads not in range(32, 385, 32):
        raise ValueError(f"on cuda a block has 32, 64, ... or 384 threads, got threads={threads}")
    if kind != "cuda" and threads not in range(1, 13):
        raise ValueError(f"on the CPU a block has 1 to 12 threads, got threads={threads}")


def _team(device: torch.device, count: int, n: int) -> int:
    """Return how many blocks play each of so many games of up to `n` items."""
    if device.type != "cuda" or n < TEAM_ITEMS or 2 * count > _processors(device):
        return 1
    return 2 if torch.cuda.get_device_capability(device) >= (9, 0) else 1


@lru_cache(maxsize=64)
def _processors(device: torch.device) -> int:
    """Return the number of multiprocessors; on the CPU blocks are played one after the other."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
