"""The objective in LightGBM and XGBoost, in each of their interfaces."""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.datasets import make_classification

import metricfit as mf
from metricfit.boosting import MetricObjective

X, Y = make_classification(1500, 6, weights=[0.85], flip_y=0.05, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 1500)
OBJECTIVE = MetricObjective("f1", played_rows=640)
ROUNDS = 25


def lightgbm_sklearn(y=Y, objective=OBJECTIVE, weights=None, n_jobs=1):
    # Its sums of gradients depend on the number of threads unless it is told otherwise.
    model = lightgbm.LGBMClassifier(
        objective=objective,
        n_estimators=ROUNDS,
        n_jobs=n_jobs,
        verbose=-1,
        deterministic=True,
        force_row_wise=True,
    )
    return model.fit(X, y, sample_weight=weights).predict(X, raw_score=True)


def lightgbm_train(y=Y, objective=OBJECTIVE, weights=None, n_jobs=1):
    settings = {"objective": objective, "num_threads": n_jobs, "verbose": -1}
    settings |= {"deterministic": True, "force_row_wise": True}
    return lightgbm.train(settings, lightgbm.Dataset(X, y, weight=weights), ROUNDS).predict(X)


def xgboost_sklearn(y=Y, objective=OBJECTIVE, weights=None, n_jobs=1):
    model = xgboost.XGBClassifier(objective=objective, n_estimators=ROUNDS, n_jobs=n_jobs)
    return model.fit(X, y, sample_weight=weights).predict(X, output_margin=True)


def xgboost_train(y=Y, objective=OBJECTIVE, weights=None, n_jobs=1):
    rows = xgboost.DMatrix(X, y, weight=weights)
    trees = xgboost.train({"nthread": n_jobs, "base_score": 0.0}, rows, ROUNDS, obj=objective)
    return trees.predict(rows, output_margin=True)


WAYS = [lightgbm_sklearn, lightgbm_train, xgboost_sklearn, xgboost_train]
pytestmark = pytest.mark.parametrize("scores_of", WAYS, ids=lambda way: way.__name__)


def test_scores_above_0_are_positives(scores_of):
    assert mf.f1.score(Y, (scores_of() > 0).astype(int)) > 0.85


def test_training_again_gives_the_same_scores(scores_of):
    np.testing.assert_array_equal(scores_of(), scores_of())


def test_the_number_of_threads_makes_no_difference(scores_of):
    threaded = MetricObjective("f1", played_rows=640, threads=3)
    np.testing.assert_allclose(scores_of(objective=threaded, n_jobs=2), scores_of(), atol=1e-6)


def test_weights_count(scores_of):
    weighted = scores_of(weights=WEIGHTS)
    assert np.abs(weighted - scores_of()).max() > 0.01
    assert mf.f1.score(Y, (weighted > 0).astype(int), sample_weight=WEIGHTS) > 0.85


def test_constraints_are_met_on_the_rows_of_training(scores_of):
    objective = MetricObjective("precision subject to recall >= 0.8", played_rows=320)
    predicted = (scores_of(objective=objective) > 0).astype(int)
    assert mf.recall.score(Y, predicted) >= 0.75
    assert mf.precision.score(Y, predicted) > 0.5


def test_three_classes_are_refused_with_a_message(scores_of):
    with pytest.raises(ValueError, match=r"it is for two classes|labels must be 0 and 1, got 2"):
        scores_of(y=np.arange(1500) % 3)


def test_labels_without_a_positive_are_refused_with_a_message(scores_of):
    with pytest.raises(ValueError, match="no row with a weight above 0 has the label 1"):
        scores_of(y=np.zeros(1500, int))
