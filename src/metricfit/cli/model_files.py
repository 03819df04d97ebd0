"""Models on disk: plain values, tensors and an encoder of known types, read without executing anything."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import warnings
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import skops.io
import torch
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException
from skrub import TableVectorizer

import metricfit as mf
from metricfit.cli.archives import check_archive
from metricfit.cli.descriptions import FORMAT, installed, read_description
from metricfit.cli.encoding import STEPS, Columns, transformed
from metricfit.cli.mistakes import UserMistakeError
from metricfit.sklearn import MLP

__all__ = ["Model", "load_model", "save_model"]

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
    """A trained model with all it takes to predict from a table.

    Attributes
    ----------
    metric : str
        What it was trained for, as text that `get_metric` reads.
    target : str
        The column that was predicted.
    positive, negative
        Its two values.
    threshold : float
        The score above which a row is positive.
    columns : Columns
        What a table must look like.
    encoder, network
        From columns to features, and from features to a score.
    foreign_versions : str
        Which packages have other versions here than where the model was trained.
    """

    metric: str
    target: str
    positive: Any
    negative: Any
    threshold: float
    columns: Columns
    encoder: Any
    network: torch.nn.Module
    foreign_versions: str = ""

    def margins(self, table: pd.DataFrame, *, ignore_unknown: bool) -> npt.NDArray[np.float64]:
        """Return the scores of rows, less the threshold; above 0 is positive."""
        features = self._features(self.columns.check(table, ignore_unknown=ignore_unknown))
        with torch.no_grad():
            logits: torch.Tensor = self.network(torch.from_numpy(features)).reshape(-1)
        return logits.double().numpy() - self.threshold

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
        expected = next(self.network.parameters()).shape[1]
        if features.shape[1] != expected:
            raise UserMistakeError(
                f"The model does not fit its encoder, which gives {features.shape[1]} features and not "
                f"{expected}; train it again."
            )
        return features


def save_model(folder: Path, model: Model) -> None:
    """Write a model into a folder."""
    weights = io.BytesIO()  # torch reports a full disk as a RuntimeError without a cause
    torch.save(model.network.state_dict(), weights)
    (folder / WEIGHTS).write_bytes(weights.getbuffer())
    skops.io.dump(model.encoder, folder / ENCODER, compression=zipfile.ZIP_DEFLATED)
    description = {
        "format": FORMAT,
        "metricfit": mf.__version__,
        "versions": installed(),
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
    description = read_description(folder / DESCRIPTION)
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
        encoder=_encoder(folder / ENCODER, description["versions"]),
        network=_network(folder / WEIGHTS, description["features"]),
        foreign_versions=_other_versions(description["versions"]),
    )


def _other_versions(written: dict[str, str]) -> str:
    """Return which packages have other versions than those that wrote the encoder, or nothing."""
    here = installed()
    return ", ".join(
        f"{name} {written[name]} (here {here[name]})"
        for name in here
        if written.get(name, here[name]) != here[name]
    )


def _encoder(path: Path, versions: dict[str, str]) -> Any:
    others = _other_versions(versions)
    refused = UserMistakeError(f"{path} holds something else than an encoder of metricfit; it is not read.")
    if others:
        refused = UserMistakeError(
            f"{path} cannot be read: it was written with {others}. Train the model again, or install "
            f"those versions."
        )
    try:
        check_archive(path)
        found = set(skops.io.get_untrusted_types(file=path))
        if not found <= ENCODER_TYPES:
            raise refused
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other versions are told of in a sentence
            encoder = skops.io.load(path, trusted=sorted(found))
    except (
        zipfile.BadZipFile,
        zlib.error,
        LookupError,
        ValueError,
        TypeError,
        AttributeError,
        ImportError,
        NotImplementedError,
        RecursionError,
        UnsupportedTypeException,
        UntrustedTypesFoundException,
    ):
        raise refused from None
    kinds = [TableVectorizer, SimpleImputer, StandardScaler]
    if not isinstance(encoder, Pipeline) or [name for name, _ in encoder.steps] != STEPS:
        raise refused
    if [type(step) for _, step in encoder.steps] != kinds:
        raise refused
    return encoder


def _network(path: Path, features: int) -> torch.nn.Module:
    refused = UserMistakeError(f"{path} holds something else than the weights of this model; it is not read.")
    # Every feature has weights in the file, so that a network larger than the file is not made.
    if features > path.stat().st_size:
        raise refused
    network = MLP(features)
    # torch raises what pickle, zip files and state dicts raise; all of it means the same here.
    try:
        check_archive(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of foreign files torch warns before it refuses them
            network.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
    ):
        raise refused from None
    return network.eval()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
