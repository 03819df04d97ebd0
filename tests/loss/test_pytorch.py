"""The loss works with autograd, autocast, torch.compile, transforms, threads and copies."""

import copy
import io
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import metricfit as mf
from batches import a_batch, gradient


def f1_loss(**options):
    return mf.MetricLoss(mf.f1, **{"solver": "exact-lp", "scale": 32, **options})


def test_gradient_follows_the_incoming_gradient():
    logits, targets = a_batch(8, seed=1)
    loss = f1_loss()
    torch.testing.assert_close(
        gradient(10 * loss(logits, targets), logits), 10 * gradient(loss(logits, targets), logits)
    )


def test_ten_times_the_logits_at_a_tenth_of_the_scale_is_the_same_game():
    logits, targets = a_batch(8, seed=2)
    thin, wide = f1_loss(scale=3.2)(10 * logits, targets), f1_loss()(logits, targets)
    torch.testing.assert_close(thin, wide)
    torch.testing.assert_close(gradient(thin, logits), gradient(wide, logits))


def test_a_sum_with_cross_entropy_has_the_sum_of_the_gradients():
    logits, targets = a_batch(8, seed=3)
    loss = f1_loss()
    slope = gradient(
        0.3 * loss(logits, targets) + 0.7 * nn.BCEWithLogitsLoss()(logits, targets.double()), logits
    )
    (solution,) = loss.last_solution.solutions
    by_hand = 0.3 * 4 * (torch.tensor(solution.adversary) - targets)
    by_hand += 0.7 / 8 * (torch.sigmoid(logits.detach()) - targets)
    torch.testing.assert_close(slope, by_hand)


def test_accumulated_gradients_are_the_sum():
    batches = [a_batch(6, 3, seed=seed) for seed in (4, 5, 6)]
    model = nn.Linear(3, 1).double()
    loss = f1_loss()
    by_hand = torch.zeros_like(model.weight)
    for features, targets in batches:
        loss(model(features), targets[:, 0]).backward()
        (solution,) = loss.last_solution.solutions
        slope = 32 / 6 * (torch.tensor(solution.adversary) - targets[:, 0])
        by_hand += slope[None] @ features.detach()
    torch.testing.assert_close(model.weight.grad, by_hand)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_mixed_precision_with_a_gradient_scaler(dtype):
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    features, targets = a_batch(8, 3, seed=7, dtype=torch.float32, spread=1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    loss = f1_loss()
    with torch.autocast("cpu", dtype=dtype):
        logits = model(features)
        value = loss(logits, targets[:, :1])
    assert (logits.dtype, value.dtype) == (dtype, torch.float32)
    scaler.scale(value).backward()
    scaler.unscale_(optimizer)
    (solution,) = loss.last_solution.solutions
    slope = 4 * (torch.tensor(solution.adversary, dtype=torch.float32) - targets[:, 0])
    torch.testing.assert_close(model.weight.grad, slope[None] @ features.detach(), atol=2e-2, rtol=2e-2)


def test_operator_passes_the_checks_of_pytorch():
    for shape, options in [((6,), {}), ((6, 2), {"reduction": "none", "group_size": 3})]:
        logits, targets = a_batch(*shape, seed=8, dtype=torch.float32)
        text = f1_loss(**options).settings.text()
        torch.library.opcheck(torch.ops.metricfit.metric_loss.default, (logits, targets, text, 0))


def test_operator_itself_has_the_gradient():
    logits, targets = a_batch(6, seed=8)
    value, slope = torch.ops.metricfit.metric_loss(logits, targets, f1_loss().settings.text(), 0)
    torch.testing.assert_close(gradient(value, logits), slope)


@pytest.mark.parametrize("dynamic", [False, True])
def test_loss_compiles_into_one_graph(dynamic):
    model = nn.Sequential(nn.Linear(3, 2)).double()
    loss = f1_loss(reduction="none", group_size=3)

    def step(features, targets):
        return loss(model(features), targets).square().sum()

    compiled = torch.compile(step, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for n, seed in ((6, 9), (8, 10)):
        features, targets = a_batch(n, 3, seed=seed)
        targets = targets[:, :2]
        plain, traced = (
            torch.autograd.grad(function(features, targets), model.parameters())
            for function in (step, compiled)
        )
        torch.testing.assert_close(plain, traced)
    assert loss.last_solution.gap <= 1e-4


@pytest.mark.slow
@pytest.mark.filterwarnings("default::DeprecationWarning:torch")
def test_loss_compiles_with_the_default_backend():
    logits, targets = a_batch(6, seed=11)
    compiled = torch.compile(f1_loss(), fullgraph=True)
    torch.testing.assert_close(
        gradient(compiled(logits, targets), logits), gradient(f1_loss()(logits, targets), logits)
    )


def test_function_compiles_into_one_graph():
    def step(logits, targets):
        return mf.functional.metric_loss(logits, targets, mf.f2, solver="exact-lp", scale=7.0)

    logits, targets = a_batch(6, seed=12)
    assert torch.compile(step, fullgraph=True, backend="aot_eager")(logits, targets) == step(logits, targets)


def test_bad_batches_are_refused_in_compiled_code_too():
    compiled = torch.compile(f1_loss(), fullgraph=True, backend="aot_eager")
    with pytest.raises(ValueError, match="targets must be 0 or 1"):
        compiled(torch.zeros(3), torch.tensor([-1, 1, 1]))


def test_tracers_see_the_operator():
    logits, targets = a_batch(6, seed=13)
    graph = make_fx(f1_loss())(logits.detach(), targets)
    assert "metricfit.metric_loss" in graph.code
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert f1_loss()(torch.empty(6), targets).shape == ()


def test_function_transforms():
    logits, targets = a_batch(6, seed=13)
    loss = f1_loss()
    expected = gradient(loss(logits, targets), logits)
    torch.testing.assert_close(torch.func.grad(lambda x: loss(x, targets))(logits.detach()), expected)
    several = torch.stack([logits.detach(), -logits.detach(), 2 * logits.detach()])
    slopes = torch.func.vmap(torch.func.grad(loss), in_dims=(0, None))(several, targets)
    torch.testing.assert_close(slopes[0], expected)
    one_by_one = torch.stack([loss(row, targets) for row in several])
    torch.testing.assert_close(torch.func.vmap(loss, in_dims=(1, None))(several.t(), targets), one_by_one)
    curvature = torch.func.grad(lambda x: torch.func.grad(lambda z: loss(z, targets))(x).square().sum())
    assert not curvature(logits.detach()).any()


def test_loss_can_be_exported():
    logits, targets = a_batch(6, seed=14)
    loss = f1_loss()
    program = torch.export.export(loss, (logits.detach(), targets))
    torch.testing.assert_close(program.module()(logits, targets), f1_loss()(logits, targets))
    assert loss.last_solution is None


def test_an_exported_program_can_be_saved():
    logits, targets = a_batch(6, seed=14)
    file = io.BytesIO()
    metric = mf.fbeta(0.3).subject_to(mf.recall >= 0.1 + 0.2)
    loss = mf.MetricLoss(metric, solver="exact-lp")
    torch.export.save(torch.export.export(loss, (logits.detach(), targets)), file)
    file.seek(0)
    assert torch.export.load(file).module()(logits, targets) == loss(logits, targets)


def test_threads_do_not_disturb_each_other():
    metrics = [mf.f1, mf.mcc, mf.kappa, mf.precision_at_recall(0.5)]
    losses = [mf.MetricLoss(metric, solver="exact-lp") for metric in metrics]
    shared = f1_loss()

    def work(seed):
        logits, targets = a_batch(6, seed=seed)
        own = losses[seed % len(losses)]
        results = gradient(own(logits, targets), logits), gradient(shared(logits, targets), logits)
        return *results, shared.last_solution.value

    with ThreadPoolExecutor(2) as pool:
        parallel = list(pool.map(work, range(16)))
    for seed, (own, common, value) in enumerate(parallel):
        expected = work(seed)
        torch.testing.assert_close((own, common), expected[:2])
        assert value == expected[2]


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda loss: pickle.loads(pickle.dumps(loss))])
def test_a_copy_is_the_same_loss_with_a_memory_of_its_own(copied):
    logits, targets = a_batch(6, seed=15)
    loss = mf.MetricLoss(mf.precision_at_recall(0.7), solver="exact-lp", scale="batch", group_size=3)
    value = loss(logits, targets)
    twin = copied(loss)
    assert twin.last_solution is None
    assert twin(logits, targets) == value
    assert twin.last_solution is not loss.last_solution
    assert repr(twin) == repr(loss)


def test_a_model_with_the_loss_inside_keeps_its_state():
    model = nn.ModuleDict({"body": nn.Linear(2, 1), "loss": f1_loss()})
    assert list(model.state_dict()) == ["body.weight", "body.bias"]
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    assert repr(torch.load(file, weights_only=False)) == repr(model)


def test_representation_names_what_is_not_the_default():
    loss = mf.MetricLoss(mf.f1, scale=5.0, group_size=64)
    assert re.search(r"MetricLoss\(Metric\(f1 = .*\), scale=5.0, group_size=64\)", repr(loss))


def test_last_solution_tells_value_gap_and_time():
    logits, targets = a_batch(6, 2, seed=16)
    loss = f1_loss(reduction="none", scale="batch")
    assert loss.last_solution is None
    values = loss(logits, targets)
    last = loss.last_solution
    assert len(last.solutions) == 2
    assert last.gap <= 1e-4
    assert last.seconds > 0
    expected = [1 - s.value - logits[:, i] @ targets[:, i].double() for i, s in enumerate(last.solutions)]
    torch.testing.assert_close(values[0], torch.stack(expected))
    assert last.value == pytest.approx(sum(s.value for s in last.solutions) / 2)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_loss_on_the_device_equals_loss_on_the_host():
    logits, targets = a_batch(8, 2, seed=17)
    there = logits.detach().cuda().requires_grad_()
    value = f1_loss()(there, targets.cuda())
    assert value.is_cuda
    torch.testing.assert_close(value.cpu(), f1_loss()(logits, targets))
    torch.testing.assert_close(gradient(value, there).cpu(), gradient(f1_loss()(logits, targets), logits))
