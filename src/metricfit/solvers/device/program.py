"""The source of the kernel, and where compiled kernels are kept."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import metricfit

__all__ = ["ENTRY", "kept", "prebuilt", "sources"]

ENTRY = "gpu/solve.cu"
"""The file that the kernel is compiled from."""

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def _folder() -> Path:
    """Return the folder of the C++ sources: in the package, or beside ``src`` in a checkout."""
    package = Path(metricfit.__file__).parent
    installed = package / "cpp"
    return installed if installed.is_dir() else package.parents[1] / "cpp"


@cache
def sources() -> dict[str, str]:
    """Return the texts of `ENTRY` and of all that it includes, by their names in ``#include``.

    Examples
    --------
    >>> "__global__" in sources()["gpu/solve.cu"], "core/solver.hpp" in sources()
    (True, True)
    """
    found: dict[str, str] = {}
    missing = [ENTRY]
    while missing:
        name = missing.pop()
        if name not in found:
            found[name] = (_folder() / name).read_text()
            missing += INCLUDE.findall(found[name])
    return found


def prebuilt() -> bytes | None:
    """Return the kernel for several architectures that was compiled with the package, if it was."""
    file = Path(metricfit.__file__).parent / "_solver.fatbin"
    return file.read_bytes() if file.exists() else None


def kept(key: str, build: Callable[[], bytes]) -> bytes:
    """Return a compiled kernel, which is built if it is not in the cache or damaged there.

    It lies in the user's cache folder (``XDG_CACHE_HOME``, or else ``~/.cache``) by a digest of `key`, which
    has to say all that the kernel depends on, after a digest of itself. Without such a folder it is built by
    every process.
    """
    folder = _cache_folder()
    if folder is None:
        return build()
    file = folder / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.cubin"
    with suppress(OSError):  # if it is not there, it is built
        digest, program = (content := file.read_bytes())[:32], content[32:]
        if hashlib.sha256(program).digest() == digest:
            return program
    program = build()
    with suppress(OSError):  # if the folder cannot be written, the next process builds it again
        _write(file, hashlib.sha256(program).digest() + program)
    return program


def _cache_folder() -> Path | None:
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "metricfit"
    try:
        return Path.home() / ".cache" / "metricfit"
    except RuntimeError:
        return None


def _write(file: Path, content: bytes) -> None:
    # Other processes may be at the same: each writes a file of its own and moves it into place.
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
        os.replace(draft, file)
    except OSError:
        os.unlink(draft)
        raise
