"""Many training runs through joblib, skipping what is finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import joblib
import torch

from metricfit.experiments.datasets import DATASETS
from metricfit.experiments.fetching import UnavailableError
from metricfit.experiments.fitting import fit
from metricfit.experiments.journal import append, read
from metricfit.experiments.loading import Prepared, load
from metricfit.experiments.recipes import RECIPES
from metricfit.experiments.runs import Run
from metricfit.experiments.training import train

__all__ = ["OtherDataError", "available", "sweep"]


class OtherDataError(Exception):
    """The file of cells holds some cells of other data; the message says which ones and what to do."""


def available(runs: Sequence[Run], folder: Path | None, *, partial: bool) -> tuple[list[Run], dict[str, str]]:
    """Return the runs whose data are available, and for each other data set a message that says why not."""
    missing: dict[str, str] = {}
    for dataset, seed in dict.fromkeys((run.dataset, run.seed) for run in runs):
        if dataset in missing:  # each attempt to fetch it takes seconds
            continue
        try:
            _prepared(dataset, seed, folder, partial)
        except UnavailableError as error:
            missing[dataset] = str(error)
    return [run for run in runs if run.dataset not in missing], missing


def sweep(
    runs: Sequence[Run],
    path: Path,
    *,
    folder: Path | None,
    partial: bool = False,
    jobs: int = 1,
    device: str = "cpu",
    seconds: float | None = None,
    done: Callable[[dict[str, Any]], None] = lambda cell: None,
) -> None:
    """Train what is not yet in the file, and append each cell when it is finished.

    Parameters
    ----------
    runs : sequence of Run
        In the order in which they start.
    path : Path
        The file of cells.
    folder, partial
        Where the data are, as for :func:`metricfit.experiments.loading.load`.
    jobs : int
        The number of processes. joblib's backends apply, so that a cluster is one line around the call.
    device : str
        Where networks are trained, in PyTorch's words.
    seconds : float, optional
        Start no run later than this. Those that are under way are finished.
    done : callable
        Is given every cell that this call has finished.

    Raises
    ------
    OtherDataError
        If the file holds a cell of one of these data sets that was trained with other data.
    """
    finished = read(path)
    _check_data(runs, finished.values(), path, folder, partial=partial)
    left = [run for run in runs if run.key not in finished]
    end = None if seconds is None else time.monotonic() + seconds
    # One at a time, since a run that was handed out is always finished.
    parallel = joblib.Parallel(
        n_jobs=jobs, return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1
    )
    in_time = (run for run in left if end is None or time.monotonic() < end)
    for cell in parallel(joblib.delayed(_fill)(run, folder, partial, device) for run in in_time):
        append(path, cell)
        done(cell)


def _check_data(
    runs: Sequence[Run], finished: Iterable[dict[str, Any]], path: Path, folder: Path | None, *, partial: bool
) -> None:
    recorded: dict[str, set[str]] = {}
    for cell in finished:
        if "data" in cell:  # cells of earlier versions do not say
            recorded.setdefault(cell["dataset"], set()).add(cell["data"])
    for dataset, seed in {run.dataset: run.seed for run in runs}.items():
        found = recorded.get(dataset, set())
        if found and found != {_prepared(dataset, seed, folder, partial).fingerprint}:
            raise OtherDataError(
                f"{path} holds results of {dataset} with other data than those that are there now; choose "
                f"another folder for the results, or remove its lines from that file"
            )


def _fill(run: Run, folder: Path | None, partial: bool, device: str) -> dict[str, Any]:
    with _one_thread():
        data = _prepared(run.dataset, run.seed, folder, partial)
        return train(run, data, device) if RECIPES[run.loss].network else fit(run, data)


# All of them, since an experiment may avoid them.
@lru_cache(maxsize=len(DATASETS))
def _prepared(dataset: str, seed: int, folder: Path | None, partial: bool) -> Prepared:
    return load(dataset, seed, folder, partial=partial)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread, and leave the process as it was: these networks are too small for more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
