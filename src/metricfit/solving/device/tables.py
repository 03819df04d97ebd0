"""What the kernel needs to know of a metric and a layout, on a device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metricfit.game import InfeasibleConstraintsError, Payoff, most_slack
from metricfit.game.feasibility import constraint_rows, constraint_slacks
from metricfit.game.tables import whole_tables

__all__ = ["MOST_ITEMS", "Layout", "Placed", "limits_of", "placed"]

MOST_ITEMS = 4096
"""Largest game that is laid out; the tables of a metric grow with its square."""

MOST_OPENINGS = 8
"""Sizes in play from the start that the predictor may have, under constraints; see ``cpp/gpu/solve.hpp``."""


@dataclass(frozen=True)
class Layout:
    """Which games there are: game g has the scores from ``starts[g]`` on, ``sizes[g]`` of them.

    Examples
    --------
    >>> import metricfit as mf
    >>> Layout(mf.f1, (0, 3), (3, 2)).sizes
    (3, 2)
    """

    metric: Payoff
    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
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
class Placed:
    """The arguments of the kernel that depend on a layout only, on a device.

    Attributes
    ----------
    games : Tensor of int64, shape (games, 4)
        Where each game's scores begin, its items, and the addresses of its tables and limits.
    ranges : Tensor, shape (games, 2)
        The reach of each game's scores, and the least value of its metric.
    kept : tuple of Tensor
        What the addresses point to.
    """

    games: Tensor
    ranges: Tensor
    kept: tuple[Tensor, ...]


@lru_cache(maxsize=64)
def _tables_on(device: torch.device, metric: Payoff, n: int) -> Tensor:
    tables = whole_tables(metric, n)
    both = np.stack((tables.alpha, tables.beta, tables.alpha.T, tables.beta.T))
    return torch.from_numpy(both).to(device)


def limits_of(metric: Payoff, n: int) -> NDArray[np.float64]:
    """Return a row for each number of positives, as ``struct Batch`` in ``cpp/gpu/solve.hpp`` describes it.

    Examples
    --------
    >>> import metricfit as mf
    >>> limits_of(mf.precision.subject_to(mf.recall >= 0.5), 2)[:, 0]
    array([1., 1., 1.])
    """
    count = len(metric.constraints)
    rows = np.zeros((n + 1, 3 + MOST_OPENINGS + count * (2 * n + 3)))
    for positives, row in enumerate(rows):
        try:
            gain, offset = constraint_rows(metric.constraints, n, positives)
        except InfeasibleConstraintsError:
            row[0] = -1.0
            continue
        safe = most_slack(gain, offset, positives)
        if safe.sizes.size > MOST_OPENINGS:
            raise ValueError(
                f'the device supports {MOST_OPENINGS - 1} constraints at a time; use solver="fast", which '
                "supports any number"
            )
        included = safe.inclusion
        row[0] = safe.sizes.size
        row[1 : 1 + safe.sizes.size] = safe.sizes
        row[1 + MOST_OPENINGS :] = np.concatenate(
            (
                [included[-1] if positives < n else 0.0, included[0] if positives else 0.0],
                constraint_slacks(gain, offset, positives, safe),
                gain.ravel(),
                offset.ravel(),
            )
        )
    return rows


@lru_cache(maxsize=64)
def _limits_on(device: torch.device, metric: Payoff, n: int) -> Tensor:
    return torch.from_numpy(limits_of(metric, n)).to(device)


@lru_cache(maxsize=64)
def placed(device: torch.device, layout: Layout) -> Placed:
    """Return what the kernel needs to know of a layout; what was used lately is kept.

    Examples
    --------
    >>> import metricfit as mf
    >>> placed(torch.device("cpu"), Layout(mf.accuracy, (0,), (3,))).ranges
    tensor([[2., 0.]], dtype=torch.float64)
    """
    metric, sizes = layout.metric, sorted(set(layout.sizes))
    tables = {n: _tables_on(device, metric, n) for n in sizes}
    limits = {n: _limits_on(device, metric, n) for n in sizes} if metric.constraints else {}
    address = {n: limits[n].data_ptr() if limits else 0 for n in sizes}
    pairs = zip(layout.starts, layout.sizes, strict=True)
    games = torch.tensor(
        [(start, n, tables[n].data_ptr(), address[n]) for start, n in pairs], dtype=torch.int64
    )
    ranges = {n: (whole_tables(metric, n).reach, metric.value_range(n)[0]) for n in sizes}
    return Placed(
        games.to(device),
        torch.tensor([ranges[n] for n in layout.sizes], dtype=torch.float64).to(device),
        (*tables.values(), *limits.values()),
    )
