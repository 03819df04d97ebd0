"""The command line with targets of more than two values, from the table to the report."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from cli.tables import fit, metrics_of, run, said
from metricfit.cli.model_files import load_model

FLOWERS = ["blue", "größer", "red"]


def flowers(rows=180, seed=0, names=FLOWERS):
    random = np.random.default_rng(seed)
    kind = random.choice(3, rows, p=[0.6, 0.25, 0.15])
    table = pd.DataFrame(
        {
            "height": kind + random.normal(0, 0.4, rows),
            "width": np.where(random.random(rows) < 0.1, np.nan, -kind * kind + random.normal(0, 1.0, rows)),
            "place": random.choice(["north", "south"], rows),
            "count": random.integers(1, 4, rows),
        }
    )
    return table.assign(kind=pd.Series([names[code] for code in kind], dtype=object))


def messy():
    table = flowers()
    table.loc[:2, "kind"] = "rare"
    table.loc[3:4, "kind"] = None
    return table


@pytest.fixture(scope="module", params=["ensemble", "fast"])
def trained(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    messy().to_csv(folder / "table.csv", index=False)
    new = flowers(100, seed=1)
    new.to_csv(folder / "new.csv", index=False)
    fast = request.param == "fast"
    words = ["--metric", "macro-f1", "--weight", "count"]
    result = fit(folder, *words, target="kind", epochs=12, fast=fast)
    assert result.exit_code == 0, result.output
    (folder / "output.txt").write_text(said(result), encoding="utf-8")
    out = folder / "predictions.csv"
    predicted = run("predict", folder / "run", folder / "new.csv", "--out", out)
    assert predicted.exit_code == 0, predicted.output
    return folder, "fast" if fast else "ensemble"


def test_it_is_compared_with_the_largest_class_and_with_cross_entropy(trained):
    folder, way = trained
    found = metrics_of(folder)
    names = {method["name"] for method in found["methods"]}
    expected = {"trained for macro f1", "cross-entropy, argmax"}
    if way == "ensemble":
        expected = {"ensemble for macro f1", "cross-entropy networks, argmax", "boosted trees, argmax"}
    assert names == expected | {"always blue"}
    held_out = [method["held_out"] for method in found["methods"]]
    assert held_out[0] == max(held_out)
    best, constant = found["methods"][0], found["methods"][-1]
    assert best["value"] > 0.6 > constant["value"]
    assert best["interval"][0] <= best["value"] <= best["interval"][1]
    assert np.sum(best["confusion"]) == pytest.approx(sum(map(sum, constant["confusion"])))
    assert list(found["classes"]) == FLOWERS
    assert found["metric"] == "macro f1"


def test_rows_of_rare_classes_and_without_a_class_are_left_out_with_a_note(trained):
    folder, _ = trained
    output = (folder / "output.txt").read_text(encoding="utf-8")
    assert "2 rows without a value in kind were left out" in output
    assert "kind is rare in fewer than 5 rows each" in output
    assert "These 3 rows were left out" in output


def test_predictions_have_a_class_and_the_probability_of_each(trained):
    folder, _ = trained
    found = pd.read_csv(folder / "predictions.csv")
    assert list(found.columns) == ["predicted kind", *(f"probability {name}" for name in FLOWERS)]
    assert set(found["predicted kind"]) <= set(FLOWERS)
    np.testing.assert_allclose(found.iloc[:, 1:].sum(axis=1), 1.0)
    truth = pd.read_csv(folder / "new.csv")["kind"]
    assert f1_score(truth, found["predicted kind"], average="macro") > 0.6


def test_evaluate_scores_as_scikit_learn_does(trained):
    folder, _ = trained
    result = run("evaluate", folder / "run", folder / "new.csv", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    truth = pd.read_csv(folder / "new.csv")["kind"]
    predicted = pd.read_csv(folder / "predictions.csv")["predicted kind"]
    assert found["value"] == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert found["per_class"]["f1"] == pytest.approx(f1_score(truth, predicted, average=None))
    assert found["accuracy"] == pytest.approx((truth == predicted).mean())
    shown = said(run("evaluate", folder / "run", folder / "new.csv", "--metric", "weighted f2"))
    assert "weighted f2" in shown
    assert "größer" in shown


def test_classes_that_were_never_seen_count_as_mistakes(trained):
    folder, _ = trained
    table = pd.read_csv(folder / "new.csv")
    table.loc[:9, "kind"] = "violet"
    table.to_csv(folder / "strange.csv", index=False)
    found = json.loads(run("evaluate", folder / "run", folder / "strange.csv", "--json").stdout)
    predicted = pd.read_csv(folder / "predictions.csv")["predicted kind"]
    assert found["value"] == pytest.approx(f1_score(table["kind"], predicted, average="macro"))
    assert any("10 rows are kind = violet" in note for note in found["notes"])


def test_the_report_shows_the_confusion_matrix_of_the_classes(trained):
    folder, way = trained
    page = (folder / "run" / "report.html").read_text(encoding="utf-8")
    figures = set(re.findall(r'<figure id="([a-z-]+)-0"', page))
    assert figures == {"classes", "matrix", "importance"} | ({"training"} if way == "fast" else set())
    assert page.count("<th scope=row>größer</th>") == 2
    assert "macro f1" in page
    importance = {one["column"]: one["drop"] for one in metrics_of(folder)["importance"]}
    assert max(importance, key=importance.get) in ("height", "width")


def test_a_model_that_was_read_again_predicts_the_same(trained):
    folder, _ = trained
    model = load_model(folder / "run")
    assert model.classes == tuple(FLOWERS)
    new = pd.read_csv(folder / "new.csv")
    codes = model.decision.predicted(model.encoded(new, ignore_unknown=False))
    predicted = pd.read_csv(folder / "predictions.csv")["predicted kind"]
    assert [FLOWERS[code] for code in codes] == predicted.tolist()


@pytest.mark.parametrize(
    "change",
    [
        {"classes": ["blue", "red"]},
        {"classes": "blue"},
        {"offsets": [0.0, 1.0]},
        {"offsets": [0.0, 1.0, None]},
        {"biases": []},
        {"columns": [], "whole": None},
        {"columns": [{"threshold": 0.5, "calibration": None, "parts": []}]},
        {"whole": {"kind": "forests", "models": 1}},
        {"slope": "steep"},
    ],
    ids=str,
)
def test_a_description_that_was_changed_is_refused(trained, change, tmp_path):
    folder, _ = trained
    copy = tmp_path / "run"
    copy.mkdir()
    for path in (folder / "run").iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    description = json.loads((copy / "model.json").read_text(encoding="utf-8"))
    (copy / "model.json").write_text(json.dumps(description | change), encoding="utf-8")
    result = run("predict", copy, folder / "new.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 2, result.output
    assert "describes no model" in said(result)


@pytest.mark.parametrize("names", [[1, 2, 3], [True, False, "maybe"], [0.5, 1.5, 2.5]], ids=str)
def test_labels_of_every_kind_come_back_as_they_were(names, tmp_path):
    table = flowers(120, names=names)
    table.to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, "--metric", "weighted-f1", target="kind", epochs=1)
    assert result.exit_code == 0, result.output
    out = tmp_path / "p.csv"
    assert run("predict", tmp_path / "run", tmp_path / "table.csv", "--out", out).exit_code == 0
    written, predicted = (pd.read_csv(tmp_path / name, dtype=str) for name in ("table.csv", "p.csv"))
    assert set(predicted["predicted kind"]) <= set(written["kind"])


MISTAKES = {
    "no average": (["--metric", "f1"], "Take --metric macro-f1"),
    "micro average": (["--metric", "micro f1"], "Take --metric accuracy, which is the share of rows"),
    "which values": (
        ["--metric", "f1"],
        "has 3 values (blue, größer, red), and f1 is for two",
    ),
    "another average": (["--metric", "samples f1"], "take --metric macro-f1 or weighted-f1"),
    "constraints": (["--metric", "macro-f1", "--subject-to", "recall >= 0.8"], "Leave out --subject-to"),
    "a size": (["--metric", "precision@10"], "is for a target of two values"),
    "a positive value": (["--metric", "macro-f1", "--positive", "red"], "--positive is for a target of two"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_for_two_classes_is_refused_with_what_to_do(name, tmp_path):
    words, message = MISTAKES[name]
    flowers(60).to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, *words, target="kind")
    assert result.exit_code == 2
    assert message in said(result)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("fast", [True, False])
def test_accuracy_is_the_share_of_correct_rows(fast, tmp_path):
    flowers(120).to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, "--metric", "accuracy", target="kind", fast=fast)
    assert result.exit_code == 0, result.output
    found = metrics_of(tmp_path)
    assert found["metric"] == "accuracy"
    for method in found["methods"]:
        cells = np.array(method["confusion"])
        assert method["value"] == pytest.approx(np.trace(cells) / cells.sum())
        assert method["interval"][0] <= method["value"] <= method["interval"][1]
        assert set(method["per_class"]) == {"precision", "recall"}
    assert all(0.0 <= method["held_out"] <= 1.0 for method in found["methods"])
    said_of_table = json.loads(run("evaluate", tmp_path / "run", tmp_path / "table.csv", "--json").output)
    cells = np.array(said_of_table["confusion"])
    assert said_of_table["value"] == pytest.approx(np.trace(cells) / cells.sum()) == said_of_table["accuracy"]


def test_classes_without_enough_rows_are_refused(tmp_path):
    table = flowers(60)
    table.loc[table["kind"] == "red", "kind"] = "blue"
    table.loc[:2, "kind"] = "red"
    table.to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, "--metric", "macro-f1", target="kind")
    assert result.exit_code == 2
    assert "only two occur in 5 rows or more" in said(result)


def test_an_average_over_two_values_is_refused(tmp_path):
    table = flowers(60)
    table[table["kind"] != "red"].to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, "--metric", "macro-f1", target="kind")
    assert result.exit_code == 2
    assert "Take --metric f1, of the positive one" in said(result)


def test_ctrl_c_keeps_the_ensemble_if_it_is_done(tmp_path, monkeypatch):
    def stopped(*arguments, **settings):
        raise KeyboardInterrupt

    flowers(90).to_csv(tmp_path / "table.csv", index=False)
    monkeypatch.setattr("metricfit.cli.class_candidates.ClassModel.fit", stopped)
    result = fit(tmp_path, "--metric", "macro-f1", target="kind", epochs=1, fast=False)
    assert result.exit_code == 130
    assert "the comparison is not complete" in said(result)
    assert run("evaluate", tmp_path / "run", tmp_path / "table.csv").exit_code == 0
    monkeypatch.setattr("metricfit.cli.class_candidates.ClassEnsemble.fit", stopped)
    again = fit(tmp_path, "--metric", "macro-f1", "--overwrite", target="kind", epochs=1, fast=False)
    assert again.exit_code == 130
    assert run("evaluate", tmp_path / "run", tmp_path / "table.csv").exit_code == 0


def test_the_same_command_gives_the_same_scores(tmp_path):
    flowers(90).to_csv(tmp_path / "table.csv", index=False)
    words = ["--metric", "macro-f1"]
    assert fit(tmp_path, *words, target="kind", epochs=2).exit_code == 0
    whole = metrics_of(tmp_path)
    assert fit(tmp_path, *words, "--overwrite", target="kind", epochs=2).exit_code == 0
    again = metrics_of(tmp_path)
    assert [one["value"] for one in whole["methods"]] == [one["value"] for one in again["methods"]]
