"""The command line from end to end: a table goes in, a model, scores and a report come out."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import train_test_split
from skorch.history import History

import metricfit as mf
import metricfit.cli
from cli.tables import a_table, fit, left_behind, metrics_of, run, said
from metricfit.cli.encoding import transformed
from metricfit.cli.model_files import load_model
from metricfit.cli.terminal import Screen


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    a_table().to_csv(folder / "table.csv", index=False)
    words = ["--fast", "--metric", "f2", "--subject-to", "precision >= 0.2", "--epochs", 4]
    result = run("fit", folder / "table.csv", "--target", "churn", "--out", folder / "run", *words)
    assert result.exit_code == 0, result.output
    return folder


def test_help_shows_the_guide_and_the_version_is_printed():
    text = run("--help").output
    for word in ("metricfit demo", "metricfit fit", "metricfit predict", "Exit codes"):
        assert word in text
    assert run("--version").output.strip() == f"metricfit {mf.__version__}"


@pytest.mark.parametrize("command", ["demo", "fit", "predict", "evaluate", "metrics", "reproduce"])
def test_the_help_of_every_command_shows_an_example(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: metricfit {command}" in said(result)


def test_what_is_not_installed_is_named(monkeypatch, capsys):
    monkeypatch.setattr("metricfit.cli.find_spec", lambda name: None if name == "skrub" else name)
    with pytest.raises(SystemExit) as stopped:
        metricfit.cli.main()
    assert stopped.value.code == 2
    assert "needs skrub; run pip install 'metricfit[cli]'" in capsys.readouterr().err


def test_fit_writes_the_model_the_scores_and_the_report(trained):
    assert left_behind(trained / "run") == [
        "encoder.skops",
        "metrics.json",
        "model.json",
        "report.html",
        "trees.skops",
        "weights.pt",
    ]
    found = json.loads((trained / "run" / "metrics.json").read_text())
    *trained_ways, constant = [method["name"] for method in found["methods"]]
    assert set(trained_ways) == {"trained for f2", "cross-entropy", "cross-entropy, tuned threshold"}
    assert constant in ("always positive", "never positive")
    assert found["subject_to"] == ["precision >= 0.2"]
    assert "--subject-to 'precision >= 0.2'" in found["command"]
    assert "churn = yes" in (trained / "run" / "report.html").read_text()


def test_predict_writes_a_label_and_a_score_for_every_row(trained, tmp_path):
    out = tmp_path / "predictions.csv"
    assert run("predict", trained / "run", trained / "table.csv", "--out", out).exit_code == 0
    found = pd.read_csv(out)
    assert list(found.columns) == ["predicted churn", "score"]
    assert ((found["score"] > 0) == (found["predicted churn"] == "yes")).all()
    truth = pd.read_csv(trained / "table.csv")["churn"] == "yes"
    assert mf.f2.score(truth, found["score"] > 0) > 0.5


def test_predict_decides_at_the_tuned_threshold(tmp_path):
    table = a_table()
    table.to_csv(tmp_path / "table.csv", index=False)
    words = ["--cut", "empirical", "--metric", "recall", "--subject-to", "precision >= 0.3"]
    assert fit(tmp_path, *words, epochs=3).exit_code == 0
    threshold = json.loads((tmp_path / "run" / "model.json").read_text())["threshold"]
    assert (
        run("predict", tmp_path / "run", tmp_path / "table.csv", "--out", tmp_path / "p.csv").exit_code == 0
    )
    found = pd.read_csv(tmp_path / "p.csv")
    model = load_model(tmp_path / "run")
    features = transformed(model.encoder, model.columns.check(table, ignore_unknown=False))
    (network,) = model.decision.models("networks")
    logits = network(torch.from_numpy(features)).detach().double().numpy().reshape(-1)
    assert ((logits > min(0.0, threshold)) & (logits <= max(0.0, threshold))).any()
    np.testing.assert_allclose(found["score"], logits - threshold)
    assert ((found["predicted churn"] == "yes") == (logits > threshold)).all()
    reported = metrics_of(tmp_path)["methods"][0]
    assert reported["threshold"] == pytest.approx(threshold)
    # The report counts the test rows, which the same split gives again.
    truth = (table["churn"] == "yes").to_numpy()
    _, rows = train_test_split(np.arange(len(table)), test_size=0.25, stratify=truth, random_state=0)
    predicted = (found["predicted churn"] == "yes").to_numpy()
    assert int((truth & predicted)[rows].sum()) == reported["confusion"]["tp"]
    assert int((~truth & predicted)[rows].sum()) == reported["confusion"]["fp"]


@pytest.mark.parametrize("label", ['=HYPERLINK("x")', "@now", "[/b]", "[red]", ":smile:", "+x"])
def test_labels_and_columns_of_any_spelling_are_text(tmp_path, label):
    table = a_table().rename(columns={"churn": "[/b]churn"})
    table["[/b]churn"] = table["[/b]churn"].replace("yes", label)
    table.to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, "--positive", label, target="[/b]churn", epochs=1)
    assert result.exit_code == 0, result.output
    assert f"[/b]churn = {label}" in said(result)
    result = run("predict", tmp_path / "run", tmp_path / "table.csv", "--out", tmp_path / "p.csv")
    assert result.exit_code == 0, result.output
    assert ("a spreadsheet takes the label" in said(result)) == (label[0] in "=@+")
    assert set(pd.read_csv(tmp_path / "p.csv")["predicted [/b]churn"]) <= {label, "no"}
    result = run("evaluate", tmp_path / "run", tmp_path / "table.csv")
    assert result.exit_code == 0, result.output
    assert f"[/b]churn = {label}" in said(result)
    for words in (["--target", "[/b]"], ["--target", "[/b]churn", "--positive", "[/x]"]):
        refused = run("fit", tmp_path / "table.csv", "--out", tmp_path / "new", *words)
        assert refused.exit_code == 2
        assert "Traceback" not in refused.output


def test_the_progress_line_shows_the_epoch_that_is_kept():
    screen = Screen(quiet=True)
    (bar,) = screen.watch("ours", 4)
    net = SimpleNamespace(history=History())
    for rank, value in [(0.2, 0.2), (0.6, 0.6), (0.6, 0.6), (-5.0, 0.9)]:
        net.history.new_epoch()
        net.history.record("rank", rank)
        net.history.record("valid_metric", value)
        bar.on_epoch_end(net)
    (task,) = screen.progress.tasks
    assert task.fields["state"] == "best 0.600, epoch 2"
    assert task.completed == 4


def test_predictions_do_not_depend_on_the_other_rows_or_the_order_of_columns(trained, tmp_path):
    table = pd.read_csv(trained / "table.csv")
    table.iloc[:20, ::-1].to_parquet(tmp_path / "few.parquet")
    for name, source in (("all", trained / "table.csv"), ("few", tmp_path / "few.parquet")):
        result = run("predict", trained / "run", source, "--out", tmp_path / f"{name}.csv")
        assert result.exit_code == 0, result.output
    every, few = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("all", "few"))
    np.testing.assert_allclose(every["score"][:20], few["score"], rtol=1e-4, atol=1e-5)


def test_the_same_seed_gives_the_same_scores(trained, tmp_path):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    words = ["--fast", "--metric", "f2", "--subject-to", "precision >= 0.2", "--epochs", 4, "--json"]
    result = run("fit", tmp_path / "table.csv", "--target", "churn", "--out", tmp_path / "run", *words)
    found = json.loads(result.stdout)
    before = json.loads((trained / "run" / "metrics.json").read_text())
    assert [one["confusion"] for one in found["methods"]] == [one["confusion"] for one in before["methods"]]


def test_json_is_all_that_is_printed(trained, tmp_path):
    result = run("predict", trained / "run", trained / "table.csv", "--out", tmp_path / "p.csv", "--json")
    found = json.loads(result.stdout)
    assert found["rows"] == sum(found["predicted"].values()) == 160
    refused = run("predict", trained / "run", "nowhere.csv", "--out", tmp_path / "q.csv", "--json")
    assert refused.exit_code == 2
    assert "There is no file" in json.loads(refused.stdout)["error"]


MISTAKES = {
    "no such file": ("missing.csv", {}, [], "There is no file"),
    "no such column": ("table.csv", {"target": "chrun"}, [], "Did you mean churn?"),
    "three classes": ("table.csv", {"target": "plan"}, [], "Take --metric macro-f1"),
    "numbers as target": ("table.csv", {"target": "age"}, [], "Up to 100 classes can be predicted"),
    "constant target": ("table.csv", {"target": "constant"}, [], "nothing to learn"),
    "empty target": ("table.csv", {"target": "empty"}, [], "nothing to learn"),
    "empty file": ("empty.csv", {}, [], "is empty"),
    "no rows": ("head.csv", {}, [], "has no rows"),
    "no table": ("table.xlsx", {}, [], "Save the sheet as CSV"),
    "foreign parquet": ("foreign.parquet", {}, [], "cannot be read as a table"),
    "not text": ("binary.csv", {}, [], "not text in UTF-8"),
    "one column": ("single.csv", {}, [], "the only column"),
    "few positives": ("rare.csv", {}, [], "are needed at least"),
    "unknown metric": ("table.csv", {}, ["--metric", "f1score"], "is not understood"),
    "metric that is not for one network": ("table.csv", {}, ["--metric", "jaccard"], "Leave out --fast"),
    "no constraint": ("table.csv", {}, ["--subject-to", "recall"], "is not a constraint"),
    "unknown positive": ("table.csv", {}, ["--positive", "maybe"], "is not a value of churn"),
    "nothing to resume": ("table.csv", {}, ["--resume"], "no unfinished run"),
    "no such device": ("table.csv", {}, ["--device", "cuda:99"], "cannot be used"),
    "a device without values": ("table.csv", {}, ["--device", "meta"], "cannot be used"),
    "no device": ("table.csv", {}, ["--device", "abacus"], "cannot be used"),
    "bad fraction": ("table.csv", {}, ["--test-fraction", "7"], "Invalid value"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = a_table()
    table.to_csv(folder / "table.csv", index=False)
    (folder / "empty.csv").write_text("")
    table[:0].to_csv(folder / "head.csv", index=False)
    (folder / "foreign.parquet").write_bytes(b"PK not parquet")
    (folder / "binary.csv").write_bytes(b"\x00\x01\x02")
    table[["churn"]].to_csv(folder / "single.csv", index=False)
    table.assign(churn=["yes"] * 3 + ["no"] * 157).to_csv(folder / "rare.csv", index=False)
    return folder


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gives_a_message_and_leaves_nothing_behind(tables, mistake):
    table, settings, words, sentence = MISTAKES[mistake]
    before = left_behind(tables)
    result = fit(tables, *words, table=table, **settings)
    assert result.exit_code == 2, result.output
    assert sentence in result.output.replace("\n", " ")
    assert "Traceback" not in result.output
    assert left_behind(tables) == before


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table.drop(columns=["age", "plan"]), "lacks the columns age, plan"),
        (lambda table: table.rename(columns={"age": "AGE "}), "Did you mean AGE ?"),
        (lambda table: table.rename(columns={"plan": "plans"}), "Did you mean plans?"),
        (lambda table: table.assign(plan="gold"), "not in the training table: gold"),
        (lambda table: table.assign(age="old"), "held numbers in the training table; here it holds old"),
        (lambda table: table.assign(since="once"), "held dates such as 2024-12-31 in"),
        (lambda table: table.assign(since="01/02/2020"), "here it holds 01/02/2020"),
    ],
    ids=[
        "columns missing",
        "other capitals",
        "renamed",
        "unknown category",
        "text for numbers",
        "no dates",
        "other dates",
    ],
)
def test_a_table_that_does_not_fit_the_model_is_refused(trained, tmp_path, change, sentence):
    change(a_table()).to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", trained / "run", tmp_path / "new.csv", "--out", tmp_path / "predictions.csv")
    assert result.exit_code == 2
    assert sentence in result.output
    assert left_behind(tmp_path) == ["new.csv"]


def test_missing_values_and_unused_columns_are_accepted(trained, tmp_path):
    table = a_table().assign(age=None, plan=None, since=None, note=5, active=None)
    table.assign(empty="filled").to_csv(tmp_path / "filled.csv", index=False)
    table.drop(columns="empty").assign(extra=1).to_csv(tmp_path / "lacking.csv", index=False)
    for name in ("filled", "lacking"):
        result = run(
            "predict", trained / "run", tmp_path / f"{name}.csv", "--out", tmp_path / f"{name}.p.csv"
        )
        assert result.exit_code == 0, result.output


def test_unknown_categories_can_be_ignored(trained, tmp_path):
    a_table().assign(plan="gold").to_csv(tmp_path / "new.csv", index=False)
    words = ["--out", tmp_path / "p.csv", "--unknown", "ignore"]
    assert run("predict", trained / "run", tmp_path / "new.csv", *words).exit_code == 0


def test_existing_files_are_not_overwritten_without_the_option(trained, tmp_path):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("ten years of work")
    for words in ([], ["--overwrite"]):
        assert "is not a run of metricfit" in fit(tmp_path, *words).output
    out = tmp_path / "run" / "thesis.txt"
    assert "exists" in run("predict", trained / "run", tmp_path / "table.csv", "--out", out).output
    assert out.read_text() == "ten years of work"


@pytest.mark.parametrize("name", ["p.parquet", "p.csv.gz", "p.JSON", "p.tsv", "p.xlsx"])
def test_predictions_are_not_written_as_csv_under_the_name_of_another_format(trained, tmp_path, name):
    result = run("predict", trained / "run", trained / "table.csv", "--out", tmp_path / name)
    assert result.exit_code == 2
    assert f"not what {name} promises; choose a name such as p.csv" in said(result)
    assert left_behind(tmp_path) == []


def test_a_run_is_replaced_when_asked(tmp_path):
    a_table().to_csv(tmp_path / "table.csv", index=False)
    assert fit(tmp_path, epochs=1).exit_code == 0
    assert "holds a run already" in fit(tmp_path).output
    assert fit(tmp_path, "--overwrite", epochs=1).exit_code == 0
    assert left_behind(tmp_path) == ["run", "table.csv"]


def test_ctrl_c_before_there_is_anything_to_keep_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("metricfit.cli.results.train", interrupted)
    a_table().to_csv(tmp_path / "table.csv", index=False)
    assert fit(tmp_path).exit_code == 130
    assert left_behind(tmp_path) == ["table.csv"]


def test_the_demo_compares_three_ways_on_two_tasks(tmp_path):
    result = run("demo", "--metric", "mcc", "--epochs", 1, "--report", tmp_path / "report.html", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert [len(task["methods"]) for task in found] == [3, 3]
    assert [task["test_rows"] for task in found] == [442, 1797]
    assert left_behind(tmp_path) == ["report.html"]


@pytest.mark.parametrize("metric", ["tp/(tp+fp+fn)", "macro-f1"])
def test_the_demo_refuses_a_metric_it_cannot_train_for(tmp_path, metric):
    result = run("demo", "--metric", metric, "--report", tmp_path / "report.html")
    assert result.exit_code == 2
    assert left_behind(tmp_path) == []


def start(folder, *words):
    command = [sys.executable, "-m", "metricfit.cli", "fit", "table.csv", "--target", "churn", "--out", "run"]
    # Neither patience nor epochs end it, so that it is certainly interrupted.
    settings = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(
        [*command, "--fast", "--epochs", "100000", *words], env={**os.environ, "COLUMNS": "200"}, **settings
    )


def wait_for(path, process, seconds=120):
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()
        if time.monotonic() >= end:
            process.kill()
            pytest.fail(f"{path.name} was not written within {seconds} seconds")
        time.sleep(0.02)


def test_ctrl_c_keeps_the_best_model_so_far_and_the_run_can_go_on(tmp_path):
    a_table(3000).to_csv(tmp_path / "table.csv", index=False)
    process = start(tmp_path)
    wait_for(tmp_path / "run" / "metricfit-unfinished" / "checkpoints" / "ours.pt", process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "Training was interrupted" in output
    assert left_behind(tmp_path) == ["run", "table.csv"]
    predicted = run("predict", tmp_path / "run", tmp_path / "table.csv", "--out", tmp_path / "p.csv")
    assert predicted.exit_code == 0, predicted.output

    assert "add --resume to go on" in fit(tmp_path).output.replace("\n", " ")
    before = len(json.loads((tmp_path / "run" / "metrics.json").read_text())["methods"])
    assert before == 2  # the constant classifier is the other
    resumed = fit(tmp_path, "--resume", epochs=3)
    assert resumed.exit_code == 0, resumed.output
    assert not (tmp_path / "run" / "metricfit-unfinished").exists()
    assert len(json.loads((tmp_path / "run" / "metrics.json").read_text())["methods"]) == 4


def test_a_killed_run_leaves_no_model_and_can_go_on(tmp_path):
    a_table(3000).to_csv(tmp_path / "table.csv", index=False)
    process = start(tmp_path)
    wait_for(tmp_path / "run" / "metricfit-unfinished" / "checkpoints" / "ours.pt", process)
    process.kill()
    process.communicate(timeout=60)
    assert left_behind(tmp_path / "run") == ["metricfit-unfinished"]
    assert fit(tmp_path, "--resume", epochs=3).exit_code == 0
    assert left_behind(tmp_path) == ["run", "table.csv"]


@pytest.mark.slow
def test_a_run_of_other_settings_is_not_resumed(tmp_path):
    a_table(3000).to_csv(tmp_path / "table.csv", index=False)
    process = start(tmp_path)
    wait_for(tmp_path / "run" / "metricfit-unfinished" / "checkpoints" / "ours.pt", process)
    process.kill()
    process.communicate(timeout=60)
    refused = fit(tmp_path, "--resume", "--metric", "mcc")
    assert refused.exit_code == 2
    assert "begun with another setting: --metric f1, now mcc" in said(refused)


def test_a_wrong_call_is_a_json_object_too(capsys):
    from metricfit.cli.app import run as run_words

    assert run_words(["fit", "table.csv", "--json"]) == 2
    assert "--target" in json.loads(capsys.readouterr().out)["error"]
