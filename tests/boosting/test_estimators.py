"""Estimators with the objective are cloned, pickled and searched over."""

import pickle
import subprocess
import sys
import warnings

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV

from metricfit.boosting import MetricObjective

X, Y = make_classification(600, 6, weights=[0.8], random_state=0)
OBJECTIVE = MetricObjective("f1", played_rows=320)
MODELS = [
    lightgbm.LGBMClassifier(objective=OBJECTIVE, n_estimators=5, n_jobs=1, verbose=-1),
    xgboost.XGBClassifier(objective=OBJECTIVE, n_estimators=5, n_jobs=1),
]


def raw_scores(model):
    return model.predict(
        X, **({"raw_score": True} if "LGBM" in type(model).__name__ else {"output_margin": True})
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_clone_learns_the_same_and_a_pickle_predicts_the_same(model):
    fitted = clone(model).fit(X, Y)
    np.testing.assert_array_equal(raw_scores(clone(model).fit(X, Y)), raw_scores(fitted))
    np.testing.assert_array_equal(raw_scores(pickle.loads(pickle.dumps(fitted))), raw_scores(fitted))


def test_xgboost_decides_at_the_raw_score_0():
    model = clone(MODELS[1]).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), raw_scores(model) > 0)


def test_a_grid_can_hold_objectives():
    grid = {"objective": [MetricObjective("f1", played_rows=320), MetricObjective("mcc", played_rows=320)]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(clone(MODELS[1]), grid, scoring="f1", cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.5


def test_importing_the_objective_imports_no_library():
    program = "import sys, metricfit.boosting\n"
    program += "print({'lightgbm', 'xgboost', 'sklearn', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "set()", done.stderr
