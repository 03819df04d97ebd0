"""The memory that a solve needs besides the iterate; a thread keeps it for its next game of the same size.

To get it anew from the operating system, page by page, took up to a fifth of the time of a small game.
"""

import math
import threading

import numpy as np

from .parts import addresses
from .pinning import Held
from .state import MAX_COLUMNS, TOGETHER, Floats, Workspace

__all__ = ["workspace"]

MOST_KEPT = 400
"""Workspaces for more groups than this are not kept: they take megabytes per ten groups."""


class _Kept(threading.local):
    latest: Held[Workspace] | None = None


KEPT = _Kept()


def workspace(groups: int, constraints: int) -> Held[Workspace]:
    """Return buffers for a problem of this size, which may hold anything."""
    found = KEPT.latest
    if (
        found is None
        or found.value.scratch.shape[1] != groups
        or found.value.comp_multiplier.size != constraints
    ):
        found = Held(_new(groups, constraints))
        KEPT.latest = found if groups <= MOST_KEPT else None
    return found


def _new(groups: int, constraints: int) -> Workspace:
    columns = MAX_COLUMNS
    border = 4 * columns + 4 + constraints
    return Workspace(
        adversary=_empty(11, columns, groups),
        predictor=_empty(11, columns, groups),
        along=_empty(4, groups + 1),
        chain_alpha=_empty(groups + 1, columns),
        cross=_empty(columns, columns),
        cross_t=_empty(columns, columns),
        inverse=_empty(columns, columns, groups),
        inverse_p=_empty(columns, columns, groups),
        mixed=_empty(columns, columns, groups),
        by_predictor=np.zeros(1, np.bool_),
        pivots=_empty(2, columns, groups),
        scratch=_empty(columns, groups),
        factor=_empty(max(border, groups + 1)),
        order=np.empty((2, groups + 1), np.int64),
        running=_empty(3, columns),
        filtered=_empty(columns * border),
        share=_empty(TOGETHER * columns * 2 * columns),
        kalman_gain=_empty(groups + 1, columns),
        innovation=_empty(groups + 1, border),
        border=_empty(border, border),
        pivot=np.empty(border, np.int64),
        scale=_empty(border),
        step=_empty(border),
        residual_border=_empty(border),
        comp_mass=_empty(columns + 2),
        comp_mass_p=_empty(columns),
        comp_multiplier=_empty(constraints),
        parts=addresses(),
        here=0,
    )


def _empty(*shape: int) -> Floats:
    """Return an array from the start of a cache line on: vectors that straddle two lines take longer."""
    size = math.prod(shape)
    memory = np.empty(size + 7)
    first = -(memory.ctypes.data // 8) % 8
    return memory[first : first + size].reshape(shape)
