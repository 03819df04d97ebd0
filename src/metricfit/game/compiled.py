"""How every compiled kernel of the library is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function with Numba: cached on disk, without the interpreter lock, one thread.

    Division follows NumPy (infinities instead of exceptions). ``fastmath`` is turned off, because it would
    remove the guards against NaN, and a fused product leaves other rounding than the one that is cleaned up.
    Without a word about it, Numba would take it over from a kernel that calls this one.

    Numba compiles once per type of argument, and a read-only array is another type than a writeable
    one. Pass the same kind each time: metric tables are read-only, everything else is writeable.
    """
    options: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(Function, numba.njit(fastmath=False, **options)(function))
