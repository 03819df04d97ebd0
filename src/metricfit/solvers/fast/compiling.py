"""Compiling the solver, once per installation, by processes that are there for nothing else.

What they compile is cached on disk, so it does not matter which process compiles what: each is told the next
name when it is done with one. If none can be started, or nothing comes of it, this process finds nothing on
disk and compiles everything itself.
"""

import contextlib
import gc
import logging
import os
import queue
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from llvmlite import binding as llvm

from metricfit.game.compiled import is_remembered
from metricfit.game.pipeline import remember_types

from .parts import REGISTERED
from .pinning import kinds_of
from .playing import solve_games
from .state import Parts

__all__ = ["compile_solver"]

MOST_WORKERS = 4
"""One of them is busy with the kernel alone for a quarter of the work."""

LLVM_OPTIONS = (
    "--force-vector-width=4",
    "--force-vector-interleave=1",
    "--unroll-runtime=0",
    "--unroll-allow-partial=0",
)
"""Loops run over the items of a batch or over columns: vectors of four numbers, one at a time.

By itself LLVM unrolls them to 16 or 32 numbers per turn, so that of 25 items most are left to the scalar loop
behind. With these, games of 25 and 100 items take a tenth less time, and the compiler a fifth less. They
hold for a whole process, so only the workers set them.
"""

KERNEL: Any = solve_games
KERNEL_NAME = KERNEL.__name__
KERNEL_TYPES = kinds_of(KERNEL.py_func)

Worker = subprocess.Popen[str]


def compile_solver() -> None:
    """Compile what is not on disk, and load the rest."""
    names = (*Parts._fields, KERNEL_NAME)
    missing = [name for name in names if not _is_on_disk(name)]
    if missing:
        logging.getLogger("metricfit").warning(
            "compiling the solver, about twenty seconds; this happens once per installation"
        )
        _compile_elsewhere(missing[::-1])
    for name in names:
        _load(name)


def work() -> None:
    """Compile what standard input names line by line, and answer each name with a line when it is on disk."""
    gc.disable()
    remember_types()
    for option in LLVM_OPTIONS:
        llvm.set_option("metricfit", option)
    for line in sys.stdin:
        _load(line.strip())
        print(flush=True)


def _is_on_disk(name: str) -> bool:
    if name == KERNEL_NAME:
        return is_remembered(KERNEL, KERNEL_TYPES)
    return REGISTERED[name].is_remembered()


def _load(name: str) -> None:
    """Load a part or the kernel from disk; if it is not there, compile it."""
    if name == KERNEL_NAME:
        KERNEL.compile(KERNEL_TYPES)
    else:
        REGISTERED[name].address()


def _compile_elsewhere(names: Iterable[str]) -> None:
    """Have workers compile these, in this order; what they fail to do is left undone."""
    if not Path(sys.executable or "").name.lower().startswith("python"):
        return
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    count = min(MOST_WORKERS, _processors())
    workers: list[Worker] = []
    with ThreadPoolExecutor(count) as threads:
        try:
            wait([threads.submit(_keep_busy, waiting, workers) for _ in range(count)])
        finally:
            _drop_all(waiting)
            for worker in workers:
                worker.kill()


def _keep_busy(waiting: "queue.SimpleQueue[str]", workers: list[Worker]) -> None:
    """Start a worker and hand it one name after the other, until there are none or it has died."""
    with contextlib.suppress(OSError, queue.Empty), _start_worker() as worker:
        workers.append(worker)
        assert worker.stdin is not None
        assert worker.stdout is not None
        answer = "\n"
        while answer:
            print(waiting.get_nowait(), file=worker.stdin, flush=True)
            answer = worker.stdout.readline()


def _drop_all(waiting: "queue.SimpleQueue[str]") -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            waiting.get_nowait()


def _start_worker() -> Worker:
    # It is to find the same modules as this process, and none of the working folder.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", f"from {__name__} import work; work()"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
