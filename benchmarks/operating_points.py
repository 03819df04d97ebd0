"""Operating points: how often a classifier that is cut at 0 meets its floor, and what else it reaches.

    python benchmarks/operating_points.py run --data <folder of npz files> --jobs 16
    python benchmarks/operating_points.py run --data <folder> --sets toy sat --seeds 2 --out /tmp/points.jsonl
    python benchmarks/operating_points.py show

Every run is one line of a file; runs that are in it are not repeated, so that a stopped study can be resumed.
Each data set is an ``.npz`` file with features ``X`` and classes ``y``. Set OMP_NUM_THREADS=1.

A line holds the objective and by how much the floor is missed, on training and on test rows,

- ``train`` and ``test``: of the last epoch, cut at 0, as the method left it (cross-entropy: as ``moved``);
- ``moved``: of the last epoch, with the cut that is best within the floor on the training rows;
- ``kept``: the same, of the epoch that is best on the training rows in this way;
- ``held``: of the epoch and the cut that are best within the floor on held-out rows.

All methods start from the same weights, trained with cross-entropy and with the bias moved to the feasible
cut, and go on for the same number of epochs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from operating_points_peers import PEERS
from torch import Tensor, nn

import metricfit as mf
from metricfit.experiments.datasets import DATASETS
from metricfit.sklearn import Cut, best_cut, cut_at

Rows = tuple[Tensor, Tensor]
# Data set, model, target, method, seed.
Case = tuple[str, str, str, str, int]
RESULTS = Path(__file__).parent / "results" / "operating_points.jsonl"
SETS = (
    "toy",
    "letter",
    "adult",
    "abalone",
    "whitewine",
    "default",
    "bankmarketing",
    "htru2",
    "sat",
    "pageblocks",
)
LARGEST = 8000
MODELS = ("linear", "mlp")
TARGETS = {
    "precision>=0.8": mf.recall.subject_to(mf.precision >= 0.8),
    "precision>=0.9": mf.recall.subject_to(mf.precision >= 0.9),
    "recall>=0.9": mf.precision.subject_to(mf.recall >= 0.9),
    "recall>=0.95": mf.precision.subject_to(mf.recall >= 0.95),
}
BATCH, WARM, EPOCHS, RATE = 256, 20, 60, {"linear": 0.02, "mlp": 0.002}
TEMPERATURE, ENTROPY = 0.5, {"linear": 0.3, "mlp": 5.0}
CROSS_ENTROPY = "cross-entropy, cut"


def soft(metric: mf.Metric, kind: str, **options: Any) -> nn.Module:
    options = {"cross_entropy": ENTROPY[kind], **options}
    return mf.SoftMetricLoss(metric, temperature=TEMPERATURE, **options)


LOSSES: dict[str, Callable[[mf.Metric, str], nn.Module]] = {
    CROSS_ENTROPY: lambda *_: nn.BCEWithLogitsLoss(),
    "game": lambda metric, _: mf.MetricLoss(metric, infeasible="skip", tol=1e-3),
    "running game": lambda metric, _: mf.MetricLoss(metric, constraints="running", tol=1e-3),
    "running soft": soft,
    "running soft, bounds": lambda metric, kind: soft(metric, kind, bounds=True),
    "running soft, alone": lambda metric, kind: soft(metric, kind, cross_entropy=0.0),
}
LOSSES |= {name: lambda metric, _, made=made: made(metric) for name, made in PEERS.items()}
METHODS = tuple(LOSSES)
# Rows of a file are of one version: raise it with every change that changes results.
VERSION = 3


class Data:
    """A data set in parts of 50, 25 and 25 per cent, standardised on the first."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        draw = np.random.default_rng([seed, zlib.crc32(name.encode())])
        features, labels = six_blobs(draw) if name == "toy" else read(folder, name)
        order = draw.permutation(len(labels))[:LARGEST]
        train, held, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
        centre, spread = features[train].mean(axis=0), features[train].std(axis=0)
        features = (features - centre) / np.where(spread > 0, spread, 1.0)
        self.train, self.held, self.test = (
            (torch.tensor(features[rows], dtype=torch.float32), torch.tensor(labels[rows]).float())
            for rows in (train, held, test)
        )


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    first, last = DATASETS[name].positive
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        return file["X"].astype(np.float64), (file["y"] >= first) & (file["y"] <= last)


def six_blobs(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points for which a line can separate a part of the positives, far from the boundary of
    cross-entropy.

    Two large blobs of positives are mixed with negatives; a third lies apart, on the other side.
    """
    blobs = (  # centre, rows, positive
        ((-2.0, 0.0), 1500, 1),
        ((-2.0, 0.6), 1000, 0),
        ((2.0, 3.0), 700, 1),
        ((0.5, -2.5), 1500, 0),
        ((2.5, -1.0), 1500, 0),
        ((-3.5, 2.5), 800, 0),
    )
    features = np.concatenate([draw.normal(centre, 0.4, (rows, 2)) for centre, rows, _ in blobs])
    labels = np.concatenate([np.full(rows, positive == 1) for _, rows, positive in blobs])
    return features, labels


def network(kind: str, width: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    if kind == "linear":
        return nn.Sequential(nn.Linear(width, 1), nn.Flatten(0))
    return nn.Sequential(
        nn.Linear(width, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1), nn.Flatten(0)
    )


def train(
    kind: str,
    model: nn.Module,
    data: Rows,
    criterion: nn.Module,
    epochs: int,
    after: Callable[[], None] | None = None,
) -> None:
    """Train with Adam and a rate that falls to 0; `after` is called after every epoch."""
    features, labels = data
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE[kind])
    parts = max(len(labels) // BATCH, 1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * parts)
    generator = torch.Generator().manual_seed(0)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels), generator=generator).tensor_split(parts):
            optimizer.zero_grad()
            criterion(model(features[rows]), labels[rows]).backward()
            optimizer.step()
            schedule.step()
        if after is not None:
            after()


class Judge:
    """Judges a model on all parts of the data, and remembers its best epochs."""

    def __init__(self, model: nn.Module, metric: mf.Metric, data: Data) -> None:
        self.model, self.metric, self.data = model, metric, data
        self.best: dict[str, tuple[float, dict[str, list[float]]]] = {}

    @torch.no_grad()
    def scores(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        features, labels = getattr(self.data, part)
        return self.model(features).double().numpy(), labels.numpy()

    def best_cut(self, part: str) -> Cut:
        return best_cut(self.metric, *self.scores(part))

    def at(self, threshold: float) -> dict[str, list[float]]:
        """Return the objective and the violation on training and test rows."""
        cuts = {part: cut_at(self.metric, *self.scores(part), threshold) for part in ("train", "test")}
        return {part: [cut.value, max(cut.violation, 0.0)] for part, cut in cuts.items()}

    def look(self) -> None:
        """Take the model of now for the best if it is."""
        for name, part in (("kept", "train"), ("held", "held")):
            cut = self.best_cut(part)
            if name not in self.best or cut.rank > self.best[name][0]:
                self.best[name] = cut.rank, self.at(cut.threshold)

    def move_cut(self) -> None:
        """Move the last bias so that 0 is the best cut within the constraints on the training rows."""
        with torch.no_grad():
            bias = [module for module in self.model.modules() if isinstance(module, nn.Linear)][-1].bias
            bias -= self.best_cut("train").threshold

    def found(self) -> dict[str, Any]:
        moved = self.at(self.best_cut("train").threshold)
        return {**self.at(0.0), "moved": moved, **{name: found for name, (_, found) in self.best.items()}}


@lru_cache(maxsize=2)
def warm_start(folder: Path, name: str, kind: str, seed: int) -> tuple[Data, dict[str, Tensor]]:
    """Return a data set, and the weights of a network that was trained on it with cross-entropy."""
    data = Data(folder, name, seed)
    model = network(kind, data.train[0].shape[1], seed)
    train(kind, model, data.train, nn.BCEWithLogitsLoss(), WARM)
    return data, model.state_dict()


def fitted(folder: Path, case: Case) -> dict[str, Any]:
    """Take the warm start, move the bias to the feasible cut, go on with the loss, and judge."""
    name, kind, target, method, seed = case
    data, weights = warm_start(folder, name, kind, seed)
    model = network(kind, data.train[0].shape[1], seed)
    model.load_state_dict(weights)
    judge = Judge(model, TARGETS[target], data)
    judge.move_cut()
    train(kind, model, data.train, LOSSES[method](TARGETS[target], kind), EPOCHS, judge.look)
    if method == CROSS_ENTROPY:
        judge.move_cut()
    return judge.found()


def one_run(folder: Path, case: Case) -> dict[str, Any]:
    torch.set_num_threads(1)
    started = time.perf_counter()
    found: dict[str, Any] = dict(zip(("set", "model", "target", "method", "seed"), case, strict=True))
    found |= fitted(folder, case)
    return {**found, "seconds": round(time.perf_counter() - started, 2), "version": VERSION}


def load(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    # A killed run may leave the last line unfinished.
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    if any(row.get("version") != VERSION for row in rows):
        raise SystemExit(f"{path} holds runs of another version of this benchmark; name another --out")
    return rows


def in_order(arguments: argparse.Namespace) -> list[Case]:
    """Return all runs: methods together, all else mixed, so that a part of them is a fair sample."""
    cells = list(itertools.product(arguments.sets, arguments.models, arguments.targets))
    mixed = [
        (cells[cell], seed)
        for seed in range(arguments.seeds)
        for cell in np.random.default_rng(seed).permutation(len(cells))
    ]
    return [(*cell, method, seed) for cell, seed in mixed for method in arguments.methods]


def run(arguments: argparse.Namespace) -> None:
    path: Path = arguments.out
    done = load(path)
    finished = {tuple(line[key] for key in ("set", "model", "target", "method", "seed")) for line in done}
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a line that a killed run left unfinished.
    path.write_text("".join(json.dumps(line) + "\n" for line in done), encoding="utf-8")
    cases = in_order(arguments)
    cases = [case for case in cases if case not in finished]
    print(f"{len(cases)} runs to do, {len(finished)} are done")
    with (
        path.open("a", encoding="utf-8") as stream,
        ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool,
    ):
        waiting = [pool.submit(one_run, arguments.data, case) for case in cases]
        for count, future in enumerate(as_completed(waiting), 1):
            stream.write(json.dumps(future.result()) + "\n")
            stream.flush()
            if count % 50 == 0:
                print(f"{count} of {len(cases)}")


def show(arguments: argparse.Namespace) -> None:
    """Print, for each method, how often the floor was met and what was reached, by model and target."""
    lines = load(arguments.out)
    for key in ("all", "model", "target", "set"):
        groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for line in lines:
            groups[str(line.get(key, "all"))].append(line)
        for group, rows in groups.items():
            print(f"\n{group}")
            print_table(rows)


def print_table(lines: list[dict[str, Any]]) -> None:
    """Print the runs, the floor met and the objective on train and test, best or tie, for each way to cut."""
    print(f"{'':30} {'runs':>5}  {'at 0':^37}  {'cut moved':^37}  {'best epoch, moved':^37}  held-out rows")
    best = {name: wins(lines, name) for name in ("", "moved", "kept")}
    for method in METHODS:
        rows = [line for line in lines if line["method"] == method]
        if not rows:
            continue
        columns = [f"{method:30} {len(rows):5d}"]
        for name, wins_of in best.items():
            parts = [row[name] if name else row for row in rows]
            columns.append(f"{shares(parts)}  best {wins_of[method]:4.0%}")
        columns.append(shares([row["held"] for row in rows], ("test",)))
        seconds = np.mean([row["seconds"] for row in rows])
        print("  ".join(columns), f"  {seconds:5.1f} s")


def shares(parts: list[dict[str, Any]], names: tuple[str, ...] = ("train", "test")) -> str:
    """Return how often the floor was met and the mean objective; on test rows also where it was met."""
    text = [f"{np.mean([part[name][1] <= 1e-9 for part in parts]):4.0%}" for name in names]
    text += [f"{np.mean([part[name][0] for part in parts]):.3f}" for name in names]
    met = [part["test"][0] for part in parts if part["test"][1] <= 1e-9]
    return " ".join([*text, f"({np.mean(met):.3f})" if met else "(  -  )"])


def wins(lines: Iterable[dict[str, Any]], name: str = "") -> dict[str, float]:
    """Return how often each method is the best on training data, the floor first, up to 0.005."""
    runs: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for line in lines:
        value, violation = (line[name] if name else line)["train"]
        worth = value if violation <= 1e-9 else -violation
        runs[line["set"], line["model"], line["target"], line["seed"]][line["method"]] = worth
    found: dict[str, list[bool]] = defaultdict(list)
    for worths in runs.values():
        for method, worth in worths.items():
            found[method].append(worth >= max(worths.values()) - 0.005)
    return {method: float(np.mean(best)) for method, best in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=("run", "show"))
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of npz files")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--seeds", type=int, default=5)
    for name, choices in (
        ("sets", SETS),
        ("models", MODELS),
        ("targets", tuple(TARGETS)),
        ("methods", METHODS),
    ):
        parser.add_argument(f"--{name}", nargs="+", choices=choices, default=choices)
    arguments = parser.parse_args()
    run(arguments) if arguments.study == "run" else show(arguments)


if __name__ == "__main__":
    main()
