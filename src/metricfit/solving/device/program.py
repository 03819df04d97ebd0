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
    folder = files("metricfit.solving.device") / "kernel"
    return "".join(f'#line 1 "{part}"\n{(folder / part).read_text()}' for part in parts)


def kept(key: str, ending: str, build: Callable[[], bytes]) -> Path:
    """Return the file of a compiled program, which is built if it is not there, or damaged.

    It lies in the user's cache folder (``XDG_CACHE_HOME``, or else ``~/.cache``) by a digest of `key`, which
    has to say all that the program depends on; in a temporary folder where the other cannot be written, or
    where the user has no home.
    """
    name = hashlib.sha256(key.encode()).hexdigest()[:32] + ending
    folder = _cache_folder()
    if folder is not None and _is_whole(folder / name):
        return folder / name
    program = build()
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return _written(folder, name, program)
        except OSError:
            pass  # a read-only disk, or a full one: the program is kept for this process only
    return _written(Path(tempfile.mkdtemp(prefix="metricfit-")), name, program)


def _cache_folder() -> Path | None:
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(given) if given else Path.home() / ".cache") / "metricfit"
    except RuntimeError:  # there is no such user
        return None


def _digest_file(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


def _is_whole(path: Path) -> bool:
    """Whether the file is there and has the content that was written."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == _digest_file(path).read_text()
    except (OSError, UnicodeDecodeError):
        return False


def _written(folder: Path, name: str, program: bytes) -> Path:
    digest = hashlib.sha256(program).hexdigest().encode()
    for path, content in ((folder / name, program), (_digest_file(folder / name), digest)):
        # Other processes may be at the same: each writes a file of its own and moves it into place.
        handle, draft = tempfile.mkstemp(dir=folder, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    return folder / name
