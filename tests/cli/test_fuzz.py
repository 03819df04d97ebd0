"""Whatever is in a table, `fit` gives a model or a sentence, and never a traceback."""

import math

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from metricfit.cli.app import app

CELLS = {
    "numbers": st.one_of(st.none(), st.floats(), st.integers(-(2**62), 2**62)),
    "counts": st.integers(0, 3),
    "texts": st.one_of(st.none(), st.text(max_size=8)),
    "categories": st.sampled_from(["red", "blau", "青", ""]),
    "truths": st.one_of(st.none(), st.booleans()),
    "dates": st.one_of(st.none(), st.datetimes()),
    "mixed": st.one_of(st.none(), st.integers(), st.text(max_size=3), st.booleans()),
    "constant": st.just("same"),
    "nothing": st.none(),
}
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    lambda name: name.strip()
)


@st.composite
def tables(draw):
    rows = draw(st.integers(1, 40))
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


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(table=tables(), metric=st.sampled_from(["f1", "mcc", "precision"]), seed=st.integers(0, 3))
def test_fit_gives_a_model_or_a_sentence(tmp_path_factory, table, metric, seed):
    folder = tmp_path_factory.mktemp("fuzz")
    table.to_csv(folder / "table.csv", index=False)
    words = ["--target", "target", "--metric", metric, "--epochs", 1, "--seed", seed, "--out", folder / "run"]
    result = run("fit", folder / "table.csv", *words)
    left = sorted(path.name for path in folder.iterdir())
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
