"""Sweeps can be killed and taken up again, and what is finished is never run again."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings

import pytest
from typer.testing import CliRunner

from experiments.folders import made_up
from metricfit.cli.app import app
from metricfit.experiments import fetching
from metricfit.experiments import sweep as sweeping
from metricfit.experiments.journal import CELLS, append, read
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.protocols import PROTOCOLS
from metricfit.experiments.recipes import RECIPES
from metricfit.experiments.runs import plan
from metricfit.experiments.sweep import sweep

WORDS = [
    "--datasets",
    "redwine",
    "--metrics",
    "f1,mcc",
    "--methods",
    "cross-entropy,metricfit",
    "--epochs",
    "30",
]


def command(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def untimed(path):
    return {
        key: {name: value for name, value in cell.items() if not name.endswith("seconds")}
        for key, cell in read(path).items()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_up(tmp_path_factory.mktemp("data"), "redwine", "whitewine")


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """The cells of a sweep that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole")
    result = command(*WORDS, "--data", folder, "--partial", "--out", out)
    assert result.exit_code == 0, result.output
    return out


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_and_resumed_sweep_ends_with_the_same_cells(jobs, folder, whole, tmp_path):
    words = [*WORDS, "--data", str(folder), "--partial", "--out", str(tmp_path), "--jobs", str(jobs)]
    started = subprocess.Popen(
        [sys.executable, "-m", "metricfit.cli", "reproduce", *words],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 120
    while len(read(tmp_path / CELLS)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.wait()
    before = read(tmp_path / CELLS)
    assert 2 <= len(before) < 12, "it was to be killed in the middle"
    # What a crash in the middle of a line would leave.
    with (tmp_path / CELLS).open("a") as file:
        file.write('{"protocol": "paper", "datas')
    result = command(*words)
    assert result.exit_code == 0, result.output
    assert untimed(tmp_path / CELLS) == untimed(whole / CELLS)
    assert {key: read(tmp_path / CELLS)[key] for key in before} == before, "finished cells stay as they were"


def test_a_finished_cell_is_never_run_again(folder, whole, monkeypatch):
    def fail(*args):
        raise AssertionError("a finished cell was run again")

    monkeypatch.setattr(sweeping, "_fill", fail)
    result = command(*WORDS, "--data", folder, "--partial", "--out", whole)
    assert result.exit_code == 0, result.output


def test_other_data_under_the_same_name_are_refused_and_the_cells_stay(tmp_path):
    words = ["--datasets=redwine", "--methods=cross-entropy", "--epochs=1", "--l2=0", "--partial"]
    out = tmp_path / "out"
    one, other = (made_up(tmp_path / f"data{seed}", "redwine", seed=seed) for seed in (0, 1))
    assert command(*words, "--data", one, "--out", out).exit_code == 0
    before = (out / CELLS).read_bytes()
    for extra in ([], ["--seeds=2"], ["--l2=0.1"]):
        result = command(*words, *extra, "--data", other, "--out", out)
        assert result.exit_code == 2
        assert "holds results of redwine with other data" in " ".join(result.output.split())
    assert (out / CELLS).read_bytes() == before
    assert command(*words, "--data", one, "--out", out).exit_code == 0
    assert (out / CELLS).read_bytes() == before


def test_cells_without_a_fingerprint_of_their_data_are_kept_with_a_notice(folder, tmp_path):
    words = ["--datasets=redwine", "--methods=cross-entropy", "--epochs=1", "--l2=0", "--partial"]
    assert command(*words, "--data", folder, "--out", tmp_path).exit_code == 0
    (cell,) = read(tmp_path / CELLS).values()
    del cell["data"]
    (tmp_path / CELLS).write_text(json.dumps(cell) + "\n")
    result = command(*words, "--data", folder, "--out", tmp_path)
    assert "1 cells were there before and do not say with which data" in " ".join(result.output.split())


def test_the_order_of_runs_does_not_matter(folder, tmp_path):
    runs = list(
        plan(
            protocols=["recommended"],
            datasets=["redwine"],
            losses=["metricfit"],
            metrics=["f1", "f2"],
            seeds=[0],
            epochs=2,
        )
    )
    sweep(runs, tmp_path / "a", folder=folder, partial=True)
    sweep(runs[::-1], tmp_path / "b", folder=folder, partial=True)
    assert untimed(tmp_path / "a") == untimed(tmp_path / "b")


def test_nothing_is_started_later_than_asked_and_the_rest_can_follow(folder, tmp_path):
    words = ["--datasets=redwine", "--methods=cross-entropy", "--epochs=1", "--l2=0,0.1", "--partial"]
    result = command(*words, "--data", folder, "--out", tmp_path, "--minutes", 0)
    assert result.exit_code == 0, result.output
    assert "2 cells were not started in time" in " ".join(result.output.split())
    assert read(tmp_path / CELLS) == {}
    result = command(*words, "--data", folder, "--out", tmp_path, "--minutes", 9)
    assert "2 of 2 cells are in" in " ".join(result.output.split())
    assert len(read(tmp_path / CELLS)) == 2


def test_a_partial_file_is_found_beside_the_whole_ones(folder, tmp_path):
    made_up(tmp_path / "partial", "abalone").joinpath("abalone.npz").rename(
        tmp_path / "partial" / "abalone_partial.npz"
    )
    words = ["--datasets=abalone", "--methods=cross-entropy", "--epochs=1", "--l2=0", "--data", tmp_path]
    assert command(*words, "--partial", "--out", tmp_path).exit_code == 0
    (cell,) = read(tmp_path / CELLS).values()
    assert (cell["dataset"], cell["whole"]) == ("abalone", False)


def test_a_partial_file_alone_is_skipped_with_the_option_that_takes_it(tmp_path):
    made_up(tmp_path / "partial", "abalone").joinpath("abalone.npz").rename(
        tmp_path / "partial" / "abalone_partial.npz"
    )
    result = command("--datasets=abalone", "--data", tmp_path, "--out", tmp_path)
    assert result.exit_code == 2
    assert "of abalone only abalone_partial.npz is there; give --partial" in " ".join(result.output.split())


def test_the_help_names_every_metric_and_method():
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", CliRunner().invoke(app, ["reproduce", "--help"]).output).split())
    for name in (*METRICS, *RECIPES, *PROTOCOLS):
        if name != "large-games":  # a control of the results, not for everyone
            assert re.search(rf"\b{name}\b", shown), name


def test_a_set_that_cannot_be_had_is_reported_and_skipped(folder, tmp_path):
    words = ["--datasets", "dutch,redwine", "--methods", "cross-entropy", "--epochs", 1, "--l2", "0"]
    result = command(*words, "--data", folder, "--partial", "--out", tmp_path)
    assert result.exit_code == 0
    assert "skipped: dutch is offered by no fetcher" in result.output
    assert {cell["dataset"] for cell in read(tmp_path / CELLS).values()} == {"redwine"}


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the network, which there is none of."""
    names = []

    def offline(name="california_housing", **kwargs):
        names.append(name)
        warnings.warn("Retrying...", stacklevel=1)
        raise OSError("no route to host")

    monkeypatch.setattr(fetching, "fetch_openml", offline)
    monkeypatch.setattr(fetching, "fetch_california_housing", offline)
    return names


def test_a_set_that_cannot_be_had_is_asked_for_once_and_not_for_every_seed(asked, tmp_path):
    words = ["--datasets", "redwine", "--methods", "cross-entropy", "--seeds", 3]
    result = command(*words, "--data", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "redwine could not be fetched (no route to host)" in result.output
    assert "Retrying" not in result.output
    assert asked == ["wine-quality-red"]


def test_a_comma_too_many_and_a_name_twice_do_no_harm(folder, tmp_path):
    words = ["--methods", "cross-entropy", "--epochs", 1, "--l2", "0", "--data", folder, "--partial"]
    result = command("--datasets", "redwine, redwine,", *words, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "1 of 1 cells are in" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--datasets", "redwin"], "there is no data set 'redwin'"),
        (["--datasets", "redwin"], "shuttle, whitewine. Did you mean redwine?"),
        (["--datasets", ","], "no data set is named; there are abalone, adult"),
        (["--metrics", "f3"], "there is no metric 'f3'"),
        (["--methods", "bce"], "there is no method 'bce'"),
        (["--device", "gpu"], "--device gpu cannot be used"),
        (["--methods", "no-such"], "there are cross-entropy, weighted, balanced"),
        (["--protocol", "papers"], "Did you mean paper?"),
        (["--datasets", "redwine", "--l2", "-1"], "--l2 takes numbers that are not negative"),
        (["--datasets", "dutch"], "there is nothing to run"),
        (["--data", "no-such-folder"], "there is no folder no-such-folder"),
        (["--out", "nowhere", "--report"], "there is no finished cell"),
    ],
)
def test_bad_arguments_raise_a_clear_error(words, sentence, tmp_path):
    result = command("--data", tmp_path, "--out", tmp_path / "out", *words)
    assert result.exit_code == 2
    assert sentence in result.output


def test_tables_stands_for_all_sets_but_those_of_images(asked, folder, tmp_path):
    words = ["--methods", "cross-entropy", "--epochs", 1, "--l2", "0", "--data", folder, "--partial"]
    result = command("--datasets", "tables", *words, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.output.count("skipped: ") == 18
    assert "Fashion-MNIST" not in asked


def test_a_torn_line_is_left_out_and_does_not_spoil_the_next(tmp_path, whole):
    cell = next(iter(read(whole / CELLS).values()))
    path = tmp_path / CELLS
    path.write_text(json.dumps(cell)[:50])
    append(path, cell)
    assert list(read(path).values()) == [cell]


def test_the_process_keeps_its_threads(folder, tmp_path):
    import torch

    before = torch.get_num_threads()
    runs = plan(
        protocols=["paper"], datasets=["redwine"], losses=["cross-entropy"], metrics=[], seeds=[0], epochs=1
    )
    sweep(list(runs), tmp_path / CELLS, folder=folder, partial=True)
    assert torch.get_num_threads() == before


def test_the_report_is_made_from_the_cells(folder, whole):
    result = command("--out", whole, "--report")
    assert result.exit_code == 0, result.output
    text = (whole / "report.md").read_text()
    assert "## Protocol: paper" in text
    assert "| redwine (in part) | 134 / 34 / 72 |" in text
    assert "| 30 | 30 | 1 |" in text, "epochs of both losses, and the seeds"
    assert "### F1" in text
    assert "### Precision at recall 0.8" in text
    assert (whole / "results-paper-cross-entropy.png").stat().st_size > 5000


def test_a_report_can_be_held_to_a_budget(folder, tmp_path):
    words = [
        "--datasets=redwine",
        "--methods=cross-entropy",
        "--epochs=30",
        "--l2=0",
        "--data",
        folder,
        "--partial",
    ]
    for steps in (20, 60):
        assert command(*words, "--out", tmp_path, "--steps", steps).exit_code == 0
    assert command("--out", tmp_path, "--report").exit_code == 0
    assert command("--out", tmp_path, "--report", "--steps", 20).exit_code == 0
    pages = [(tmp_path / name).read_text() for name in ("report.md", "report-20-steps.md")]
    assert ["| 10 | – | 1 |" in page for page in pages] == [True, False]
    assert ["| 3 | – | 1 |" in page for page in pages] == [False, True]
    result = command("--out", tmp_path, "--report", "--steps", 5)
    assert result.exit_code == 2
    assert "no finished cell with a budget of 5 steps at most" in result.output
