"""
Decision boundaries
===================

One network, one data set, four losses. A tenth of the points is positive, and the two classes overlap, so
every boundary is a compromise. Which one is right depends on which mistakes are worse for you.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import torch

import metricfit as mf
from metricfit.sklearn import best_cut

SHORT = "METRICFIT_SHORT" in os.environ  # set when this runs as a test


def make_points(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Negatives all around; positives in a bent band that reaches into them."""
    draw = np.random.default_rng(seed)
    labels = draw.random(n) < 0.1
    angle = draw.uniform(-0.3, 2.2, n)
    band = np.column_stack([1.6 * np.cos(angle), 1.6 * np.sin(angle)]) + 0.35 * draw.normal(size=(n, 2))
    points = np.where(labels[:, None], band, 1.1 * draw.normal(size=(n, 2)) - 0.3)
    return torch.tensor(points, dtype=torch.float32), torch.tensor(labels)


train, labels = make_points(500 if SHORT else 3000, seed=0)
test, truth = make_points(20_000, seed=1)

# %%
# Everything but the loss is the same for all four: network, first weights, order of the batches, optimizer.
# The decision is the sign of the output.


def fit(criterion: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 32),
        torch.nn.ReLU(),
        torch.nn.Linear(32, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    data = torch.utils.data.TensorDataset(train, labels.float()[:, None])
    for _ in range(2 if SHORT else 20):
        for features, wanted in torch.utils.data.DataLoader(data, batch_size=128, shuffle=True):
            optimizer.zero_grad()
            criterion(model(features), wanted).backward()
            optimizer.step()
    return model.eval()


losses = {
    "cross-entropy": torch.nn.BCEWithLogitsLoss(),
    "F1": mf.MetricLoss(mf.f1),
    "F2": mf.MetricLoss(mf.f2),
    "precision at recall 0.9": mf.MetricLoss(mf.precision_at_recall(0.9)),
}
models = {name: fit(criterion) for name, criterion in losses.items()}

# %%
# The solid line is where the score is 0, the threshold of each loss. The dashed line is the threshold that is
# best for the metric on 1000 further points, as ``MetricClassifier(cut="empirical")`` finds it; for
# cross-entropy the metric is F1.

held_out, held_labels = make_points(1000, seed=2)
metrics = dict(zip(losses, (mf.f1, mf.f1, mf.f2, mf.precision_at_recall(0.9)), strict=True))
x, y = np.meshgrid(np.linspace(-3.2, 3.2, 200), np.linspace(-3.2, 3.2, 200))
grid = torch.tensor(np.column_stack([x.ravel(), y.ravel()]), dtype=torch.float32)


def scores_of(model: torch.nn.Module, points: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return model(points).squeeze(1).double().numpy()


def draw(axis: plt.Axes, model: torch.nn.Module, cut: float) -> None:
    """Draw the points, and the region that is called positive."""
    height = scores_of(model, grid).reshape(x.shape)
    axis.contourf(x, y, height > cut, levels=[0.5, 1.5], colors=["#f5b971"], alpha=0.45)
    axis.contour(x, y, height, levels=[cut], colors="#b3560b", linewidths=1.5, linestyles="-")
    axis.scatter(*test[:1500][~truth[:1500]].T, s=3, color="#8a97a8", linewidths=0)
    axis.scatter(*test[:1500][truth[:1500]].T, s=7, color="#1f5fa8", linewidths=0)
    axis.set(xticks=[], yticks=[], aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
    axis.spines[:].set_visible(False)


figure, axes = plt.subplots(1, 4, figsize=(12, 3.9), layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    draw(axis, model, 0.0)
    cut = best_cut(metrics[name], scores_of(model, held_out), held_labels).threshold
    axis.contour(
        x,
        y,
        scores_of(model, grid).reshape(x.shape),
        levels=[cut],
        colors="#5c2b04",
        linestyles="--",
        linewidths=1,
    )
    positive = scores_of(model, test) > 0
    lines = [
        f"F1 {mf.f1.score(truth, positive):.2f}, F2 {mf.f2.score(truth, positive):.2f}",
        f"precision {mf.precision.score(truth, positive):.2f}, recall {mf.recall.score(truth, positive):.2f}",
    ]
    axis.set(title=name, xlabel="\n".join(lines))
plt.show()

# %%
# The boundary of cross-entropy is where positives and negatives are equally likely, so it misses most of the
# band. Models trained for a metric include more of it. With the threshold 0, the three metrics differ less
# from each other than from cross-entropy; with a threshold tuned on further points they differ more.
