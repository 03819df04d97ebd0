"""The soft loss in PyTorch's tools: compiled, transformed, copied, checked."""

import copy
import pickle

import pytest
import torch

import metricfit as mf

CONSTRAINED = mf.recall.subject_to(mf.precision >= 0.9, mf.specificity >= 0.5)


def batch(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator), torch.rand(*shape, generator=generator) < 0.4


@pytest.mark.parametrize("options", [{}, {"ignore_index": -1}, {"group_size": 4}, {"average": "samples"}])
def test_it_compiles_to_one_graph(options):
    logits, targets = batch(10, 3)
    loss = mf.SoftMetricLoss(mf.mcc, **options)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    first, second = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    compiled(first, targets).backward()
    loss(second, targets).backward()
    torch.testing.assert_close(first.grad, second.grad)


def test_compiled_multipliers_move_as_others_do():
    logits, targets = batch(20)
    loss = mf.SoftMetricLoss(CONSTRAINED)
    twin = copy.deepcopy(loss)
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for _ in range(3):
        torch.testing.assert_close(compiled(logits, targets), twin(logits, targets))
    torch.testing.assert_close(loss.multipliers, twin.multipliers)


def test_the_function_compiles_and_equals_the_module():
    logits, targets = batch(12, 2)

    def function(logits, targets):
        return mf.functional.soft_metric_loss(logits, targets, "f1", temperature=0.5)

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    expected = mf.SoftMetricLoss(mf.f1, temperature=0.5)(logits, targets)
    torch.testing.assert_close(compiled(logits, targets), expected)
    torch.testing.assert_close(function(logits, targets), expected)


def test_the_function_takes_multipliers():
    logits, targets = batch(12)
    loss = mf.SoftMetricLoss(CONSTRAINED).eval()
    found = mf.functional.soft_metric_loss(logits, targets, CONSTRAINED, multipliers=torch.tensor([3.0, 3.0]))
    torch.testing.assert_close(found, 7.0 * loss(logits, targets))


def test_transforms_of_torch_func():
    logits, targets = batch(5, 8)
    loss = mf.SoftMetricLoss(mf.kappa)
    each = torch.stack([loss(row, truth) for row, truth in zip(logits, targets, strict=True)])
    torch.testing.assert_close(torch.func.vmap(loss)(logits, targets), each)
    slopes = torch.func.vmap(torch.func.grad(loss))(logits, targets)
    by_hand = logits[2].clone().requires_grad_()
    loss(by_hand, targets[2]).backward()
    torch.testing.assert_close(slopes[2], by_hand.grad)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda loss: pickle.loads(pickle.dumps(loss))])
def test_copies_have_the_same_loss_and_multipliers_of_their_own(copied):
    logits, targets = batch(20)
    loss = mf.SoftMetricLoss(CONSTRAINED, bounds=True)
    loss(logits, targets)
    twin = copied(loss)
    torch.testing.assert_close(twin.multipliers, loss.multipliers)
    torch.testing.assert_close(twin.eval()(logits, targets), copy.deepcopy(loss).eval()(logits, targets))
    loss(logits, targets)
    assert not torch.equal(twin.multipliers, loss.multipliers)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_where_values_cannot_be_looked_at_the_loss_is_no_number(value):
    logits, targets = batch(2, 8)
    logits[1, 3] = value
    found = torch.func.vmap(mf.SoftMetricLoss(mf.f1))(logits, targets)
    assert found.isnan().tolist() == [False, True]


def test_it_prints_what_differs_from_the_default():
    text = repr(mf.SoftMetricLoss(mf.recall_at_precision(0.9), temperature=0.5))
    assert "subject to precision >= 0.9" in text
    assert "temperature=0.5" in text
    assert "average" not in text
