"""The source of the kernel, and where compiled kernels are kept."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import metricfit

__all__ = ["ENTRY", "kept", "prebuilt", "source_folder", "sources"]

ENTRY = "gpu/solve.cu"
"""The file that the kernel is compiled from, in the folder of the sources."""


def source_folder() -> Path:
    """Return the folder of the C++ sources: in the package, or beside ``src`` in a checkout."""
    package = Path(metricfit.__file__).parent
    installed = package / "cpp"
    return installed if installed.is_dir() else package.parents[1] / "cpp"


@cache
def sources() -> str:
    """Return the texts of all files that the kernel may be made of.

    Examples
    --------
    >>> "__global__" in sources()
    True
    """
    folder = source_folder()
    headers = (file for part in ("core", "gpu") for file in sorted((folder / part).glob("*.hpp")))
    return "".join(file.read_text() for file in (folder / ENTRY, *headers))


def prebuilt() -> bytes | None:
    """Return the kernel for several architectures that was compiled with the package, if it was."""
    file = Path(metricfit.__file__).parent / "_solver.fatbin"
    return file.read_bytes() if file.exists() else None


def kept(key: str, build: Callable[[], bytes]) -> bytes:
    """Return a compiled kernel, which is built if it is not in the cache or damaged there.

    It lies in the user's cache folder (``XDG_CACHE_HOME``, or else ``~/.cache``) by a digest of `key`, which
    has to say all that the kernel depends on, after a digest of itself. Where that folder cannot be written,
    or where the user has no home, each process builds its own.
    """
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.cubin"
    folder = _cache_folder()
    if folder is None:
        return build()
    try:
        content = (folder / name).read_bytes()
    except OSError:  # it was not built yet
        content = b""
    if hashlib.sha256(content[32:]).digest() == content[:32]:
        return content[32:]
    program = build()
    with suppress(OSError):  # a read-only disk, or a full one: the kernel is there for this process only
        _write(folder, name, hashlib.sha256(program).digest() + program)
    return program


def _cache_folder() -> Path | None:
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(given) if given else Path.home() / ".cache") / "metricfit"
    except RuntimeError:  # there is no such user
        return None


def _write(folder: Path, name: str, content: bytes) -> None:
    # Other processes may be at the same: each writes a file of its own and moves it into place.
    folder.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=folder, prefix=name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, folder / name)
    except OSError:
        os.unlink(draft)
        raise
