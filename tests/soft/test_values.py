"""What the soft loss is: one minus the metric of soft counts, and the score where decisions are sure."""

import itertools

import numpy as np
import pytest
import torch
from torchmetrics.functional.segmentation import dice_score

import metricfit as mf
from formulas import BUILT_IN_FORMULAS

METRICS = {name: mf.get_metric(name) for name in BUILT_IN_FORMULAS} | {
    "fbeta(0.5)": mf.fbeta(0.5),
    "special cases": mf.f1.with_special_cases(positive=True, negative=True),
    "own, not playable": mf.get_metric("tp/(tp+fp+fn) + 0.5*tn/(tn+fp+fn)"),
    "own, with numbers": mf.get_metric("sqrt(2)*tp/(sqrt(pp*ap)+exp(1)) + log(2+tn)/(3+all)"),
}


def every_confusion_matrix(n):
    for cells in itertools.product(range(n + 1), repeat=4):
        if sum(cells) == n:
            yield cells


def rows_of(tp, fp, fn, tn):
    """Logits and labels with this confusion matrix."""
    logits = torch.tensor([40.0] * (tp + fp) + [-40.0] * (fn + tn))
    return logits, torch.tensor([1] * tp + [0] * fp + [1] * fn + [0] * tn)


@pytest.mark.parametrize("name", METRICS)
def test_soft_counts_of_sure_decisions_give_the_score(name):
    metric = METRICS[name]
    for n in (1, 2, 5):
        for cells in every_confusion_matrix(n):
            logits, labels = rows_of(*cells)
            soft = 1.0 - mf.functional.soft_metric_loss(logits, labels, metric).item()
            assert soft == pytest.approx(metric.score(labels, logits > 0), abs=2e-6), cells


def test_the_loss_is_one_minus_the_formula_of_sums_of_probabilities():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, generator=generator, dtype=torch.float64)
    targets, weights = (torch.rand(50, generator=generator, dtype=torch.float64) for _ in range(2))
    p = torch.sigmoid(logits / 0.5)
    tp, fp, fn = ((weights * part).sum() for part in (p * targets, p * (1 - targets), (1 - p) * targets))
    loss = mf.SoftMetricLoss("tp/(tp+fp+fn)", temperature=0.5)(logits, targets, weights)
    torch.testing.assert_close(loss, 1 - tp / (tp + fp + fn))


def test_on_sure_masks_it_is_the_dice_of_torchmetrics():
    generator = torch.Generator().manual_seed(1)
    masks, found = ((torch.rand(3, 2, 8, 8, generator=generator) < 0.3).long() for _ in range(2))
    theirs = dice_score(found, masks, num_classes=2, average="none", input_format="one-hot")
    ours = mf.SoftMetricLoss(mf.f1, group_size=1, reduction="none")(80.0 * found - 40.0, masks)
    torch.testing.assert_close(1 - ours, theirs)


def test_it_is_the_dice_loss_that_is_written_by_hand():
    """The formula of segmentation-models-pytorch, whose sums are over the images of a batch too."""
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(3, 2, 8, 8, generator=generator)
    masks = (torch.rand(3, 2, 8, 8, generator=generator) < 0.3).float()
    p = torch.sigmoid(logits)
    dice = 2 * (p * masks).sum((0, 2, 3)) / (p + masks).sum((0, 2, 3))
    torch.testing.assert_close(mf.SoftMetricLoss(mf.f1)(logits, masks), (1 - dice).mean())


def test_a_low_temperature_comes_close_to_the_score():
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(200, generator=generator)
    labels = torch.rand(200, generator=generator) < 0.3
    score = mf.mcc.score(labels, logits > 0)
    loss = mf.functional.soft_metric_loss(logits, labels, mf.mcc, temperature=1e-3)
    assert 1 - loss.item() == pytest.approx(score, abs=5e-3)


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.kappa, mf.jaccard], ids=str)
def test_whole_weights_are_repeated_rows(metric):
    logits, labels = torch.tensor([0.5, -1.0, 2.0, 0.1, -0.4]), torch.tensor([1, 0, 0, 1, 1])
    weights = torch.tensor([1, 2, 3, 0, 1])
    criterion = mf.SoftMetricLoss(metric)
    torch.testing.assert_close(
        criterion(logits, labels, weights.float()),
        criterion(logits.repeat_interleave(weights), labels.repeat_interleave(weights)),
    )


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_only_the_ratios_of_weights_matter_to_ratios(factor):
    logits, labels = torch.tensor([0.5, -1.0, 2.0, 0.1]), torch.tensor([1, 0, 0, 1])
    weights = torch.tensor([1.0, 2.0, 0.5, 0.0])
    criterion = mf.SoftMetricLoss(mf.mcc)
    torch.testing.assert_close(
        criterion(logits, labels, weights * factor), criterion(logits, labels, weights)
    )


def test_a_weight_of_two_is_a_row_twice_and_of_zero_no_row():
    logits, labels = torch.tensor([0.5, -1.0, 2.0, 0.1]), torch.tensor([1, 0, 0, 1])
    criterion = mf.SoftMetricLoss(mf.kappa)
    weighted = criterion(logits, labels, torch.tensor([2, 1, 0, 1]))
    torch.testing.assert_close(weighted, criterion(logits[[0, 0, 1, 3]], labels[[0, 0, 1, 3]]))


def test_large_masks_lose_nothing_to_rounding():
    """A million pixels, nearly all background: single precision sums would be negative by now."""
    logits = torch.full((1, 1, 1000, 1000), -40.0)
    masks = torch.zeros(1, 1, 1000, 1000)
    logits[0, 0, 0, :3], masks[0, 0, 0, 1:4] = 40.0, 1.0
    score = mf.mcc.score(masks.ravel().numpy(), np.asarray(logits.ravel() > 0))
    assert 1 - mf.SoftMetricLoss(mf.mcc)(logits, masks).item() == pytest.approx(score, abs=1e-6)
