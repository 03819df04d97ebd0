"""The objects of a model on disk, with an error message for each file that is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from skrub import TableVectorizer

from metricfit.cli.descriptions import installed
from metricfit.cli.encoding import COLUMN_STEPS, STEPS
from metricfit.cli.mistakes import UserMistakeError, listed
from metricfit.cli.part_files import (
    ForeignFileError,
    read_networks,
    read_objects,
    read_trees,
    write_objects,
)

__all__ = ["model_networks", "model_trees", "other_versions", "read_encoder", "write_encoder"]

# The types in an encoder besides those of scikit-learn and NumPy. A file with any other is refused.
ENCODER_TYPES = frozenset(
    ["numpy.dtype"]
    # A list of the columns that are left over, in scikit-learn 1.6.
    + ["sklearn.compose._column_transformer._RemainderColsList"]
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


def other_versions(written: dict[str, str]) -> str:
    """Return which packages have other versions than those that wrote the encoder, or nothing."""
    present = installed()
    return ", ".join(
        f"{name} {written[name]} (here {present[name]})"
        for name in present
        if written.get(name, present[name]) != present[name]
    )


def read_encoder(path: Path, versions: dict[str, str]) -> Any:
    """Return the encoder in a file."""
    refused = _refusal(path, "an encoder of metricfit", versions)
    try:
        encoder = read_objects(path, ENCODER_TYPES)
    except ForeignFileError:
        raise refused from None
    kinds = [ColumnTransformer, SimpleImputer, StandardScaler]
    if not isinstance(encoder, Pipeline) or [name for name, _ in encoder.steps] != STEPS:
        raise refused
    if [type(step) for _, step in encoder.steps] != kinds or not _encodes_columns(encoder.steps[0][1]):
        raise refused
    return encoder


def write_encoder(path: Path, encoder: Any) -> None:
    """Write an encoder and read it again, so that an error appears before the training."""
    write_objects(path, encoder)
    try:
        read_encoder(path, installed())
    except UserMistakeError:
        _, _, others = encoder.steps[0][1].transformers_[-1]
        raise UserMistakeError(
            f"The encoding of the columns cannot be stored so that it can be read again. {len(others)} of "
            f"them hold text or dates: {listed(others)}. Leave some out by --drop."
        ) from None


def _encodes_columns(columns: ColumnTransformer) -> bool:
    """Whether numbers stay as they are, categories are encoded, and a vectorizer has the rest."""
    found = {name: step for name, step, _ in getattr(columns, "transformers_", ())}
    if list(found) != COLUMN_STEPS:
        return False
    numbers, categories, others = found.values()
    if not isinstance(categories, OneHotEncoder) or type(others) is not TableVectorizer:
        return False
    return numbers == "passthrough" or (type(numbers) is FunctionTransformer and numbers.func is None)


def model_trees(path: Path, features: int, count: int, classes: int, versions: dict[str, str]) -> list[Any]:
    """Return the models of trees in a file, whose numbers of models, features and classes are checked."""
    try:
        return read_trees(path, features, count, classes)
    except ForeignFileError:
        raise _refusal(path, "the trees of this model", versions) from None


def model_networks(path: Path, features: int, count: int, outputs: int) -> list[torch.nn.Module]:
    """Return the networks whose weights are in a file, whose sizes are checked."""
    try:
        return read_networks(path, features, count, outputs)
    except ForeignFileError:
        raise _refusal(path, "the weights of this model", {}) from None


def _refusal(path: Path, expected: str, versions: dict[str, str]) -> UserMistakeError:
    others = other_versions(versions)
    if others:
        return UserMistakeError(
            f"{path} cannot be read: it was written with {others}. Train the model again, or install "
            f"those versions."
        )
    return UserMistakeError(f"{path} holds something else than {expected}; it is not read.")
