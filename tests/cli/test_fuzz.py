"""Whatever is in a table, `fit` gives a model or a sentence, and never a traceback."""

import datetime as dt
import math

import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from metricfit.cli.app import app

ZONES = [dt.UTC, dt.timezone(dt.timedelta(hours=2)), dt.timezone(dt.timedelta(hours=-9, minutes=-30))]
CELLS = {
    "numbers": st.one_of(st.none(), st.floats(), st.integers(-(2**62), 2**62)),
    "counts": st.integers(0, 3),
    "texts": st.one_of(st.none(), st.text(max_size=8)),
    "categories": st.sampled_from(["red", "blau", "青", ""]),
    "truths": st.one_of(st.none(), st.booleans()),
    "dates": st.one_of(st.none(), st.datetimes()),
    "local times": st.one_of(st.none(), st.datetimes(timezones=st.sampled_from(ZONES))),
    "words": st.sampled_from(["?", "NA", "unknown", "1", "2.5", "-"]),
    "mixed": st.one_of(st.none(), st.integers(), st.text(max_size=3), st.booleans()),
    "constant": st.just("same"),
    "nothing": st.none(),
}
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    lambda name: name.strip()
)


@st.composite
def tables(draw):
    rows = draw(st.one_of(st.integers(1, 12), st.integers(12, 60)))
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique_by=lambda name: name.strip()))
    columns = {}
    for name in names:
        cells = CELLS[draw(st.sampled_from(sorted(CELLS)))]
        columns[name] = draw(st.lists(cells, min_size=rows, max_size=rows))
    target = draw(
        st.sampled_from([["a", "b"], [0, 1], [True, False], [0.5, math.pi], ["a", "b", None], [1, 2, 3]])
    )
    columns["target"] = [target[index % len(target)] for index in range(rows)]
    return pd.DataFrame(columns)


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def check(folder, table, metric, seed):
    table.to_csv(folder / "table.csv", index=False)
    words = ["--target", "target", "--metric", metric, "--epochs", 1, "--seed", seed, "--out", folder / "run"]
    # An ensemble is many fits, so that most tables are tried with one network.
    words += ["--fast"] if seed % 4 else []
    result = run("fit", folder / "table.csv", *words)
    left = sorted(path.name for path in folder.iterdir())
    event("a sentence" if result.exit_code == 2 else "a model")
    if result.exit_code == 2:
        assert "metricfit: " in result.output
        assert left == ["table.csv"]
    else:
        assert result.exit_code == 0, result.output
        assert left == ["run", "table.csv"]
        again = run(
            "predict", folder / "run", folder / "table.csv", "--out", folder / "p.csv", "--unknown", "ignore"
        )
        assert again.exit_code == 0, again.output
        assert len(pd.read_csv(folder / "p.csv")) == len(pd.read_csv(folder / "table.csv"))


FEW = {"suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
ASKED = {"table": tables(), "metric": st.sampled_from(["f1", "mcc", "precision"]), "seed": st.integers(0, 3)}


@settings(max_examples=8, **FEW)
@given(**ASKED)
def test_fit_gives_a_model_or_a_message(tmp_path_factory, table, metric, seed):
    check(tmp_path_factory.mktemp("fuzz"), table, metric, seed)


@pytest.mark.slow
@settings(max_examples=150, **FEW)
@given(**ASKED)
def test_fit_gives_a_model_or_a_message_many_times(tmp_path_factory, table, metric, seed):
    check(tmp_path_factory.mktemp("fuzz"), table, metric, seed)
