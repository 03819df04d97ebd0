"""Studies of the loss: the scale, the size of groups, and the time of an epoch.

    python benchmarks/loss.py scale  --data <folder of npz files>
    python benchmarks/loss.py settled --data <folder of npz files>
    python benchmarks/loss.py groups --data <folder of npz files>
    python benchmarks/loss.py epoch  --data <folder of npz files>
    python benchmarks/loss.py share  --data <folder of npz files>

Each data set is an ``.npz`` file with features ``X`` and classes ``y``. Set OMP_NUM_THREADS=1: the networks
are too small for threads. Results go to ``benchmarks/results``; ``benchmarks/loss.py show`` prints them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import metricfit as mf

RESULTS = Path(__file__).parent / "results"
# Data sets and their positive classes.
POSITIVE = {"abalone": range(6, 11), "pageblocks": (4, 5), "default": (1,), "whitewine": range(7, 11)}
METRICS = {"f1": mf.f1, "mcc": mf.mcc}
# By the size of the batch: how many steps are made, how exact they are, and with how many seeds.
STEPS = {25: 400, 128: 150, 512: 60}
GROUP_STEPS = {64: 250, 128: 200, 512: 80}
TOLERANCE = {25: 1e-4, 64: 1e-3, 128: 1e-3, 512: 1e-2}
SEEDS = {25: 2, 64: 2, 128: 2, 512: 1}
OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "adam 1e-3": lambda p: torch.optim.Adam(p, lr=1e-3),
    "sgd 3e-2": lambda p: torch.optim.SGD(p, lr=3e-2, momentum=0.9),
    "sgd 3e-3": lambda p: torch.optim.SGD(p, lr=3e-3, momentum=0.9),
}
# Larger games take longer, so that fewer of them are played in the study of the scale.
SCALE_PLAN = {
    25: (("f1", "mcc"), tuple(OPTIMIZERS)),
    128: (("f1",), tuple(OPTIMIZERS)),
    512: (("f1",), ("adam 1e-3", "sgd 3e-3")),
}
# Rows and steps of the longer trainings.
SETTLED = {1500: 600, 3000: 1000}
Loss = Callable[[Tensor, Tensor], Tensor]


class Data:
    """Standardised parts of a data set: rows to train on, 1000 to tune thresholds, up to 4000 to test."""

    def __init__(self, folder: Path, name: str, seed: int, size: int = 1500) -> None:
        with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
            features = file["X"].astype(np.float32)
            labels = np.isin(file["y"], list(POSITIVE[name])).astype(np.float32)
        order = np.random.default_rng(seed).permutation(len(labels))
        train, tune, test = np.split(order[: size + 5000], [size, size + 1000])
        features = (features - features[train].mean(axis=0)) / (features[train].std(axis=0) + 1e-9)
        self.train, self.tune, self.test = (
            (torch.from_numpy(features[rows]), torch.from_numpy(labels[rows])) for rows in (train, tune, test)
        )


def network(width: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(width, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1), nn.Flatten(0)
    )


def batches(n: int, size: int, seed: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from (rows for rows in torch.randperm(n, generator=generator).split(size) if len(rows) == size)


def train(
    data: Data, loss: Loss, optimizer: str, batch: int, seed: int, count: int = 0
) -> tuple[nn.Module, float]:
    """Return the trained network and the seconds a step took."""
    count = count or STEPS[batch]
    features, labels = data.train
    model = network(features.shape[1], seed)
    steps = OPTIMIZERS[optimizer](model.parameters())
    started = time.perf_counter()
    for rows in itertools.islice(batches(len(labels), batch, seed), count):
        steps.zero_grad()
        loss(model(features[rows]), labels[rows]).backward()
        steps.step()
    return model, (time.perf_counter() - started) / count


def trained_score(data: Data, loss: mf.MetricLoss, optimizer: str, batch: int, seed: int) -> float:
    """Score of a network trained with a loss, 0 if it diverged."""
    try:
        model, _ = train(data, loss, optimizer, batch, seed)
    except ValueError:
        return 0.0
    return score(loss.metric, model, data.test)


@torch.no_grad()
def score(metric: mf.Metric, model: nn.Module, part: tuple[Tensor, Tensor], threshold: float = 0.0) -> float:
    return metric.score(part[1], model(part[0]) > threshold)


@torch.no_grad()
def tuned_score(metric: mf.Metric, model: nn.Module, data: Data) -> float:
    logits = model(data.tune[0])
    cuts = torch.quantile(logits, torch.linspace(0, 1, 101)).tolist()
    best = max(cuts, key=lambda cut: metric.score(data.tune[1], logits > cut))
    return score(metric, model, data.test, best)


def study_scale(folder: Path, seeds: int) -> list[dict[str, Any]]:
    rows = []
    names = ("abalone", "pageblocks", "default")
    for batch, name, optimizer in itertools.product(SCALE_PLAN, names, OPTIMIZERS):
        keys, optimizers = SCALE_PLAN[batch]
        if optimizer not in optimizers:
            continue
        for seed in range(min(seeds, SEEDS[batch] if optimizer.startswith("adam") else 1)):
            data = Data(folder, name, seed)
            setting = {"data": name, "seed": seed, "optimizer": optimizer, "batch": batch}
            model, _ = train(data, nn.BCEWithLogitsLoss(), optimizer, batch, seed)
            for key in keys:
                metric = METRICS[key]
                found = {
                    "bce": score(metric, model, data.test),
                    "bce tuned": tuned_score(metric, model, data),
                }
                rows += [{**setting, "metric": key, "loss": k, "score": v} for k, v in found.items()]
            for key, scale in itertools.product(keys, (2, 8, 32, 128, 512)):
                metric = METRICS[key]
                loss = mf.MetricLoss(metric, scale=scale, group_size=None, tol=TOLERANCE[batch])
                reached = trained_score(data, loss, optimizer, batch, seed)
                rows.append({**setting, "metric": key, "loss": scale, "score": reached})
        print(batch, name, optimizer, flush=True)
    return rows


def study_settled(folder: Path, seeds: int) -> list[dict[str, Any]]:
    """Try scales in longer trainings, on more or fewer rows, with games of 32."""
    rows = []
    names = ("whitewine", "default", "pageblocks", "abalone")
    for (size, steps), seed, name in itertools.product(SETTLED.items(), range(seeds), names):
        if size > 1500 and name == "abalone":
            continue  # too few rows would be left to test on
        data = Data(folder, name, seed, size)
        setting = {"data": name, "seed": seed, "rows": size}
        plain, _ = train(data, nn.BCEWithLogitsLoss(), "adam 1e-3", 128, seed, steps)
        for key, metric in METRICS.items():
            found: dict[Any, float] = {
                "bce": score(metric, plain, data.test),
                "bce tuned": tuned_score(metric, plain, data),
            }
            for scale in (2, 8, 32, 128, 512) if size == 1500 else (2, 8, 32):
                loss = mf.MetricLoss(metric, scale=scale, group_size=32, tol=1e-3)
                model, _ = train(data, loss, "adam 1e-3", 128, seed, steps)
                found[scale] = score(metric, model, data.test)
            rows += [{**setting, "metric": key, "loss": k, "score": v} for k, v in found.items()]
        print(size, name, seed, flush=True)
    return rows


def study_groups(folder: Path, seeds: int) -> list[dict[str, Any]]:
    rows = []
    names = ("abalone", "pageblocks", "default", "whitewine")
    for batch, name in itertools.product((64, 128, 512), names):
        for seed in range(min(seeds, SEEDS[batch])):
            data = Data(folder, name, seed)
            for (key, metric), size in itertools.product(METRICS.items(), (32, None)):
                loss = mf.MetricLoss(metric, scale=32, group_size=size, tol=TOLERANCE[batch])
                model, seconds = train(data, loss, "adam 1e-3", batch, seed, GROUP_STEPS[batch])
                found = score(metric, model, data.test)
                setting = {"data": name, "seed": seed, "batch": batch, "metric": key, "group_size": size}
                rows.append({**setting, "score": found, "seconds_per_step": seconds})
        print(batch, name, flush=True)
    return rows


def whitewine(folder: Path) -> tuple[Tensor, Tensor]:
    """Standardised features and labels of the authors' training part."""
    with np.load(folder / "whitewine.npz", allow_pickle=False) as file:
        chosen = file["train_idx"]
        features = file["X"][chosen].astype(np.float32)
        labels = torch.from_numpy((file["y"][chosen] >= 7).astype(np.float32))
    return torch.from_numpy((features - features.mean(axis=0)) / features.std(axis=0)), labels


def study_share(folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Time steps of whitewine for F2 with Adam, and what the solver takes of them, by batch size."""
    features, labels = whitewine(folder)
    rows = []
    for batch, group_size in itertools.product((25, 128, 512), ("auto", None)):
        loss, bce = mf.MetricLoss(mf.f2, group_size=group_size), nn.BCEWithLogitsLoss()
        model, rival = network(features.shape[1], 0), network(features.shape[1], 0)
        steps = torch.optim.Adam(model.parameters(), lr=1e-3)
        rival_steps = torch.optim.Adam(rival.parameters(), lr=1e-3)
        seen: dict[str, list[float]] = defaultdict(list)
        for chosen in itertools.islice(batches(len(labels), batch, 0), repeats * 2500 // batch):
            for name, net, optimizer, objective in (
                ("bce", rival, rival_steps, bce),
                ("step", model, steps, loss),
            ):
                started = time.perf_counter()
                optimizer.zero_grad()
                objective(net(features[chosen]), labels[chosen]).backward()
                optimizer.step()
                seen[name].append(time.perf_counter() - started)
            seen["solver"].append(loss.last_solution.seconds)
        taken = {name: 1e3 * statistics.median(times) for name, times in seen.items()}
        share = taken["solver"] / taken["step"]
        times = {f"{name}_ms": value for name, value in taken.items()}
        rows.append({"batch": batch, "group_size": group_size, **times, "share": share})
        print(rows[-1], flush=True)
    return rows


def study_epoch(folder: Path, repeats: int) -> list[dict[str, Any]]:
    """Time epochs of whitewine for F2, batch 25, Adam; the losses take turns, so that all see one load."""
    features, labels = whitewine(folder)
    data = torch.utils.data.TensorDataset(features, labels)
    contenders = {
        "bce": nn.BCEWithLogitsLoss(),
        "metricfit": mf.MetricLoss(mf.f2),
        "metricfit, paper's scale": mf.MetricLoss(mf.f2, scale="batch"),
        "ap-perf": _ap_perf_f2(),
    }
    models = {name: network(features.shape[1], 0) for name in contenders}
    optimizers = {name: torch.optim.Adam(model.parameters(), lr=1e-3) for name, model in models.items()}
    times: dict[str, list[float]] = defaultdict(list)
    for repeat in range(repeats + 1):
        for name, loss in contenders.items():
            if name == "ap-perf" and repeat > 3:
                continue
            generator = torch.Generator().manual_seed(repeat)
            # The whole batches only: ap-perf builds everything anew for the short last one.
            loader = torch.utils.data.DataLoader(
                data, batch_size=25, shuffle=True, drop_last=True, generator=generator
            )
            started = time.perf_counter()
            for x, y in loader:
                optimizers[name].zero_grad()
                loss(models[name](x), y).backward()
                optimizers[name].step()
            if repeat:  # the first one compiles
                times[name].append(time.perf_counter() - started)
        print(repeat, {name: round(seen[-1], 3) for name, seen in times.items()}, flush=True)
    return [
        {
            "loss": name,
            "epoch_seconds": statistics.median(seen),
            # Epochs of one turn see the same machine, whose speed varies from turn to turn.
            "to_bce": statistics.median(own / bce for own, bce in zip(seen, times["bce"], strict=False)),
            "epochs": seen,
        }
        for name, seen in times.items()
    ]


def _ap_perf_f2() -> Loss:
    from ap_perf import MetricLayer, PerformanceMetric

    class F2(PerformanceMetric):  # type: ignore[misc]
        def define(self, C: Any) -> Any:
            return 5 * C.tp / (4 * C.ap + C.pp)

    metric = F2()
    metric.initialize()
    metric.enforce_special_case_positive()
    layer: Loss = MetricLayer(metric)
    return layer


STUDIES = {
    "scale": (study_scale, 2),
    "settled": (study_settled, 2),
    "groups": (study_groups, 2),
    "epoch": (study_epoch, 21),
    "share": (study_share, 4),
}


def show() -> None:
    """Print the tables that the documentation quotes."""
    scale = json.loads((RESULTS / "loss_scale.json").read_text())["rows"]
    for optimizer, batch in itertools.product(OPTIMIZERS, SCALE_PLAN):
        keys, _ = SCALE_PLAN[batch]
        chosen = [
            r for r in scale if (r["optimizer"], r["batch"]) == (optimizer, batch) and r["metric"] in keys
        ]
        means = _means(chosen, "loss", "score")
        print(optimizer, batch, {loss: round(mean, 3) for loss, mean in means.items()})
    settled = json.loads((RESULTS / "loss_settled.json").read_text())["rows"]
    for size, key in itertools.product(SETTLED, METRICS):
        chosen = [row for row in settled if (row["rows"], row["metric"]) == (size, key)]
        means = _means(chosen, "loss", "score")
        print("settled", size, key, {loss: round(mean, 3) for loss, mean in means.items()})
    groups = json.loads((RESULTS / "loss_groups.json").read_text())["rows"]
    for batch in (64, 128, 512):
        chosen = [row for row in groups if row["batch"] == batch]
        for size in (32, None):
            same = [row for row in chosen if row["group_size"] == size]
            reached = statistics.mean(row["score"] for row in same)
            seconds = statistics.median(row["seconds_per_step"] for row in same)
            print(f"batch {batch}, groups of {size}: {reached:.3f}, {1e3 * seconds:.0f} ms per step")
    for row in json.loads((RESULTS / "loss_epoch.json").read_text())["rows"]:
        print(f"{row['loss']}: {row['epoch_seconds']:.3f} s, {row['to_bce']:.2f} times bce")
    for row in json.loads((RESULTS / "loss_share.json").read_text())["rows"]:
        size, spent = row["group_size"], [round(row[name], 2) for name in ("bce_ms", "step_ms", "solver_ms")]
        print(f"batch {row['batch']}, groups {size}: bce, step, solver {spent} ms, share {row['share']:.2f}")


def _means(rows: list[dict[str, Any]], by: str, what: str) -> dict[Any, float]:
    found: dict[Any, list[float]] = defaultdict(list)
    for row in rows:
        found[row[by]].append(row[what])
    return {key: statistics.mean(values) for key, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=[*STUDIES, "show"])
    parser.add_argument("--data", type=Path, default=os.environ.get("METRICFIT_DATA"))
    parser.add_argument("--repeats", type=int)
    chosen = parser.parse_args()
    if chosen.study == "show":
        show()
        return
    if chosen.data is None:
        parser.error("give --data, the folder of the npz files, or set METRICFIT_DATA")
    torch.set_num_threads(1)
    study, repeats = STUDIES[chosen.study]
    rows = study(Path(chosen.data), chosen.repeats or repeats)
    RESULTS.mkdir(exist_ok=True)
    results = {"torch": torch.__version__, "repeats": chosen.repeats or repeats, "rows": rows}
    (RESULTS / f"loss_{chosen.study}.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
