"""The solver as a program for the CPU, made from the same source by a C++ compiler.

Blocks are played one after the other, by one thread each or by several. It is slower than the solver in
:mod:`metricfit.solving.fast` and there to test the source where there is no GPU.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from metricfit.solving.device.program import host_source, kept

__all__ = ["build", "compiler", "library"]

OPTIONS = ("-std=c++20", "-O2", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-pthread")


def compiler() -> str:
    """Return the C++ compiler: what ``CXX`` names, or g++, or clang++."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    raise RuntimeError(
        "games of tensors on the CPU are played by a program that needs a C++ compiler; install g++ or "
        "clang++, or name yours in the environment variable CXX"
    )


def build(source: str, target: Path, *options: str) -> None:
    """Compile a source to `target`; raises with what the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "solver.cpp"
        text.write_text(source)
        command = [compiler(), *OPTIONS, *options, "-o", str(target), str(text)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} could not compile the solver:\n{done.stderr[-4000:]}")


@cache
def library() -> ctypes.CDLL:
    """Return the compiled program."""

    def compiled() -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "solver.so"
            build(host_source(), target, "-shared", "-fPIC")
            return target.read_bytes()

    key = "\n".join((host_source(), compiler(), *OPTIONS))
    loaded = ctypes.CDLL(str(kept(key, ".so", compiled)))
    loaded.workspace_numbers.restype = ctypes.c_longlong
    loaded.quick_numbers.restype = ctypes.c_int
    loaded.solve_games.restype = None
    return loaded
