"""How every compiled kernel of the library is compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from .pipeline import Frugal

__all__ = ["is_remembered", "kernel", "remember"]

Function = TypeVar("Function", bound=Callable[..., Any])

HERE = Path(__file__).parent


@cache
def digest(*folders: Path) -> str:
    """Return a fingerprint of the Python files in these folders."""
    found = blake2b(digest_size=16)
    for folder in folders:
        for file in sorted(folder.glob("*.py")):
            found.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


def remember(compiled: Any, *folders: Path) -> Any:
    """Cache on disk what a function compiles to, until a file changes in this folder or in one of these.

    A compiled function contains what it calls, but Numba by itself looks at the function's own file only:
    with another file changed, by an update say, it would go on with old code, or mix old with new and crash.
    """
    compiled.enable_caching()
    file = compiled._cache._cache_file
    file._source_stamp = (file._source_stamp, digest(HERE, *folders))
    return compiled


def is_remembered(compiled: Any, signature: Any) -> bool:
    """Tell whether what a function compiles to for these types is on disk; nothing is compiled or loaded."""
    cache = compiled._cache
    return cache._index_key(signature, compiled.targetctx.codegen()) in cache._cache_file._load_index()


def kernel(function: Function) -> Function:
    """Compile a function with Numba: cached on disk, without the interpreter lock, one thread.

    Division follows NumPy (infinities instead of exceptions). ``fastmath`` is turned off, because it would
    remove the guards against NaN, and a fused product leaves other rounding than the one that is cleaned up.
    Without a word about it, Numba would take it over from a kernel that calls this one.

    Numba compiles once per type of argument, and a read-only array is another type than a writeable
    one. Pass the same kind each time: metric tables are read-only, everything else is writeable.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return cast(Function, remember(numba.njit(pipeline_class=Frugal, fastmath=False, **options)(function)))
