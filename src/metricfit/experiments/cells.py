"""The record of a finished run: its settings, costs, data and results."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

import metricfit as mf
from metricfit.experiments.clock import processor
from metricfit.experiments.judging import Judge
from metricfit.experiments.loading import Prepared
from metricfit.experiments.runs import Run

__all__ = ["cell_of"]


def cell_of(run: Run, data: Prepared, judges: Iterable[Judge], **facts: Any) -> dict[str, Any]:
    """Return the cell of a run.

    Parameters
    ----------
    judges : iterable of Judge
        With what they have found.
    **facts
        ``device``, ``epochs_run``, ``steps_run``; ``seconds`` and the median ``epoch_seconds``, of one core;
        and what else is to be kept.
    """
    results: dict[str, dict[str, Any]] = {}
    for judge in judges:
        if judge.found:
            results.setdefault(judge.metric, {})[judge.decision] = judge.found
    parts = (("train", data.train), ("validation", data.validation), ("test", data.test))
    return {
        **run.plain(),
        **facts,
        "processor": processor(facts["device"]),
        "whole": data.whole,
        "data": data.fingerprint,
        "rows": {name: len(part) for name, part in parts},
        "positives": {name: int(part.labels.sum()) for name, part in parts},
        "results": results,
        "versions": {
            "metricfit": mf.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
