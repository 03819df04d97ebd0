"""Batches and settings that training meets now and then: other types, one class, no weight, checkpoints."""

import io

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import metricfit as mf

METRIC = mf.recall_at_precision(0.8)
LOSSES = {
    "soft": lambda: mf.SoftMetricLoss(METRIC),
    "with cross-entropy": lambda: mf.SoftMetricLoss(METRIC, cross_entropy=1.0, temperature=0.5),
    "bounds": lambda: mf.SoftMetricLoss(METRIC, bounds=True),
    "game": lambda: mf.MetricLoss(METRIC, constraints="running"),
}
HALF = (torch.float16, torch.bfloat16)
every_loss = pytest.mark.parametrize("kind", LOSSES)


def batch(n=24, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, generator=generator), torch.rand(n, generator=generator) < 0.4


def gradient(loss, logits, *rest):
    given = logits.detach().clone().requires_grad_()
    value = loss(given, *rest)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(given.grad).all()
    return given.grad


@every_loss
@pytest.mark.parametrize("dtype", HALF)
def test_a_loss_in_half_precision_keeps_its_counts_in_single_precision(kind, dtype):
    """Models are often moved with the loss as a part of them."""
    logits, targets = batch()
    low, plain = LOSSES[kind]().to(dtype), LOSSES[kind]()
    for _ in range(3):
        found, expected = gradient(low, logits.to(dtype), targets), gradient(plain, logits.to(dtype), targets)
        torch.testing.assert_close(found, expected)
    assert low.running.counts.dtype == torch.float32
    torch.testing.assert_close(low.multipliers, plain.multipliers)


@every_loss
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_batches_of_one_class_have_finite_gradients_and_multipliers(kind, share):
    logits, _ = batch()
    loss = LOSSES[kind]()
    for _ in range(3):
        gradient(loss, logits, torch.full((24,), share))
    assert torch.isfinite(loss.multipliers).all()


@every_loss
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.bfloat16, torch.bool])
def test_targets_of_any_type_give_the_same_gradient(kind, dtype):
    logits, targets = batch()
    expected = gradient(LOSSES[kind](), logits, targets.float())
    torch.testing.assert_close(gradient(LOSSES[kind](), logits, targets.to(dtype)), expected)


@every_loss
def test_targets_that_require_a_gradient_change_nothing(kind):
    logits, targets = batch()
    expected = gradient(LOSSES[kind](), logits, targets)
    found = gradient(LOSSES[kind](), logits, targets.float().requires_grad_())
    torch.testing.assert_close(found, expected)


@every_loss
def test_a_single_row_has_a_loss_and_no_row_has_none(kind):
    logits, targets = batch()
    gradient(LOSSES[kind](), logits[:1], targets[:1])
    with pytest.raises(ValueError, match="has no loss; leave empty batches out"):
        LOSSES[kind]()(logits[:0], targets[:0])


@every_loss
def test_a_number_is_no_batch(kind):
    with pytest.raises(ValueError, match=r"logits must have the shape \(n,\)"):
        LOSSES[kind]()(torch.tensor(1.0), torch.tensor(1.0))


@every_loss
def test_it_works_under_activation_checkpointing(kind):
    logits, targets = batch()
    given = logits.clone().requires_grad_()
    checkpoint(LOSSES[kind]().eval(), given, targets, use_reentrant=False).backward()
    torch.testing.assert_close(given.grad, gradient(LOSSES[kind]().eval(), logits, targets))


@every_loss
def test_evaluation_in_inference_mode_does_not_spoil_training(kind):
    logits, targets = batch()
    loss = LOSSES[kind]()
    with torch.inference_mode():
        loss(logits, targets)
    gradient(loss, logits, targets)


@every_loss
def test_in_evaluation_mode_it_is_mapped_and_differentiated_by_torch_func(kind):
    logits, targets = batch()
    loss = LOSSES[kind]().eval()
    torch.testing.assert_close(torch.func.grad(loss)(logits, targets), gradient(loss, logits, targets))
    many, truth = torch.stack((logits, -logits)), torch.stack((targets, targets))
    each = torch.stack([loss(row, targets) for row in many])
    torch.testing.assert_close(torch.func.vmap(loss)(many, truth), each)


@every_loss
def test_a_restored_loss_goes_on_as_the_first(kind):
    loss, restored = LOSSES[kind](), LOSSES[kind]()
    for seed in range(3):
        loss(*batch(seed=seed))
    file = io.BytesIO()
    torch.save(loss.state_dict(), file)
    file.seek(0)
    restored.load_state_dict(torch.load(file, weights_only=True))
    for seed in range(3, 6):
        torch.testing.assert_close(restored(*batch(seed=seed)), loss(*batch(seed=seed)))
    torch.testing.assert_close(restored.multipliers, loss.multipliers)


@pytest.mark.parametrize("kind", ["soft", "with cross-entropy", "bounds"])
def test_the_size_of_weights_does_not_matter(kind):
    logits, targets = batch()
    weights = torch.rand(24, generator=torch.Generator().manual_seed(1))
    expected = gradient(LOSSES[kind](), logits, targets, weights)
    for size in (1e-20, 1e20):
        found = gradient(LOSSES[kind](), logits, targets, size * weights)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-7)
    assert not gradient(LOSSES[kind](), logits, targets, torch.zeros(24)).any()


@pytest.mark.parametrize("value", [torch.nan, 2.0])
def test_games_that_may_be_skipped_still_refuse_wrong_targets(value):
    loss = mf.MetricLoss(METRIC, infeasible="skip")
    with pytest.raises(ValueError, match="targets must be 0 or 1"):
        loss(torch.zeros(4), torch.tensor([1.0, 0.0, 1.0, value]))
