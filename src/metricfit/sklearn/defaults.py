"""The members of an ensemble by default: a network and boosted trees, for tables of any kind."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from metricfit import Metric
from metricfit.sklearn.classifier import MetricClassifier
from metricfit.sklearn.inputs import is_missing, refuse_dates

__all__ = ["EmptyColumnsToZero", "default_members"]

# Rarer values of a column of words are one category of their own.
CATEGORIES = 30
# The most that the trees can tell apart.
TREE_CATEGORIES = 254
# With fewer rows of a class than this, the network is trained for a fixed number of epochs.
FEW = 20
EPOCHS = 30
# With more rows than this, scikit-learn's trees hold out a tenth of them to stop early.
STOPPED = 10_000
OBJECTS = np.dtype(object)
# The square of a larger number overflows when columns are standardised.
LARGEST = 1e150
# Of this many rows of the rarer class, a tenth is too few to decide when to stop.
RARE = 1000


def default_members(metric: Metric, X: Any, labels: npt.NDArray[np.int64]) -> list[tuple[str, Any]]:
    """Return a network that is trained for the metric, and boosted trees, as unfitted pipelines.

    Numbers and truth values are taken as they are, anything else as categories. For the network, missing
    numbers are replaced by the median and marked, numbers are standardised and categories are made into
    columns of 0 and 1. The trees take missing numbers and categories themselves. With more than 10,000 rows,
    but less than 1,000 of a class, they are regularised instead of stopped early.

    Parameters
    ----------
    metric : Metric
        With its constraints.
    X : array or data frame
        The table; only the types of its columns are used.
    labels : ndarray
        0 and 1.

    Examples
    --------
    >>> import metricfit as mf
    >>> [name for name, _ in default_members(mf.f1, np.zeros((3, 2)), np.array([0, 0, 1]))]
    ['network', 'trees']
    """
    if issparse(X):
        raise TypeError(
            "the default members need a dense table; give X.toarray(), or estimators that take sparse ones"
        )
    numbers, words = _columns(X)
    rarer = int(np.bincount(labels, minlength=2).min())
    few = rarer < FEW
    # The ensemble chooses the threshold for all members, so a threshold of the network would only take time.
    training: dict[str, Any] = {"cut": "zero"}
    if few:  # with few rows, none are held out to choose the epoch
        training |= {"validation_fraction": None, "max_epochs": EPOCHS}
    if not metric.playable:
        training["loss"] = "cross-entropy"
    network = ColumnTransformer(
        [
            ("numbers", _standard(), numbers),
            ("words", _one_hot(), words),
        ],
        sparse_threshold=0.0,
    )
    plain = make_pipeline(_plain(), EmptyColumnsToZero())
    trees = ColumnTransformer([("words", _codes(), words), ("numbers", plain, numbers)])
    growing: dict[str, Any] = {}
    if len(labels) > STOPPED and rarer < RARE:
        growing = {"early_stopping": False, "l2_regularization": 1.0, "max_features": 0.5}
    booster = HistGradientBoostingClassifier(categorical_features=list(range(len(words))) or None, **growing)
    return [
        ("network", Pipeline([("table", network), ("classifier", MetricClassifier(metric, **training))])),
        ("trees", Pipeline([("table", trees), ("classifier", booster)])),
    ]


class EmptyColumnsToZero(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Puts 0 in the columns that had no number in `fit`, because the trees cannot bin these.

    The rows of one fold may all lack a number that a few others have.

    Examples
    --------
    >>> EmptyColumnsToZero().fit_transform(np.array([[1.0, np.nan], [np.nan, np.nan]]))
    array([[ 1.,  0.],
           [nan,  0.]])
    """

    def fit(self, X: Any, y: Any = None) -> EmptyColumnsToZero:
        """Note which columns hold no number."""
        self.empty_ = np.isnan(X).all(axis=0)
        self.n_features_in_ = len(self.empty_)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the table with 0 in these columns."""
        return np.where(self.empty_, 0.0, X)


def _standard() -> Pipeline:
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(_plain(), imputer, StandardScaler())


def _plain() -> FunctionTransformer:
    """Return a step that makes floats of numbers, truth values and nullable types."""
    return FunctionTransformer(_floats, feature_names_out="one-to-one")


def _floats(X: Any) -> Any:
    if hasattr(X, "iloc") and not (X.dtypes == OBJECTS).any():
        values = X.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
        if values.dtype == OBJECTS:
            values = np.where(np.frompyfunc(is_missing, 1, 1)(values).astype(bool), np.nan, values)
        values = values.astype(np.float64)
    large = np.abs(values) > LARGEST
    if large.any():
        raise ValueError(f"X holds {values[large][0]:g}, which is too large; correct it, or make it missing")
    return values


def _texts(X: Any) -> Any:
    """Return an array of words in which every missing value is None."""
    values = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=object)
    return np.frompyfunc(_text, 1, 1)(values)


def _text(value: Any) -> str | None:
    if isinstance(value, dict | list | set | tuple | np.ndarray):
        raise TypeError(
            f"a column holds a {type(value).__name__}, but the argument must be a string or a number in "
            "every row; take such columns apart, or leave them out"
        )
    if is_missing(value):
        return None
    # Whole numbers are floats in a table where some are missing.
    whole = isinstance(value, float | np.floating) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _one_hot() -> Pipeline:
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=CATEGORIES, sparse_output=False
    )
    return make_pipeline(FunctionTransformer(_texts, feature_names_out="one-to-one"), encoder)


def _codes() -> Pipeline:
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=TREE_CATEGORIES,
    )
    return make_pipeline(FunctionTransformer(_texts, feature_names_out="one-to-one"), encoder)


def _columns(X: Any) -> tuple[list[int], list[int]]:
    """Return the indices of the columns of numbers and of anything else."""
    if hasattr(X, "columns"):
        numeric = [_is_numeric(name, X[name]) for name in X.columns]
    else:
        array = np.asarray(X)
        plain = array.dtype.kind in "biuf"
        numeric = [plain or _holds_numbers(array[:, index]) for index in range(array.shape[1])]
    indices = range(len(numeric))
    return [i for i in indices if numeric[i]], [i for i in indices if not numeric[i]]


def _is_numeric(name: object, column: Any) -> bool:
    dtype = column.dtype
    refuse_dates(name, dtype)
    if hasattr(dtype, "is_numeric"):
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "") in ("b", "i", "u", "f") or (dtype == OBJECTS and _holds_numbers(column))


def _holds_numbers(column: Any) -> bool:
    """Whether all known values are numbers, as in columns of decimals, or of whole numbers beside None."""
    known = [value for value in column if not is_missing(value)]
    return bool(known) and all(
        isinstance(value, int | float | Decimal | np.number | np.bool_) for value in known
    )
