"""The ensemble with the rows and labels that strangers bring, and with a training that is stopped."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch.callbacks import Callback

import metricfit as mf
from metricfit.sklearn import MetricClassifier, MetricEnsemble
from metricfit.sklearn.defaults import default_members


@pytest.fixture(scope="module")
def data():
    return make_classification(
        400, 6, n_informative=4, weights=[0.8], flip_y=0.1, class_sep=0.7, random_state=0
    )


def quick(estimators=None, **settings):
    members = (
        [("linear", LogisticRegression()), ("bayes", GaussianNB())] if estimators is None else estimators
    )
    return MetricEnsemble(members, **{"cv": 3, "random_state": 0, **settings})


NUMBERS_AS_OBJECTS = {
    "decimals, as a database has them": lambda X: X.map(lambda value: Decimal(repr(value))),
    "objects": lambda X: X.astype(object),
    "objects with gaps": lambda X: X.astype(object).where(X > -2.0, None),
    "objects with pandas' own gaps": lambda X: X.astype(object).where(X > -2.0, pd.NA),
    "an array with them": lambda X: X.astype(object).where(X > -2.0, pd.NA).to_numpy(),
}


@pytest.mark.parametrize("kind", NUMBERS_AS_OBJECTS)
def test_columns_of_number_objects_are_numbers(data, kind):
    X, y = data
    table = NUMBERS_AS_OBJECTS[kind](pd.DataFrame(X).round(2))
    members = default_members(mf.f1, table, y)
    assert [len(columns) for _, _, columns in members[0][1]["table"].transformers] == [6, 0]
    model = MetricEnsemble(members[1:], cv=2, random_state=0).fit(table, y)
    assert roc_auc_score(y, model.oof_) > 0.7


def test_categories_that_are_whole_numbers_may_come_back_as_floats(data):
    X, y = data
    table = pd.DataFrame({"plan": (X[:, 0] > 0).astype(int), "size": X[:, 1]}).astype({"plan": "category"})
    model = MetricEnsemble(cv=2, random_state=0).fit(table, y)
    np.testing.assert_array_equal(model.predict(table.astype({"plan": float})), model.predict(table))


@pytest.mark.parametrize("value", [np.inf, 1e300])
def test_a_number_too_large_to_standardise_is_named(data, value):
    X, y = data
    with pytest.raises(ValueError, match=f"X holds {value:g}".replace("+", r"\+") + ", which is too large"):
        MetricEnsemble(cv=2, random_state=0).fit(np.where(X > 3.0, value, X), y)


@pytest.mark.parametrize("model", [MetricClassifier(), MetricEnsemble()], ids=["classifier", "ensemble"])
def test_frames_that_cannot_be_taken_apart_are_refused(model, data):
    X, y = data
    with pytest.raises(ValueError, match="X has two columns named 'a'; rename one of them"):
        clone(model).fit(pd.DataFrame(X, columns=list("abcdea")), y)
    with pytest.raises(TypeError, match=r"a lazy frame, which has no rows yet; give X.collect\(\)"):
        clone(model).fit(pl.DataFrame(X).lazy(), y)


def test_columns_without_a_number_can_be_fitted():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 120)
    X = pd.DataFrame({"said": random.normal(size=120) + 2 * y, "never": np.nan, "same": 1.0})
    # One fold trains without the only number of this column.
    X["once"] = [3.0] + [np.nan] * 119
    model = MetricEnsemble(cv=2, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.predict(X.assign(never=5.0)).shape == y.shape


def test_a_member_whose_scores_are_no_numbers_is_named(data):
    X, y = data
    constant = np.ones_like(X)
    with (
        np.errstate(all="ignore"),
        pytest.raises(ValueError, match="the scores of bayes are NaN for 134 of 134 rows"),
    ):
        quick([("bayes", GaussianNB(var_smoothing=0.0))]).fit(constant, y)


class Odd(ClassifierMixin, BaseEstimator):
    """Returns scores of any shape."""

    def __init__(self, shape=()):
        self.shape = shape

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), *self.shape), 0.5)


class OddDecision(Odd):
    def decision_function(self, X):
        return self.predict_proba(X)


@pytest.mark.parametrize(
    ("member", "sentence"),
    [
        (Odd(), r"predict_proba of Odd returned the shape \(134,\) .* a probability for each of two classes"),
        (Odd((3,)), r"predict_proba of Odd returned the shape \(134, 3\)"),
        (OddDecision((2,)), r"decision_function of OddDecision returned the shape .* one score per row"),
        (make_pipeline(StandardScaler(), Odd((1,))), r"predict_proba of Odd returned the shape \(134, 1\)"),
    ],
    ids=["no columns", "three columns", "decisions", "pipeline"],
)
def test_a_member_with_scores_of_another_shape_is_refused(data, member, sentence):
    with pytest.raises(ValueError, match=sentence):
        quick([member]).fit(*data)


class Interrupting(Callback):
    """Does what Ctrl-C does, in the second epoch."""

    def on_epoch_begin(self, net, **kwargs):
        if len(net.history) == 2:
            raise KeyboardInterrupt


def test_ctrl_c_ends_the_fit_of_all_members(data):
    network = MetricClassifier("f1", max_epochs=5, callbacks=[Interrupting()], random_state=0)
    assert clone(network).fit(*data).interrupted_
    with pytest.raises(KeyboardInterrupt):
        quick([("network", make_pipeline(StandardScaler(), network))]).fit(*data)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array([False, True]),
        np.array([-1, 1]),
        np.array([0.0, 1.0]),
    ],
    ids=["str", "object", "bool", "signs", "float"],
)
@pytest.mark.parametrize("pack", [np.asarray, pd.Series, list], ids=["array", "series", "list"])
def test_labels_of_any_kind_are_predicted_as_they_were_given(data, labels, pack):
    X, y = data
    model = quick().fit(X, pack(labels[y]))
    np.testing.assert_array_equal(model.predict(X), labels[quick().fit(X, y).predict(X)])
    assert model.predict(X).dtype.kind == model.classes_.dtype.kind


def test_rows_of_pandas_are_matched_by_place_and_not_by_index(data):
    X, y = data
    random = np.random.default_rng(0)
    groups, weights = np.arange(len(y)) // 4, random.integers(0, 3, len(y)).astype(float)

    def shuffled(values):
        kind = pd.DataFrame if np.ndim(values) == 2 else pd.Series
        return kind(values, index=random.permutation(len(y)))

    plain = quick().fit(X, y, sample_weight=weights, groups=groups)
    frame = shuffled(X).rename(columns=str)
    packed = quick().fit(frame, shuffled(y), sample_weight=shuffled(weights), groups=shuffled(groups))
    np.testing.assert_allclose(packed.oof_, plain.oof_)


def test_rows_without_weight_do_not_count(data):
    X, y = data
    kept = np.arange(len(y)) % 3 > 0
    changed = np.where(kept, y, 1 - y)
    # The same folds for both, of the rows that count.
    folds = list(StratifiedKFold(3).split(X[kept], y[kept]))
    places = np.flatnonzero(kept)
    wide = [(np.concatenate((places[train], np.flatnonzero(~kept))), places[test]) for train, test in folds]
    weighted = quick(cv=wide).fit(X, changed, sample_weight=kept.astype(float))
    alone = quick(cv=folds).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.predict_proba(X), alone.predict_proba(X), atol=1e-3)
    assert weighted.cut_ == pytest.approx(alone.cut_, abs=1e-3)


def test_equal_weights_are_none(data):
    X, y = data
    np.testing.assert_array_equal(
        quick().fit(X, y, sample_weight=np.full(len(y), 3.0)).oof_, quick().fit(X, y).oof_
    )


@pytest.mark.slow
def test_jobs_within_jobs_fit_the_same(data):
    X, y = data
    grid = {"metric": ["f1", "f2"]}
    inner = GridSearchCV(quick(n_jobs=2), grid, cv=2, n_jobs=2, error_score="raise").fit(X, y)
    alone = GridSearchCV(quick(), grid, cv=2, error_score="raise").fit(X, y)
    np.testing.assert_array_equal(inner.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
