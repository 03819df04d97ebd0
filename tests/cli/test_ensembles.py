"""`metricfit fit` without --fast: the ensemble, what it is compared with, and what is used."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from joblib import cpu_count

import metricfit as mf
from cli.tables import a_table, fit, left_behind, metrics_of, run, said
from metricfit.cli.candidates import How, TrainingRows, jobs_for
from metricfit.cli.class_candidates import class_candidates
from metricfit.cli.decisions import Decision
from metricfit.cli.importance import column_importance
from metricfit.cli.model_files import load_model
from metricfit.cli.pair_candidates import pair_candidates
from metricfit.sklearn import MetricEnsemble


def ensemble(folder, *words, **settings):
    return fit(folder, *words, fast=False, **settings)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    a_table(400).to_csv(folder / "table.csv", index=False)
    result = ensemble(folder, "--metric", "f2", epochs=4)
    assert result.exit_code == 0, result.output
    (folder / "output.txt").write_text(said(result))
    return folder


def test_the_ensemble_is_compared_with_cross_entropy_trees_and_a_constant(trained):
    found = metrics_of(trained)
    names = [method["name"] for method in found["methods"]]
    assert set(names[:3]) == {
        "ensemble for f2",
        "cross-entropy networks with a tuned threshold",
        "boosted trees with a tuned threshold",
    }
    assert names[3] in ("always positive", "never positive")
    output = (trained / "output.txt").read_text()
    assert f"The model is: {names[0]}. It is the best out-of-fold" in output
    assert "95 % interval" in output
    held_out = [method["held_out"] for method in found["methods"][:3]]
    assert held_out[0] == max(held_out)


def test_the_model_that_is_used_gives_the_scores_of_the_report(trained, tmp_path):
    out = tmp_path / "p.csv"
    assert run("predict", trained / "run", trained / "table.csv", "--out", out).exit_code == 0
    found = pd.read_csv(out)
    assert list(found.columns) == ["predicted churn", "score", "probability"]
    threshold = json.loads((trained / "run" / "model.json").read_text())["threshold"]
    assert ((found["probability"] > threshold) == (found["predicted churn"] == "yes")).all()
    assert ((found["score"] > 0) == (found["predicted churn"] == "yes")).all()
    evaluated = run("evaluate", trained / "run", trained / "table.csv", "--json")
    truth = pd.read_csv(trained / "table.csv")["churn"] == "yes"
    predicted = found["predicted churn"] == "yes"
    assert json.loads(evaluated.stdout)["value"] == pytest.approx(mf.f2.score(truth, predicted))


def test_the_report_shows_columns_importance_calibration_and_thresholds(trained):
    page = (trained / "run" / "report.html").read_text()
    for figure in ("calibration-0", "importance-0", "threshold-0", "precision-recall-0"):
        assert f'id="{figure}"' in page
    assert 'id="training-0"' not in page
    importance = {one["column"]: one["drop"] for one in metrics_of(trained)["importance"]}
    assert max(importance, key=importance.get) == "age"
    columns = {one["column"]: one for one in metrics_of(trained)["columns"]}
    assert columns["age"]["kind"] == "numbers"
    assert columns["age"]["missing"] == pytest.approx(0.1, abs=0.05)
    assert columns["empty"]["use"].startswith("left out")


def test_a_table_too_wide_to_measure_every_column_says_so(trained):
    def f2_score(truth, predicted, weights):
        return mf.f2.score(truth, predicted, sample_weight=weights)

    model, table = load_model(trained / "run"), pd.read_csv(trained / "table.csv")
    codes = (table["churn"] == "yes").to_numpy(np.int64)
    found, notes = column_importance(model, f2_score, table, codes, None, seed=0, seconds=0.0)
    assert [one.column for one in found] == ["age"]
    assert "first 1 of" in notes[0]
    found, notes = column_importance(model, f2_score, table, codes, None, seed=0)
    assert len(found) > 1
    assert notes == []


class Silent:
    def begin(self, name):
        pass

    def end(self, name):
        pass


@pytest.mark.parametrize("weighted", [False, True])
def test_a_decision_of_plain_parts_is_that_of_the_ensemble(monkeypatch, tmp_path, weighted):
    made = []
    original = MetricEnsemble.fit
    monkeypatch.setattr(
        MetricEnsemble, "fit", lambda self, *a, **k: made.append(self) or original(self, *a, **k)
    )
    random = np.random.default_rng(0)
    features = random.normal(size=(600, 4)).astype(np.float32)
    labels = (features[:, 0] + random.normal(size=600) > 0).astype(np.int64)
    rows = TrainingRows(features, labels, random.random(600) + 0.1 if weighted else None)
    candidate, *_ = pair_candidates(mf.f1, rows, cut="expected", confidence=None, epochs=3, device="cpu")
    fitted = candidate.fit(rows, How(0, Silent(), tmp_path))
    assert isinstance(fitted.decision, Decision)
    (model,) = made
    assert model.calibrator_.isotonic is not None
    new = random.normal(size=(200, 4)).astype(np.float32)
    np.testing.assert_allclose(
        fitted.decision.probabilities(new), model.predict_proba(new)[:, 1], rtol=1e-6, atol=1e-9
    )
    np.testing.assert_array_equal(fitted.decision.margins(new) > 0, model.predict(new) == 1)


@pytest.mark.parametrize("metric", ["jaccard", "g_mean", "tp/(tp+fp+fn*2)"])
def test_metrics_that_cannot_be_played_are_trained_for(tmp_path, metric):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    result = ensemble(tmp_path, "--metric", metric, epochs=1)
    assert result.exit_code == 0, result.output
    assert run("evaluate", tmp_path / "run", tmp_path / "table.csv").exit_code == 0


def test_a_weight_is_a_copy_of_the_row_in_the_evaluation_and_no_feature(tmp_path):
    table = a_table(200).assign(w=np.random.default_rng(3).integers(1, 4, 200))
    table.to_csv(tmp_path / "table.csv", index=False)
    result = ensemble(tmp_path, "--weight", "w", epochs=1)
    assert result.exit_code == 0, result.output
    assert "w" not in load_model(tmp_path / "run").columns.kinds
    assert {one["column"]: one["use"] for one in metrics_of(tmp_path)["columns"]}[
        "w"
    ] == "weights of the rows"
    table.loc[table.index.repeat(table["w"])].to_csv(tmp_path / "copies.csv", index=False)
    weighted, copied = (
        json.loads(run("evaluate", tmp_path / "run", tmp_path / name, *words, "--json").stdout)
        for name, words in (("table.csv", ["--weight", "w"]), ("copies.csv", []))
    )
    assert weighted["value"] == pytest.approx(copied["value"])
    assert weighted["confusion"] == copied["confusion"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--weight", "plan"], "weights must be numbers of 0 or more"),
        (["--weight", "churn"], "this is the target"),
        (["--weight", "agee"], "Did you mean age?"),
        (["--confidence", "0.95"], "--confidence needs a constraint"),
        (["--confidence", "0.95", "--subject-to", "recall >= 0.8", "--fast"], "leave out --fast"),
        (["--resume"], "There is no unfinished run in"),
        (["--jobs", "2", "--fast"], "leave out --fast or --jobs"),
        (["--confidence", "0.95", "--subject-to", "recall >= 0.99999"], "rows"),
    ],
)
def test_settings_that_do_not_fit_give_messages(tmp_path, words, sentence):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    result = ensemble(tmp_path, *words, epochs=1)
    assert result.exit_code == 2, result.output
    assert sentence in said(result)
    assert left_behind(tmp_path) == ["table.csv"]


def test_several_processes_train_the_same(tmp_path):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    values = []
    for jobs in (1, 2):
        result = ensemble(tmp_path, "--jobs", jobs, "--overwrite", epochs=1)
        assert result.exit_code == 0, result.output
        values.append([(one["name"], one["value"]) for one in metrics_of(tmp_path)["methods"]])
    assert values[0] == values[1]


class Processes:
    """Notes, in a file that all processes share, which of them fits."""

    def __init__(self, path):
        self.path = path

    def begin(self, name):
        with self.path.open("a") as file:
            file.write(f"{os.getpid()}\n")

    def end(self, name):
        pass


@pytest.mark.parametrize("kinds", [2, 3])
def test_jobs_are_processes_of_their_own(tmp_path, kinds):
    features = np.random.default_rng(0).normal(size=(90, 2)).astype(np.float32)
    rows = TrainingRows(features, np.arange(90) % kinds, None)
    settings = {"cut": "empirical", "epochs": 1, "device": "cpu"}
    if kinds == 2:
        candidates = pair_candidates(mf.f1, rows, confidence=None, **settings)
    else:
        candidates = class_candidates(mf.f1.macro(), rows, **settings)
    trees = candidates[-1]
    for jobs in (1, 2):
        fits = tmp_path / str(jobs)
        trees.fit(rows, How(0, Processes(fits), tmp_path, jobs))
        kept = list(tmp_path.glob("*.skops"))
        assert len(kept) == 5
        for path in kept:
            path.unlink()
        others = {int(line) for line in fits.read_text().split()} - {os.getpid()}
        assert bool(others) == (jobs > 1)


def test_large_tables_have_several_jobs():
    rows = TrainingRows(np.zeros((10_000, 10), np.float32), np.arange(10_000) % 2, None)
    assert jobs_for(rows, "cpu") == min(5, cpu_count())
    assert jobs_for(rows, "cuda") == 1


def test_a_confidence_uses_the_ensemble(tmp_path):
    a_table(1200).to_csv(tmp_path / "table.csv", index=False)
    result = ensemble(tmp_path, "--subject-to", "recall >= 0.6", "--confidence", 0.9, epochs=2)
    assert result.exit_code == 0, result.output
    assert "Only it meets the constraints with the confidence asked for" in said(result)
    assert metrics_of(tmp_path)["methods"][0]["name"].startswith("ensemble for")


def test_ctrl_c_before_anything_is_fitted_leaves_nothing(tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("metricfit.cli.pair_candidates.PairCandidate.fit", stopped)
    a_table().to_csv(tmp_path / "table.csv", index=False)
    assert ensemble(tmp_path, epochs=1).exit_code == 130
    assert left_behind(tmp_path) == ["table.csv"]
