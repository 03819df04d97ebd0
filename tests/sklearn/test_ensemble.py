"""The ensemble is a scikit-learn classifier of classifiers, and decides for the metric."""

import pickle
import warnings

import distributed
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import metricfit as mf
from metricfit.sklearn import MetricEnsemble, best_cut
from metricfit.sklearn.crossfit import make_folds
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


@pytest.mark.parametrize("cut", ["zero", "expected"])
def test_every_check_of_scikit_learn_passes(cut):
    # Elsewhere than at one half, the decision is not the more probable class, which is the purpose.
    known = {} if cut == "zero" else {"check_classifiers_train": "the cut is not at one half"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks feed data that are meant to warn
        results = check_estimator(
            quick([LogisticRegression(C=10.0)], cut=cut), expected_failed_checks=known, on_fail=None
        )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_by_default_it_takes_tables_of_any_kind(frame):
    random = np.random.default_rng(0)
    n = 300
    y = random.integers(0, 2, n)
    columns = {
        "number": np.where(random.random(n) < 0.1, np.nan, random.normal(size=n) + y),
        "count": random.integers(0, 5, n),
        "flag": random.random(n) < 0.2 + 0.5 * y,
        "word": [None if i % 17 == 0 else "abc"[(i + label) % 3] for i, label in enumerate(y)],
    }
    if frame == "pandas":
        X = pd.DataFrame(columns)
        X["kind"] = pd.Categorical(random.choice(["x", "y"], n))
        X["maybe"] = pd.array([None if i % 9 == 0 else i % 4 for i in range(n)], dtype="Int64")
        new = X.assign(word="never seen", number=np.nan)
    else:
        X = pl.DataFrame(columns)
        new = X.with_columns(pl.lit("never seen").alias("word"))
    model = MetricEnsemble(cv=2, random_state=0).fit(X, y)
    assert list(model.weights_) == ["network", "trees"]
    assert model.score(X, y) > 0.75
    assert list(model.feature_names_in_) == list(X.columns)
    assert np.isfinite(model.decision_function(new)).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_by_default_it_takes_arrays_of_objects():
    X = np.array([[1.0, "a"], [None, "b"], [3.0, None], [4.0, "b"]] * 20, dtype=object)
    y = np.tile([0, 1, 0, 1], 20)
    assert MetricEnsemble(cv=2, random_state=0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    ("rows", "positives", "regularised"),
    [(20_000, 999, True), (20_000, 19_500, True), (20_000, 1000, False), (10_000, 100, False)],
)
def test_trees_are_regularised_where_few_of_many_rows_could_decide_when_to_stop(rows, positives, regularised):
    labels = (np.arange(rows) < positives).astype(np.int64)
    trees = dict(default_members(mf.f1, np.zeros((rows, 1)), labels))["trees"][-1]
    assert (trees.early_stopping is False) == regularised
    assert (trees.l2_regularization > 0.0) == regularised


def test_dates_and_sparse_tables_are_not_for_the_default_members():
    y = np.tile([0, 1], 20)
    dates = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=40)})
    with pytest.raises(ValueError, match="column 'when' holds dates"):
        MetricEnsemble().fit(dates, y)
    with pytest.raises(TypeError, match="need a dense table"):
        MetricEnsemble().fit(csr_array(np.eye(40)), y)


def test_no_row_is_scored_by_a_model_that_has_seen_it():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), random.integers(0, 2, 400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # noise may be decided all alike
        model = quick([DecisionTreeClassifier()]).fit(X, y)
    assert abs(roc_auc_score(y, model.oof_) - 0.5) < 0.1


def test_what_predicts_is_the_average_of_all_models(data):
    X, y = data
    model = quick().fit(X, y)
    total = 0.0
    for name, share in model.weights_.items():
        models = model.members_[name].models
        assert len(models) == 3
        if name == "linear":
            scores = [one.decision_function(X) for one in models]
        else:
            floor = model.members_[name].floor
            scores = [logit(one.predict_proba(X)[:, 1].clip(floor, 1 - floor)) for one in models]
        total = total + share * model.calibrators_[name].logits(np.mean(scores, axis=0))
    expected = model.calibrator_(total)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)
    np.testing.assert_array_equal(model.predict(X) == 1, expected > model.cut_)
    np.testing.assert_array_equal(model.predict(X) == 1, model.decision_function(X) > 0)
    assert sum(model.weights_.values()) == pytest.approx(1.0)


def test_members_that_do_not_help_are_left_out(data):
    X, y = data
    random = np.random.default_rng(0)
    noise = make_pipeline(
        StandardScaler(with_mean=False), DecisionTreeClassifier(max_features=1, random_state=0)
    )
    model = quick([("good", LogisticRegression()), ("constant", DummyClassifier()), ("noise", noise)])
    shuffled = np.column_stack((X, random.normal(size=(len(X), 20))))
    model.fit(shuffled, y)
    assert model.weights_["constant"] == 0.0
    assert model.weights_["good"] > model.weights_["noise"]
    assert "constant" not in model.members_


def test_probabilities_are_calibrated():
    X, y = make_classification(4000, 8, n_informative=5, flip_y=0.2, weights=[0.7], random_state=1)
    overconfident = GaussianNB(var_smoothing=0.1)
    model = quick([overconfident, GaussianNB()]).fit(X[:2000], y[:2000])
    p = model.predict_proba(X[2000:])[:, 1]
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0)):
        rows = (p >= low) & (p < high)
        assert abs(p[rows].mean() - y[2000:][rows].mean()) < 0.06


def test_an_empirical_cut_is_the_best_for_the_labels(data):
    X, y = data
    model = quick(metric=mf.mcc, cut="empirical").fit(X, y)
    best = best_cut(mf.mcc, model.oof_, y)
    assert model.cuts_[1].value == pytest.approx(best.value)
    assert mf.mcc.score(y, model.oof_ > model.cut_) == pytest.approx(best.value)


def test_cuts_follow_the_metric(data):
    X, y = data
    cuts = {metric: quick(metric=metric).fit(X, y).cut_ for metric in ("f2", "f1", "fbeta(0.5)")}
    assert cuts["f2"] < cuts["f1"] < cuts["fbeta(0.5)"]
    assert quick(cut="zero").fit(X, y).cut_ == 0.5


@pytest.mark.parametrize("cut", ["expected", "empirical"])
def test_constraints_hold_out_of_fold(data, cut):
    X, y = data
    model = quick(metric="precision", subject_to="recall >= 0.7", cut=cut).fit(X, y)
    assert model.cuts_[1].violation == 0.0
    assert mf.recall.score(y, model.oof_ > model.cut_) >= 0.7


def test_constraints_out_of_reach_are_reported(data):
    with pytest.warns(UserWarning, match="no cut meets the constraints"):
        quick(subject_to=["precision >= 0.99", "recall >= 0.99"], cut="empirical").fit(*data)


def test_a_decision_for_one_class_only_is_reported():
    random = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="every out-of-fold row is predicted to be 0"):
        quick([DummyClassifier()], metric="accuracy").fit(
            random.normal(size=(60, 2)), np.repeat([0, 1], [50, 10])
        )


def test_labels_may_be_strings_and_either_may_be_positive(data):
    X, y = data
    names = np.array(["stays", "churns"])[y]
    plain, named = quick().fit(X, y), quick(pos_label="churns").fit(X, names)
    assert list(named.classes_) == ["churns", "stays"]
    np.testing.assert_array_equal(named.predict(X) == "churns", plain.predict(X) == 1)
    np.testing.assert_allclose(named.decision_function(X), -plain.decision_function(X))
    np.testing.assert_allclose(named.predict_proba(X), plain.predict_proba(X)[:, ::-1])
    assert named.score(X, names) == plain.score(X, y) == mf.f1.score(y, plain.predict(X))
    assert list(named.cuts_) == ["churns"]


def test_grid_search_sets_what_is_inside_of_members(data):
    grid = {
        "linear__C": [0.01, 1.0],
        "metric": ["f1", "mcc"],
        "bayes": [GaussianNB(), LogisticRegression(C=9)],
    }
    search = GridSearchCV(quick(), grid, cv=2, error_score="raise").fit(*data)
    assert search.best_score_ > 0.3
    best = search.best_estimator_
    assert best.get_params()["linear__C"] == search.best_params_["linear__C"]
    assert search.best_params_["linear__C"] == best.members_["linear"].models[0].C


def test_a_clone_has_the_same_settings():
    model = quick(metric=mf.f2, subject_to=mf.recall >= 0.5)
    assert repr(clone(model).get_params()) == repr(model.get_params())


def test_the_same_seed_gives_the_same_ensemble(data):
    X, y = data
    members = [RandomForestClassifier(5), HistGradientBoostingClassifier(max_iter=5)]
    one, other = quick(members).fit(X, y), quick(members).fit(X, y)
    np.testing.assert_array_equal(one.oof_, other.oof_)
    assert not np.array_equal(one.oof_, quick(members, random_state=1).fit(X, y).oof_)
    assert members[0].random_state is None


def test_sparse_tables_go_to_members_that_take_them(data):
    X, y = data
    dense, sparse = (
        quick([LogisticRegression()]).fit(X, y),
        quick([LogisticRegression()]).fit(csr_array(X), y),
    )
    np.testing.assert_allclose(sparse.predict_proba(csr_array(X)), dense.predict_proba(X), rtol=1e-4)


def test_weights_reach_the_last_step_of_a_pipeline(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    weights = np.where(y == 1, 5.0, 1.0)
    plain, weighted = quick([pipeline]).fit(X, y), quick([pipeline]).fit(X, y, sample_weight=weights)
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1
    with pytest.raises(ValueError, match="kneighborsclassifier takes no sample_weight"):
        quick([KNeighborsClassifier()]).fit(X, y, sample_weight=weights)


def test_a_group_is_in_one_fold():
    labels, groups = np.tile([0, 1], 30), np.repeat(np.arange(12), 5)
    for train, test in make_folds(4, None, labels, groups, 0):
        assert not set(groups[train]) & set(groups[test])


def test_rows_that_no_fold_scores_have_no_probability(data):
    X, y = data
    model = quick(cv=TimeSeriesSplit(3)).fit(X, y)
    assert np.isnan(model.oof_[:100]).all()
    assert not np.isnan(model.oof_[100:]).any()
    assert model.score(X, y) > 0.3


def test_few_rows_of_a_class_make_fewer_folds(data):
    X, y = data
    rare = np.concatenate((np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:2]))
    with pytest.warns(UserWarning, match="has 2 rows only, so cv=3 becomes cv=2"):
        folds = make_folds(3, X[rare], y[rare], None, 0)
    assert len(folds) == 2
    with pytest.raises(ValueError, match="needs two rows of each class at least, got 1 positive"):
        quick().fit(X[rare[:-1]], y[rare[:-1]])


def test_scores_that_are_certain_have_finite_logits(data):
    X, y = data
    model = quick([RandomForestClassifier(7, random_state=0)]).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert 0.0 < model.members_["randomforestclassifier"].floor < 0.5


def test_the_score_of_each_member_is_printed(data, capsys):
    quick(verbose=1).fit(*data)
    printed = capsys.readouterr().out
    assert "linear: f1 0." in printed
    assert "cut at the probability 0." in printed


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({"cut": "best"}, ValueError, "cut must be"),
        ({"cut": "zero", "subject_to": "recall >= 0.5"}, ValueError, "ignores constraints"),
        ({"cv": 1}, ValueError, "cv must be 2 or more"),
        ({"cv": [([0, 1], [2, 3]), ([0, 1, 4], [2, 3])]}, ValueError, "more than once|one class only"),
        ({"pos_label": "yes"}, ValueError, "is not in the target"),
        ({"estimators": []}, TypeError, "must be a list of classifiers"),
        ({"estimators": [GaussianNB]}, TypeError, r"not its class; give GaussianNB\(\)"),
        ({"estimators": [3]}, TypeError, "a member must be a classifier, not 3"),
        (
            {"estimators": [("a", GaussianNB()), ("a", GaussianNB())]},
            ValueError,
            "names of the members must differ",
        ),
        ({"estimators": [("a__b", GaussianNB())]}, ValueError, "without two underscores"),
        ({"estimators": [StandardScaler()]}, TypeError, "neither decision_function nor predict_proba"),
    ],
)
def test_mistakes_give_messages(data, settings, error, sentence):
    with pytest.raises(error, match=sentence):
        MetricEnsemble(**{"estimators": [GaussianNB()], **settings}).fit(*data)


def test_unknown_settings_are_named(data):
    with pytest.raises(ValueError, match="'nothing__C' is not a setting of MetricEnsemble"):
        quick().set_params(nothing__C=1)


def test_the_logit_of_a_probability_is_what_decides(data):
    X, y = data
    model = quick().fit(X, y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(expit(model.decision_function(X) + logit(model.cut_)), p)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_processes_and_a_dask_cluster_fit_the_same(data):
    X, y = data
    alone = quick().fit(X, y)
    np.testing.assert_array_equal(quick(n_jobs=2).fit(X, y).oof_, alone.oof_)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        shared = quick().fit(X, y)
        assert cluster.scheduler.transition_counter > 0
    np.testing.assert_allclose(shared.oof_, alone.oof_)
