"""The estimator is a scikit-learn classifier, and trains for the metric."""

import pickle
import signal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from skorch.callbacks import Callback, EpochTimer

import metricfit as mf
from metricfit.sklearn import MetricClassifier, best_cut, expected_cut


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        300, 6, n_informative=4, weights=[0.8], flip_y=0.1, class_sep=0.7, random_state=0
    )
    return X, y


def quick(**settings):
    return MetricClassifier(**{"max_epochs": 4, "lr": 0.01, "random_state": 0, **settings})


def same_weights(one, other):
    pairs = zip(one.net_.module_.parameters(), other.net_.module_.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


class Interrupt(Callback):
    """Sends Ctrl-C to this process in the middle of an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_batch_begin(self, net, **kwargs):
        if net.history[-1, "epoch"] == self.epoch:
            signal.raise_signal(signal.SIGINT)


EXPECTED = {
    # It wants 1e-7; in single precision, sums differ by 2e-7 with the size of a batch.
    "check_methods_subset_invariance": "the network computes in float32",
    "check_sample_weight_equivalence_on_dense_data": "rows are drawn by weight, at random",
}
DECIDES_FOR_F1 = {
    "check_classifiers_train": "the prediction is best for F1, which is not the larger probability",
    "check_class_weight_classifiers": "F1 ignores true negatives, however heavy they are",
}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("accuracy", EXPECTED), ("f1", EXPECTED | DECIDES_FOR_F1)],
    ids=["accuracy", "f1"],
)
def test_every_check_of_scikit_learn_passes(metric, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks feed data that are meant to warn
        results = check_estimator(
            quick(metric=metric, max_epochs=6, batch_size=128), expected_failed_checks=expected, on_fail=None
        )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []


def test_rows_are_scored_alike_alone_and_together(data):
    X, y = data
    model = quick(max_epochs=2).fit(X, y)
    alone = np.concatenate([model.decision_function(X[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(alone, model.decision_function(X[:20]), rtol=1e-5, atol=1e-5)


def test_pipeline_grid_search_and_cross_validation(data):
    pipeline = make_pipeline(StandardScaler(), quick(random_state=1))
    search = GridSearchCV(pipeline, {"metricclassifier__metric": ["f1", mf.mcc]}, cv=2, error_score="raise")
    assert search.fit(*data).best_score_ > 0.0
    assert cross_val_score(pipeline, *data, cv=2, scoring=mf.f2.scorer()).min() > 0.0


@pytest.mark.parametrize(
    "settings", [{"metric": mf.f2.subject_to(mf.recall >= 0.5)}, {"module": torch.nn.Linear(6, 1)}]
)
def test_a_clone_has_the_same_settings(settings):
    model = quick(**settings)
    assert repr(clone(model).get_params()) == repr(model.get_params())


def test_a_pickle_predicts_the_same(data):
    model = quick(metric=mf.precision_at_recall(0.5)).fit(*data)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(data[0]), model.decision_function(data[0]))
    assert copy.metric_ == model.metric_


def test_labels_may_be_strings_and_either_may_be_positive(data):
    X, y = data
    names = np.array(["stays", "churns"])[y]
    plain = quick().fit(X, y)
    named = quick(pos_label="churns").fit(X, names)
    assert list(named.classes_) == ["churns", "stays"]
    np.testing.assert_array_equal(named.predict(X) == "churns", plain.predict(X) == 1)
    np.testing.assert_allclose(named.decision_function(X), -plain.decision_function(X))
    assert named.score(X, names) == plain.score(X, y) == mf.f1.score(y, plain.predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames_go_in(data, frame):
    X, y = data
    table = frame({f"column {i}": X[:, i] for i in range(X.shape[1])})
    model = quick().fit(table, (pd.Series if frame is pd.DataFrame else pl.Series)(y))
    assert list(model.feature_names_in_) == [f"column {i}" for i in range(6)]
    np.testing.assert_array_equal(model.predict(table), quick().fit(X, y).predict(X))


def test_the_same_seed_gives_the_same_model_and_leaves_the_generator_alone(data):
    torch.manual_seed(7)
    before = torch.get_rng_state()
    one, other = quick().fit(*data), quick().fit(*data)
    assert same_weights(one, other)
    assert not same_weights(one, quick(random_state=1).fit(*data))
    assert torch.equal(before, torch.get_rng_state())


def test_the_best_epoch_is_kept(data):
    model = quick(max_epochs=12, patience=3, lr=0.05).fit(*data)
    values = [epoch["valid_metric"] + epoch["expected_metric"] for epoch in model.history_]
    assert model.best_epoch_ == 1 + int(np.argmax(values))
    assert model.n_iter_ in (12, model.best_epoch_ + 3)
    kept = quick(max_epochs=model.best_epoch_, patience=99, lr=0.05).fit(*data)
    assert same_weights(model, kept)


class Watch(Callback):
    """Keeps the scores and labels of the held-out rows at the end of every epoch."""

    def __init__(self):
        self.seen = []

    def on_epoch_end(self, net, dataset_valid, **kwargs):
        labels = np.array([label for _, label in dataset_valid])
        self.seen.append((net.forward(dataset_valid).reshape(-1).double().numpy(), labels))


@pytest.mark.parametrize("cut", ["expected", "empirical", "zero"])
def test_the_cut_is_that_of_the_best_epoch(data, cut):
    metric, watch = mf.precision.subject_to(mf.recall >= 0.5), Watch()
    model = quick(metric=metric, cut=cut, callbacks=[watch]).fit(*data)
    scores, labels = watch.seen[model.best_epoch_ - 1]
    if cut == "zero":
        assert model.threshold_ == 0.0
    elif cut == "empirical":
        assert model.threshold_ == pytest.approx(best_cut(metric, scores, labels).threshold)
    else:
        found = expected_cut(metric, scores, labels, model.calibration_(scores))
        assert model.threshold_ == pytest.approx(found.threshold)
    if cut != "zero":
        assert mf.recall.score(labels, scores > model.threshold_) >= 0.5
    np.testing.assert_array_equal(model.predict(data[0]) == 1, model.decision_function(data[0]) > 0)


def test_what_is_kept_is_the_average_of_the_weights(data):
    class Own(Callback):
        def __init__(self):
            self.weights = []

        def on_batch_end(self, net, training, **kwargs):
            if training:
                self.weights.append(net.module_.weight.detach().clone())

    own = Own()
    model = quick(module=torch.nn.Linear(6, 1), max_epochs=1, callbacks=[own]).fit(*data)
    torch.testing.assert_close(model.net_.module_.weight, torch.stack(own.weights).mean(dim=0))


def test_probabilities_are_calibrated_and_rise_with_the_score():
    X, y = make_classification(3000, 6, n_informative=4, weights=[0.8], flip_y=0.2, random_state=0)
    model = quick(max_epochs=8).fit(X[:2000], y[:2000])
    probabilities = model.predict_proba(X[2000:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(X[2000:]))
    assert np.all(np.diff(probabilities[order, 1]) >= 0)
    assert abs(probabilities[:, 1].mean() - y[2000:].mean()) < 0.05
    plain = expit(model.decision_function(X[2000:]))
    assert log_loss(y[2000:], probabilities[:, 1]) < log_loss(y[2000:], plain) - 0.05


def test_constraints_can_be_given_in_every_way(data):
    ways = ["recall >= 0.5", mf.recall >= 0.5, ["recall >= 0.5"], (mf.recall >= 0.5,)]
    made = {quick(metric="precision", subject_to=way, max_epochs=1).fit(*data).metric_ for way in ways}
    assert made == {mf.precision_at_recall(0.5)}


def test_constraints_out_of_reach_are_reported(data):
    impossible = quick(max_epochs=1, subject_to=["precision >= 0.99", "recall >= 0.99"])
    with pytest.warns(UserWarning, match="the best misses them by"):
        impossible.fit(*data)


def test_a_search_prefers_the_model_that_meets_the_constraint(data):
    X, y = data
    fitted = LogisticRegression().fit(X, y)

    def shifted(bias):
        layer = torch.nn.Linear(6, 1)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(fitted.coef_))
            layer.bias.copy_(torch.tensor(fitted.intercept_ + bias))
        return layer

    careful, eager = shifted(-1.5), shifted(2.5)
    # So small a rate leaves the modules as they are.
    model = quick(metric="precision", max_epochs=1, lr=1e-12, validation_fraction=None, cut="zero")
    modules = {"module": [careful, eager]}
    bound = GridSearchCV(model.set_params(subject_to="recall >= 0.8"), modules, cv=3).fit(X, y)
    plain = GridSearchCV(clone(model).set_params(subject_to=None), modules, cv=3).fit(X, y)
    assert (bound.best_index_, plain.best_index_) == (1, 0)
    assert mf.recall.score(y, plain.predict(X)) < 0.5 < 0.8 <= mf.recall.score(y, bound.predict(X))
    predicted = bound.predict(X)
    assert bound.best_estimator_.score(X, y) == mf.precision.score(y, predicted)
    assert bound.cv_results_["mean_test_score"][0] < 0


@pytest.mark.parametrize(
    "output",
    [
        lambda n: torch.nn.Linear(n, 1),
        lambda n: torch.nn.Sequential(torch.nn.Linear(n, 1), torch.nn.Flatten(0)),
    ],
    ids=["(n, 1)", "(n,)"],
)
def test_any_module_with_one_logit_will_do(data, output):
    assert quick(module=output, lr=0.1).fit(*data).predict(data[0]).shape == (300,)


@pytest.mark.filterwarnings("ignore:the model predicts one class only")  # with some first weights
def test_a_given_module_is_copied(data):
    module = torch.nn.Linear(6, 1)
    before = module.weight.detach().clone()
    model = quick(module=module).fit(*data)
    assert torch.equal(module.weight, before)
    assert not torch.equal(model.net_.module_.weight, before)


def test_cross_entropy_is_trained_in_the_same_way(data):
    model = quick(loss="cross-entropy").fit(*data)
    assert model.score(*data) > 0.3


def test_without_held_out_rows_every_epoch_is_run(data):
    model = quick(validation_fraction=None, cut="zero").fit(*data)
    assert model.calibration_ is None
    assert (model.n_iter_, model.best_epoch_, model.threshold_) == (4, 4, 0.0)


def test_an_interrupted_training_keeps_its_best_epoch(data):
    model = quick(callbacks=[Interrupt(epoch=3)]).fit(*data)
    assert (model.interrupted_, model.n_iter_) == (True, 2)
    assert same_weights(model, quick(max_epochs=model.best_epoch_).fit(*data))


def test_an_interrupt_before_the_first_epoch_ends_is_passed_on(data):
    with pytest.raises(KeyboardInterrupt):
        quick(callbacks=[Interrupt(epoch=1)]).fit(*data)


def test_a_training_that_goes_on_ends_as_if_it_had_never_stopped(data, tmp_path):
    file = tmp_path / "training.pt"
    settings = {"max_epochs": 6, "patience": 4}
    whole = quick(**settings).fit(*data)
    assert quick(**settings, checkpoint=file, callbacks=[Interrupt(epoch=4)]).fit(*data).interrupted_
    continued = quick(**settings, checkpoint=file).fit(*data)
    assert same_weights(whole, continued)
    assert continued.threshold_ == whole.threshold_
    assert len(continued.history_) == len(whole.history_)
    with pytest.raises(ValueError, match="belongs to other data or settings"):
        quick(**{**settings, "lr": 0.5}, checkpoint=file).fit(*data)


def test_a_foreign_checkpoint_is_refused(data, tmp_path):
    (tmp_path / "training.pt").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        quick(checkpoint=tmp_path / "training.pt").fit(*data)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"loss": "hinge"}, "loss must be"),
        ({"cut": 0.5}, "cut must be"),
        ({"validation_fraction": None}, "needs held-out rows"),
        ({"min_share": 1}, "min_share must be"),
        ({"validation_fraction": 2}, "between 0 and 1"),
        ({"max_epochs": 0}, "max_epochs must be a whole number of 1 or more"),
        ({"max_epochs": "5"}, "max_epochs must be a whole number of 1 or more, got '5'"),
        ({"min_share": "0.1"}, "min_share must be"),
        ({"validation_fraction": "0.2"}, "between 0 and 1"),
        ({"optimizer": "adam"}, "optimizer must be a class such as torch.optim.AdamW"),
        ({"optimizer": torch.nn.Linear}, "optimizer must be a class such as torch.optim.AdamW"),
        ({"callbacks": [3]}, "callbacks must be a list of skorch callbacks, but one is 3"),
        ({"checkpoint": "nowhere/x.pt"}, "there is no folder for checkpoint='nowhere/x.pt'"),
        ({"subject_to": 0.8}, 'subject_to must be a constraint such as "recall >= 0.8"'),
        ({"metric": "tp / (tp + fp + fn)"}, 'cannot be played as a game: .* set loss="soft"$'),
        ({"pos_label": "yes"}, "is not in the target; .* classes are numbered in sorted order"),
        ({"module": lambda n: torch.nn.Linear(n, 3)}, "one logit per row"),
        (
            {"checkpoint": "x.pt", "validation_fraction": None, "cut": "zero"},
            "a checkpoint needs held-out rows",
        ),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
def test_bad_arguments_raise_a_clear_error(data, settings, sentence):
    with pytest.raises((ValueError, TypeError, OSError), match=sentence):
        quick(**settings).fit(*data)


def test_callbacks_may_have_names_and_be_classes(data):
    quick(callbacks=[("rate", EpochTimer()), EpochTimer]).fit(*data)


def test_too_few_rows_to_hold_out_are_refused():
    with pytest.raises(ValueError, match=r'two of each class .* set validation_fraction=None and cut="zero"'):
        quick().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
