"""The loss is what its formula says, and its gradient is the formula's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from batches import a_batch, gradient
from drawn import labels_of, scores_of
from oracles import DEFINITIONS, enumerated_value, payoffs, slacks

CONSTRAINED = {
    "precision at recall": mf.precision_at_recall(0.8),
    "precision at recall and specificity": mf.precision_at_recall_specificity(0.6, 0.7),
    "f1 with recall at most 0.5": mf.f1.subject_to(mf.recall <= 0.5),
}
METRICS = {name: metric for name, (metric, _) in DEFINITIONS.items()} | CONSTRAINED
ALLOWING_THE_TRUTH = {
    name: metric for name, metric in METRICS.items() if all(c.sense == ">=" for c in metric.constraints)
}
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())


@pytest.mark.parametrize("name", DEFINITIONS)
def test_loss_equals_full_enumeration(name):
    metric, measure = DEFINITIONS[name]
    logits, targets = a_batch(5, seed=1)
    psi = logits.detach().numpy() * 32 / 5
    game = enumerated_value(payoffs(measure, 5), psi)
    expected = metric.score(targets, targets) - game - targets.numpy() @ psi
    loss = mf.MetricLoss(metric, scale=32, solver="exact-lp")(logits, targets)
    assert loss.item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("name", CONSTRAINED)
def test_loss_under_constraints_equals_full_enumeration(name):
    metric = CONSTRAINED[name]
    measure = dict(DEFINITIONS.values())[_plain(metric)]
    logits, targets = a_batch(5, seed=2)
    psi, truth = logits.detach().numpy() * 32 / 5, targets.numpy()
    slack = slacks(metric.constraints, truth)
    table = payoffs(measure, 5)
    game = enumerated_value(table, psi, slack)
    # Nobody but the truth to play against: the best that can be reached.
    column = table[:, [int("".join(map(str, truth)), 2)]]
    best = enumerated_value(np.repeat(column, 32, axis=1), np.zeros(5), slack)
    loss = mf.MetricLoss(metric, scale=32, solver="exact-lp")(logits, targets)
    assert loss.item() == pytest.approx(best - game - truth @ psi, abs=1e-7)


def _plain(metric: mf.Metric) -> mf.Metric:
    return next(plain for plain, _ in DEFINITIONS.values() if plain.formula == metric.formula)


@every_metric
@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 2)], ids=["n", "n1", "n2"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradient_equals_finite_differences(metric, shape, reduction):
    logits, targets = a_batch(*shape, seed=3)
    loss = mf.MetricLoss(metric, solver="exact-lp", reduction=reduction)
    assert torch.autograd.gradcheck(lambda x: loss(x, targets), (logits,), fast_mode=True)


@every_metric
def test_gradient_is_the_adversary_less_the_truth(metric):
    logits, targets = a_batch(7, seed=4)
    loss = mf.MetricLoss(metric, solver="exact-lp", scale=8.0)
    slope = gradient(loss(logits, targets), logits)
    (solution,) = loss.last_solution.solutions
    np.testing.assert_allclose(slope.numpy(), 8 / 7 * (solution.adversary - targets.numpy()))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_second_derivatives_are_zero(reduction):
    logits, targets = a_batch(8, 2, seed=5)
    loss = mf.MetricLoss(mf.f1, solver="exact-lp", reduction=reduction, group_size=4)
    (slope,) = torch.autograd.grad(loss(logits, targets).sum(), logits, create_graph=True)
    assert not gradient((slope**2).sum(), logits).any()
    assert torch.autograd.gradgradcheck(lambda x: loss(x, targets), (logits,), fast_mode=True)


def test_scale_batch_is_the_scale_of_the_games_own_size():
    logits, targets = a_batch(6, seed=6)
    losses = [mf.MetricLoss(mf.mcc, scale=s, solver="exact-lp")(logits, targets) for s in ("batch", 6.0)]
    assert losses[0] == losses[1]
    torch.testing.assert_close(gradient(losses[0], logits), gradient(losses[1], logits))


@pytest.mark.parametrize("metric", ALLOWING_THE_TRUTH.values(), ids=ALLOWING_THE_TRUTH.keys())
def test_loss_is_zero_for_a_batch_that_is_right_with_margin(metric):
    _, targets = a_batch(8, seed=7)
    logits = (targets * 200.0 - 100.0).requires_grad_()
    loss = mf.MetricLoss(metric, solver="exact-lp")(logits, targets)
    assert loss.item() == pytest.approx(0, abs=1e-6)
    torch.testing.assert_close(gradient(loss, logits), torch.zeros(8), atol=1e-6, rtol=0)


@given(st.data())
def test_loss_is_convex_and_never_negative(data):
    metric = data.draw(st.sampled_from(list(METRICS.values())))
    n = data.draw(st.integers(2, 6))
    targets = data.draw(labels_of(n).filter(lambda y: 0 < y.sum() < y.size))
    points = [torch.tensor(data.draw(scores_of(n)), requires_grad=True) for _ in range(2)]
    loss = mf.MetricLoss(metric, solver="exact-lp")
    here, there = (loss(point, torch.tensor(targets)) for point in points)
    rise = gradient(here, points[0]) @ (points[1] - points[0])
    size = 1 + max(here.item(), there.item(), abs(rise.item()))
    assert here.item() >= 0
    assert there.item() >= here.item() + rise.item() - 1e-7 * size


@every_metric
def test_huge_logits_cost_what_they_exceed(metric):
    logits, targets = a_batch(8, seed=7)
    huge = logits.detach().clone()
    huge[0], huge[1] = -1e15, 1e15
    huge.requires_grad_()
    loss = mf.MetricLoss(metric, scale="batch", solver="exact-lp")
    value = loss(huge, targets)
    assert value.item() == pytest.approx(2e15)
    assert gradient(value, huge)[:2].tolist() == [-1, 1]
    milder = logits.detach().clone()
    milder[0], milder[1] = -50, 50
    milder.requires_grad_()
    torch.testing.assert_close(gradient(loss(huge, targets), huge), gradient(loss(milder, targets), milder))


def test_loss_of_a_metric_that_is_not_best_at_the_truth_is_not_negative():
    wrongs = mf.get_metric("(fp + fn) / all")
    logits, targets = a_batch(6, seed=8)
    loss = mf.MetricLoss(wrongs, solver="exact-lp")
    assert loss(logits, targets) >= 0
    assert torch.autograd.gradcheck(lambda x: loss(x, targets), (logits,), fast_mode=True)


def test_function_equals_module():
    logits, targets = a_batch(6, 2, seed=9)
    options = {"scale": 5.0, "solver": "exact-lp", "reduction": "sum", "group_size": 3}
    by_module = mf.MetricLoss(mf.f2, **options)(logits, targets)
    assert mf.functional.metric_loss(logits, targets, mf.f2, **options) == by_module
    assert mf.functional.metric_loss(logits, targets, "f2", **options) == by_module
