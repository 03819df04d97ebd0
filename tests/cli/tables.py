"""A table to train on, and the commands in one call."""

import json

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from metricfit.cli.app import app


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def a_table(rows=160, seed=0):
    generator = np.random.default_rng(seed)
    age = generator.normal(40, 10, rows)
    plan = generator.choice(["basic", "größer", "max"], rows)
    churn = np.where(age + 12 * (plan == "max") + generator.normal(0, 6, rows) > 48, "yes", "no")
    table = pd.DataFrame(
        {
            "age": np.where(generator.random(rows) < 0.1, np.nan, age),
            "plan": np.where(generator.random(rows) < 0.1, None, plan),
            "since": pd.date_range("2020-01-01", periods=rows).astype(str),
            "note": [f"called {i} times" for i in range(rows)],
            "constant": 1,
            "empty": None,
            "active": generator.choice([True, False], rows),
        }
    )
    return table.assign(churn=churn)


def fit(folder, *words, table="table.csv", target="churn", epochs=2, fast=True):
    words = ["--epochs", epochs, *(["--fast"] if fast else []), *words]
    return run("fit", folder / table, "--target", target, "--out", folder / "run", *words)


def left_behind(folder):
    return sorted(path.name for path in folder.iterdir())


def said(result):
    """What was printed, without the line breaks that a narrow terminal makes."""
    return " ".join(result.output.split())


def metrics_of(folder):
    return json.loads((folder / "run" / "metrics.json").read_text(encoding="utf-8"))
