"""Which rows the estimator trains on and holds out, how much they count, and rare positives."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from skorch.callbacks import Callback

import metricfit as mf
from metricfit.sklearn import MetricClassifier, MetricEnsemble, best_cut, cut_at, expected_cut
from metricfit.sklearn.training import Training


@pytest.fixture(scope="module")
def data():
    return make_classification(
        400, 6, n_informative=4, weights=[0.7], flip_y=0.05, class_sep=1.0, random_state=0
    )


def quick(**settings):
    return MetricClassifier(**{"max_epochs": 4, "lr": 0.01, "random_state": 0, **settings})


def rare(n, share, seed):
    """Rows of which a weak linear signal makes some positive."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10)).astype(np.float32)
    scores = 1.2 * (X[:, 0] - X[:, 1] + X[:, 2]) / np.sqrt(3) + random.logistic(size=n)
    return X, (scores > np.quantile(scores, 1.0 - share)).astype(int)


def test_one_percent_of_positives_give_a_useful_model():
    X, y = rare(50_000, 0.01, 0)
    model = MetricClassifier("f1", max_epochs=2, random_state=0).fit(X[:20_000], y[:20_000])
    predicted = model.predict(X[20_000:])
    truth = y[20_000:]
    always = mf.f1.score(truth, np.ones_like(truth))
    assert 0 < predicted.sum() < len(predicted) / 5
    assert mf.f1.score(truth, predicted) > 3 * always


class Batches(Callback):
    """Keeps the labels of the training batches."""

    def __init__(self):
        self.labels = []

    def on_batch_begin(self, net, batch, training, **kwargs):
        if training:
            self.labels.append(batch[1].numpy())


def test_games_of_rare_positives_hold_positives():
    X, y = rare(5_000, 0.01, 3)
    batches = Batches()
    quick(max_epochs=1, callbacks=[batches]).fit(X, y)
    assert min(labels[:32].sum() for labels in batches.labels) >= 2
    batches = Batches()
    quick(max_epochs=1, min_share=0.0, callbacks=[batches]).fit(X, y)
    assert sum(map(len, batches.labels)) == 4_000


def test_a_model_that_predicts_one_class_only_says_so():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 3)), np.arange(400) % 4 == 0
    with pytest.warns(UserWarning, match="predicts one class only"):
        quick(metric="recall", max_epochs=1).fit(X, y)


def test_rows_that_weigh_nothing_play_no_part(data):
    X, y = data
    kept = np.arange(400) % 2 == 0
    noisy = np.where(kept, y, 1 - y)
    weighted = quick(max_epochs=15).fit(X, noisy, sample_weight=kept.astype(float))
    assert weighted.score(X, y) > 0.75
    assert weighted.score(X, noisy, sample_weight=kept) == pytest.approx(weighted.score(X[kept], y[kept]))


def test_weights_enter_the_held_out_metric_as_repeated_rows(data):
    X, y = data
    weights = np.random.default_rng(0).integers(1, 4, 100)
    settings = {"max_epochs": 3, "module": None}
    weighted = quick(**settings).fit(X[100:], y[100:], validation_set=(X[:100], y[:100], weights))
    repeated = quick(**settings).fit(
        X[100:], y[100:], validation_set=(X[:100].repeat(weights, 0), y[:100].repeat(weights))
    )
    for one, other in zip(weighted.history_, repeated.history_, strict=True):
        assert one["valid_metric"] == pytest.approx(other["valid_metric"], abs=0.02)
        assert one["expected_metric"] == pytest.approx(other["expected_metric"], abs=0.02)


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc.subject_to(mf.recall >= 0.5)], ids=["f1", "constrained"])
def test_integer_weights_are_repeated_rows(metric):
    random = np.random.default_rng(1)
    scores, labels, weights = random.normal(size=50), random.integers(0, 2, 50), random.integers(0, 4, 50)
    ways = (cut_at, best_cut, lambda m, s, y, **w: expected_cut(m, s, y, expit(s), **w))
    for way in ways:
        one = way(metric, scores, labels, weights=weights)
        other = way(metric, scores.repeat(weights), labels.repeat(weights))
        assert (one.value, one.violation) == pytest.approx((other.value, other.violation))


@pytest.mark.parametrize("several", [False, True], ids=["one label", "several labels"])
def test_in_training_whole_weights_are_repeated_rows_in_expectation(several):
    random = np.random.default_rng(2)
    labels, weights = random.integers(0, 2, 40), random.integers(0, 4, 40)
    labels = np.column_stack([labels, 1 - labels]) if several else labels
    X = np.zeros((40, 1), dtype=np.float32)

    def visits(rows, weights):
        training = Training(X[rows], labels[rows], weights, None, 0, labels.shape[1] if several else 1)
        sampler = training.sampler(8, 0.0)
        seen = np.bincount(
            [rows[row] for _ in range(300) for batch in sampler for row in batch], minlength=40
        )
        return seen / seen.sum()

    weighted = visits(np.arange(40), weights.astype(float))
    repeated = visits(np.repeat(np.arange(40), weights), None)
    np.testing.assert_allclose(weighted, repeated, atol=0.002)
    np.testing.assert_allclose(repeated, weights / weights.sum(), atol=1e-9)


def test_a_heavier_class_is_seen_more_often(data):
    X, y = data
    batches = Batches()
    quick(metric="mcc", max_epochs=1, class_weight={0: 1.0, 1: 4.0}, callbacks=[batches]).fit(X, y)
    labels = np.concatenate(batches.labels)
    share = 4 * y.mean() / (4 * y.mean() + 1 - y.mean())
    assert labels.mean() == pytest.approx(share, abs=0.02)
    batches = Batches()
    quick(metric="mcc", max_epochs=1, class_weight="balanced", callbacks=[batches]).fit(X, y)
    assert np.concatenate(batches.labels).mean() == pytest.approx(0.5, abs=0.02)


class HeldOutRows(Callback):
    """Keeps the features of the held-out rows."""

    def on_epoch_begin(self, net, dataset_valid, **kwargs):
        self.rows = np.asarray(dataset_valid.X)


def test_rows_of_a_group_are_held_out_together(data):
    X, y = data
    X = X.astype(np.float32)
    groups = np.arange(400) // 8
    held = HeldOutRows()
    quick(max_epochs=1, callbacks=[held]).fit(X, y, groups=groups)
    row_of = {row.tobytes(): index for index, row in enumerate(X)}
    out = np.array([row_of[row.tobytes()] for row in held.rows])
    assert 60 <= len(out) <= 100
    assert not set(groups[out]) & set(np.delete(groups, out))


def test_a_validation_set_is_what_is_held_out(data):
    X, y = data
    held, batches = HeldOutRows(), Batches()
    names = np.array(["no", "yes"])
    model = quick(metric="mcc", max_epochs=1, callbacks=[held, batches], pos_label="no")
    model.fit(X[:300], names[y[:300]], validation_set=(X[300:], names[y[300:]]))
    np.testing.assert_array_equal(held.rows, X[300:].astype(np.float32))
    assert sum(map(len, batches.labels)) == 300


def test_missing_values_are_refused_and_can_be_filled(data):
    X, y = data
    table = pd.DataFrame(X.copy(), columns=list("abcdef"))
    table.loc[3, "c"] = np.nan
    with pytest.raises(ValueError, match=r"NaN in 1 of 6 columns, the first is 'c'; fill missing values"):
        quick().fit(table, y)
    pipeline = make_pipeline(SimpleImputer(), quick(max_epochs=1)).fit(table, y)
    assert pipeline.predict(table).shape == (400,)
    with pytest.raises(ValueError, match=r"the first is number 2; fill missing values"):
        quick(max_epochs=1).fit(X, y).predict(np.where(np.arange(6) == 2, np.nan, X[:5]))


@pytest.mark.parametrize("model", [MetricClassifier(), MetricEnsemble()], ids=["classifier", "ensemble"])
def test_a_mask_is_never_ignored(model, data):
    X, y = data
    for given in ((np.ma.masked_array(X, X > 1), y), (X, np.ma.masked_array(y, X[:, 0] > 1))):
        with pytest.raises(ValueError, match="is a masked array, whose mask would be ignored"):
            clone(model).fit(*given)


@pytest.mark.parametrize("model", [MetricClassifier(), MetricEnsemble()], ids=["classifier", "ensemble"])
def test_labels_of_two_types_are_refused(model, data):
    with pytest.raises(TypeError, match="the target holds texts and other values"):
        clone(model).fit(data[0], np.array(["yes", 1] * 200, dtype=object))


def test_rows_that_cannot_be_written_to_are_read_without_a_warning(data):
    """As joblib shares them with its workers."""
    X, y = np.array(data[0], dtype=np.float32), np.array(data[1], dtype=np.int64)
    expected = quick().fit(X, y).decision_function(X)
    for array in (X, y):
        array.setflags(write=False)
    np.testing.assert_array_equal(quick().fit(X, y).decision_function(X), expected)


def test_cuts_of_what_is_no_score_or_label_are_refused():
    with pytest.raises(ValueError, match="some scores are nan"):
        cut_at(mf.f1, [0.1, np.nan], [0, 1])
    with pytest.raises(ValueError, match="labels must be 0 and 1"):
        cut_at(mf.f1, [0.1, 0.2], [1, 2])


def test_a_warm_start_begins_with_the_weights_of_the_last_call(data):
    X, y = data
    cold = quick(max_epochs=3).fit(X, y)
    before = cold.history_[0]["train_loss"]
    warm = quick(max_epochs=3, warm_start=True).fit(X, y).fit(X, y)
    assert warm.history_[0]["train_loss"] < before - 0.05
    assert warm.n_iter_ == 3
    with pytest.raises(ValueError, match="warm_start needs the classes of the last call"):
        warm.fit(X, np.array(["no", "yes"])[y])


def test_partial_fits_train_on_one_part_after_the_other(data):
    X, y = data
    model = quick(cut="zero", lr=0.01)
    scores = []
    for _ in range(4):
        for part in np.array_split(np.arange(400), 2):
            model.partial_fit(X[part], y[part])
        scores.append(model.score(X, y))
    assert model.n_iter_ == len(model.history_) == 8
    assert scores[-1] > max(0.7, scores[0])
    losses = [epoch["train_loss"] for epoch in model.history_]
    assert losses[-1] < losses[0] - 0.1
    assert pickle.loads(pickle.dumps(model)).partial_fit(X, y).n_iter_ == 9


def test_a_part_may_lack_a_class_that_was_named(data):
    X, y = data
    model = quick(cut="zero").partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    assert model.partial_fit(X, y).n_iter_ == 2
    with pytest.raises(ValueError, match="none of the classes"):
        model.partial_fit(X, y + 1)


def test_after_fit_partial_fit_keeps_the_cut(data):
    X, y = data
    model = quick().fit(X, y)
    cut, curve = model.threshold_, model.calibration_
    model.partial_fit(X, y)
    assert (model.threshold_, model.calibration_) == (cut, curve)


def test_progress_is_a_line_per_epoch(data, capsys):
    quick(verbose=1).fit(*data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("epoch 1 of 4: loss ")
    assert lines[0].endswith(" on held-out rows, the best so far")


@pytest.mark.parametrize(
    ("settings", "given", "sentence"),
    [
        ({}, {"sample_weight": [1.0]}, "one number per row"),
        ({}, {"sample_weight": np.full(400, -1.0)}, "at least zero"),
        ({}, {"sample_weight": ["much"] * 400}, "sample_weight must hold one number per row: could not"),
        ({}, {"groups": [1, 2]}, "one group per row"),
        ({}, {"groups": np.zeros(400)}, "needs 5 groups at least, got 1"),
        ({}, {"groups": np.arange(400), "validation_set": ([[0.0] * 6], [0])}, "groups or validation_set"),
        ({}, {"validation_set": ([[0.0] * 6], [0])}, "must have rows of both classes"),
        ({"validation_fraction": None, "cut": "zero"}, {"groups": np.arange(400)}, "groups are for"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_bad_arguments_raise_a_clear_error(data, settings, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        quick(**settings).fit(*data, **given)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((400, 2), "datetime64[s]"),
        np.zeros((400, 2), "timedelta64[s]"),
        pd.DataFrame({"age": np.arange(400), "when": pd.date_range("2024-01-01", periods=400)}),
    ],
    ids=["dates", "durations", "frame"],
)
def test_dates_are_refused(data, table):
    with pytest.raises(ValueError, match=r"column (0|'when') holds dates or durations; turn it into numbers"):
        quick().fit(table, data[1])


@pytest.mark.parametrize("strange", [["yes"], ["1"], [2], [None], [np.nan]], ids=str)
@pytest.mark.parametrize("kind", [MetricClassifier, MetricEnsemble])
def test_a_score_of_other_labels_is_refused(data, kind, strange):
    X, y = data
    if kind is MetricClassifier:
        model = quick().fit(X, y)
    else:
        model = MetricEnsemble([LogisticRegression()], cv=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"y holds .*, which is none of the classes \[0, 1\]"):
        model.score(X[:1], strange)
