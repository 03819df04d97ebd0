"""The benchmark of the solvers runs from a bare checkout and writes what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


SLOW = [["--constrained"], ["--in-a-row"]]


@pytest.mark.parametrize("extra", [[], *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)], ids=str)
def test_the_benchmark_writes_numbers_and_a_plot(tmp_path, extra):
    solvers = ["--solvers", "fast", "exact-lp", "admm", "ap-perf"]
    options = [*solvers, "--metrics", "f1", "--sizes", "5", "8", "--repeats", "2"]
    out = tmp_path / "solvers"
    command = [sys.executable, str(FOLDER / "solvers.py"), *options, *extra, "--out", str(out)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "largest gap" in finished.stdout
    cells = json.loads(out.with_suffix(".json").read_text())["cells"]
    assert [(cell["solver"], cell["n"]) for cell in cells][:4] == [
        ("fast", 5),
        ("exact-lp", 5),
        ("admm", 5),
        ("ap-perf", 5),
    ]
    assert all(cell["largest_gap"] < 1e-7 for cell in cells if cell["solver"] == "exact-lp")
    comparable = [cell for cell in cells if cell["metric"] != "precision" and cell["solver"] != "ap-perf"]
    assert all(cell["ratio_to_ap_perf"] > 0 for cell in comparable)
    picture = out.with_suffix(".png")
    assert picture.stat().st_size > 0
    picture.unlink()
    again = [
        sys.executable,
        str(FOLDER / "solvers.py"),
        "--plot",
        str(out.with_suffix(".json")),
        "--out",
        str(out),
    ]
    subprocess.run(again, capture_output=True, check=True)
    assert picture.stat().st_size > 0


@pytest.mark.parametrize(("in_a_row", "order"), [(False, "abcdabcdab"), (True, "aaabbbccdd")])
def test_a_game_is_solved_in_rounds_or_in_a_row_as_often_as_there_is_time(monkeypatch, in_a_row, order):
    monkeypatch.syspath_prepend(str(FOLDER))
    import solvers

    seconds = {"a": 0.1, "b": 0.1, "c": 0.2, "d": 0.2}
    clock, asked = [0.0], []

    def run(game):
        asked.append(game)
        clock[0] += seconds[game]
        return 0.0, 0.0, None

    monkeypatch.setattr(solvers.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(solvers, "summary", lambda *parts: parts)
    arguments = Namespace(best_of=3, in_a_row=in_a_row, budget=1.2, tol=1e-4)
    ((solver, name, samples, _),) = solvers.measure({("fast", "f1"): run}, list("abcde"), arguments)
    assert (solver, name, "".join(asked)) == ("fast", "f1", "a" + order)
    assert [sample.game for sample in samples] == list("abcd")


def test_recorded_games_have_the_size_asked_for_and_both_scales(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    from recorded import METRICS, recorded_games

    for metric in METRICS:
        for n in (10, 5000):
            games = list(recorded_games(metric, n, 4))
            assert [game.scores.size for game in games] == [n] * 4
            assert {game.scale for game in games} == {32.0, "batch"}
            assert all(set(game.labels) <= {0, 1} for game in games)


def test_recorded_games_are_the_same_each_time(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    from recorded import recorded_games

    for first, second in zip(recorded_games("mcc", 25, 5), recorded_games("mcc", 25, 5), strict=True):
        assert (first.scores == second.scores).all()
