"""Constraints over the data: multipliers follow the decisions, and these come to meet the constraints."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.loss.centre import centre
from metricfit.loss.running import RunningConstraints
from metricfit.loss.soft_terms import SoftConstraints, SoftObjective
from metricfit.metrics.combination import combined
from metricfit.sklearn import best_cut

METRIC = mf.recall_at_precision(0.8)
LOSSES = {"soft": mf.SoftMetricLoss, "game": lambda metric: mf.MetricLoss(metric, constraints="running")}


def batch(n=32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=generator), torch.rand(n, generator=generator) < 0.4


@pytest.mark.parametrize("kind", LOSSES)
def test_multipliers_grow_while_decisions_miss_the_bound_and_shrink_while_they_meet_it(kind):
    loss = LOSSES[kind](METRIC)
    _, targets = batch()
    wrong, right = torch.ones(32), 2.0 * targets - 1.0
    seen = [loss.multipliers.item()]
    for logits in [wrong] * 3 + [right] * 60:
        loss(logits, targets)
        seen.append(loss.multipliers.item())
    assert seen[0] < seen[1] < seen[2] < seen[3]
    assert seen[-1] < seen[-2] < max(seen)
    assert loss.running.violations.item() < 0


def moved(constraint, cells, steps=1, **options):
    """Multiplier and level after batches with these decisions."""
    running = RunningConstraints((constraint,), mf.Running(margin=0.0, **options))
    for _ in range(steps):
        running.update(torch.tensor([[cell] for cell in cells], dtype=torch.float32))
    return running.multipliers.item(), running.levels.item()


def test_a_multiplier_answers_the_violation_at_once_and_its_level_slowly():
    multiplier, level = moved(mf.recall >= 0.75, (700.0, 0.0, 300.0, 0.0), rate=0.1, gain=30.0)
    assert level == pytest.approx(3.0 * math.exp(0.1 * 0.05), rel=1e-3)
    assert multiplier == pytest.approx(level * math.exp(30.0 * 0.05), rel=1e-2)
    assert moved(mf.recall >= 0.7, (700.0, 0.0, 300.0, 0.0), steps=9) == pytest.approx((3.0, 3.0), rel=0.02)


def test_a_gross_violation_counts_no_more_than_a_tenth():
    assert moved(mf.recall >= 0.7, (0.0, 0.0, 9.0, 1.0)) == moved(mf.recall >= 0.7, (3.0, 0.0, 7.0, 0.0))


def test_a_bound_that_no_decision_speaks_of_any_more_lets_the_objective_work():
    """False alarms raise the multiplier; when nothing is predicted positive any more, it has to come down."""
    running = RunningConstraints((mf.precision >= 0.8,), mf.Running())
    seen = []
    for cells in [(0.0, 40.0, 20.0, 200.0)] * 20 + [(0.0, 0.0, 20.0, 240.0)] * 300:
        running.update(torch.tensor(cells)[:, None])
        seen.append(running.multipliers.item())
    assert max(seen) > 30.0
    assert seen[-1] < 3.0


def test_violations_count_in_proportion_to_the_room_that_a_bound_leaves():
    """Missing a recall of 0.99 by 0.002 is missing a recall of 0.9 by 0.02."""
    assert moved(mf.recall >= 0.99, (988.0, 0.0, 12.0, 0.0)) == pytest.approx(
        moved(mf.recall >= 0.9, (880.0, 0.0, 120.0, 0.0)), rel=0.05
    )
    share = mf.get_metric("fp/all")
    assert moved(share <= 0.002, (0.0, 3.0, 0.0, 997.0)) == pytest.approx(
        moved(share <= 0.1, (0.0, 150.0, 0.0, 850.0)), rel=0.05
    )


@pytest.mark.parametrize("kind", LOSSES)
def test_decisions_move_multipliers_not_probabilities(kind):
    _, targets = batch()
    losses = [LOSSES[kind](METRIC) for _ in range(2)]
    for loss, size in zip(losses, (0.01, 10.0), strict=True):
        loss(size * torch.where(targets, 1.0, -1.0), targets)
    torch.testing.assert_close(losses[0].multipliers, losses[1].multipliers)


@pytest.mark.parametrize("kind", LOSSES)
def test_evaluation_moves_nothing(kind):
    loss = LOSSES[kind](METRIC)
    loss(*batch())
    before = copy.deepcopy(loss.state_dict())
    loss.eval()
    loss(*batch(seed=1))
    assert all(torch.equal(before[name], value) for name, value in loss.state_dict().items())


@pytest.mark.parametrize("kind", LOSSES)
def test_the_state_is_saved_and_loaded(kind, tmp_path):
    loss, fresh = LOSSES[kind](METRIC), LOSSES[kind](METRIC)
    for seed in range(3):
        loss(*batch(seed=seed))
    torch.save(loss.state_dict(), tmp_path / "loss.pt")
    assert set(loss.state_dict()) == {f"running.{name}" for name in ("multipliers", "levels", "counts")}
    fresh.load_state_dict(torch.load(tmp_path / "loss.pt"))
    torch.testing.assert_close(fresh(*batch(seed=9)), loss(*batch(seed=9)))


@pytest.mark.parametrize("kind", LOSSES)
def test_batches_that_are_refused_leave_no_trace(kind):
    loss = LOSSES[kind](METRIC)
    for logits, targets in (
        (torch.tensor([1.0, torch.nan]), torch.tensor([1, 0])),
        (torch.tensor([1.0, 0.5]), torch.tensor([1, 2])),
    ):
        with pytest.raises(ValueError, match="must be"):
            loss(logits, targets)
    assert loss.running.counts.sum() == 0


@pytest.mark.parametrize("kind", LOSSES)
def test_two_passes_before_one_backward(kind):
    loss = LOSSES[kind](METRIC)
    logits, targets = batch()
    logits.requires_grad_()
    (loss(logits, targets) + loss(2 * logits, targets)).backward()
    assert torch.isfinite(logits.grad).all()


@pytest.mark.parametrize("bounds", [False, True])
def test_the_soft_loss_is_a_lagrangian_divided_by_the_sum_of_its_factors(bounds):
    """So its gradient stays of one size while multipliers move, which optimizers such as Adam rely on."""
    logits, targets = batch()
    metric = mf.recall.subject_to(mf.precision >= 0.8, mf.specificity >= 0.9)
    loss = mf.SoftMetricLoss(metric, constraints=mf.Running(start=2.0), bounds=bounds).eval()
    recall, precision, specificity = (
        1 - mf.functional.soft_metric_loss(logits, targets, name)
        for name in ("recall", "precision", "specificity")
    )
    lagrangian = 1 - recall + 2.0 * (0.8 - precision) + 2.0 * (0.9 - specificity)
    if bounds:
        given = torch.tensor([2.0, 2.0])
        lagrangian = mf.functional.soft_metric_loss(logits, targets, metric, multipliers=given, bounds=True)
    torch.testing.assert_close(loss(logits, targets), lagrangian / 5.0)


def test_the_function_is_the_lagrangian_itself_and_differentiable_in_its_multipliers():
    logits, targets = batch()
    multipliers = torch.tensor([2.0], requires_grad=True)
    recall, precision = (
        1 - mf.functional.soft_metric_loss(logits, targets, m) for m in ("recall", "precision")
    )
    found = mf.functional.soft_metric_loss(logits, targets, METRIC, multipliers=multipliers)
    torch.testing.assert_close(found, 1 - recall + 2.0 * (0.8 - precision))
    found.backward()
    torch.testing.assert_close(multipliers.grad, (0.8 - precision).reshape(1))


def test_each_label_has_multipliers_of_its_own():
    loss = mf.SoftMetricLoss(METRIC, constraints=mf.Running(labels=2))
    _, targets = batch()
    both = torch.stack((torch.ones(32), 2.0 * targets - 1.0), dim=1)
    for _ in range(3):
        loss(both, targets[:, None].expand(-1, 2))
    assert loss.multipliers.shape == (2, 1)
    assert loss.multipliers[0, 0] > 3.0 > loss.multipliers[1, 0]


def test_bounds_err_on_the_safe_side():
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        logits = 3 * torch.randn(40, generator=generator)
        targets = torch.rand(40, generator=generator) < 0.4
        for metric in (mf.precision, mf.recall, mf.specificity):
            constrained = mf.accuracy.subject_to(metric >= 0.5)
            one = torch.ones(1)
            options = {"bounds": True, "multipliers": one}
            bounded = mf.functional.soft_metric_loss(logits, targets, constrained, **options)
            plain = mf.functional.soft_metric_loss(logits, targets, mf.accuracy)
            assert (bounded - plain).item() >= 0.5 - metric.score(targets, logits > 0) - 1e-6


def six_blobs():
    """Positives that are mixed with negatives, and fewer that lie apart; negatives elsewhere."""
    generator = torch.Generator().manual_seed(0)
    blobs = (
        (-2.0, 0.0, 300, 1),
        (-2.0, 0.6, 200, 0),
        (2.0, 3.0, 140, 1),
        (0.5, -2.5, 300, 0),
        (2.5, -1.0, 300, 0),
        (-3.5, 2.5, 160, 0),
    )
    parts = [torch.randn(n, 2, generator=generator) * 0.4 + torch.tensor((x, y)) for x, y, n, _ in blobs]
    return torch.cat(parts), torch.cat([torch.full((n,), float(label)) for _, _, n, label in blobs])


def trained(loss, features, labels, steps):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(features.shape[1], 1), torch.nn.Flatten(0))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(features), labels).backward()
        optimizer.step()
        schedule.step()
    return model(features).detach()


def test_a_line_finds_the_pure_positives_that_cross_entropy_does_not_see():
    features, labels = six_blobs()
    loss = mf.SoftMetricLoss(METRIC, temperature=0.5, constraints=mf.Running(start=10.0))
    decided = trained(loss, features, labels, 400) > 0
    assert mf.precision.score(labels, decided) >= 0.8
    assert mf.recall.score(labels, decided) > 0.25
    plain = best_cut(METRIC, trained(torch.nn.BCEWithLogitsLoss(), features, labels, 400), labels)
    assert plain.value < 0.1


def overlapping():
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(256, 4, generator=generator)
    noisy = features[:, 0] + 0.8 * torch.randn(256, generator=generator)
    return features, (noisy > 0.7).float()


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("metric", [mf.recall_at_precision(0.8), mf.precision_at_recall(0.9)], ids=str)
def test_the_trained_decision_at_0_meets_the_floor(kind, metric):
    features, labels = overlapping()
    decided = trained(LOSSES[kind](metric), features, labels, 600) > 0
    (constraint,) = metric.constraints
    assert constraint.metric.score(labels, decided) >= constraint.threshold
    assert decided.any()
    assert not decided.all()


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=2))
def test_the_metric_with_multipliers_is_the_weighted_mean(multipliers):
    metric = mf.recall.subject_to(mf.precision >= 0.5, mf.kappa <= 0.9)
    truth, predicted = [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0]
    parts = (metric, *(constraint.metric for constraint in metric.constraints))
    weights = (1.0, multipliers[0], -multipliers[1])
    expected = sum(w * m.score(truth, predicted) for w, m in zip(weights, parts, strict=True))
    expected /= 1 + sum(multipliers)
    both = combined(metric, tuple(multipliers))
    assert both.score(truth, predicted) == pytest.approx(expected)
    alpha, beta = both.table(6)
    assert alpha[3, 3] * 2 + beta[3, 3] == pytest.approx(expected)


@pytest.mark.parametrize("weights", [(1, 0, 0, 1), (1, -1, 0, 0), (0.2, -0.8, 0, 0), (2, -1, -0.5, 0.3)])
def test_the_centre_is_the_middle_of_where_the_adversary_of_one_item_is_undecided(weights):
    """By enumeration: the smallest expected payoff, less the score, over all probabilities of one item."""
    tp, fp, fn, tn = weights
    metric = mf.get_metric(f"({tp}*tp + {fp}*fp + {fn}*fn + {tn}*tn)/all")
    q = torch.linspace(0, 1, 1001)
    payoff = torch.maximum(q * tp + (1 - q) * fp, q * fn + (1 - q) * tn)
    scores = torch.linspace(-4, 4, 801)
    chosen = q[(payoff - scores[:, None] * q).argmin(dim=1)]
    undecided = scores[chosen <= 0.01].max(), scores[chosen >= 0.99].min()
    counts = torch.tensor([[2.0], [1.0], [1.0], [3.0]])
    nothing = SoftConstraints((mf.recall >= 0.5,)), counts, torch.zeros(1, 1)
    found = centre(SoftObjective(metric), *nothing, scale=1.0, items=7)
    assert found.item() == pytest.approx(sum(undecided).item() / 2, abs=0.02)


def test_the_centre_stays_moderate_where_hardly_anything_is_predicted_positive():
    """Otherwise the model follows it to where nothing is, and does not come back."""
    given = SoftObjective(mf.recall), SoftConstraints((mf.precision >= 0.9,))
    for predicted in (100.0, 1.0, 1e-3, 0.0):
        counts = torch.tensor([[0.9 * predicted], [0.1 * predicted], [100.0], [800.0]])
        assert abs(centre(*given, counts, torch.full((1, 1), 30.0), 8.0, 32).item()) < 5.0
