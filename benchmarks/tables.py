"""The data sets of the benchmarks that train classifiers, and results that a stopped run goes on with."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricfit.experiments.datasets import DATASETS

Row = dict[str, Any]


def load(folder: Path, name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the features and the labels, 0 and 1, of a data set of the paper."""
    first, last = DATASETS[name].positive
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        classes = file["y"]
        return file["X"].astype(np.float32), ((classes >= first) & (classes <= last)).astype(np.int64)


def read(path: Path) -> list[Row]:
    """Return the finished rows; a line that was torn by a crash is left out."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def run(tasks: Iterable[tuple[Any, ...]], work: Callable[..., list[Row]], jobs: int, path: Path) -> None:
    """Work on all tasks in processes, and append what each gives to the file as soon as it is done."""
    tasks = list(tasks)
    # Each process is one thread, so that they do not wait for each other's.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(work, *task) for task in tasks]
        for count, done in enumerate(as_completed(waiting), 1):
            with path.open("a", encoding="utf-8") as file:
                # A blank line first ends one that was torn; it is left out when read.
                file.write("\n" + "".join(json.dumps(row) + "\n" for row in done.result()))
            print(f"{count} of {len(tasks)}", flush=True)
