"""The recipes beside the losses: balanced batches, trees with tuned thresholds, the ensemble, packages."""

import sys

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import TunedThresholdClassifierCV

import metricfit as mf
from experiments.folders import made_up
from metricfit.experiments.batches import batches
from metricfit.experiments.fitting import fit
from metricfit.experiments.loading import derived_seed, load
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.recipes import DEFAULT, RECIPES, lacking
from metricfit.experiments.runs import Run
from metricfit.experiments.training import train


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load("redwine", 0, made_up(tmp_path_factory.mktemp("data"), "redwine"), partial=True)


def a_run(recipe, metric=None):
    return Run("recommended", "redwine", recipe, metric, 0.0, 0, 1, None, None)


def rows_of(data):
    features = torch.cat([data.train.features, data.validation.features]).numpy()
    return features, torch.cat([data.train.labels, data.validation.labels]).numpy()


def test_plain_batches_are_a_permutation_and_those_of_earlier_results():
    labels = torch.arange(10) % 2
    drawn = list(batches(labels, 3, torch.Generator().manual_seed(4), balanced=False))
    expected = torch.randperm(10, generator=torch.Generator().manual_seed(4)).tensor_split(3)
    assert [rows.tolist() for rows in drawn] == [rows.tolist() for rows in expected]


@pytest.mark.parametrize("positives", [1, 30, 99])
def test_half_of_a_balanced_batch_is_positive(positives):
    labels = (torch.arange(100) < positives).long()
    for rows in batches(labels, 4, torch.Generator().manual_seed(0), balanced=True):
        assert len(rows) == 25
        assert int(labels[rows].sum()) == 12


def test_trees_are_cut_where_scikit_learn_cuts_them(data):
    cell = fit(a_run("trees"), data)
    features, labels = rows_of(data)
    trees = HistGradientBoostingClassifier(random_state=derived_seed("redwine", 0, "fitting"))
    tuned = TunedThresholdClassifierCV(
        trees, scoring=mf.f2.scorer(), response_method="predict_proba", cv=5
    ).fit(features, labels)
    new, truth = data.test.features.numpy(), data.test.labels.numpy()
    assert cell["results"]["f2"]["tuned"]["test"] == pytest.approx(
        mf.f2.score(truth, tuned.predict(new)), 1e-5
    )
    plain = trees.fit(features, labels).predict(new)
    assert cell["results"]["mcc"]["zero"]["test"] == pytest.approx(mf.mcc.score(truth, plain), 1e-5)
    assert set(cell["results"]) == set(METRICS)
    assert set(cell["results"]["pr80"]) == {"zero", "tuned", "curve"}


def test_the_ensemble_is_tested_as_it_predicts(data):
    cell = fit(a_run("ensemble", "f2"), data)
    features, labels = rows_of(data)
    seed = derived_seed("redwine", 0, "fitting")
    model = mf.sklearn.MetricEnsemble(metric=mf.f2, random_state=seed).fit(features, labels)
    found = cell["results"]["f2"]["tuned"]
    predicted = model.predict(data.test.features.numpy())
    assert found["test"] == pytest.approx(mf.f2.score(data.test.labels.numpy(), predicted), 1e-5)
    assert found["predicted"] == int(predicted.sum())


def test_boosted_trees_of_lightgbm_are_a_recipe(data):
    cell = fit(a_run("lightgbm"), data)
    assert cell["results"]["f1"]["tuned"]["test"] > 0.6
    assert cell["loss"] == "lightgbm"


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.package])
def test_a_package_that_is_not_installed_is_named_with_its_command(name, monkeypatch):
    package = RECIPES[name].package
    monkeypatch.setitem(sys.modules, package.module, None)
    (sentence,) = lacking([name]).values()
    assert sentence.startswith(f"the method {name} needs {package.module} (")
    assert sentence.endswith(f"; run pip install {package.install}")


def test_the_default_recipes_need_no_other_package():
    assert lacking(DEFAULT) == {}
    assert set(DEFAULT) == {"cross-entropy", "weighted", "balanced", "soft", "metricfit"}


def test_a_device_is_written_down_and_the_cpu_gives_the_same_cell(data):
    cells = [
        train(Run("recommended", "redwine", "weighted", None, 0.0, 0, 2, None, None), data, device)
        for device in ("cpu", "cpu:0")
    ]
    assert [cell["device"] for cell in cells] == ["cpu", "cpu:0"]
    assert cells[0]["results"] == cells[1]["results"]


def test_every_recipe_says_what_it_is():
    for recipe in RECIPES.values():
        assert recipe.about
        assert set(recipe.aims) <= set(METRICS)


def test_images_go_through_the_convolutional_network(tmp_path):
    generator = np.random.default_rng(0)
    classes = generator.integers(0, 10, 300)
    pixels = generator.integers(0, 50, (300, 784)) + 200 * (classes == 0)[:, None]
    np.savez(tmp_path / "mnist.npz", X=pixels.astype(np.uint8), y=classes.astype(np.int16))
    data = load("mnist", 0, tmp_path, partial=True)
    assert data.image
    cell = train(Run("images", "mnist", "metricfit", "f1", 0.0, 0, 4, None, None), data)
    assert cell["results"]["f1"]["tuned"]["test"] > 0.9
    assert cell["epochs_run"] == 4
