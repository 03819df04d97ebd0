"""The eight metrics that methods are compared by."""

from __future__ import annotations

import metricfit as mf

__all__ = ["METRICS", "TITLES"]

METRICS: dict[str, mf.Metric] = {
    "accuracy": mf.accuracy,
    "f1": mf.f1,
    "f2": mf.f2,
    "gpr": mf.gm_precision_recall,
    "mcc": mf.mcc,
    "kappa": mf.kappa,
    "pr80": mf.precision_at_recall(0.8),
    "pr60": mf.precision_at_recall(0.6),
}
"""The paper's eight, by short names."""

TITLES = {
    "accuracy": "accuracy",
    "f1": "F1",
    "f2": "F2",
    "gpr": "GPR",
    "mcc": "MCC",
    "kappa": "kappa",
    "pr80": "precision at recall 0.8",
    "pr60": "precision at recall 0.6",
}
