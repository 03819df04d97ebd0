"""One run: what is judged, when it ends, and what the two protocols mean."""

import numpy as np
import pytest
import torch

import metricfit as mf
from experiments.folders import made_up
from metricfit.experiments.judging import Judge, cut_on_curve
from metricfit.experiments.loading import load
from metricfit.experiments.losses import make_loss
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.networks import make_network
from metricfit.experiments.optimizers import make_optimizer
from metricfit.experiments.protocols import PROTOCOLS
from metricfit.experiments.recipes import RECIPES
from metricfit.experiments.runs import Run, plan
from metricfit.experiments.training import train


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load("redwine", 0, made_up(tmp_path_factory.mktemp("data"), "redwine"), partial=True)


def a_run(loss="cross-entropy", metric=None, protocol="paper", epochs=3, l2=0.0, seed=0, scale=None):
    return Run(protocol, "redwine", loss, metric, l2, seed, epochs, None, scale)


def untimed(cell):
    return {name: value for name, value in cell.items() if not name.endswith("seconds")}


def test_a_loss_that_uses_no_metric_is_trained_once_and_judged_by_all(data):
    cell = train(a_run(), data)
    assert set(cell["results"]) == set(METRICS)
    assert set(cell["results"]["f1"]) == {"zero", "tuned"}
    assert set(cell["results"]["pr80"]) == {"zero", "tuned", "curve"}
    assert cell["epochs_run"] == 3
    assert cell["mean_gap"] is None


@pytest.mark.parametrize(
    ("loss", "metric"),
    [
        ("weighted", None),
        ("balanced", None),
        ("soft", "f2"),
        ("soft", "pr80"),
        ("metricfit", "mcc"),
        ("metricfit", "pr60"),
    ],
)
def test_every_loss_learns(loss, metric, data):
    cell = train(a_run(loss, metric, "recommended", epochs=20), data)
    name = metric or "accuracy"
    assert cell["results"][name]["zero"]["test"] > 0.6
    assert set(cell["results"]) == ({metric} if metric else set(METRICS))
    if loss == "metricfit":
        assert cell["mean_gap"] < 1e-4


def test_what_is_stored_can_be_checked_by_hand(data):
    cell = train(a_run("metricfit", "f1", "recommended", epochs=8), data)
    n, positives = cell["rows"]["test"], cell["positives"]["test"]
    assert (n, positives) == (len(data.test), int(data.test.labels.sum()))
    for found in cell["results"]["f1"].values():
        expected = 2 * found["hits"] / (found["predicted"] + positives)
        assert found["test"] == pytest.approx(expected, abs=1e-5)
        assert 1 <= found["epoch"] <= 8


def test_a_run_depends_on_its_key_alone(data):
    torch.manual_seed(1)
    first = train(a_run("metricfit", "f2"), data)
    torch.manual_seed(2)
    torch.rand(3)
    assert untimed(train(a_run("metricfit", "f2"), data)) == untimed(first)
    assert untimed(train(a_run("metricfit", "f2", seed=1), data)) != untimed(first)


def test_the_paper_scale_is_the_sum_over_the_batch():
    logits = torch.tensor([0.3, -0.2, 0.1, 0.6], requires_grad=True)
    labels = torch.tensor([1, 0, 1, 0])
    make_loss("metricfit", "f1", labels, scale="batch", group_size=None)(logits, labels).backward()
    solution = mf.solve(mf.f1, logits.detach().numpy())
    assert logits.grad.numpy() == pytest.approx(solution.adversary - labels.numpy(), abs=1e-3)


def test_the_public_implementation_has_the_same_gradient_up_to_its_accuracy():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(25, generator=generator)
    labels = (torch.rand(25, generator=generator) < 0.3).long()
    gradients = []
    for loss in ("metricfit", "ap-perf"):
        scores = logits.clone().requires_grad_()
        make_loss(loss, "f2", labels, scale="batch", group_size=None)(scores, labels).backward()
        gradients.append(scores.grad)
    assert torch.nn.functional.cosine_similarity(*gradients, dim=0) > 0.9
    assert 0.5 < gradients[1].norm() / gradients[0].norm() < 2.0


def test_a_penalty_shrinks_the_weights_by_the_gradient_of_their_squares(data):
    # Without any data gradient a step of SGD multiplies weights with 1 - 2 * rate * l2.
    network = make_network(3, image=False, glorot=True, seed=0)
    before = network[0].weight.detach().clone()
    optimizer = make_optimizer(a_run(l2=0.1), PROTOCOLS["paper"], network, torch.nn.BCEWithLogitsLoss())
    for parameter in network.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert network[0].weight.detach().numpy() == pytest.approx(
        before.numpy() * (1 - 2 * 0.01 * 0.1), abs=1e-7
    )


def test_early_stopping_ends_each_judgement_by_itself():
    good, bad = np.array([1.0, -1.0]), np.array([-1.0, 1.0])
    judge = Judge("f1", "zero", patience=2)
    labels = np.array([1, 0])
    assert judge.sees(1, good, labels)
    for epoch in (2, 3):
        assert not judge.sees(epoch, bad, labels)
    assert judge.closed
    assert judge.epoch == 1


def test_a_run_without_improvement_ends_early(data):
    cell = train(a_run("metricfit", "f1", "recommended", epochs=100), data)
    last = max(found["epoch"] for found in cell["results"]["f1"].values())
    assert cell["epochs_run"] == min(100, last + 15)


@pytest.mark.parametrize("seed", range(5))
def test_precision_on_the_curve_is_where_the_recall_is_first_reached(seed):
    generator = np.random.default_rng(seed)
    labels = (generator.random(40) < 0.4).astype(int)
    scores = np.round(generator.normal(size=40) + labels, 1)
    cut = cut_on_curve(mf.precision_at_recall(0.8), scores, labels)
    expected = next(
        labels[scores >= threshold].mean()
        for threshold in sorted(set(scores), reverse=True)
        if labels[scores >= threshold].sum() >= 0.8 * labels.sum() - 1e-9
    )
    assert cut.value == pytest.approx(expected)


def test_diverged_runs_end_and_say_so(data):
    broken = torch.full_like(data.train.features, float("nan"))
    spoilt = type(data)(
        data.name, type(data.train)(broken, data.train.labels), data.validation, data.test, False, False, "0"
    )
    cell = train(a_run(), spoilt)
    assert cell["diverged"]
    assert cell["epochs_run"] == 1
    assert cell["results"] == {}


def test_large_sets_get_fewer_epochs():
    run = Run("paper", "adult", "metricfit", "f1", 0.0, 0, 100, 5000, None)
    assert [run.epochs_for(steps) for steps in (10, 100, 1000, 10000)] == [100, 50, 5, 3]


def test_a_plan_has_every_run_once():
    runs = list(
        plan(
            protocols=["paper", "recommended"],
            datasets=["adult", "redwine"],
            losses=list(RECIPES),
            metrics=["f1", "pr80"],
            seeds=[0, 1],
        )
    )
    networks, estimators = ([r for r in runs if RECIPES[r.loss].network is kind] for kind in (True, False))
    # Six recipes know no metric, soft and metricfit come twice, smp and ap-perf for F1; 4 penalties and 1.
    assert len(networks) == 2 * 2 * (6 + 4 + 2) * (4 + 1)
    # Trees twice and the ensemble for F1, once for each protocol: they have no penalty.
    assert len(estimators) == 2 * 2 * 3 * 2
    assert len({run.key for run in runs}) == len(runs)
    assert runs[0].dataset == "redwine"
