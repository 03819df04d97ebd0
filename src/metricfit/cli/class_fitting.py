"""What ``metricfit fit`` reports of a target of more than two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import metricfit as mf
from metricfit.cli.choosing import about_constant, about_interruption
from metricfit.cli.class_results import majority
from metricfit.cli.importance import column_importance
from metricfit.cli.metrics_asked import class_metric
from metricfit.cli.mistakes import UserMistakeError, listed
from metricfit.cli.model_files import Model
from metricfit.cli.results import Result
from metricfit.cli.tables import ClassTarget, label_text
from metricfit.report import ClassComparison

if TYPE_CHECKING:
    from metricfit.cli.fitting import FitOptions, Parts

__all__ = ["checked_for_classes", "classes_compared"]


def checked_for_classes(metric: mf.Metric, target: ClassTarget, options: FitOptions) -> mf.Metric:
    """Return the metric, if it and the other options go with more than two classes."""
    if options.confidence is not None:
        raise UserMistakeError(
            f"--confidence is for a target of two values, and {target.name} has {len(target.classes)}; "
            f"leave it out."
        )
    return class_metric(metric, target.name, len(target.classes))


def classes_compared(
    result: Result,
    model: Model,
    metric: mf.Metric,
    target: ClassTarget,
    parts: Parts,
    notes: list[str],
    options: FitOptions,
) -> ClassComparison:
    """Return all classifiers on the test rows, with one that always predicts the most frequent class."""
    classes = tuple(label_text(label) for label in target.classes)
    constant, at_train = majority(
        metric, parts.train_codes, parts.train_weights, len(parts.test_codes), classes
    )
    called = f"{metric.average} {metric.name}"
    notes = [result.why, *notes, *result.notes]
    notes += about_constant(constant.name, at_train, result, called, target.name)
    never = np.setdiff1d(np.arange(len(classes)), result.methods[0].predicted)
    if len(never):
        notes.append(
            f"Warning: the model predicts {target.name} = {listed(classes[code] for code in never)} for "
            f"none of the {len(parts.test_codes)} test rows."
        )
    notes += about_interruption(result)
    return ClassComparison(
        target.name,
        metric,
        parts.test_codes,
        (*result.methods, constant),
        tuple(notes),
        _facts(parts, options, result, classes),
        parts.test_weights,
        column_importance(model, metric, parts.test, parts.test_codes, parts.test_weights, seed=options.seed),
        classes=classes,
    )


def _facts(parts: Parts, options: FitOptions, result: Result, classes: tuple[str, ...]) -> dict[str, str]:
    counts = np.bincount(parts.train_codes, minlength=len(classes))
    rows = ", ".join(f"{name}: {count}" for name, count in zip(classes, counts.tolist(), strict=True))
    few = f"{len(classes)}, of {counts.min()} to {counts.max()} rows"
    facts = {
        "training rows": f"{len(parts.train)}; {result.how_held_out}",
        "classes": rows if len(classes) <= 20 else few,
        "columns": str(len(parts.train.columns)),
        "table": options.table.name,
    }
    if options.weight is not None:
        facts["weights"] = options.weight
    return facts
