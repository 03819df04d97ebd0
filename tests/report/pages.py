"""A page to look at."""

import numpy as np

import metricfit as mf
from metricfit.report import ColumnReport, Comparison, Importance, Method, render

FIGURES = (
    "calibration",
    "confusion",
    "importance",
    "precision-recall",
    "scores",
    "threshold",
    "training",
)


def a_comparison(metric=None):
    generator = np.random.default_rng(0)
    labels = (generator.random(300) < 0.3).astype(np.int64)
    methods = []
    for index, name in enumerate(["trained for <precision>", "cross-entropy", "tuned"]):
        epochs = [{"valid_metric": 0.5 + 0.01 * epoch} for epoch in range(5 + index)]
        margins = labels - 0.4 + generator.normal(scale=0.5 + 0.1 * index, size=300)
        chances = 1 / (1 + np.exp(-margins))
        methods.append(Method(name, margins, epochs, len(epochs), 0.0, 1.0, 0.5, chances))
    methods.append(Method("never positive", np.full(300, -1.0), [], 1, 0.0, 0.0, 0.1, constant=True))
    metric = metric or mf.precision.subject_to(mf.recall >= 0.7, mf.specificity >= 0.5)
    columns = [f"column <{index}>" for index in range(8)]
    return Comparison(
        "a & b",
        metric,
        labels,
        tuple(methods),
        ("mind <this>",),
        {"table": "x.csv"},
        importance=tuple(Importance(name, 0.1 - 0.02 * i, 0.01) for i, name in enumerate(columns)),
        columns=tuple(ColumnReport(name, "numbers", 0.25, "used <so>") for name in columns),
    )


def a_page():
    return render(
        [a_comparison(), a_comparison(mf.f1)], command="metricfit demo --metric 'a < b'", title="Two"
    )
