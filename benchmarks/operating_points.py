"""Operating points: how often a classifier that is cut at 0 meets its floor, and what else it reaches.

    python benchmarks/operating_points.py run --data <folder of npz files> --jobs 16
    python benchmarks/operating_points.py run --data <folder> --sets toy sat --seeds 2 --out /tmp/points.jsonl
    python benchmarks/operating_points.py show

Every run is one line of a file; runs that are in it are not repeated, so that a stopped study can be resumed.
Each data set is an ``.npz`` file with features ``X`` and classes ``y``. Set OMP_NUM_THREADS=1.
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
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.experiments.datasets import DATASETS
from metricfit.sklearn import best_cut, cut_at

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
TEMPERATURE = 0.5
LOSSES: dict[str, Callable[[mf.Metric], nn.Module]] = {
    "game": lambda metric: mf.MetricLoss(metric, infeasible="skip", tol=1e-3),
    "running game": lambda metric: mf.MetricLoss(metric, constraints="running", tol=1e-3),
    "running soft": lambda metric: mf.SoftMetricLoss(metric, temperature=TEMPERATURE),
    "running soft, bounds": lambda metric: mf.SoftMetricLoss(metric, temperature=TEMPERATURE, bounds=True),
}
METHODS = ("cross-entropy, cut", *LOSSES)


class Data:
    """A data set in parts of 50, 25 and 25 per cent, standardised on the first."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        draw = np.random.default_rng([seed, zlib.crc32(name.encode())])
        features, labels = six_blobs(draw) if name == "toy" else read(folder, name)
        order = draw.permutation(len(labels))[:LARGEST]
        train, _, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
        centre, spread = features[train].mean(axis=0), features[train].std(axis=0)
        features = (features - centre) / np.where(spread > 0, spread, 1.0)
        self.train, self.test = (
            (torch.tensor(features[rows], dtype=torch.float32), torch.tensor(labels[rows]).float())
            for rows in (train, test)
        )


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    first, last = DATASETS[name].positive
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        return file["X"].astype(np.float64), (file["y"] >= first) & (file["y"] <= last)


def six_blobs(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points of which a line can hold a part of the positives purely, far from where cross-entropy cuts.

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


def train(kind: str, model: nn.Module, data: Rows, criterion: nn.Module, epochs: int) -> None:
    """Train with Adam and a rate that falls to 0."""
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


@torch.no_grad()
def scores(model: nn.Module, features: Tensor) -> np.ndarray:
    return model(features).double().numpy()


@torch.no_grad()
def move_cut(model: nn.Module, metric: mf.Metric, data: Rows) -> None:
    """Move the last bias so that 0 is the best cut within the constraints on these rows."""
    cut = best_cut(metric, scores(model, data[0]), data[1].numpy()).threshold
    bias = [module for module in model.modules() if isinstance(module, nn.Linear)][-1].bias
    bias -= cut


def fitted(method: str, kind: str, metric: mf.Metric, rows: Rows, seed: int) -> nn.Module:
    """Train with cross-entropy, move the bias to the feasible cut, and go on with the loss."""
    model = network(kind, rows[0].shape[1], seed)
    train(kind, model, rows, nn.BCEWithLogitsLoss(), WARM if method in LOSSES else WARM + EPOCHS)
    move_cut(model, metric, rows)
    if method in LOSSES:
        train(kind, model, rows, LOSSES[method](metric), EPOCHS)
    return model


def one_run(folder: Path, case: Case) -> dict[str, Any]:
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = Data(folder, case[0], case[4])
    metric = TARGETS[case[2]]
    model = fitted(case[3], case[1], metric, data.train, case[4])
    found: dict[str, Any] = dict(zip(("set", "model", "target", "method", "seed"), case, strict=True))
    for part, (features, labels) in (("train", data.train), ("test", data.test)):
        cut = cut_at(metric, scores(model, features), labels.numpy())
        found[part] = [cut.value, max(cut.violation, 0.0)]
    return {**found, "seconds": round(time.perf_counter() - started, 2)}


def load(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    # A killed run may leave the last line unfinished.
    return [json.loads(line) for line in lines if line.endswith("\n")]


def run(arguments: argparse.Namespace) -> None:
    path: Path = arguments.out
    done = load(path)
    finished = {tuple(line[key] for key in ("set", "model", "target", "method", "seed")) for line in done}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in done), encoding="utf-8")
    every = itertools.product(
        range(arguments.seeds), arguments.sets, arguments.models, arguments.targets, arguments.methods
    )
    cases = [(name, *rest, seed) for seed, name, *rest in every]
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
        table: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
        for line in lines:
            table[str(line.get(key, "all"))][line["method"]].append(line)
        for group, by_method in table.items():
            print(
                f"\n{group}: runs, floor met on train and test, mean objective on train and test, best or tie"
            )
            best = wins(itertools.chain(*by_method.values()))
            for method in [method for method in METHODS if method in by_method]:
                rows = by_method[method]
                met = [np.mean([row[part][1] <= 1e-9 for row in rows]) for part in ("train", "test")]
                value = [np.mean([row[part][0] for row in rows]) for part in ("train", "test")]
                print(
                    f"{method:22} {len(rows):5d}  {met[0]:5.0%} {met[1]:5.0%}  {value[0]:.3f} {value[1]:.3f}"
                    f"  {best[method]:5.0%}  {np.mean([row['seconds'] for row in rows]):5.1f} s"
                )


def wins(lines: Iterable[dict[str, Any]]) -> dict[str, float]:
    """Return how often each method is the best on training data, the floor first, up to 0.005."""
    runs: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for line in lines:
        value, violation = line["train"]
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
