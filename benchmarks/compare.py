"""How much faster or slower a git revision solves than another one, on the same games in the same run.

    python benchmarks/compare.py HEAD~5 HEAD
    python benchmarks/compare.py v0.1 HEAD --what solve loss --metrics f1 kappa --sizes 25 100 1000 --games 40

Both revisions are built in temporary folders, the extension included, and run in a process of their own each.
They solve the same games in turns, so that a busy machine slows down both. A game counts with its best time
of a few rounds, in seconds of the thread's processor time. The table shows medians over the games, and the
median and the quartiles of the ratio of the second revision to the first.
"""

from __future__ import annotations

import argparse
import json
import os
import site
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from recorded import METRICS, recorded_games
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Task:
    """What both revisions are to do."""

    what: str  # "solve", or "loss": forward and backward, as in training
    metric: str
    n: int
    games: int
    tol: float
    budget: float  # seconds for the first round


@dataclass(frozen=True)
class Ratio:
    """What was measured; times in milliseconds."""

    what: str
    metric: str
    n: int
    games: int
    first_ms: float
    second_ms: float
    ratio: float
    quartiles: tuple[float, float]


def build(revision: str, folder: Path) -> Path:
    """Write down the sources of a revision, compile its extension, and return the folder to import from."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    if (folder / "CMakeLists.txt").exists():
        asked = [sys.executable, "-m", "nanobind", "--cmake_dir"]
        nanobind = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        options = [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_ROOT={nanobind}"]
        for command in (["-S", str(folder), *options], ["--build", "."]):
            made = folder / "compiled"
            made.mkdir(exist_ok=True)
            subprocess.run(["cmake", *command], cwd=made, check=True, stdout=subprocess.DEVNULL)
        (extension,) = made.glob("_core*.so")
        extension.rename(folder / "src" / "metricfit" / extension.name)
    return folder / "src"


def work() -> None:
    """Do the tasks that come in, one per line, and write down the seconds that each game took."""
    import metricfit as mf

    warnings.simplefilter("ignore")
    kept: dict[str, list[Callable[[], object]]] = {}
    for line in sys.stdin:
        first = line not in kept
        if first:
            kept[line] = list(calls(mf, Task(**json.loads(line))))
            kept[line][0]()  # tables for this size, or compilation
        seconds: list[float] = []
        for call in kept[line]:
            start = time.thread_time()
            call()
            seconds.append(time.thread_time() - start)
            if first and sum(seconds) > Task(**json.loads(line)).budget:
                break
        del kept[line][len(seconds) :]
        print(json.dumps(seconds), flush=True)


def calls(mf: Any, task: Task) -> Iterator[Callable[[], object]]:
    """Yield one function for each game of a task."""
    metric = mf.get_metric(task.metric)
    source = task.metric if task.metric in METRICS else "f1"
    games = recorded_games(source, task.n, task.games)
    if task.what == "solve":
        for game in games:
            yield lambda game=game: mf.solve(metric, game.scores, game.labels, tol=task.tol)
        return
    import torch

    torch.set_num_threads(1)
    scale = 8.0
    loss = mf.MetricLoss(metric, tol=task.tol, scale=scale, group_size=None)
    for game in games:
        # The loss multiplies with scale / n again.
        logits = torch.tensor(game.scores * (task.n / scale), dtype=torch.float32, requires_grad=True)
        targets = torch.tensor(game.labels)
        yield lambda logits=logits, targets=targets: loss(logits, targets).backward()


@contextmanager
def worker(source: Path) -> Iterator[Callable[[Task], list[float]]]:
    """Start a process that imports the package from a folder, and yield what gives it a task."""
    # Without site no .pth files are read, so that an editable install does not get in the way.
    paths = [str(source), str(Path(__file__).parent), *site.getsitepackages()]
    process = subprocess.Popen(
        [sys.executable, "-S", str(Path(__file__)), "--worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    to, back = process.stdin, process.stdout

    def give(task: Task) -> list[float]:
        to.write(json.dumps(asdict(task)) + "\n")
        to.flush()
        answer = back.readline()
        if not answer:
            raise RuntimeError(f"the process of {source} ended in {task}; its error is above")
        seconds: list[float] = json.loads(answer)
        return seconds

    try:
        yield give
    finally:
        to.close()
        process.wait()


def compare(sources: tuple[Path, Path], tasks: list[Task], rounds: int) -> Iterator[Ratio]:
    """Let two versions of the package do the same tasks in turns, and yield what was measured."""
    with worker(sources[0]) as first, worker(sources[1]) as second:
        for task in tasks:
            times: dict[Any, list[list[float]]] = {first: [], second: []}
            for turn in range(rounds):
                for give in (first, second) if turn % 2 == 0 else (second, first):
                    times[give].append(give(task))
            yield summary(task, times[first], times[second])


def summary(task: Task, first: list[list[float]], second: list[list[float]]) -> Ratio:
    """Summarise the seconds of every game in every round.

    Examples
    --------
    >>> found = summary(Task("solve", "f1", 25, 2, 1e-4, 1.0), [[2.0, 4.0], [1.0, 9.0]], [[2.0, 2.0]])
    >>> found.ratio, found.first_ms
    (1.25, 2500.0)
    """
    games = min(len(seconds) for seconds in (*first, *second))
    before = np.min([seconds[:games] for seconds in first], axis=0)
    after = np.min([seconds[:games] for seconds in second], axis=0)
    low, middle, high = np.quantile(after / before, [0.25, 0.5, 0.75])
    medians = [float(1e3 * np.median(best)) for best in (before, after)]
    return Ratio(task.what, task.metric, task.n, games, *medians, float(middle), (float(low), float(high)))


def show(found: list[Ratio], revisions: tuple[str, str], console: Console) -> None:
    table = Table(title="median processor time of one thread; ratio of the second to the first")
    headings = ("", "metric", "n", "games", f"{revisions[0]} ms", f"{revisions[1]} ms", "ratio", "quartiles")
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("", "metric") else "right")
    for one in found:
        times = f"{one.first_ms:.3g}", f"{one.second_ms:.3g}", f"{one.ratio:.2f}"
        spread = f"{one.quartiles[0]:.2f} to {one.quartiles[1]:.2f}"
        table.add_row(one.what, one.metric, str(one.n), str(one.games), *times, spread)
    console.print(table)
    mean = np.exp(np.mean([np.log(one.ratio) for one in found]))
    console.print(f"geometric mean of the ratios: {mean:.3f}", highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revisions", nargs="*", metavar="REVISION", help="two git revisions")
    parser.add_argument("--what", nargs="+", choices=("solve", "loss"), default=["solve", "loss"])
    parser.add_argument("--metrics", nargs="+", default=METRICS, help="names, such as f1")
    parser.add_argument("--sizes", nargs="+", type=int, default=(25, 100))
    parser.add_argument("--games", type=int, default=40, help="of each metric and size")
    parser.add_argument("--rounds", type=int, default=3, help="how often each game is solved")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of a round, or fewer games")
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work()
        return
    if len(arguments.revisions) != 2:
        parser.error("give two git revisions, such as HEAD~5 HEAD")
    tasks = [
        Task(what, metric, n, arguments.games, arguments.tol, arguments.budget)
        for what in arguments.what
        for n in arguments.sizes
        for metric in arguments.metrics
    ]
    console = Console(width=None if sys.stdout.isatty() else 120)
    with tempfile.TemporaryDirectory() as folder:
        console.print(f"building {' and '.join(arguments.revisions)}", highlight=False)
        places = zip(arguments.revisions, ("first", "second"), strict=True)
        first, second = (build(revision, Path(folder) / name) for revision, name in places)
        found = list(compare((first, second), tasks, arguments.rounds))
    show(found, tuple(arguments.revisions), console)
    if arguments.out:
        report = {"revisions": arguments.revisions, "ratios": [asdict(one) for one in found]}
        arguments.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
