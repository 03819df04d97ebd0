"""How many threads the members of an ensemble may use."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

__all__ = ["threads_for"]

# If other processes use the cores, each of some 10,000 parallel loops of gradient-boosted trees waits,
# spinning, for a thread that is not running: 180 rows on 2 cores took 150 s instead of 0.06 s, and 30 trees
# for 1,200 rows of 1,000 columns 38 s instead of 1.3 s. With as many numbers in the table as this, one thread
# fits such trees in 3 to 9 s and two idle cores in half of that, which is less than may be lost by waiting.
MANY = 10_000_000
# The same for a network, whose loops run over one batch. With fewer numbers in it, a step takes milliseconds
# (ten epochs for 1,200 rows of 1,000 columns: 0.34 s with one thread, 20 s with two that have to wait).
MANY_IN_BATCH = 1_000_000


def threads_for(X: Any, batch_size: int | None = None) -> AbstractContextManager[Any]:
    """Return a context in which OpenMP uses one thread for a small table, and all it may for a large one.

    It holds for the calling thread only. With a `batch_size`, what counts is the size of one batch.

    Examples
    --------
    >>> import numpy as np
    >>> with threads_for(np.zeros((180, 4))):
    ...     pass
    """
    rows, *columns = X.shape if hasattr(X, "shape") else (len(X),)
    numbers = math.prod([rows if batch_size is None else min(rows, batch_size), *columns])
    if numbers >= (MANY if batch_size is None else MANY_IN_BATCH):
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="openmp")
    return limits
