"""The losses of other packages are what the results say; run by ``nox -s peers``, which installs them."""

import pytest
import torch

import metricfit as mf
from experiments.folders import made_up
from metricfit.experiments.loading import load
from metricfit.experiments.losses import make_loss
from metricfit.experiments.recipes import RECIPES, lacking
from metricfit.experiments.runs import Run
from metricfit.experiments.training import train

PEERS = [name for name, recipe in RECIPES.items() if recipe.package and recipe.network]


def batch():
    generator = torch.Generator().manual_seed(3)
    return torch.randn(64, generator=generator), (torch.rand(64, generator=generator) < 0.3).long()


def loss_of(recipe, metric, labels):
    return make_loss(recipe, metric, labels, scale=None, group_size=None)


def test_every_package_is_there():
    assert lacking(RECIPES) == {}


@pytest.mark.parametrize(("metric", "tolerance"), [("f1", 1e-5), ("f2", 1e-5), ("mcc", 1e-4)])
def test_the_soft_losses_are_those_of_soft_counts(metric, tolerance):
    logits, labels = batch()
    ours = mf.SoftMetricLoss(metric)(logits, labels)
    assert float(loss_of("smp", metric, labels)(logits, labels)) == pytest.approx(float(ours), abs=tolerance)


def test_the_focal_loss_weighs_by_the_square_of_what_is_missing():
    logits, labels = batch()
    truth = labels.float()
    missing = (logits.sigmoid() - truth).abs()
    plain = torch.nn.functional.binary_cross_entropy_with_logits(logits, truth, reduction="none")
    expected = float((missing**2 * plain).mean())
    assert float(loss_of("focal", None, labels)(logits, labels)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_learns(name, tmp_path):
    data = load("redwine", 0, made_up(tmp_path, "redwine"), partial=True)
    metric = RECIPES[name].aims[0] if RECIPES[name].aims else None
    cell = train(Run("recommended", "redwine", name, metric, 0.0, 0, 20, None, None), data)
    assert cell["results"]["f1"]["tuned"]["test"] > 0.6
    assert not cell["diverged"]


@pytest.mark.parametrize("name", ["aucm", "ap-loss"])
def test_libauc_leaves_the_random_numbers_as_they_were(name, tmp_path):
    data = load("redwine", 0, made_up(tmp_path, "redwine"), partial=True)
    run = Run("recommended", "redwine", name, None, 0.0, 0, 2, None, None)
    cells = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        cells.append(train(run, data)["results"])
        assert torch.equal(torch.get_rng_state(), before)
    assert cells[0] == cells[1]
