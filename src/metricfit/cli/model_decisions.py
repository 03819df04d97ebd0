"""Decisions as plain values, beside the models that they are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from metricfit.cli.class_decisions import ClassChoice, ClassModels
from metricfit.cli.decisions import Calibration, Decision, Kind, Part
from metricfit.sklearn.decisions import ClassDecision

__all__ = ["described", "model_counts", "restored"]

Models = Mapping[Kind, list[Any]]


def described(decision: Decision | ClassChoice) -> dict[str, Any]:
    """Return all of a decision but its models.

    Examples
    --------
    >>> described(Decision((Part("trees", (), 1.0, 1.0, 0.0),), None, 0.5))["threshold"]
    0.5
    """
    if isinstance(decision, Decision):
        return {
            "threshold": decision.cut,
            "calibration": None if decision.calibration is None else asdict(decision.calibration),
            "parts": [
                {
                    "kind": part.kind,
                    "models": len(part.models),
                    "weight": part.weight,
                    "slope": part.slope,
                    "intercept": part.intercept,
                }
                for part in decision.parts
            ],
        }
    whole = decision.whole
    return {
        "columns": [described(column) for column in decision.columns],
        "whole": None if whole is None else {"kind": whole.kind, "models": len(whole.models)},
        "slope": float(decision.decision.slope),
        "biases": decision.decision.biases.tolist(),
        "offsets": decision.decision.offsets.tolist(),
    }


def model_counts(description: Mapping[str, Any]) -> dict[Kind, int]:
    """Return how many models of each kind a description asks for.

    Examples
    --------
    >>> model_counts({"parts": [{"kind": "trees", "models": 5}]})
    {'networks': 0, 'trees': 5}
    """
    parts = [part for column in description.get("columns", [description]) for part in column["parts"]]
    parts += [description["whole"]] if description.get("whole") else []
    kinds: tuple[Kind, ...] = ("networks", "trees")
    return {kind: sum(part["models"] for part in parts if part["kind"] == kind) for kind in kinds}


def restored(description: Mapping[str, Any], models: Models) -> Decision | ClassChoice:
    """Return the decision that was described; its models are taken from the front of the lists.

    Examples
    --------
    >>> description = described(Decision((Part("trees", (None,), 1.0, 1.0, 0.0),), None, 0.5))
    >>> restored(description, {"trees": ["a model"]}).models("trees")
    ['a model']
    """
    if "classes" not in description:
        return _decision(description, models)
    whole = description["whole"]
    decision = ClassDecision(
        float(description["slope"]),
        np.array(description["biases"], dtype=np.float64),
        np.array(description["offsets"], dtype=np.float64),
    )
    return ClassChoice(
        tuple(_decision(column, models) for column in description["columns"]),
        whole and ClassModels(whole["kind"], _taken(whole, models)),
        decision,
    )


def _decision(description: Mapping[str, Any], models: Models) -> Decision:
    parts = [
        Part(
            part["kind"],
            _taken(part, models),
            float(part["weight"]),
            float(part["slope"]),
            float(part["intercept"]),
        )
        for part in description["parts"]
    ]
    written = description["calibration"]
    calibration = written and Calibration(
        float(written["slope"]),
        float(written["intercept"]),
        tuple(map(float, written["scores"])),
        tuple(map(float, written["shares"])),
    )
    return Decision(tuple(parts), calibration, float(description["threshold"]))


def _taken(part: Mapping[str, Any], models: Models) -> tuple[Any, ...]:
    return tuple(models[part["kind"]].pop(0) for _ in range(part["models"]))
