"""Words for a gap and typing errors make no text of a column of numbers, nor stop a training at its end."""

import json

import numpy as np
import pandas as pd
import pytest

from cli.tables import a_table, fit, left_behind, run, said
from metricfit.cli.gaps import WORDS, fill_gaps
from metricfit.cli.reading import read_table

ROWS = 200


def numbers(count=ROWS):
    return [f"{value:.3f}" for value in np.random.default_rng(0).normal(size=count)]


@pytest.mark.parametrize("word", [*sorted(WORDS), " ? ", "N/A", "Unknown"])
def test_words_for_a_gap_are_missing_among_numbers(word):
    table, odd, notes = fill_gaps(pd.DataFrame({"a": [word, *numbers(3), word]}))
    assert table["a"].isna().tolist() == [True, False, False, False, True]
    assert not odd
    assert notes == [f"These words count as missing: {word.strip() or 'blanks'} (in a)."]


@pytest.mark.parametrize("values", [["?", "b", "c"], ["12", "V57", "13"], [True, "?", "?"], ["?"] * 3])
def test_other_columns_stay_as_they_are(values):
    given = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    table, odd, notes = fill_gaps(given)
    pd.testing.assert_frame_equal(table, given)
    assert not odd
    assert not notes


@pytest.mark.parametrize(("errors", "share"), [(1, 0.005), (4, 0.02), (5, 0.025)])
def test_a_few_typing_errors_are_missing_and_named(errors, share):
    table, odd, notes = fill_gaps(pd.DataFrame({"a": [*["oops"] * errors, *numbers(ROWS - errors)]}))
    if share <= 0.02:
        assert table["a"].isna().sum() == errors
        assert odd == {"a": ["oops"]}
        assert "oops (in a)" in notes[0]
    else:
        assert not notes


def test_numbers_of_several_types_are_numbers():
    table, _, _ = fill_gaps(pd.DataFrame({"a": [1, "2.5", None, "?", "inf"]}))
    assert table["a"].tolist()[:2] == [1.0, 2.5]
    assert table["a"].isna().tolist() == [False, False, True, True, False]


@pytest.mark.parametrize("row", range(3))
def test_a_trained_table_can_be_predicted_wherever_its_odd_values_are(tmp_path, row):
    # The row may fall into the part for training or into the one for the test.
    table = a_table(rows=ROWS)
    table["size"], table["since"] = numbers(), pd.date_range("2021-01-01", periods=ROWS).strftime("%d/%m/%Y")
    table.loc[row, ["size", "since"]] = ["oops", "-"]
    table.loc[(row + 9) % ROWS, "size"] = "?"
    table.to_csv(tmp_path / "table.csv", index=False)
    result = fit(tmp_path, epochs=1)
    assert result.exit_code == 0, result.output
    assert "oops (in size)" in said(result)
    kinds = json.loads((tmp_path / "run" / "model.json").read_text())["kinds"]
    assert (kinds["size"], kinds["since"]) == ("numbers", "dates")
    again = run("predict", tmp_path / "run", tmp_path / "table.csv", "--out", tmp_path / "new.csv")
    assert again.exit_code == 0, again.output


def test_what_cannot_be_encoded_is_said_before_the_training(tmp_path):
    table = a_table(rows=ROWS)
    table["since"] = [*pd.date_range("2021-01-01", periods=ROWS // 2).strftime("%d/%m/%Y")] * 2
    table.loc[5, "since"] = "soon"
    table.to_csv(tmp_path / "table.csv", index=False)
    # With this seed it is among the rows for the test.
    result = fit(tmp_path, "--seed", 4, epochs=1)
    assert result.exit_code == 2
    assert "Column since held dates" in said(result)
    assert "best" not in said(result)
    assert left_behind(tmp_path) == ["table.csv"]


def test_a_decimal_comma_is_understood_beside_gaps(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;x\n?;x\n-;x\ninf;x\n2;x\n1,5e3;x\n")
    table, notes = read_table(tmp_path / "t.csv")
    assert table["a"].dropna().tolist() == [1.5, np.inf, 2.0, 1500.0]
    assert notes == ["Read as numbers with a decimal comma: a."]


def test_numbers_beside_missing_values_are_not_taken_for_formatted_ones(tmp_path):
    (tmp_path / "t.csv").write_text(
        "a,b\n" + "".join(f"{value},x\n" for value in ["1.234", "5.678", "?"] * 9)
    )
    assert read_table(tmp_path / "t.csv")[1] == []
