"""Cross-entropy beside the soft metric: it shapes the logits and leaves the decision to the metric."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

import metricfit as mf
from metricfit.loss.soft_entropy import own_bias
from metricfit.loss.soft_inputs import soft_batch

SHAPES = [(40,), (40, 1), (40, 3), (6, 2, 5, 5)]


def batch(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    targets = torch.rand(*shape, generator=generator) < 0.3
    return 2.0 * torch.randn(*shape, generator=generator) + targets, targets


def added(logits, targets, weights=None, **options):
    """Return what a cross-entropy of weight 1 adds to the loss."""
    with_it, without = (
        mf.functional.soft_metric_loss(logits, targets, "f1", weights, cross_entropy=weight, **options)
        for weight in (1.0, 0.0)
    )
    return with_it - without


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_the_smallest_cross_entropy_over_all_biases_of_each_label(shape):
    logits, targets = batch(*shape)
    columns = logits.reshape(shape[0], shape[1] if len(shape) > 1 else 1, -1)
    truth = targets.reshape(columns.shape).double()
    moved = columns.double().unsqueeze(0) + torch.linspace(-6, 6, 1201).reshape(-1, 1, 1, 1)
    every = binary_cross_entropy_with_logits(moved, truth.expand_as(moved), reduction="none")
    smallest = every.mean((1, 3)).amin(0)
    assert added(logits, targets).item() == pytest.approx(smallest.mean().item(), abs=1e-4)


@pytest.mark.parametrize("shift", [-8.0, -1.0, 3.0, 8.0])
def test_moving_all_logits_changes_nothing(shift):
    logits, targets = batch(60)
    assert added(logits + shift, targets).item() == pytest.approx(added(logits, targets).item(), abs=1e-3)


def test_its_gradient_does_not_move_the_bias():
    logits, targets = batch(60)
    logits.requires_grad_()
    added(logits, targets).backward()
    assert logits.grad.abs().sum() > 0.1
    assert abs(logits.grad.sum().item()) < 1e-5


@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_those_of_finite_differences(average, weighted):
    logits, targets = batch(12, 2)
    weights = torch.rand(12).double() if weighted else None
    logits = logits.double().requires_grad_()
    loss = mf.SoftMetricLoss(mf.f1, cross_entropy=0.7, average=average)
    assert torch.autograd.gradcheck(lambda x: loss(x, targets.double(), weights), (logits,))


@pytest.mark.parametrize("level", [-1e4, -40.0, 0.0, 40.0, 1e4])
@pytest.mark.parametrize("labels", [torch.zeros(8), torch.ones(8), torch.arange(8) % 2])
def test_gradients_are_finite_without_a_class_and_at_saturation(level, labels):
    logits = torch.full((8,), level, requires_grad=True)
    loss = mf.SoftMetricLoss(mf.recall_at_precision(0.9), cross_entropy=1.0)(logits, labels)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(logits.grad).all()


def test_a_batch_without_positives_adds_nothing():
    logits, _ = batch(20)
    assert added(logits, torch.zeros(20)).item() < 1e-4


def test_weights_are_repeated_rows():
    logits, targets = batch(10)
    weights = torch.tensor([0.0, 1.0, 2.0, 3.0, 1.0] * 2)
    rows = torch.arange(10).repeat_interleave(weights.long())
    torch.testing.assert_close(added(logits, targets, weights), added(logits[rows], targets[rows]))


def test_ignored_entries_take_no_part():
    logits, targets = batch(10, 2)
    marked = targets.long()
    marked[3:5] = -1
    kept = [row for row in range(10) if row not in (3, 4)]
    broken = logits.clone()
    broken[3:5] = torch.nan
    found = added(broken, marked, ignore_index=-1)
    torch.testing.assert_close(found, added(logits[kept], targets[kept]))
    assert mf.SoftMetricLoss(mf.f1, cross_entropy=1.0, ignore_index=-1)(logits, -torch.ones(10, 2)) == 0


def test_groups_share_that_of_the_batch():
    logits, targets = batch(30, 2)
    groups = added(logits, targets, group_size=10, reduction="none")
    labels = added(logits, targets, reduction="none")
    torch.testing.assert_close(groups, labels.expand(3, 2))


def test_classes_are_told_from_the_rest():
    generator = torch.Generator().manual_seed(0)
    logits, classes = torch.randn(30, 4, generator=generator), torch.arange(30) % 4
    chances = torch.softmax(logits, 1)
    odds = (chances / (1 - chances)).log()
    truth = torch.nn.functional.one_hot(classes, 4)
    torch.testing.assert_close(added(logits, classes), added(odds, truth), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sharpness", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("shift", [-5.0, 0.0, 5.0])
def test_the_bias_makes_the_mean_probability_the_share_of_positives(sharpness, shift):
    logits, targets = batch(200)
    rows = soft_batch(sharpness * logits + shift, targets, None, None)
    mean = torch.sigmoid(rows.logits + own_bias(rows)).mean()
    assert mean.item() == pytest.approx(targets.double().mean().item(), abs=1e-3)


def test_it_compiles_and_is_mapped():
    logits, targets = batch(5, 12)
    loss = mf.SoftMetricLoss(mf.f1, cross_entropy=0.5)
    each = torch.stack([loss(row, truth) for row, truth in zip(logits, targets, strict=True)])
    torch.testing.assert_close(torch.func.vmap(loss)(logits, targets), each)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(logits, targets), loss(logits, targets))
    # PyTorch compiles one function for a few modules at most, and other tests compile it as well.
    torch.compiler.reset()


@pytest.mark.parametrize("weight", [-1.0, float("nan"), True, "much"])
def test_a_weight_must_be_a_number(weight):
    with pytest.raises(ValueError, match="cross_entropy must be a number"):
        mf.SoftMetricLoss(mf.f1, cross_entropy=weight)
