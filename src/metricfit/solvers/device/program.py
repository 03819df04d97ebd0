"""The source of the solver, for CUDA and for a C++ compiler, and where compiled programs are kept."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

__all__ = ["cuda_source", "host_source", "kept"]

PARTS = (
    "block.cuh",
    "tiles.cuh",
    "state.cuh",
    "items.cuh",
    "panels.cuh",
    "chain.cuh",
    "border.cuh",
    "residuals.cuh",
    "newton.cuh",
    "stepping.cuh",
    "pricing.cuh",
    "growth.cuh",
    "strategies.cuh",
    "blending.cuh",
    "solving.cu",
)


@cache
def cuda_source() -> str:
    """Return the program for CUDA, all of it in one text.

    Examples
    --------
    >>> "__global__" in cuda_source()
    True
    """
    return _joined(*PARTS)


@cache
def host_source() -> str:
    """Return the program for a C++ compiler."""
    return _joined("host.hpp", *PARTS, "host.cpp")


def _joined(*parts: str) -> str:
    folder = files("metricfit.solvers.device") / "kernel"
    return "".join(f'#line 1 "{part}"\n{(folder / part).read_text()}' for part in parts)


def kept(key: str, ending: str, build: Callable[[], bytes]) -> Path:
    """Return the file of a compiled program, which is built if it is not there.

    It lies in the user's cache folder (``XDG_CACHE_HOME``, or else ``~/.cache``) by a digest of `key`, which
    has to say all that the program depends on; in a temporary folder where the other cannot be written.
    """
    name = hashlib.sha256(key.encode()).hexdigest()[:32] + ending
    cache_home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(cache_home) / "metricfit"
    if (folder / name).exists():
        return folder / name
    program = build()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _written(folder, name, program)
    except OSError:
        return _written(Path(tempfile.mkdtemp(prefix="metricfit-")), name, program)


def _written(folder: Path, name: str, program: bytes) -> Path:
    # Other processes may be at the same: each writes a file of its own and moves it into place.
    handle, draft = tempfile.mkstemp(dir=folder, prefix=name)
    with os.fdopen(handle, "wb") as file:
        file.write(program)
    os.replace(draft, folder / name)
    return folder / name
