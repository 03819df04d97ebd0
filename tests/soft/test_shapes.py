"""Shapes, averages, groups, weights and entries that are left out."""

import itertools

import pytest
import torch

import metricfit as mf


def masks(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator), torch.rand(*shape, generator=generator) < 0.4


def one(logits, targets):
    return mf.functional.soft_metric_loss(logits.reshape(-1), targets.reshape(-1), mf.f1)


@pytest.mark.parametrize("shape", [(6, 3), (6, 3, 4, 5), (6, 3, 2, 4, 5)])
def test_macro_is_the_mean_over_labels_and_micro_takes_all_together(shape):
    logits, targets = masks(*shape)
    macro = mf.SoftMetricLoss(mf.f1, reduction="none")(logits, targets)
    assert macro.shape == (1, 3)
    for label in range(3):
        torch.testing.assert_close(macro[0, label], one(logits[:, label], targets[:, label]))
    torch.testing.assert_close(mf.SoftMetricLoss(mf.f1)(logits, targets), macro.mean())
    micro = mf.SoftMetricLoss(mf.f1, average="micro")(logits, targets)
    torch.testing.assert_close(micro, one(logits, targets))


@pytest.mark.parametrize("shape", [(6, 3), (6, 3, 4, 5)])
def test_samples_takes_the_metric_of_each_row(shape):
    logits, targets = masks(*shape)
    losses = mf.SoftMetricLoss(mf.f1, average="samples", reduction="none")(logits, targets)
    each = [one(row, truth) for row, truth in zip(logits, targets, strict=True)]
    torch.testing.assert_close(losses, torch.stack(each))


def test_groups_are_those_of_the_games():
    logits, targets = masks(70, 2)
    losses = mf.SoftMetricLoss(mf.f1, group_size=32, reduction="none")(logits, targets)
    assert losses.shape == (3, 2)
    cuts = (0, 24, 47, 70)
    for group, (start, stop) in enumerate(itertools.pairwise(cuts)):
        torch.testing.assert_close(losses[group, 1], one(logits[start:stop, 1], targets[start:stop, 1]))
    total = mf.SoftMetricLoss(mf.f1, group_size=32, reduction="sum")(logits, targets)
    torch.testing.assert_close(total, losses.sum())


def test_one_column_is_like_none():
    logits, targets = masks(9)
    loss = mf.SoftMetricLoss(mf.f1)
    expected = loss(logits, targets)
    torch.testing.assert_close(loss(logits[:, None], targets), expected)
    torch.testing.assert_close(loss(logits, targets[:, None]), expected)
    assert mf.SoftMetricLoss(mf.f1, reduction="none")(logits, targets).shape == (1,)


def test_masks_may_lack_the_dimension_of_the_only_class():
    logits, targets = masks(2, 1, 4, 4)
    loss = mf.SoftMetricLoss(mf.f1)
    torch.testing.assert_close(loss(logits, targets[:, 0]), loss(logits, targets))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64])
def test_targets_may_have_any_type(dtype):
    logits, targets = masks(9)
    loss = mf.SoftMetricLoss(mf.f1)
    torch.testing.assert_close(loss(logits, targets.to(dtype)), loss(logits, targets))


@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
def test_ignored_entries_take_no_part_even_if_they_are_no_numbers(average):
    logits, targets = masks(6, 3)
    ignored = torch.zeros(6, 3, dtype=torch.bool)
    ignored[2:4, 1] = ignored[5] = True
    marked = targets.long().masked_fill(ignored, -1)
    broken = logits.masked_fill(ignored, torch.nan).requires_grad_()
    loss = mf.SoftMetricLoss(mf.f1, ignore_index=-1, average=average)(broken, marked)
    weighted = mf.SoftMetricLoss(mf.f1, average=average)(logits, targets, (~ignored).float())
    torch.testing.assert_close(loss, weighted)
    loss.backward()
    assert (broken.grad[ignored] == 0).all()
    assert torch.isfinite(broken.grad).all()


def test_labels_without_an_entry_do_not_count():
    logits, targets = masks(6, 3)
    marked = targets.long()
    marked[:, 1] = -1
    loss = mf.SoftMetricLoss(mf.f1, ignore_index=-1)
    expected = (one(logits[:, 0], targets[:, 0]) + one(logits[:, 2], targets[:, 2])) / 2
    torch.testing.assert_close(loss(logits, marked), expected)
    assert loss(logits, torch.full((6, 3), -1)) == 0


def test_weights_are_per_row_or_per_entry():
    logits, targets = masks(4, 2, 3, 3)
    rows = torch.tensor([1.0, 0.0, 2.0, 0.5])
    loss = mf.SoftMetricLoss(mf.f1)
    every = rows.reshape(4, 1, 1, 1).expand(4, 2, 3, 3)
    torch.testing.assert_close(loss(logits, targets, rows), loss(logits, targets, every))


@pytest.mark.parametrize("loss", [mf.MetricLoss(mf.f1), mf.SoftMetricLoss(mf.f1)], ids=["game", "soft"])
def test_what_is_no_dense_tensor_is_refused(loss):
    targets = torch.tensor([1, 0])
    with pytest.raises(TypeError, match="logits must be a tensor of PyTorch, not list"):
        loss([0.5, 0.1], targets)
    with pytest.raises(TypeError, match="targets must be a tensor of PyTorch, not ndarray"):
        loss(torch.zeros(2), targets.numpy())
    with pytest.raises(TypeError, match=r"must be a dense tensor, .*; give logits\.to_dense"):
        loss(torch.zeros(2).to_sparse(), targets)


@pytest.mark.parametrize("metric", ["precision@10%", "recall@3", "precision_at_k(3)"])
def test_a_size_of_the_prediction_is_refused_and_not_ignored(metric):
    with pytest.raises(ValueError, match="is of predictions of one size, and a soft loss measures decisions"):
        mf.SoftMetricLoss(metric)
    with pytest.raises(ValueError, match="is of predictions of one size"):
        mf.functional.soft_metric_loss(torch.zeros(4), torch.tensor([1, 0, 0, 1]), mf.get_metric(metric))
