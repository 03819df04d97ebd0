"""`metricfit evaluate` scores a model as scikit-learn does, and says what is wrong with the labels."""

import json

import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, matthews_corrcoef, precision_score, recall_score

import metricfit as mf
from cli.tables import a_table, fit, run, said


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    a_table().to_csv(folder / "table.csv", index=False)
    a_table(seed=1).to_csv(folder / "new.csv", index=False)
    words = ["--metric", "mcc", "--subject-to", "recall >= 0.2", "--subject-to", "precision >= 0.999"]
    assert fit(folder, *words, epochs=4).exit_code == 0
    out = folder / "predictions.csv"
    assert run("predict", folder / "run", folder / "new.csv", "--out", out).exit_code == 0
    return folder


def test_the_scores_are_those_of_the_predictions(trained):
    result = run("evaluate", trained / "run", trained / "new.csv", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    truth = pd.read_csv(trained / "new.csv")["churn"] == "yes"
    predicted = pd.read_csv(trained / "predictions.csv")["predicted churn"] == "yes"
    assert found["value"] == pytest.approx(matthews_corrcoef(truth, predicted))
    assert found["precision"] == pytest.approx(precision_score(truth, predicted))
    assert found["recall"] == pytest.approx(recall_score(truth, predicted))
    tn, fp, fn, tp = confusion_matrix(truth, predicted).ravel()
    assert found["confusion"] == {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    assert [bound["met"] for bound in found["constraints"]] == [
        found["recall"] >= 0.2,
        found["precision"] >= 0.999,
    ]
    assert found["interval"][0] <= found["value"] <= found["interval"][1]


def test_people_read_tables(trained):
    text = said(run("evaluate", trained / "run", trained / "new.csv"))
    for part in (
        "mcc",
        "precision",
        "recall",
        "recall >= 0.2",
        "precision >= 0.999",
        "missed",
        "actual positive",
        "160 rows",
    ):
        assert part in text


def test_an_average_over_two_values_is_refused(trained):
    result = run("evaluate", trained / "run", trained / "new.csv", "--metric", "macro-f1")
    assert result.exit_code == 2
    assert "Take --metric f1, of the positive one" in said(result)


def test_the_rows_with_the_highest_scores_are_measured_for_any_model(trained):
    result = run("evaluate", trained / "run", trained / "new.csv", "--metric", "precision@10", "--json")
    found = json.loads(result.stdout)
    assert found["confusion"]["tp"] + found["confusion"]["fp"] == 10
    assert found["value"] == found["confusion"]["tp"] / 10


def test_another_metric_can_be_asked_for(trained):
    result = run("evaluate", trained / "run", trained / "new.csv", "--metric", "2*tp/(2*tp+fp+fn)", "--json")
    found = json.loads(result.stdout)
    cells = found["confusion"]
    assert found["value"] == pytest.approx(2 * cells["tp"] / (2 * cells["tp"] + cells["fp"] + cells["fn"]))


def change(trained, tmp_path, **columns):
    pd.read_csv(trained / "new.csv").assign(**columns).to_csv(tmp_path / "changed.csv", index=False)
    return run("evaluate", trained / "run", tmp_path / "changed.csv")


def test_labels_that_the_model_does_not_know_are_named(trained, tmp_path):
    result = change(trained, tmp_path, churn=["maybe"] * 3 + ["no"] * 157)
    assert result.exit_code == 2
    assert "knows the labels yes and no of churn; the table has maybe in 3 rows" in said(result)


def test_rows_without_a_label_are_left_out_and_counted(trained, tmp_path):
    result = change(trained, tmp_path, churn=[None] * 60 + ["no", "yes"] * 50)
    assert result.exit_code == 0, result.output
    assert "60 rows without a value in churn were left out." in said(result)
    assert "100 rows" in said(result)


def test_a_table_without_labels_is_for_predict(trained, tmp_path):
    pd.read_csv(trained / "new.csv").drop(columns="churn").to_csv(tmp_path / "none.csv", index=False)
    result = run("evaluate", trained / "run", tmp_path / "none.csv")
    assert result.exit_code == 2
    assert "For rows without labels use metricfit predict" in said(result)
    assert "is empty" in said(change(trained, tmp_path, churn=None))


def test_rows_of_one_class_only_are_scored_with_a_warning(trained, tmp_path):
    assert "Warning: all rows are churn = no" in said(change(trained, tmp_path, churn="no"))


def test_all_built_in_metrics_are_listed():
    found = json.loads(run("metrics", "--json").stdout)
    built_in = {name for name in mf.__all__ if isinstance(getattr(mf, name), mf.Metric | mf.MetricFamily)}
    assert {one["name"].partition("(")[0] for one in found} == built_in
    text = said(run("metrics"))
    for one in found:
        assert one["name"] in text
        assert one["formula"] in text
        assert one["meaning"]
        assert one["aliases"] in text
    aliases = next(one["aliases"] for one in found if one["name"] == "recall").split(", ")
    assert "sensitivity" in aliases
    assert all(mf.get_metric(alias) == mf.recall for alias in aliases)
    assert mf.get_metric(next(one["formula"] for one in found if one["name"] == "mcc")) == mf.mcc
