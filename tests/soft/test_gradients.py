"""Gradients are right, and finite wherever a batch may be."""

import pytest
import torch

import metricfit as mf
from soft.test_values import METRICS

EVERY = {**METRICS, "jaccard": mf.jaccard, "g_mean": mf.g_mean}
LABELS = {"none positive": torch.zeros(8), "all positive": torch.ones(8), "some": torch.arange(8) % 3 == 0}


@pytest.mark.parametrize("name", EVERY)
def test_gradients_are_those_of_finite_differences(name):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(7, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = torch.rand(7, generator=generator, dtype=torch.float64)
    weights = torch.rand(7, generator=generator, dtype=torch.float64)
    loss = mf.SoftMetricLoss(EVERY[name], temperature=0.7)
    assert torch.autograd.gradcheck(lambda x: loss(x, targets, weights), (logits,))
    assert torch.autograd.gradgradcheck(lambda x: loss(x, targets), (logits,))


@pytest.mark.parametrize("name", EVERY)
def test_numbers_and_arrays_on_the_host_are_what_operators_give(name, monkeypatch):
    """One unit is measured in plain numbers, several in NumPy, and under a transform by operators."""
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(12, 2, generator=generator, dtype=torch.float64)
    targets = (torch.rand(12, 2, generator=generator) < 0.4).double()
    targets[:, 1] = 0.0
    for options in ({"average": "micro"}, {"group_size": 4}):
        found = []
        for watched in (False, True):
            monkeypatch.setattr("metricfit.loss.soft_terms.is_watched", lambda watched=watched: watched)
            given = logits.clone().requires_grad_()
            loss = mf.SoftMetricLoss(EVERY[name], **options)(given, targets)
            loss.backward()
            found.append((loss.detach(), given.grad))
        torch.testing.assert_close(found[0], found[1], rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own, of forward mode
def test_gradients_go_forward_too():
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(9, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = (torch.rand(9, generator=generator) < 0.5).double()
    loss = mf.SoftMetricLoss(mf.f1.subject_to(mf.precision >= 0.8)).eval()
    assert torch.autograd.gradcheck(lambda x: loss(x, targets), (logits,), check_forward_ad=True)


@pytest.mark.parametrize("bounds", [False, True])
def test_gradients_with_constraints_are_those_of_finite_differences(bounds):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(9, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = (torch.rand(9, generator=generator) < 0.5).double()
    metric = mf.f1.subject_to(mf.precision >= 0.8, mf.recall <= 0.9)
    loss = mf.SoftMetricLoss(metric, bounds=bounds).eval()
    assert torch.autograd.gradcheck(lambda x: loss(x, targets), (logits,))


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("level", [-1e4, -100.0, -40.0, 0.0, 40.0, 100.0, 1e4])
@pytest.mark.parametrize("name", EVERY)
def test_gradients_are_finite(name, level, labels):
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for bounds in (False, True):
            logits = torch.full((8,), level, dtype=dtype, requires_grad=True)
            metric = EVERY[name].subject_to(mf.precision >= 0.8, mf.recall >= 0.5)
            loss = mf.SoftMetricLoss(metric, bounds=bounds)(logits, LABELS[labels])
            loss.backward()
            assert loss.dtype == torch.float32
            assert torch.isfinite(loss)
            assert torch.isfinite(logits.grad).all()


def test_entries_that_are_wrong_and_far_from_the_cut_still_have_a_gradient():
    logits = torch.tensor([-20.0, 20.0, 1.0], requires_grad=True)
    mf.SoftMetricLoss(mf.accuracy)(logits, torch.tensor([1, 0, 1])).backward()
    assert (logits.grad[:2] * torch.tensor([-1.0, 1.0]) > 0).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_counts_are_in_single_precision_under_autocast(dtype):
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(64, 5, generator=generator)
    labels = torch.rand(64, generator=generator) < 0.3
    model, loss = torch.nn.Linear(5, 1), mf.SoftMetricLoss(mf.mcc)
    with torch.autocast("cpu", dtype=dtype):
        logits = model(features)
        mixed = loss(logits, labels)
    assert logits.dtype == dtype
    assert mixed.dtype == torch.float32
    torch.testing.assert_close(mixed, loss(logits.float(), labels))
    mixed.backward()
    assert torch.isfinite(model.weight.grad).all()
