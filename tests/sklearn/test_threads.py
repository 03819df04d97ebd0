"""Small tables are fitted with one OpenMP thread, so that a busy machine does not stall them."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import ThreadpoolController

from metricfit.sklearn import MetricEnsemble
from metricfit.sklearn.threads import threads_for


def openmp_threads():
    found = [one["num_threads"] for one in ThreadpoolController().info() if one["user_api"] == "openmp"]
    assert found
    return found


@pytest.mark.parametrize("table", [np.zeros((180, 4)), csr_array((180, 4)), ["a text", "another"]])
def test_a_small_table_gets_one_thread_and_the_rest_is_as_before(table):
    before = openmp_threads()
    with threads_for(table):
        assert set(openmp_threads()) == {1}
    assert openmp_threads() == before


def test_a_large_table_gets_all_threads():
    before = openmp_threads()
    with threads_for(np.broadcast_to(0.0, (500_000, 20))):
        assert openmp_threads() == before


def test_a_network_gets_all_threads_only_for_a_large_batch():
    before = openmp_threads()
    table = np.broadcast_to(np.float32(0.0), (500_000, 1000))
    with threads_for(table, batch_size=64):
        assert set(openmp_threads()) == {1}
    with threads_for(table, batch_size=1000):
        assert openmp_threads() == before
    with threads_for(table[:50], batch_size=1000):
        assert set(openmp_threads()) == {1}


class Counting(ClassifierMixin, BaseEstimator):
    """Notes how many threads there were when it was fitted and asked."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.threads_ = openmp_threads()
        return self

    def decision_function(self, X):
        assert set(openmp_threads()) == {1}
        return X[:, 0]


def test_members_are_fitted_and_asked_with_one_thread():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    labels = (X[:, 0] + random.normal(size=60) > 0).astype(int)
    ensemble = MetricEnsemble([("counting", Counting())], metric="f1").fit(X, labels)
    ensemble.predict(X)
    assert all(set(model.threads_) == {1} for member in ensemble.members_.values() for model in member.models)
