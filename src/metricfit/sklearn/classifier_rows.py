"""The rows that the network's estimator is given, checked and encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from metricfit.sklearn.inputs import refuse_dates, refuse_frame, refuse_masked
from metricfit.sklearn.rows import HeldOut, class_index, complete, row_weights
from metricfit.sklearn.targets import check_labels, plain_labels

__all__ = ["GivenRows"]


class GivenRows:
    """The part of the estimator that checks rows and turns their labels into numbers.

    It reads ``classes_``, and the settings `class_weight` and `pos_label`.
    """

    classes_: npt.NDArray[Any]
    class_weight: Any
    pos_label: object
    _kind: str | None

    @property
    def _outputs(self) -> int:
        return 1 if self._kind is None else len(self.classes_)

    @property
    def _positive(self) -> int:
        """The index of the positive class."""
        return class_index(self.classes_, self.pos_label)

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        refuse_masked(X=X, y=y)
        refuse_frame(X)
        if hasattr(X, "columns"):
            for name in X.columns:
                refuse_dates(name, X[name].dtype)
        elif hasattr(X, "dtype"):
            refuse_dates(0, X.dtype)
        if y is not None:
            check_labels(y)
        shape = () if y is None or issparse(y) else np.asarray(y).shape
        several = issparse(y) or (len(shape) == 2 and shape[1] > 1)
        X, y = validate_data(
            self, X, y, dtype=np.float32, reset=reset, ensure_all_finite="allow-nan", multi_output=several
        )
        return complete(X, getattr(self, "feature_names_in_", None)), plain_labels(y)

    def _encoded(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return 1 for the positive class and 0 for the other; of several, the index of the class."""
        if self._kind == "labels":
            return np.asarray(y).astype(np.int64)
        if self._kind == "classes":
            return np.searchsorted(self.classes_, np.asarray(y).reshape(-1))
        return np.asarray(np.asarray(y).reshape(-1) == self.classes_[self._positive], dtype=np.int64)

    def _given(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> HeldOut:
        X, y = self._checked(X, y, reset=False)
        if self._kind is None and not np.array_equal(np.unique(y), self.classes_):
            raise ValueError(
                f"the validation_set must have rows of both classes, {self.classes_.tolist()}; "
                f"it has {np.unique(y).tolist()}"
            )
        columns = y.shape[1] if y.ndim == 2 else 1
        if self._kind == "labels" and columns != len(self.classes_):
            raise ValueError(
                f"the validation_set has {columns} labels per row, and the target has {len(self.classes_)}; "
                "give the same columns"
            )
        strange = np.setdiff1d(y, self.classes_)
        if self._kind == "classes" and len(strange):
            raise ValueError(
                f"the validation_set holds {strange[0]}, which is none of the classes "
                f"{self.classes_.tolist()}"
            )
        return HeldOut(X, self._encoded(y), row_weights(sample_weight, self.class_weight, y))
