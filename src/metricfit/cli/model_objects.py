"""The objects of a model on disk: tensors and objects of known types, read without executing anything."""

from __future__ import annotations

import pickle
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import skops.io
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException
from skrub import TableVectorizer

from metricfit.cli.archives import check_archive
from metricfit.cli.descriptions import installed
from metricfit.cli.encoding import STEPS
from metricfit.cli.mistakes import UserMistakeError
from metricfit.sklearn import MLP

__all__ = ["other_versions", "read_encoder", "read_networks", "read_trees"]

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
# What gradient-boosted trees consist of beside what skops knows.
TREE_TYPES = frozenset(["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"])


def other_versions(written: dict[str, str]) -> str:
    """Return which packages have other versions than those that wrote the encoder, or nothing."""
    here = installed()
    return ", ".join(
        f"{name} {written[name]} (here {here[name]})"
        for name in here
        if written.get(name, here[name]) != here[name]
    )


def read_encoder(path: Path, versions: dict[str, str]) -> Any:
    """Return the encoder in a file."""
    refused = _refusal(path, "an encoder of metricfit", versions)
    encoder = _safely(path, ENCODER_TYPES, refused)
    kinds = [TableVectorizer, SimpleImputer, StandardScaler]
    if not isinstance(encoder, Pipeline) or [name for name, _ in encoder.steps] != STEPS:
        raise refused
    if [type(step) for _, step in encoder.steps] != kinds:
        raise refused
    return encoder


def read_trees(path: Path, features: int, count: int, classes: int, versions: dict[str, str]) -> list[Any]:
    """Return so many models of trees in a file, for so many features and classes."""
    refused = _refusal(path, "the trees of this model", versions)
    found = _safely(path, TREE_TYPES, refused)
    if not isinstance(found, list) or len(found) != count:
        raise refused
    for trees in found:
        if type(trees) is not HistGradientBoostingClassifier:
            raise refused
        if getattr(trees, "n_features_in_", None) != features or len(trees.classes_) != classes:
            raise refused
    return found


def _refusal(path: Path, expected: str, versions: dict[str, str]) -> UserMistakeError:
    others = other_versions(versions)
    if others:
        return UserMistakeError(
            f"{path} cannot be read: it was written with {others}. Train the model again, or install "
            f"those versions."
        )
    return UserMistakeError(f"{path} holds something else than {expected}; it is not read.")


def _safely(path: Path, known: frozenset[str], refused: UserMistakeError) -> Any:
    """Return what a file of skops holds, if it is of known types only."""
    try:
        check_archive(path)
        found = set(skops.io.get_untrusted_types(file=path))
        if not found <= known:
            raise refused
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other versions are named in a note
            return skops.io.load(path, trusted=sorted(found))
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


def read_networks(path: Path, features: int, count: int, outputs: int) -> list[torch.nn.Module]:
    """Return so many networks whose weights are in a file."""
    refused = UserMistakeError(f"{path} holds something else than the weights of this model; it is not read.")
    # Every feature has weights in the file, so that networks larger than the file are not made.
    if count * features > path.stat().st_size:
        raise refused
    # torch raises what pickle, zip files and state dicts raise; all of it means the same here.
    try:
        check_archive(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of foreign files torch warns before it refuses them
            states = torch.load(path, weights_only=True, map_location="cpu")
        if not isinstance(states, list) or len(states) != count:
            raise refused
        networks = [MLP(features, outputs=outputs) for _ in states]
        for network, state in zip(networks, states, strict=True):
            network.load_state_dict(state)
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
    return [network.eval() for network in networks]
