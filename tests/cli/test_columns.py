"""Identifiers are left out with a notice, measurements and dates are not, and the user has the last word."""

import json
import uuid

import numpy as np
import pandas as pd
import pytest

from cli.tables import a_table, fit, metrics_of, said
from metricfit.cli.columns import looks_like_identifier
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.tables import take_target

DRAWN = np.random.default_rng(0)
IDENTIFIERS = {
    "row number": ("x", np.arange(100)),
    "shuffled numbers": ("x", DRAWN.permutation(100)),
    "customer_id": ("customer_id", DRAWN.choice(10**8, 100, replace=False)),
    "PassengerId": ("PassengerId", DRAWN.choice(10**8, 100, replace=False)),
    "with gaps": ("id", np.where(np.arange(100) % 10, np.arange(100.0), np.nan)),
    "codes": ("x", [f"C{i:05}" for i in DRAWN.permutation(100)]),
    "uuids": ("x", [str(uuid.UUID(int=int(i), version=4)) for i in DRAWN.integers(2**62, size=100)]),
    "nearly all different": ("x", ["C0", *(f"C{i}" for i in range(99))]),
    "addresses": ("e-mail", [f"user{i}@example.org" for i in range(100)]),
}
FEATURES = {
    "measurement": ("id", DRAWN.normal(size=100)),
    "income": ("income", DRAWN.choice(10**5, 100, replace=False)),
    "count": ("n", DRAWN.integers(0, 50, 100)),
    "plan": ("plan", ["a", "b"] * 50),
    "dates": ("since", pd.date_range("2020-01-01", periods=100).astype(str)),
    "other dates": ("since", [f"{1 + i % 28:02}/0{1 + i // 28}/2020" for i in range(100)]),
    "times": ("since", pd.date_range("2020-01-01", periods=100, freq="h")),
    "free text": ("note", [f"called {i} times" for i in range(100)]),
    "truth": ("active", [True, False] * 50),
    "few rows": ("id", np.arange(10)),
    "nothing": ("x", [None] * 100),
}


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_an_identifier_is_recognised(case):
    name, values = IDENTIFIERS[case]
    assert looks_like_identifier(name, pd.Series(values))


@pytest.mark.parametrize("case", FEATURES)
def test_what_may_be_learned_from_is_no_identifier(case):
    name, values = FEATURES[case]
    assert not looks_like_identifier(name, pd.Series(values))


def kinds_of(folder):
    return json.loads((folder / "run" / "model.json").read_text(encoding="utf-8"))["kinds"]


@pytest.fixture
def folder(tmp_path):
    a_table().assign(ref=[f"C{i:05}" for i in range(160)]).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


def test_an_identifier_is_left_out_with_a_notice(folder):
    result = fit(folder, epochs=1)
    assert "Left out, since it looks like an identifier: ref. Add --keep ref to learn from it." in said(
        result
    )
    assert "ref" not in kinds_of(folder)


def test_an_identifier_can_be_kept_and_any_column_dropped(folder):
    result = fit(folder, "--keep", "ref", "--drop", "age", "--drop", "note", epochs=1)
    assert result.exit_code == 0, result.output
    assert "ref" in kinds_of(folder)
    assert not {"age", "note"} & set(kinds_of(folder))
    assert "--drop age --drop note --keep ref" in metrics_of(folder)["command"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--drop", "agee"], "--drop agee: there is no such column. Did you mean age?"),
        (["--keep", "reff"], "--keep reff: there is no such column. Did you mean ref?"),
        (["--drop", "churn"], "--drop churn: this is the target"),
        (["--drop", "age", "--keep", "age"], "contradict each other"),
        (["-t", "plan"], "--target was given 2 times (churn, plan)"),
    ],
)
def test_contradictions_are_refused(folder, words, sentence):
    result = fit(folder, *words)
    assert result.exit_code == 2
    assert sentence in said(result)


@pytest.mark.parametrize("spelled", ["Yes ", "YES", " yes"])
@pytest.mark.parametrize("others", [["no"], []], ids=["three values", "two values"])
def test_labels_that_differ_by_blanks_or_capitals_are_refused(spelled, others):
    labels = ["yes", spelled, *others] * 20
    with pytest.raises(UserMistakeError, match="differ by blanks or capitals only"):
        take_target(pd.DataFrame({"a": range(len(labels)), "churn": labels}), "churn", None)


def test_a_class_of_few_rows_is_warned_of(tmp_path):
    table = a_table()
    table.assign(churn=["yes"] * 8 + ["no"] * 152).to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, epochs=1)
    assert result.exit_code == 0, result.output
    assert "Warning: only 8 rows are churn = yes" in said(result)


def test_a_model_that_predicts_one_class_only_is_warned_of(tmp_path):
    generator = np.random.default_rng(0)
    table = pd.DataFrame({"x": generator.normal(size=600), "churn": generator.random(600) < 0.03})
    table.to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, "--metric", "accuracy", epochs=3)
    assert result.exit_code == 0, result.output
    assert "Warning: the model predicts churn = False for all of the 150 test rows" in said(result)
    assert any("predicts churn = False for all" in note for note in metrics_of(tmp_path)["notes"])
