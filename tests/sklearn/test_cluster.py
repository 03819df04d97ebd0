"""Sweeps go through joblib, so that naming a backend is all it takes to run them on a cluster."""

import distributed
import joblib
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

import metricfit as mf
from metricfit.sklearn import MetricClassifier

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def search(**settings):
    model = MetricClassifier(mf.f1, max_epochs=2, random_state=0)
    return GridSearchCV(model, {"lr": [0.001, 0.01], "metric": ["f1", "mcc"]}, cv=2, **settings)


@pytest.fixture(scope="module")
def data():
    return make_classification(200, 5, weights=[0.7], random_state=0)


def test_processes_of_this_machine_find_the_same(data):
    alone, shared = search().fit(*data), search(n_jobs=2).fit(*data)
    np.testing.assert_array_equal(alone.cv_results_["mean_test_score"], shared.cv_results_["mean_test_score"])


def test_a_dask_cluster_finds_the_same(data):
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        shared = search().fit(*data)
        assert cluster.scheduler.transition_counter > 0
    np.testing.assert_array_equal(
        search().fit(*data).cv_results_["mean_test_score"], shared.cv_results_["mean_test_score"]
    )
