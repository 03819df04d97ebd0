"""Metrics of predictions of one size on the command line: so many rows of each table are predicted."""

import json

import pandas as pd
import pytest

from cli.tables import a_table, fit, metrics_of, run


@pytest.mark.parametrize("fast", [True, False], ids=["fast", "ensemble"])
def test_so_many_rows_are_predicted_as_the_metric_says(tmp_path, fast):
    a_table(240).to_csv(tmp_path / "table.csv", index=False)
    a_table(90, seed=1).to_csv(tmp_path / "new.csv", index=False)
    result = fit(tmp_path, "--metric", "precision@30", epochs=3, fast=fast)
    assert result.exit_code == 0, result.output
    found = metrics_of(tmp_path)
    assert found["metric"] == "precision@30"
    # 60 of the 240 rows are for the test, so that a share of 30 of 240 is 8 of them, rounded to even.
    for method in found["methods"][:-1]:
        assert method["confusion"]["tp"] + method["confusion"]["fp"] == 8
    out = tmp_path / "p.csv"
    assert run("predict", tmp_path / "run", tmp_path / "new.csv", "--out", out).exit_code == 0
    predicted = pd.read_csv(out)
    assert (predicted["predicted churn"] == "yes").sum() == 30
    assert ((predicted["score"] > 0) == (predicted["predicted churn"] == "yes")).all()
    evaluated = json.loads(run("evaluate", tmp_path / "run", tmp_path / "new.csv", "--json").stdout)
    truth = pd.read_csv(tmp_path / "new.csv")["churn"] == "yes"
    hits = truth[predicted["predicted churn"] == "yes"].mean()
    assert evaluated["value"] == pytest.approx(hits)
    assert evaluated["confusion"]["tp"] + evaluated["confusion"]["fp"] == 30
