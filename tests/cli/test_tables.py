"""Values are taken for what they mean, or there is a sentence; no model is made that cannot be used."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from cli.tables import a_table, fit, left_behind, run, said
from metricfit.cli.encoding import Columns
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.reading import read_table
from metricfit.cli.tables import about_large_numbers, take_target, tidy

ROWS = 20


def target_of(values):
    return take_target(pd.DataFrame({"a": range(len(values)), "y": values}), "y", None)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([None] * ROWS, "is empty in every row"),
        ([1] * ROWS, r"has the same value \(1\) in every row"),
        (["no", None] * (ROWS // 2), "is no in every row that has a value; 10 rows have none"),
        ([np.inf, 0.0] * (ROWS // 2), "holds infinite numbers"),
        ([["no"], ["yes"]] * (ROWS // 2), "holds lists or records"),
    ],
    ids=["empty", "constant", "NA for a value", "infinite", "lists"],
)
def test_a_target_from_which_nothing_can_be_learned_is_refused(values, sentence):
    with pytest.raises(UserMistakeError, match=sentence):
        target_of(values)


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("1.5"), None, Decimal("2")],
        [10**25, 1, None],
        pd.array([1, None, 2], dtype="Int64"),
    ],
    ids=["decimals", "long whole numbers", "numbers with gaps"],
)
def test_all_kinds_of_numbers_are_numbers(values):
    assert tidy(pd.DataFrame({"a": values}))["a"].dtype == np.float64


def test_numbers_that_count_as_missing_are_named():
    table = pd.DataFrame({"a": [1.0, np.inf], "b": [1e31, 0.0], "d": [1.0, np.nan]})
    table["c"] = pd.Series([10**400, 1], dtype=object)
    (note,) = about_large_numbers(table)
    assert note.endswith("they are in: a, b, c.")
    assert tidy(table)[["a", "b", "c"]].isna().sum().tolist() == [1, 1, 1]


def test_dates_with_a_time_zone_are_those_of_utc(tmp_path):
    since = pd.date_range("2020-01-01", periods=160, freq="D", tz="Europe/Berlin")
    a_table().assign(since=since).to_parquet(tmp_path / "table.parquet")
    assert fit(tmp_path, table="table.parquet", epochs=1).exit_code == 0
    a_table().assign(since=since.tz_convert("UTC").tz_localize(None)).to_parquet(tmp_path / "plain.parquet")
    for name in ("table", "plain"):
        words = [tmp_path / f"{name}.parquet", "--out", tmp_path / f"{name}.csv"]
        result = run("predict", tmp_path / "run", *words)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "table.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()


@pytest.mark.parametrize("trained_with", ["table.csv", "table.parquet"])
def test_local_times_of_summer_and_winter_are_dates(tmp_path, trained_with):
    since = pd.date_range("2020-01-01", periods=160, freq="2D", tz="Europe/Berlin")
    a_table().assign(since=since).to_parquet(tmp_path / "table.parquet")
    for name, zone in (("table", "Europe/Berlin"), ("utc", "UTC")):
        texts = since.tz_convert(zone).strftime("%Y-%m-%dT%H:%M:%S%z")
        a_table().assign(since=texts).to_csv(tmp_path / f"{name}.csv", index=False)
    result = fit(tmp_path, table=trained_with, epochs=1)
    assert result.exit_code == 0, result.output
    for name in ("table.csv", "utc.csv", "table.parquet"):
        result = run("predict", tmp_path / "run", tmp_path / name, "--out", tmp_path / f"{name}.out.csv")
        assert result.exit_code == 0, result.output
    predictions = {path.read_text() for path in tmp_path.glob("*.out.csv")}
    assert len(predictions) == 1


@pytest.mark.parametrize("value", [pd.Timestamp("2020-01-01"), dt.date(2020, 1, 1), True, "x"])
def test_other_values_are_not_taken_for_numbers(value):
    columns = Columns({"a": "numbers"}, {}, {})
    with pytest.raises(UserMistakeError, match="held numbers in the training table; here it holds"):
        columns.check(pd.DataFrame({"a": [value] * 3}), ignore_unknown=True)


def test_a_table_of_empty_columns_is_refused(tmp_path):
    a_table()[["empty", "churn"]].assign(nothing=np.nan).to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path)
    assert result.exit_code == 2
    assert "every one of them is empty" in said(result)
    assert left_behind(tmp_path) == ["table.csv"]


def written(folder, *values):
    (folder / "t.csv").write_text("a,b\n" + "".join(f'"{value}",x\n' for value in values))
    return read_table(folder / "t.csv")


@pytest.mark.parametrize("values", [("1,5", "20"), ("0,126", "-3,250"), ("1,2345", "1")])
def test_quoted_numbers_with_a_decimal_comma_are_numbers(tmp_path, values):
    table, notes = written(tmp_path, *values)
    assert table["a"].tolist() == [float(value.replace(",", ".")) for value in values]
    assert notes == ["Read as numbers with a decimal comma: a."]


@pytest.mark.parametrize(
    "values", [("1,234", "20,500"), ("1.234.567,50", "1.000,10"), ("12 %", "7.5 %"), ("$1,200",)]
)
def test_numbers_that_are_read_as_text_are_named(tmp_path, values):
    table, (note,) = written(tmp_path, *values)
    assert table["a"].tolist() == list(values)
    assert f"look like numbers, such as '{values[0]}': a." in note


@pytest.mark.parametrize(
    "values", [("01.02.2020", "17.11.2021"), ("555-1234", "a"), ("1 2", "3 4"), ("10,x", "2")]
)
def test_dates_and_codes_are_not_taken_for_numbers(tmp_path, values):
    table, notes = written(tmp_path, *values)
    assert table["a"].tolist() == list(values)
    assert notes == []


@pytest.mark.parametrize(
    ("labels", "asked", "positive"),
    [
        ([0.0, 1.0], "0.0", 0.0),
        ([0, 1], "1.0", 1),
        ([False, True], "false", False),
        (["Bad", "ok"], "bad", "Bad"),
    ],
    ids=str,
)
def test_the_positive_label_may_be_asked_for_as_the_file_writes_it(labels, asked, positive):
    _, target, _ = take_target(pd.DataFrame({"a": range(10), "y": labels * 5}), "y", asked)
    assert target.positive == positive


@pytest.mark.parametrize(("first", "second", "positive"), ["YNY", "nyy", "tft", "FTT", "yxx", "tuu"])
def test_y_and_t_are_positive_beside_n_and_f_only(first, second, positive):
    _, target, _ = target_of([first] * 7 + [second] * 6)
    assert target.positive == positive


@pytest.mark.parametrize(
    ("values", "labels"),
    [([1.0, 0.0, None], "10"), ([1.0, 2.5, None], "2.5 1.0"), ([1.0, 0.0], "1.0 0.0"), ([1, 0], "10")],
    ids=["gaps", "gaps and fractions", "floats", "whole"],
)
def test_labels_beside_gaps_are_written_as_in_the_file(values, labels):
    _, target, _ = target_of(values * 8)
    written = {str(target.positive), str(target.negative)}
    assert written == set(labels.split() if " " in labels else labels)


def test_too_many_columns_of_text_are_refused_before_they_are_encoded(tmp_path):
    texts = pd.DataFrame({f"said{i}": [f"{i} and {row}" for row in range(60)] * 2 for i in range(100)})
    pd.concat([a_table(120), texts], axis=1).to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path)
    assert result.exit_code == 2
    assert "102 columns hold text or dates: since, note, " in said(result)
    assert "Up to 100 can be encoded; leave some out by --drop" in said(result)
    assert left_behind(tmp_path) == ["table.csv"]
