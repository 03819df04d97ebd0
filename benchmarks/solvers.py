"""Time and certified gap of every solver on games from real training, beside the public implementation.

    python benchmarks/solvers.py
    python benchmarks/solvers.py --solvers fast ap-perf --metrics f1 mcc --sizes 25 100 --repeats 40
    python benchmarks/solvers.py --constrained
    python benchmarks/solvers.py --metrics f1 --plot earlier.json another.json

Everything runs on one thread. Prints a table, and writes the numbers as JSON and a plot of time against n.
`ap-perf` is the package of that name (ADMM, 100 iterations); it certifies nothing, so its column of gaps
is empty. Instead the table says how far its value, and the worst single probability of its adversary, are
from the solution, in the median over the games.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from ap_perf import common_metrics
from recorded import METRICS, RecordedGame, recorded_games
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import metricfit as mf
from metricfit.solving.lp import MAX_ITEMS

RIVAL = "ap-perf"
DEFAULT_SOLVERS = ("fast", "exact-lp", "admm", RIVAL)
DEFAULT_SIZES = (10, 25, 50, 100)
RECALL = 0.8

BEST_OF = 5

LONG = 0.5
"""Seconds that a game may take in all of its turns; one that takes longer has fewer."""

# Time grows at most like this power of n, about; 3 for the others.
GROWTH = {"auto": 2.0, "fast": 2.0, "exact-lp": 5.0}


@dataclass(frozen=True)
class Cell:
    """One solver on the games of one metric and size; times in milliseconds."""

    solver: str
    metric: str
    n: int
    games: int
    median_ms: float
    p95_ms: float
    median_gap: float | None
    largest_gap: float | None
    missed: int
    median_error: float | None
    median_deviation: float | None


@dataclass(frozen=True, eq=False)
class Sample:
    """One game solved; a solver that certifies nothing has no gap."""

    game: RecordedGame
    seconds: float
    value: float
    gap: float | None
    adversary: np.ndarray


Run = Callable[[RecordedGame], tuple[float, float | None, np.ndarray]]


def library_run(metric: mf.Metric, solver: str, tol: float) -> Run:
    """Solve by this library; returns value, gap and the adversary."""

    def run(game: RecordedGame) -> tuple[float, float | None, np.ndarray]:
        solution = mf.solve(metric, game.scores, game.labels, solver=solver, tol=tol)
        return solution.value, solution.gap, solution.adversary

    return run


def rival_run(name: str, constrained: bool) -> Run:
    """Solve by the public implementation: the forward pass of its layer, before it becomes a tensor."""

    if constrained:
        rival = common_metrics.PrecisionGvRecall(RECALL)
        rival.initialize()
        rival.enforce_special_case_positive()
        rival.set_cs_special_case_positive(True)
    else:
        rival = {
            "f1": common_metrics.f1_score,
            "f2": common_metrics.f2_score,
            "gm_precision_recall": common_metrics.gpr,
            "mcc": common_metrics.mcc,
            "kappa": common_metrics.kappa,
            "accuracy": common_metrics.accuracy_metric,
        }[name]

    def run(game: RecordedGame) -> tuple[float, float | None, np.ndarray]:
        value, adversary = rival.objective(game.scores, game.labels, max_iter=100)
        return float(value), None, adversary

    return run


class Taken:
    """The games that a solver has taken, each with its best time, and how often it is to take them."""

    def __init__(self, run: Run, budget: float, best_of: int) -> None:
        self.run = run
        self.left = budget
        self.best_of = best_of
        self.samples: list[Sample] = []
        self.turns: list[int] = []

    def take(self, games: list[RecordedGame], number: int, turn: int) -> None:
        """Solve a game, unless there is no time for it, or it takes so long that fewer turns will do."""
        if turn == 0 and self.left > 0.0:
            sample = timing(self.run, games[number])
            self.samples.append(sample)
            self.turns.append(max(1, min(self.best_of, int(LONG / sample.seconds))))
            self.left -= self.turns[number] * sample.seconds
        elif number < len(self.samples) and 0 < turn < self.turns[number]:
            again = timing(self.run, games[number])
            self.samples[number] = min(self.samples[number], again, key=lambda sample: sample.seconds)


def measure(
    runs: dict[tuple[str, str], Run], games: list[RecordedGame], arguments: argparse.Namespace
) -> list[Cell]:
    """Time solvers of metrics on games, in turn in every round, so that they share the machine's moods.

    A game counts with its best of a few times. A round goes through all games, so that they are solved as in
    training, each after another one. In a row, the processor predicts the branches of a game better, of an
    easy one more than of a hard one, and a busy moment of the machine spoils all times of a game.
    """
    best_of, numbers = arguments.best_of, range(len(games))
    rounds = [[(turn, number) for number in numbers] for turn in range(best_of)]
    if arguments.in_a_row:
        rounds = [[(turn, number) for turn in range(best_of)] for number in numbers]
    taken = {key: Taken(run, arguments.budget, best_of) for key, run in runs.items()}
    # Compilation, and tables for this size, belong to the first call.
    for run in runs.values():
        run(games[0])
    for visits in rounds:
        for own in taken.values():
            for turn, number in visits:
                own.take(games, number, turn)
    return [summary(solver, name, own.samples, arguments.tol) for (solver, name), own in taken.items()]


def timing(run: Run, game: RecordedGame) -> Sample:
    start = time.perf_counter()
    value, gap, adversary = run(game)
    return Sample(game, time.perf_counter() - start, value, gap, adversary)


def summary(solver: str, name: str, taken: list[Sample], tol: float) -> Cell:
    """Summarise what was measured of one solver."""
    times = [1e3 * sample.seconds for sample in taken]
    gaps = [sample.gap for sample in taken if sample.gap is not None]
    errors, deviations = [], []
    for sample in taken:
        if sample.gap is None:
            truth = mf.solve(objective(name), sample.game.scores, sample.game.labels, solver="fast", tol=1e-6)
            errors.append(max(truth.lower - sample.value, sample.value - truth.value, 0.0))
            deviations.append(float(np.abs(sample.adversary - truth.adversary).max()))
    return Cell(
        solver=solver,
        metric=name,
        n=taken[0].game.scores.size,
        games=len(taken),
        median_ms=float(np.median(times)),
        p95_ms=float(np.percentile(times, 95)),
        median_gap=float(np.median(gaps)) if gaps else None,
        largest_gap=max(gaps, default=None),
        missed=sum(gap > tol for gap in gaps),
        median_error=float(np.median(errors)) if errors else None,
        median_deviation=float(np.median(deviations)) if deviations else None,
    )


def objective(name: str) -> mf.Metric:
    return mf.precision_at_recall(RECALL) if name == "precision_at_recall" else mf.get_metric(name)


def too_slow(cells: list[Cell], solver: str, name: str, n: int, budget: float) -> bool:
    """Whether one game of this size would use up the time, going by the size before."""
    if solver == "exact-lp" and n > MAX_ITEMS:
        return True
    earlier = [cell for cell in cells if (cell.solver, cell.metric) == (solver, name) and cell.n < n]
    if not earlier:
        return False
    last = max(earlier, key=lambda cell: cell.n)
    return 1e-3 * last.median_ms * (n / last.n) ** GROWTH.get(solver, 3.0) > budget


def benchmark(arguments: argparse.Namespace, console: Console) -> list[Cell]:
    # What a constraint costs is the ratio of two metrics, which are therefore measured together.
    together = [("precision_at_recall", "precision")] if arguments.constrained else zip(arguments.metrics)
    cells: list[Cell] = []
    for names in together:
        recorded = "f1" if arguments.constrained else names[0]
        for n in sorted(arguments.sizes):
            games = list(recorded_games(recorded, n, arguments.repeats))
            runs = {
                (solver, name): rival_run(name, arguments.constrained)
                if solver == RIVAL
                else library_run(objective(name), solver, arguments.tol)
                for name in names
                for solver in arguments.solvers
                if not too_slow(cells, solver, name, n, arguments.budget)
                and (solver, name) != (RIVAL, "precision")  # which has no such metric ready-made
            }
            listed = ", ".join(f"{name} by {solver}" for solver, name in runs)
            console.print(f"[dim]n = {n}: {listed}[/dim]", highlight=False)
            cells += measure(runs, games, arguments)
    return cells


def ratio(cells: list[Cell], cell: Cell) -> float | None:
    """How many times the public implementation takes longer, on the same games."""
    for other in cells:
        if (other.solver, other.metric, other.n) == (RIVAL, cell.metric, cell.n) and cell.solver != RIVAL:
            return other.median_ms / cell.median_ms
    return None


def show(cells: list[Cell], tol: float, console: Console) -> None:
    table = Table(title=f"one thread, tol = {tol:g}, games from training")
    for heading in ("metric", "n", "solver"):
        table.add_column(heading)
    for heading in (
        "games",
        "median ms",
        "p95 ms",
        "p95 / median",
        "median gap",
        "largest gap",
        "missed",
        "value off",
        "q off",
        "× ap-perf",
    ):
        table.add_column(heading, justify="right")
    shown = None
    for cell in cells:
        if shown not in (None, (cell.metric, cell.n)):
            table.add_section()
        shown = (cell.metric, cell.n)
        faster = ratio(cells, cell)
        table.add_row(
            cell.metric,
            str(cell.n),
            cell.solver,
            str(cell.games),
            f"{cell.median_ms:.3g}",
            f"{cell.p95_ms:.3g}",
            f"{cell.p95_ms / cell.median_ms:.2f}",
            "–" if cell.median_gap is None else f"{cell.median_gap:.1e}",
            "–" if cell.largest_gap is None else f"{cell.largest_gap:.1e}",
            "–" if cell.median_gap is None else str(cell.missed),
            "" if cell.median_error is None else f"{cell.median_error:.1e}",
            "" if cell.median_deviation is None else f"{cell.median_deviation:.1e}",
            "" if faster is None else f"{faster:.3g}",
        )
    console.print(table)


def plot(cells: list[Cell], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    names = list(dict.fromkeys(cell.metric for cell in cells))
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(4.2 * columns, 3.4 * rows),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    solvers = list(dict.fromkeys(cell.solver for cell in cells))
    for axis, name in zip(axes.flat, names, strict=False):
        for color, solver in zip(plt.rcParams["axes.prop_cycle"].by_key()["color"], solvers, strict=False):
            line = [cell for cell in cells if (cell.metric, cell.solver) == (name, solver)]
            if not line:
                continue
            sizes = [cell.n for cell in line]
            axis.loglog(
                sizes, [cell.median_ms for cell in line], "o-", color=color, label=solver, markersize=4
            )
            axis.fill_between(
                sizes,
                [cell.median_ms for cell in line],
                [cell.p95_ms for cell in line],
                color=color,
                alpha=0.15,
            )
        axis.set_title(name)
        axis.grid(alpha=0.3, which="both", linewidth=0.5)
    for axis in axes[-1]:
        axis.set_xlabel("items n")
    for axis in axes[:, 0]:
        axis.set_ylabel("ms per game (median to p95)")
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2 * columns, frameon=False)
    figure.savefig(path, dpi=150)


def kept_cells(files: list[Path], metrics: list[str] | None) -> list[Cell]:
    """Read the cells of these metrics, or of all, back from what earlier runs wrote."""
    rows = [row for file in files for row in json.loads(file.read_text())["cells"]]
    cells = [
        Cell(**{key: value for key, value in row.items() if key != "ratio_to_ap_perf"})
        for row in rows
        if metrics is None or row["metric"] in metrics
    ]
    return sorted(cells, key=lambda cell: cell.n)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    choices = (*mf.solvers(), RIVAL)
    parser.add_argument("--solvers", nargs="+", choices=choices, default=DEFAULT_SOLVERS)
    parser.add_argument("--metrics", nargs="+", choices=METRICS, default=METRICS)
    parser.add_argument("--sizes", nargs="+", type=int, default=DEFAULT_SIZES)
    parser.add_argument("--repeats", type=int, default=400, help="games for each metric and size")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for each cell of the table")
    parser.add_argument("--best-of", type=int, default=BEST_OF, help="how often each game is solved")
    parser.add_argument("--in-a-row", action="store_true", help="a game directly after itself, not in rounds")
    parser.add_argument(
        "--constrained", action="store_true", help=f"precision at recall {RECALL} instead, and precision"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-solvers"), help="files without suffix")
    parser.add_argument("--plot", nargs="+", type=Path, help="draw these results again, and measure nothing")
    arguments = parser.parse_args()

    console = Console(width=None if sys.stdout.isatty() else 150)
    if arguments.plot:
        picture = arguments.out.with_suffix(".png")
        plot(kept_cells(arguments.plot, None if arguments.metrics is METRICS else arguments.metrics), picture)
        console.print(f"wrote {picture}")
        return
    # Missed tolerances are counted in the table; the public implementation warns about its own business.
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1):
        cells = benchmark(arguments, console)
    show(cells, arguments.tol, console)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    packages = ("metricfit", "numpy", "scipy", RIVAL)
    report = {
        "machine": f"{platform.machine()}, one thread",
        "python": platform.python_version(),
        "packages": {package: version(package) for package in packages},
        "tol": arguments.tol,
        "cells": [asdict(cell) | {"ratio_to_ap_perf": ratio(cells, cell)} for cell in cells],
    }
    numbers, picture = arguments.out.with_suffix(".json"), arguments.out.with_suffix(".png")
    numbers.write_text(json.dumps(report, indent=1) + "\n")
    plot(cells, picture)
    console.print(f"wrote {numbers} and {picture}")


if __name__ == "__main__":
    main()
