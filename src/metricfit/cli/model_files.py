"""Models on disk: plain values, tensors, and objects of known types, read without executing anything."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import metricfit as mf
from metricfit.cli.class_decisions import ClassChoice
from metricfit.cli.decisions import Decision, Kind
from metricfit.cli.descriptions import CLASS_FORMAT, FORMAT, installed, read_description
from metricfit.cli.encoding import Columns, transformed
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_decisions import described, model_counts, restored
from metricfit.cli.model_objects import (
    model_networks,
    model_trees,
    other_versions,
    read_encoder,
    write_encoder,
)
from metricfit.cli.part_files import write_networks, write_objects

__all__ = ["Model", "load_model", "save_encoder", "save_model"]

DESCRIPTION, WEIGHTS, TREES, ENCODER = "model.json", "weights.pt", "trees.skops", "encoder.skops"
FILES = (WEIGHTS, TREES, ENCODER)


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model with all it takes to predict from a table.

    Attributes
    ----------
    metric : str
        What it was trained for, as text that `get_metric` reads.
    target : str
        The column that was predicted.
    positive, negative
        Its two values, or None if there are more.
    columns : Columns
        What a table must look like.
    encoder
        From columns to features.
    features : int
        How many features it gives.
    decision : Decision or ClassChoice
        From features to the decision.
    classes : tuple
        Its values if they are more than two.
    foreign_versions : str
        Which packages have other versions here than where the model was trained.
    """

    metric: str
    target: str
    positive: Any
    negative: Any
    columns: Columns
    encoder: Any
    features: int
    decision: Decision | ClassChoice
    classes: tuple[Any, ...] = ()
    foreign_versions: str = ""

    def margins(self, table: pd.DataFrame, *, ignore_unknown: bool) -> npt.NDArray[np.float64]:
        """Return how far rows are from the cut, or one column per class; the largest one is predicted."""
        return self.decision.margins(self.encoded(table, ignore_unknown=ignore_unknown))

    def encoded(self, table: pd.DataFrame, *, ignore_unknown: bool) -> npt.NDArray[np.float32]:
        """Return the features of the rows of a table."""
        return self._features(self.columns.check(table, ignore_unknown=ignore_unknown))

    def _features(self, table: pd.DataFrame) -> npt.NDArray[np.float32]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown categories were dealt with; gaps are filled
            try:
                features = transformed(self.encoder, table)
            except (ValueError, AttributeError, TypeError, LookupError) as error:
                if self.foreign_versions:
                    raise UserMistakeError(
                        f"The model cannot be used here: it was written with {self.foreign_versions}. "
                        f"Train it again, or install those versions."
                    ) from error
                if not isinstance(error, ValueError):
                    raise
                raise UserMistakeError(
                    f"The columns do not fit the model: {str(error).strip().splitlines()[0]}"
                ) from error
        if features.shape[1] != self.features:
            raise UserMistakeError(
                f"The model does not fit its encoder, which gives {features.shape[1]} features and not "
                f"{self.features}; train it again."
            )
        return features


def save_encoder(folder: Path, encoder: Any) -> None:
    """Write the encoder of a model into a folder, or say why it could not be read again."""
    write_encoder(folder / ENCODER, encoder)


def save_model(folder: Path, model: Model) -> None:
    """Write the rest of a model into the folder that holds its encoder."""
    write_networks(folder / WEIGHTS, model.decision.models("networks"))
    write_objects(folder / TREES, model.decision.models("trees"))
    labels: dict[str, Any] = {"positive": model.positive, "negative": model.negative}
    if model.classes:
        labels = {"classes": list(model.classes)}
    description = {
        "format": CLASS_FORMAT if model.classes else FORMAT,
        "metricfit": mf.__version__,
        "versions": installed(),
        "metric": model.metric,
        "target": model.target,
        **labels,
        **described(model.decision),
        "kinds": model.columns.kinds,
        "categories": model.columns.categories,
        "formats": model.columns.formats,
        "odd": model.columns.odd,
        "features": model.features,
        "digests": {name: _digest(folder / name) for name in FILES},
    }
    (folder / DESCRIPTION).write_text(json.dumps(description, indent=2, ensure_ascii=False), encoding="utf-8")


def load_model(folder: Path) -> Model:
    """Return the model in a folder; files that are not as they were written are refused.

    Examples
    --------
    >>> load_model(Path("nowhere"))
    Traceback (most recent call last):
        ...
    metricfit.cli.mistakes.UserMistakeError: There is no model in nowhere; give a folder ...
    """
    if not (folder / DESCRIPTION).is_file():
        raise UserMistakeError(
            f"There is no model in {folder}; give a folder that `metricfit fit` has written."
        )
    try:
        return _load(folder)
    except OSError as error:
        raise UserMistakeError(f"The model in {folder} cannot be read: {error.strerror or error}.") from None


def _load(folder: Path) -> Model:
    description = read_description(folder / DESCRIPTION)
    for name in FILES:
        if not (folder / name).is_file():
            raise UserMistakeError(f"The model in {folder} is incomplete: {name} is missing.")
        if _digest(folder / name) != description["digests"].get(name):
            raise UserMistakeError(
                f"{folder / name} is not the file that was written with this model; it is not read."
            )
    features, versions, counts = description["features"], description["versions"], model_counts(description)
    whole = description.get("whole")
    outputs = len(description["classes"]) if whole else 1
    models: dict[Kind, list[Any]] = {
        "networks": model_networks(folder / WEIGHTS, features, counts["networks"], outputs),
        "trees": model_trees(folder / TREES, features, counts["trees"], max(outputs, 2), versions),
    }
    return Model(
        metric=description["metric"],
        target=description["target"],
        positive=description.get("positive"),
        negative=description.get("negative"),
        columns=Columns(*(description[name] for name in ("kinds", "categories", "formats", "odd"))),
        encoder=read_encoder(folder / ENCODER, versions),
        features=features,
        decision=restored(description, models),
        classes=tuple(description.get("classes", ())),
        foreign_versions=other_versions(versions),
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
