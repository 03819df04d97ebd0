"""What the objective of boosted trees promises, without a boosting library."""

import pickle

import numpy as np
import pytest
import torch

import metricfit as mf
from metricfit.boosting import MetricObjective

RANDOM = np.random.default_rng(0)
LABELS = (RANDOM.random(600) < 0.2).astype(int)
SCORES = RANDOM.normal(size=600) + LABELS - 0.5


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.kappa, mf.balanced_accuracy], ids=lambda m: m.name)
def test_one_game_of_all_rows_has_the_gradient_of_the_loss(metric):
    logits = torch.tensor(SCORES[:50], requires_grad=True)
    loss = mf.MetricLoss(metric, group_size=None, tol=1e-7)
    loss(logits, torch.tensor(LABELS[:50])).backward()
    gradient, _ = MetricObjective(metric, group_size=50, tol=1e-7)(LABELS[:50], SCORES[:50])
    assert gradient * 8.0 / 50 == pytest.approx(logits.grad.numpy(), abs=1e-4)


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_the_gradient_is_that_of_the_mean_loss_over_random_groups(metric):
    random = np.random.default_rng(1)
    loss = mf.MetricLoss(metric, group_size=30, reduction="sum", tol=1e-3)
    total = np.zeros(600)
    for _ in range(60):
        order = random.permutation(600)
        logits = torch.tensor(SCORES[order], requires_grad=True)
        loss(logits, torch.tensor(LABELS[order])).backward()
        total[order] += logits.grad.numpy()
    gradient, _ = MetricObjective(metric, group_size=30)(LABELS, SCORES)
    assert np.abs(gradient - total / 60 * 30 / 8.0).mean() < 0.04


def test_the_gradient_of_a_row_lies_between_minus_one_and_one_and_increases_with_its_score():
    gradient, _ = MetricObjective("f1")(LABELS, SCORES)
    shares = gradient + LABELS
    assert (np.diff(shares[np.argsort(SCORES)]) >= -1e-12).all()
    assert shares.min() >= 0.0
    assert shares.max() <= 1.0


def test_the_curvature_is_one_where_the_adversary_is_undecided_and_a_fifth_where_it_is_not():
    gradient, mixed = MetricObjective("f1")(LABELS, SCORES)
    shares = gradient + LABELS
    np.testing.assert_allclose(mixed, 0.2 + 3.2 * shares * (1.0 - shares))
    assert (MetricObjective("f1", curvature=0.5)(LABELS, SCORES)[1] == 0.5).all()


def test_equal_scores_get_equal_gradients():
    gradient, _ = MetricObjective("kappa")(LABELS, np.zeros(600))
    assert np.ptp(gradient + LABELS) <= 1e-12


def test_the_same_scores_get_the_same_gradients_whatever_was_asked_before():
    objective = MetricObjective("f1", group_size=16, played_rows=64, random_state=3)
    first, _ = objective(LABELS, SCORES)
    objective(LABELS, -SCORES)
    again, _ = objective(LABELS, SCORES)
    copied, _ = pickle.loads(pickle.dumps(objective))(LABELS, SCORES)
    assert (first == again).all()
    assert (first == copied).all()
    other, _ = MetricObjective("f1", group_size=16, played_rows=64, random_state=4)(LABELS, SCORES)
    assert (first != other).any()


def test_the_gradients_do_not_depend_on_the_number_of_threads():
    one, _ = MetricObjective("mcc", threads=1)(LABELS, SCORES)
    three, _ = MetricObjective("mcc", threads=3)(LABELS, SCORES)
    assert (one == three).all()


def test_objectives_with_equal_settings_are_equal_and_say_what_they_are():
    assert MetricObjective("f1") == MetricObjective(mf.f1) != MetricObjective("f1", scale=4.0)
    assert "f1" in repr(MetricObjective("f1"))


def test_equal_weights_change_the_length_of_the_gradient_only():
    plain, _ = MetricObjective("f1", played_rows=600)(LABELS, SCORES)
    objective = MetricObjective("f1", played_rows=600, curvature=1.0)
    double, curvature = objective(LABELS, SCORES, np.full(600, 2.0))
    assert double / 2.0 == pytest.approx(plain, abs=0.1)
    assert (curvature == 2.0).all()


def test_a_row_of_weight_zero_changes_nothing():
    weights = np.ones(600)
    weights[500:] = 0.0
    gradient, curvature = MetricObjective("f1", group_size=25)(LABELS, SCORES, weights)
    assert (gradient[500:] == 0.0).all()
    assert (curvature[500:] == 0.0).all()
    assert np.abs(gradient[:500]).max() > 0.1


def test_heavier_positives_make_undecided_rows_more_often_positive():
    scores = np.where(np.arange(600) % 2, SCORES, SCORES[::-1]) / 4.0
    rows = LABELS == 0
    plain, _ = MetricObjective("f1")(LABELS, scores)
    heavy, _ = MetricObjective("f1")(LABELS, scores + 2.0 * LABELS, np.where(LABELS, 5.0, 1.0))
    assert (plain[rows] != heavy[rows]).any()


@pytest.mark.parametrize("share", [0.002, 0.01, 0.9, 1.0])
def test_rare_and_frequent_positives_are_learned_from(share):
    labels = np.zeros(5000, int)
    labels[: int(share * 5000)] = 1
    gradient, _ = MetricObjective("f1", played_rows=1000)(labels, np.zeros(5000))
    assert np.isfinite(gradient).all()
    assert (gradient[labels == 1] < 0).all() or share == 1.0


def test_constraints_bind_on_the_labels():
    constrained = mf.precision.subject_to(mf.recall >= 0.8)
    free, _ = MetricObjective(mf.precision, played_rows=320)(LABELS, SCORES)
    bound, _ = MetricObjective(constrained, played_rows=320)(LABELS, SCORES)
    assert np.abs(free - bound).max() > 0.1
    assert np.isfinite(bound).all()


def test_huge_scores_are_solved():
    gradient, _ = MetricObjective("f1")(LABELS, np.where(LABELS, 1e12, -1e12))
    assert np.abs(gradient).max() <= 1e-3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scale": 0}, "scale must be a positive number, got 0"),
        ({"curvature": -1.0}, 'curvature must be a positive number or "mixed", got -1.0'),
        ({"tol": np.nan}, "tol must be a positive number, got nan"),
        ({"played_rows": 0}, "played_rows must be an integer of 1 or more, got 0"),
        ({"threads": 1.5}, "threads must be an integer of 1 or more, got 1.5"),
        ({"group_size": 1}, "group_size must be an integer of 2 or more, got 1"),
        ({"random_state": None}, "random_state must be an integer of 0 or more, got None"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        MetricObjective("f1", **settings)


def test_the_metric_is_checked():
    with pytest.raises(TypeError, match="a metric must be a Metric, or its name or formula as a string"):
        MetricObjective(3)
    with pytest.raises(mf.UnsupportedMetricError, match="cannot be played"):
        MetricObjective("jaccard")


@pytest.mark.parametrize(
    ("labels", "scores", "weights", "message"),
    [
        ([0, 1, 2], [0.0, 0.0, 0.0], None, "labels must be 0 and 1, got 2"),
        ([-1, 1], [0.0, 0.0], None, "labels must be 0 and 1, got -1"),
        (["a", "b"], [0.0, 0.0], None, "labels must be 0 and 1, got a"),
        ([0, 1], [[0.0, 1.0], [0.0, 1.0]], None, r"scores of shape \(2, 2\); it is for two classes"),
        ([0, 1], [0.0, 0.0, 0.0], None, "one label and one score per row"),
        ([0, 1], [0.0, np.nan], None, "some scores are not finite"),
        ([0, 1], [0.0, 0.0], [1.0, -1.0], "weights must be one finite number per row"),
        ([0, 1], [0.0, 0.0], [1.0], "weights must be one finite number per row"),
        ([0, 0], [0.0, 0.0], None, "no row with a weight above 0 has the label 1"),
        ([0, 1], [0.0, 0.0], [1.0, 0.0], "no row with a weight above 0 has the label 1"),
        (None, [0.0, 0.0], None, "the data set has no labels"),
    ],
)
def test_rows_are_checked(labels, scores, weights, message):
    with pytest.raises(ValueError, match=message):
        MetricObjective("f1")(labels, np.array(scores), weights)
