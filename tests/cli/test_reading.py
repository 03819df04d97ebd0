"""Tables are read as people have them; where guessing fails, a sentence names the option."""

import bz2
import gzip
import json
import lzma
import os

import numpy as np
import pandas as pd
import pytest

from cli.tables import a_table, fit, metrics_of, run, said
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.reading import Reading, read_table

NAMES = ["Jörg, the 1st", "Zoë; x", "Ann"]
TABLE = pd.DataFrame({"name": NAMES * 10, "size": [1.5, 2.25, None] * 10, "n": range(30)})
TABS = TABLE.to_csv(index=False, sep="\t").encode()
WRITERS = {
    "plain.csv": lambda path: TABLE.to_csv(path, index=False),
    "semicolons.csv": lambda path: TABLE.to_csv(path, index=False, sep=";"),
    "german.csv": lambda path: TABLE.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252"),
    "tabs.csv": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "bars.txt": lambda path: TABLE.to_csv(path, index=False, sep="|"),
    "tabs.tsv": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "marked.csv": lambda path: TABLE.to_csv(path, index=False, encoding="utf-8-sig"),
    "excel.csv": lambda path: TABLE.to_csv(path, index=False, sep="\t", encoding="utf-16"),
    "wide.csv": lambda path: TABLE.to_csv(path, index=False, encoding="utf-32"),
    "packed.csv.gz": lambda path: path.write_bytes(gzip.compress(TABLE.to_csv(index=False).encode())),
    "packed.tsv.bz2": lambda path: path.write_bytes(bz2.compress(TABS)),
    "packed.csv.xz": lambda path: path.write_bytes(lzma.compress(TABLE.to_csv(index=False).encode())),
    "lines.jsonl": lambda path: TABLE.to_json(path, orient="records", lines=True),
    "lines.json": lambda path: TABLE.to_json(path, orient="records", lines=True),
    "list.json": lambda path: TABLE.to_json(path, orient="records"),
    "lines.ndjson.gz": lambda path: path.write_bytes(
        gzip.compress(TABLE.to_json(orient="records", lines=True).encode())
    ),
    "table.parquet": lambda path: TABLE.to_parquet(path),
    "indexed.parquet": lambda path: TABLE.set_index("name").to_parquet(path),
    "UPPER.CSV": lambda path: TABLE.to_csv(path, index=False),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_the_same_table_is_read_from_every_format(name, tmp_path):
    WRITERS[name](tmp_path / name)
    found, notes = read_table(tmp_path / name)
    assert list(found.columns) == list(TABLE.columns)
    assert found["name"].tolist() == TABLE["name"].tolist()
    np.testing.assert_array_equal(found["size"].to_numpy(float), TABLE["size"].to_numpy())
    assert found["n"].tolist() == TABLE["n"].tolist()
    said_of = {"german.csv": ["not in UTF-8; it was read as cp1252", "decimal comma: size"]}
    assert len(notes) == len(said_of.get(name, []))
    for note, part in zip(notes, said_of.get(name, []), strict=True):
        assert part in note


REFUSED = {
    "excel.xlsx": (b"PK", {}, "Save the sheet as CSV"),
    "unknown.dat": (b"a,b\n1,2\n", {}, "give .csv"),
    "zeros.csv": ("a,b\n1,2\n".encode("utf-16-le"), {}, "--encoding utf-16"),
    "damaged.csv": ("größe\nä\n".encode() + b"\xff\n", {}, "not in UTF-8 (first in line 3)"),
    "wrong.csv": ("größe,b\nä,1\n".encode("cp1252"), {"encoding": "utf-8"}, "by --encoding"),
    "either.csv": (b"a,b;c\n1,2;3\n4,5;6\n", {}, "--delimiter comma or --delimiter semicolon"),
    "long.csv": (b"a,b\n1,2,5\n3,4,6\n", {}, "more values than its first line has names"),
    "ragged.csv": (
        b"a,b\n" + b"1,2\n3,4\n" * 20 + b"1,2,3\n",
        {},
        "cannot be read as a table: line 42 has 3 values, and those before it have 2; put values that hold",
    ),
    "quote.csv": (
        b'a,b\n1,2\n"3,4\n5,6\n',
        {},
        "cannot be read as a table: the quote that opens in line 3 is never closed; close or remove it",
    ),
    "torn.jsonl": (b'{"a": 1}\n{"a": \n', {}, "line 2 is not valid JSON"),
    "numbers.jsonl": (b"1\n2\n", {}, "every line must hold objects"),
    "deep.json": (b"[" * 100_000, {}, "nested too deeply"),
    "half.jsonl": (b'{"a": "\\ud800"}\n', {}, "an incomplete character"),
    "torn.csv.gz": (gzip.compress(b"a,b\n1,2\n" * 100)[:-20], {}, "cannot be read as a table"),
    "unpacked.csv.gz": (b"a,b\n1,2\n", {}, "cannot be read as a table"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_a_message(name, tmp_path):
    content, settings, sentence = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserMistakeError) as refused:
        read_table(tmp_path / name, Reading(**settings))
    assert sentence in str(refused.value)


def test_what_is_no_file_is_named(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name, kind in (("folder.csv", "a folder"), ("pipe.csv", "a pipe or a device")):
        with pytest.raises(UserMistakeError, match=f"{name} is {kind}; give a file"):
            read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [('{"a": 1, "a": 2}', "line 1 holds a twice"), ('{"a": ' + "9" * 5000 + "}", "of too many digits")],
    ids=["a name twice", "a long number"],
)
def test_json_that_python_would_read_otherwise_is_refused(tmp_path, line, sentence):
    (tmp_path / "t.jsonl").write_text(line + "\n")
    with pytest.raises(UserMistakeError, match=sentence):
        read_table(tmp_path / "t.jsonl")


def test_a_delimiter_at_the_ends_of_lines_moves_no_column(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1;2;\n3;4;\n")
    found, _ = read_table(tmp_path / "t.csv")
    assert found.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_options_decide_where_guessing_fails(tmp_path):
    (tmp_path / "either.csv").write_bytes(b"a,b;c\n1,2;3\n4,5;6\n")
    for delimiter, columns in [(";", ["a,b", "c"]), ("comma", ["a", "b;c"])]:
        found, _ = read_table(tmp_path / "either.csv", Reading(delimiter=delimiter))
        assert list(found.columns) == columns
    (tmp_path / "east.csv").write_bytes("slovo,b\nжук,1\n".encode("cp1251"))
    found, notes = read_table(tmp_path / "east.csv", Reading(encoding="cp1251"))
    assert found["slovo"].tolist() == ["жук"]
    assert notes == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        *(({"delimiter": text}, "--delimiter takes one character") for text in ("::", "é", "\n", '"', "")),
        ({"encoding": "utf-9"}, "no encoding utf-9"),
        ({"encoding": "utf\0"}, "no encoding"),
    ],
)
def test_options_that_mean_nothing_are_refused(settings, sentence):
    with pytest.raises(UserMistakeError, match=sentence):
        Reading(**settings)


def test_a_delimiter_in_the_text_of_a_column_does_not_mislead(tmp_path):
    lines = ["id,note", *(f"{i},one; two; three" for i in range(30))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    assert list(read_table(tmp_path / "t.csv")[0].columns) == ["id", "note"]


def test_fit_predict_and_evaluate_read_the_same_formats(tmp_path):
    table = a_table()
    table.to_csv(tmp_path / "table.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    table.to_csv(tmp_path / "plain.csv", index=False)
    table.to_json(tmp_path / "lines.jsonl", orient="records", lines=True)
    assert fit(tmp_path).exit_code == 0
    assert any("read as cp1252" in note for note in metrics_of(tmp_path)["notes"])
    values = []
    for name in ("table.csv", "plain.csv", "lines.jsonl"):
        out = tmp_path / f"{name}.predicted.csv"
        result = run("predict", tmp_path / "run", tmp_path / name, "--out", out)
        assert result.exit_code == 0, result.output
        result = run("evaluate", tmp_path / "run", tmp_path / name, "--json")
        assert result.exit_code == 0, result.output
        values.append(json.loads(result.stdout)["confusion"])
    assert values[0] == values[1] == values[2]
    words = ["--delimiter", ";", "--encoding", "cp1252"]
    for command in (["predict", "--out", tmp_path / "p.csv"], ["evaluate"]):
        result = run(command[0], tmp_path / "run", tmp_path / "table.csv", *command[1:], *words)
        assert result.exit_code == 0, result.output
    assert "--delimiter takes one character" in said(fit(tmp_path, "--delimiter", "ab", "--overwrite"))


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_two_columns_of_one_name_are_refused_and_not_renamed(tmp_path, delimiter):
    path = tmp_path / "twice.csv"
    path.write_text("\n".join(delimiter.join(row) for row in ("aba", "123", "456")) + "\n")
    with pytest.raises(UserMistakeError, match="two columns named a; rename one of them"):
        read_table(path)
