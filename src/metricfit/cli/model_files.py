"""Models on disk: plain values, tensors, and objects of known types, read without executing anything."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skrub import TableVectorizer

import metricfit as mf
from metricfit.cli.decisions import Calibration, Decision, Part
from metricfit.cli.descriptions import FORMAT, installed, read_description
from metricfit.cli.encoding import STEPS, Columns, transformed
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.part_files import (
    ForeignFileError,
    read_networks,
    read_objects,
    read_trees,
    write_networks,
    write_objects,
)

__all__ = ["Model", "load_model", "save_model"]

DESCRIPTION, WEIGHTS, TREES, ENCODER = "model.json", "weights.pt", "trees.skops", "encoder.skops"
FILES = (WEIGHTS, TREES, ENCODER)
# What the encoder consists of beside scikit-learn and NumPy. A file with anything else is not ours.
ENCODER_TYPES = frozenset(
    ["numpy.dtype"]
    + [
        f"skrub.{name}"
        for name in (
            "_apply_to_each_col.ApplyToEachCol",
            "_check_input.CheckInputDataFrame",
            "_clean_categories.CleanCategories",
            "_clean_null_strings.CleanNullStrings",
            "_dataframe._common.is_any_date",
            "_dataframe._common.is_categorical",
            "_dataframe._common.is_numeric",
            "_datetime_encoder.DatetimeEncoder",
            "_drop_uninformative.DropUninformative",
            "_duration_to_float.DurationToFloat",
            "_string_encoder.StringEncoder",
            "_table_vectorizer.PassThrough",
            "_table_vectorizer.ShortReprDict",
            "_table_vectorizer.TableVectorizer",
            "_table_vectorizer._created_by_predicate",
            "_to_datetime.ToDatetime",
            "_to_float.ToFloat",
            "_to_str.ToStr",
            "selectors._base.All",
            "selectors._base.And",
            "selectors._base.Cols",
            "selectors._base.Filter",
            "selectors._base.Sub",
            "selectors._selectors._cardinality_below",
        )
    ]
)


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
        Its two values.
    columns : Columns
        What a table must look like.
    encoder
        From columns to features.
    features : int
        How many features it gives.
    decision : Decision
        From features to the decision.
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
    decision: Decision
    foreign_versions: str = ""

    def margins(self, table: pd.DataFrame, *, ignore_unknown: bool) -> npt.NDArray[np.float64]:
        """Return how far rows are from the cut; above 0 is positive."""
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


def save_model(folder: Path, model: Model) -> None:
    """Write a model into a folder."""
    write_networks(folder / WEIGHTS, model.decision.models("networks"))
    write_objects(folder / TREES, model.decision.models("trees"))
    write_objects(folder / ENCODER, model.encoder)
    description = {
        "format": FORMAT,
        "metricfit": mf.__version__,
        "versions": installed(),
        "metric": model.metric,
        "target": model.target,
        "positive": model.positive,
        "negative": model.negative,
        "threshold": model.decision.cut,
        "calibration": None if model.decision.calibration is None else asdict(model.decision.calibration),
        "parts": [
            {
                "kind": part.kind,
                "models": len(part.models),
                "weight": part.weight,
                "slope": part.slope,
                "intercept": part.intercept,
            }
            for part in model.decision.parts
        ],
        "kinds": model.columns.kinds,
        "categories": model.columns.categories,
        "formats": model.columns.formats,
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
    return Model(
        metric=description["metric"],
        target=description["target"],
        positive=description["positive"],
        negative=description["negative"],
        columns=Columns(description["kinds"], description["categories"], description["formats"]),
        encoder=_encoder(folder / ENCODER, description["versions"]),
        features=description["features"],
        decision=_decision(folder, description),
        foreign_versions=_other_versions(description["versions"]),
    )


def _decision(folder: Path, description: dict[str, Any]) -> Decision:
    counts = {
        kind: sum(part["models"] for part in description["parts"] if part["kind"] == kind)
        for kind in ("networks", "trees")
    }
    features = description["features"]
    versions = description["versions"]
    try:
        networks = read_networks(folder / WEIGHTS, features, counts["networks"])
    except ForeignFileError:
        raise _refusal(folder / WEIGHTS, "the weights of this model", {}) from None
    try:
        trees = read_trees(folder / TREES, features, counts["trees"])
    except ForeignFileError:
        raise _refusal(folder / TREES, "the trees of this model", versions) from None
    models: dict[str, list[Any]] = {"networks": networks, "trees": trees}
    parts = []
    for part in description["parts"]:
        line = {name: float(part[name]) for name in ("weight", "slope", "intercept")}
        taken = tuple(models[part["kind"]].pop(0) for _ in range(part["models"]))
        parts.append(Part(kind=part["kind"], models=taken, **line))
    written = description["calibration"]
    calibration = written and Calibration(
        float(written["slope"]),
        float(written["intercept"]),
        tuple(map(float, written["scores"])),
        tuple(map(float, written["shares"])),
    )
    return Decision(tuple(parts), calibration, float(description["threshold"]))


def _other_versions(written: dict[str, str]) -> str:
    """Return which packages have other versions than those that wrote the encoder, or nothing."""
    here = installed()
    return ", ".join(
        f"{name} {written[name]} (here {here[name]})"
        for name in here
        if written.get(name, here[name]) != here[name]
    )


def _encoder(path: Path, versions: dict[str, str]) -> Any:
    refused = _refusal(path, "an encoder of metricfit", versions)
    try:
        encoder = read_objects(path, ENCODER_TYPES)
    except ForeignFileError:
        raise refused from None
    kinds = [TableVectorizer, SimpleImputer, StandardScaler]
    if not isinstance(encoder, Pipeline) or [name for name, _ in encoder.steps] != STEPS:
        raise refused
    if [type(step) for _, step in encoder.steps] != kinds:
        raise refused
    return encoder


def _refusal(path: Path, expected: str, versions: dict[str, str]) -> UserMistakeError:
    others = _other_versions(versions)
    if others:
        return UserMistakeError(
            f"{path} cannot be read: it was written with {others}. Train the model again, or install "
            f"those versions."
        )
    return UserMistakeError(f"{path} holds something else than {expected}; it is not read.")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
