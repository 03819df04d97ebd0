"""The memory that a solve needs; a thread keeps it for its next game of the same size.

To get it anew from the operating system, page by page, took up to a fifth of the time of a small game.
"""

import math
import threading
from typing import NamedTuple

import numpy as np

from .parts import addresses
from .pinning import Held
from .state import LANES, MAX_COLUMNS, Columns, Floats, Grouping, Iterate, Room, Workspace

__all__ = ["Memory", "memory_for"]

MOST_KEPT = 400
"""Memory for more groups than this is not kept: it takes megabytes per ten groups."""

MOST_FACTORS = 8_000_000
"""Numbers that the factors of alpha may take: with a hundred groups, as many as there can be columns."""


class Memory(NamedTuple):
    """All of it, which may hold anything, and what it is large enough for."""

    shape: tuple[int, int, int, int]
    room: Held[Room]
    workspace: Held[Workspace]


class _Kept(threading.local):
    latest: Memory | None = None


KEPT = _Kept()


def memory_for(groups: int, constraints: int, rows: int, columns: int) -> Memory:
    """Return memory for a problem of this size, with so many sizes of predictor and adversary."""
    shape = groups, constraints, rows, columns
    found = KEPT.latest
    if found is None or found.shape != shape:
        found = Memory(shape, Held(_new_room(*shape)), Held(_new_workspace(groups, constraints)))
        KEPT.latest = found if groups <= MOST_KEPT else None
    return found


def _new_room(groups: int, constraints: int, rows: int, columns: int) -> Room:
    def iterate() -> Iterate:
        return Iterate(
            _new_columns(groups, columns),
            _new_columns(groups, rows),
            _empty(groups + 1),
            _empty(groups + 1),
            _empty(constraints),
            _empty(constraints),
            _empty(2),
            here=0,
        )

    return Room(
        iterate=iterate(),
        earlier=iterate(),
        best=iterate(),
        pooled=_new_columns(groups, rows),
        grouping=Grouping(
            blocks=np.empty(groups + 1, np.int64),
            coming=np.empty(groups + 1, np.int64),
            items=_empty(3 * groups),
            chain=np.empty(groups + 1, np.int64),
            gain=_empty(constraints * (groups + 1)),
            here=0,
        ),
        payoffs_p=_empty(3, rows),
        payoffs_a=_empty(2, columns),
        here=0,
    )


def _new_columns(groups: int, sizes: int) -> Columns:
    return Columns(
        marginal=_empty(4, MAX_COLUMNS, groups),
        mass=_empty(MAX_COLUMNS + 2),
        dual_mass=_empty(MAX_COLUMNS + 2),
        price=_empty(MAX_COLUMNS),
        size_index=np.empty(MAX_COLUMNS, np.int64),
        used=np.empty(1, np.int64),
        member=np.empty(sizes, np.bool_),
        dropped=np.empty(sizes, np.bool_),
        here=0,
    )


def _new_workspace(groups: int, constraints: int) -> Workspace:
    groups = _whole(groups)
    columns = MAX_COLUMNS
    apart = columns + 1  # with 64, all that belongs to an item would be at the same place of a memory page
    rank = max(4, min(columns, math.isqrt(MOST_FACTORS // (20 * groups))) // 4 * 4)
    width, border = _whole(2 * columns + constraints), _whole(4 * columns + 4 + constraints)
    sides = _empty(2, 11, apart, groups)
    return Workspace(
        sides=sides,
        adversary=sides[0],
        predictor=sides[1],
        along=_empty(4, groups + 1),
        chain_alpha=_empty(groups + 1, columns),
        chain_beta=_empty(groups + 1, columns + 2),
        chain_row=_empty(groups + 1, 2 * width + LANES),
        cross=_empty(columns, columns),
        cross_t=_empty(columns, columns),
        sums=_empty(4, columns),
        rest=_empty(columns * (groups + 1 + columns)),
        rank=np.empty(2, np.int64),
        basis=_empty(columns, rank),
        basis_t=_empty(rank, columns),
        chain_on=_empty(groups + 1, columns),
        cross_on=_empty(columns, rank),
        blocks=_empty(4 * rank**2 * groups),
        answers=_empty(2 * (2 * columns + constraints) * rank * groups),
        coupling=_empty(LANES * (8 * rank**2 + 3 * rank)),
        moments=_empty(4, groups // LANES, columns // 4, 4 * LANES),
        scratch=_empty(columns, groups),
        factor=_empty(2, max(columns, groups + 4)),
        order=np.empty((2, groups + 1), np.int64),
        running=_empty(3, columns + 2),
        filtered=_empty(columns * (2 * width + LANES)),
        share=_empty(LANES * (rank + 1) * width),
        observed=_empty(2 * width + LANES),
        kalman_gain=_empty(groups + 1, columns),
        innovation=_empty(groups + 4, border),
        border=_empty(border, border),
        reciprocal=_empty(border),
        multiples=_empty(4, border),
        step=_empty(border),
        residual_border=_empty(border),
        comp_mass=_empty(columns + 2),
        comp_mass_p=_empty(columns),
        comp_multiplier=_empty(constraints),
        parts=addresses(),
        here=0,
    )


def _whole(count: int) -> int:
    """Return for how many there is room in whole vectors."""
    return -(-count // LANES) * LANES


def _empty(*shape: int) -> Floats:
    """Return an array from the start of a cache line on: vectors that straddle two lines take longer."""
    size = math.prod(shape)
    memory = np.empty(size + 7)
    first = -(memory.ctypes.data // 8) % 8
    return memory[first : first + size].reshape(shape)
