"""Models on disk: plain values, tensors and an encoder of known types, read without executing anything."""

from __future__ import annotations

import hashlib
import json
import pickle
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import skops.io
import torch
from sklearn.pipeline import Pipeline
from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException

import metricfit as mf
from metricfit.cli.encoding import STEPS, Columns, transformed
from metricfit.cli.mistakes import UserMistakeError
from metricfit.sklearn import MLP

__all__ = ["Model", "load_model", "save_model"]

FORMAT = "metricfit model 1"
DESCRIPTION, WEIGHTS, ENCODER = "model.json", "weights.pt", "encoder.skops"
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
    """A trained model with all it takes to predict from a table."""

    metric: str
    target: str
    positive: Any
    negative: Any
    threshold: float
    columns: Columns
    encoder: Any
    network: torch.nn.Module

    def margins(self, table: pd.DataFrame, *, ignore_unknown: bool) -> npt.NDArray[np.float64]:
        """Return the scores of rows, less the threshold; above 0 is positive."""
        features = transformed(self.encoder, self.columns.check(table, ignore_unknown=ignore_unknown))
        with torch.no_grad():
            logits: torch.Tensor = self.network(torch.from_numpy(features)).reshape(-1)
        return logits.double().numpy() - self.threshold


def save_model(folder: Path, model: Model) -> None:
    """Write a model into a folder."""
    torch.save(model.network.state_dict(), folder / WEIGHTS)
    skops.io.dump(model.encoder, folder / ENCODER, compression=zipfile.ZIP_DEFLATED)
    description = {
        "format": FORMAT,
        "metricfit": mf.__version__,
        "metric": model.metric,
        "target": model.target,
        "positive": model.positive,
        "negative": model.negative,
        "threshold": model.threshold,
        "kinds": model.columns.kinds,
        "categories": model.columns.categories,
        "formats": model.columns.formats,
        "features": int(next(model.network.parameters()).shape[1]),
        "digests": {name: _digest(folder / name) for name in (WEIGHTS, ENCODER)},
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
    description = _description(folder / DESCRIPTION)
    for name in (WEIGHTS, ENCODER):
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
        threshold=float(description["threshold"]),
        columns=Columns(description["kinds"], description["categories"], description["formats"]),
        encoder=_encoder(folder / ENCODER),
        network=_network(folder / WEIGHTS, description["features"]),
    )


def _description(path: Path) -> dict[str, Any]:
    foreign = UserMistakeError(f"{path} describes no model of this version of metricfit; train it again.")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise foreign from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise foreign
    expected: dict[str, type | tuple[type, ...]] = {
        "metric": str,
        "target": str,
        "positive": (str, int, float, bool),
        "negative": (str, int, float, bool),
        "threshold": (int, float),
        "kinds": dict,
        "categories": dict,
        "formats": dict,
        "features": int,
        "digests": dict,
    }
    if not all(isinstance(description.get(name), kinds) for name, kinds in expected.items()):
        raise foreign
    return description


def _encoder(path: Path) -> Any:
    refused = UserMistakeError(f"{path} holds something else than an encoder of metricfit; it is not read.")
    try:
        found = set(skops.io.get_untrusted_types(file=path))
        if not found <= ENCODER_TYPES:
            raise refused
        encoder = skops.io.load(path, trusted=sorted(found))
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        TypeError,
        UnsupportedTypeException,
        UntrustedTypesFoundException,
    ):
        raise refused from None
    if not isinstance(encoder, Pipeline) or [name for name, _ in encoder.steps] != STEPS:
        raise refused
    return encoder


def _network(path: Path, features: int) -> torch.nn.Module:
    network = MLP(features)
    # torch raises what pickle, zip files and state dicts raise; all of it means the same here.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of foreign files torch warns before it refuses them
            network.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    except (
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
    ):
        raise UserMistakeError(
            f"{path} holds something else than the weights of this model; it is not read."
        ) from None
    return network.eval()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
