"""How many threads the members of an ensemble may use."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

__all__ = ["threads_for"]

# With fewer numbers in the table than this, a second OpenMP thread makes gradient-boosted trees at most 1.4
# times faster. If another process uses the cores it makes them up to 2,000 times slower: each of some 10,000
# parallel loops waits, spinning, for a thread that is not running (180 rows on 2 cores: 0.06 s alone, 150 s
# beside a second such fit).
MANY = 1_000_000


def threads_for(X: Any) -> AbstractContextManager[Any]:
    """Return a context in which OpenMP uses one thread for a small table, and all it may for a large one.

    It holds for the calling thread only.

    Examples
    --------
    >>> with threads_for(np.zeros((180, 4))):
    ...     pass
    """
    shape = X.shape if hasattr(X, "shape") else (len(X),)
    if np.prod(shape) >= MANY:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="openmp")
    return limits
