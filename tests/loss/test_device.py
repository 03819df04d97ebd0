"""The loss whose games are played where the logits are; here on the CPU, by the same source."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import metricfit as mf
from batches import a_batch, gradient
from metricfit.loss.path import on_device
from metricfit.loss.settings import Settings


def both(
    metric: mf.Metric, logits: torch.Tensor, targets: torch.Tensor, **options: object
) -> tuple[torch.Tensor, torch.Tensor]:
    """Losses on the host and on the device."""
    host, device = (mf.MetricLoss(metric, solver=solver, **options) for solver in ("fast", "device"))
    return host(logits, targets), device(logits, targets)


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.kappa, mf.accuracy], ids=str)
@pytest.mark.parametrize("shape", [(20,), (70,), (40, 1), (50, 3)], ids=str)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_loss_is_that_of_the_host(metric: mf.Metric, shape: tuple[int, ...], reduction: str) -> None:
    logits, targets = a_batch(*shape, spread=2.0)
    host, device = both(metric, logits, targets, reduction=reduction)
    assert device.shape == host.shape
    assert device.dtype == host.dtype
    assert (device - host).abs().max() <= 2e-4 * max(1, device.numel() == 1 and targets.numel() // 20)


def test_the_gradient_is_that_of_the_host_where_the_adversary_is_unique() -> None:
    logits, targets = a_batch(24, spread=2.0)
    host, device = both(mf.f1, logits, targets, tol=1e-7)
    assert torch.allclose(gradient(device, logits), gradient(host, logits), atol=1e-4)


def test_the_gradient_follows_the_chain_rule_in_every_group() -> None:
    logits, targets = a_batch(50, 2)
    host, device = both(mf.f1, logits, targets, reduction="none", tol=1e-7)
    weights = torch.arange(1.0, 1.0 + host.numel(), dtype=host.dtype).reshape(host.shape)
    slopes = [gradient((weights * losses).sum(), logits) for losses in (host, device)]
    assert torch.allclose(*slopes, atol=2e-2)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float16, torch.float64])
def test_targets_of_every_type_are_taken(dtype: torch.dtype) -> None:
    logits, targets = a_batch(40, 3)
    host, device = both(mf.f1, logits, targets.to(dtype))
    assert torch.allclose(host, device, atol=2e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_precision_gives_a_loss_of_single_precision_at_least(dtype: torch.dtype) -> None:
    logits, targets = a_batch(16, dtype=dtype)
    loss = mf.MetricLoss(mf.f1, solver="device")(logits, targets)
    loss.backward()
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert logits.grad is not None
    assert logits.grad.dtype == dtype


def test_huge_logits_cost_what_they_cost_on_the_host() -> None:
    logits = torch.tensor([1e6, -1e6, 3.0, 5e5, -0.1], dtype=torch.float64, requires_grad=True)
    for targets in (torch.tensor([1, 0, 1, 1, 0]), torch.tensor([0, 1, 1, 0, 0])):
        host, device = both(mf.f1, logits, targets, tol=1e-6)
        assert torch.allclose(host, device, rtol=1e-9, atol=1e-6)
        assert torch.allclose(gradient(host, logits), gradient(device, logits), atol=1e-3)


@pytest.mark.parametrize("strange", [float("nan"), float("inf")])
def test_a_logit_that_is_not_finite_makes_the_loss_nan(strange: float) -> None:
    logits = torch.tensor([0.1, strange, -0.3, 0.2])
    losses = mf.MetricLoss(mf.f1, solver="device", group_size=2, reduction="none")(logits, torch.ones(4))
    assert losses.isnan().tolist() == [True, False]


@pytest.mark.parametrize("strange", [2.0, -1.0, 0.5, float("nan")])
def test_a_target_that_is_neither_0_nor_1_makes_the_loss_nan(strange: float) -> None:
    targets = torch.tensor([1.0, strange, 0.0, 1.0])
    losses = mf.MetricLoss(mf.f1, solver="device", group_size=2, reduction="none")(torch.zeros(4), targets)
    assert losses.isnan().tolist() == [True, False]


def test_the_solutions_are_there_when_they_are_asked_for() -> None:
    logits, targets = a_batch(40, 2, spread=2.0)
    played = []
    for solver in ("fast", "device"):
        loss = mf.MetricLoss(mf.f1, solver=solver)
        loss(logits, targets)
        assert loss.last_solution is not None
        played.append(loss.last_solution)
    host, device = played
    assert len(device.solutions) == len(host.solutions) == 4
    assert device.gap <= 1e-4
    for one, other in zip(host.solutions, device.solutions, strict=True):
        assert abs(one.value - other.value) <= 2e-4
        assert one.adversary.shape == other.adversary.shape
        assert other.solver == "device"


def test_games_that_were_not_solved_are_warned_about_when_the_solution_is_read() -> None:
    loss = mf.MetricLoss(mf.f1, solver="device", group_size=2)
    loss(torch.tensor([0.1, float("nan"), 0.2, 0.3]), torch.ones(4))
    with pytest.warns(mf.ConvergenceWarning, match="1 of 2 games on the device"):
        assert loss.last_solution is not None


def test_it_compiles() -> None:
    logits, targets = a_batch(12)
    loss = mf.MetricLoss(mf.f1, solver="device")
    compiled = torch.compile(lambda x, y: loss(2.0 * x, y), backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(logits, targets), loss(2.0 * logits, targets))


@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_the_loss_under_constraints_is_that_of_the_host(reduction: str) -> None:
    logits, targets = a_batch(70, spread=2.0)
    host, device = both(mf.precision_at_recall(0.8), logits, targets, reduction=reduction)
    assert torch.allclose(host, device, atol=2e-4)


IMPOSSIBLE = mf.specificity.subject_to(mf.recall >= 0.9, mf.precision <= 0.5)


def test_constraints_that_cannot_be_met_make_the_loss_nan() -> None:
    loss = mf.MetricLoss(IMPOSSIBLE, solver="device", group_size=3, reduction="none")
    losses = loss(torch.linspace(-0.5, 0.5, 6), torch.tensor([1, 1, 1, 1, 0, 0]))
    assert losses.isnan().tolist() == [True, False]


def test_games_whose_constraints_cannot_be_met_are_skipped_as_on_the_host() -> None:
    logits = torch.linspace(-0.5, 0.5, 6, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([1, 1, 1, 1, 0, 0])
    with pytest.warns(mf.SkippedGameWarning):
        host = mf.MetricLoss(IMPOSSIBLE, solver="fast", group_size=3, infeasible="skip")(logits, targets)
    loss = mf.MetricLoss(IMPOSSIBLE, solver="device", group_size=3, infeasible="skip")
    device = loss(logits, targets)
    assert torch.allclose(host, device, atol=2e-4)
    assert torch.allclose(gradient(host, logits), gradient(device, logits), atol=1e-3)
    assert [solution is None for solution in loss.last_solution.solutions] == [True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": mf.f1, "ignore_index": -1}, "ignore_index"),
        ({"metric": mf.f1, "gather": True}, "gather"),
    ],
    ids=["ignore_index", "gather"],
)
def test_what_the_device_cannot_play_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mf.MetricLoss(solver="device", **options)


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="leave empty batches out"):
        mf.MetricLoss(mf.f1, solver="device")(torch.zeros(0), torch.zeros(0))


def test_tensors_on_the_cpu_are_played_on_the_host_by_default() -> None:
    assert not on_device(torch.zeros(8), Settings(mf.f1))


class OnCuda:
    """Logits of a GPU, as far as the choice looks at them."""

    is_cuda = True

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def test_auto_takes_the_gpu_that_holds_the_logits_for_games_it_is_good_at():
    careful = mf.precision_at_recall(0.8)
    impossible = mf.f1.subject_to(mf.recall >= 0.5, mf.precision <= 0.1)
    assert on_device(OnCuda(64), Settings(mf.f1))
    assert on_device(OnCuda(4096), Settings(mf.f1))  # in groups
    assert not on_device(OnCuda(128), Settings(mf.f1, group_size=None))
    assert not on_device(OnCuda(64), Settings(mf.f1, solver="fast"))
    assert on_device(OnCuda(256), Settings(careful, group_size=None))
    assert not on_device(OnCuda(257), Settings(careful, group_size=None))
    assert not on_device(OnCuda(64), Settings(impossible))  # the host says which constraint cannot be met
    assert on_device(OnCuda(64), Settings(impossible, infeasible="skip"))
    assert not on_device(OnCuda(0), Settings(mf.f1))


def test_nothing_of_the_device_is_imported_for_tensors_on_the_cpu() -> None:
    program = (
        "import sys, torch, metricfit as mf\n"
        "mf.MetricLoss(mf.f1)(torch.zeros(3), torch.ones(3))\n"
        "assert not [name for name in sys.modules if name.startswith('metricfit.solving.device')]\n"
        "assert 'triton' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
