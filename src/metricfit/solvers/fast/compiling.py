"""Compiling the solver, once per installation, by two processes.

The parts are cached on disk, so it does not matter which process compiles them: this one goes through them
from the first, a helper from the last, until they meet. If there is no helper, or nothing comes of it, this
one finds nothing on disk and compiles them all.
"""

import gc
import os
import subprocess
import sys
from pathlib import Path

from .parts import REGISTERED, compile_kernel
from .playing import solve_games
from .state import Parts

__all__ = ["compile_solver"]


def compile_solver() -> None:
    """Compile what is not on disk, and load the rest."""
    names = iter(Parts._fields)
    if all(_was_on_disk(name) for name in names):
        return
    helper = _start_helper()
    try:
        compile_kernel(solve_games)
        for name in names:
            REGISTERED[name].address()
    finally:
        if helper is not None:
            helper.kill()
            helper.wait()


def compile_backwards() -> None:
    """Compile all parts, the last one first, in a process that is there for nothing else."""
    gc.disable()
    for name in reversed(Parts._fields):
        REGISTERED[name].address()


def _was_on_disk(name: str) -> bool:
    part = REGISTERED[name]
    part.address()
    return not part.compiled.stats.cache_misses


def _start_helper() -> "subprocess.Popen[bytes] | None":
    """Start the helper if there is a processor for it, and if this is an ordinary Python."""
    if _processors() < 2 or not Path(sys.executable or "").name.lower().startswith("python"):
        return None
    # It is to find the same modules as this process, and none of the working folder.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1"}
    try:
        return subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import compile_backwards; compile_backwards()"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError:
        return None


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
