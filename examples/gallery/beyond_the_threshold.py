"""
What a tuned threshold cannot fix
=================================

A threshold moves the decision boundary of a trained model, but does not turn it. A model that is too simple
for the data has to misclassify some rows, and the loss decides which. Here the model is linear, a tenth of
the points is positive, and 30 % of the positives form a second group: no line separates both groups from the
negatives.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import torch

import metricfit as mf
from metricfit.sklearn import best_cut

SHORT = "METRICFIT_SHORT" in os.environ  # set when this runs as a test


def make_points(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Negatives in the middle, 70 % of the positives above them, 30 % below on the right."""
    draw = np.random.default_rng(seed)
    labels = draw.random(n) < 0.1
    apart = draw.random(n) < 0.3
    noise = draw.normal(size=(n, 2))
    positives = np.where(apart[:, None], [1.8, -1.6], [0.0, 2.0]) + 0.4 * noise
    points = np.where(labels[:, None], positives, noise * [0.9, 0.8])
    return torch.tensor(points, dtype=torch.float32), torch.tensor(labels)


test, truth = make_points(30_000, seed=999)

# %%
# All losses get 40 epochs. The soft loss has local optima, so its first ten epochs use cross-entropy, as the
# documentation of the soft loss recommends.

EPOCHS, FIRST_EPOCHS = (4, 2) if SHORT else (40, 10)
cross_entropy = torch.nn.BCEWithLogitsLoss()


def fit(criterion: torch.nn.Module, seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    points, labels = make_points(2000, seed)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    data = torch.utils.data.TensorDataset(points, labels.float()[:, None])
    for epoch in range(EPOCHS):
        is_first = isinstance(criterion, mf.SoftMetricLoss) and epoch < FIRST_EPOCHS
        for features, wanted in torch.utils.data.DataLoader(data, batch_size=128, shuffle=True):
            optimizer.zero_grad()
            (cross_entropy if is_first else criterion)(model(features), wanted).backward()
            optimizer.step()
    return model.eval()


def scores_of(model: torch.nn.Module, points: torch.Tensor) -> np.ndarray:
    with torch.no_grad():
        return model(points).squeeze(1).double().numpy()


def tuned_threshold(model: torch.nn.Module, seed: int) -> float:
    """Return the threshold with the best F1 on 1000 further points."""
    points, labels = make_points(1000, 100 + seed)
    return best_cut(mf.f1, scores_of(model, points), labels).threshold


# %%
# F1 on 30,000 test points, as mean and range over ten training sets. The last column is the threshold that is
# best on the test points themselves: no tuned threshold can be better.

losses = {
    "cross-entropy": cross_entropy,
    "MetricLoss(f1)": mf.MetricLoss(mf.f1),
    "SoftMetricLoss(f1)": mf.SoftMetricLoss(mf.f1),
}
seeds = range(2 if SHORT else 10)
models = {name: [fit(criterion, seed) for seed in seeds] for name, criterion in losses.items()}
means = {}
print(f"{'':20}{'at 0':>20}{'tuned threshold':>20}{'best threshold':>20}")
for name, trained in models.items():
    rows = []
    for seed, model in zip(seeds, trained, strict=True):
        scores = scores_of(model, test)
        cuts = (0.0, tuned_threshold(model, seed), best_cut(mf.f1, scores, truth).threshold)
        rows.append([mf.f1.score(truth, scores > cut) for cut in cuts])
    columns = np.array(rows).T
    means[name] = columns.mean(axis=1)
    print(f"{name:20}", *(f"{c.mean():.2f} ({c.min():.2f} to {c.max():.2f})".rjust(19) for c in columns))

# %%
# The first training set, with the means of all ten. Cross-entropy tilts its boundary towards the positives
# that no line can reach. ``SoftMetricLoss`` almost counts decisions, so it can ignore them. ``MetricLoss`` is
# convex, and tilts like cross-entropy: with a model that cannot fit the data, try the soft loss.

x, y = np.meshgrid(np.linspace(-3.2, 3.2, 300), np.linspace(-3.2, 3.2, 300))
grid = torch.tensor(np.column_stack([x.ravel(), y.ravel()]), dtype=torch.float32)
plain, trained = models["cross-entropy"][0], models["SoftMetricLoss(f1)"][0]
panels = [
    ("cross-entropy", plain, 0.0, means["cross-entropy"][0]),
    ("cross-entropy,\ntuned threshold", plain, tuned_threshold(plain, 0), means["cross-entropy"][1]),
    ("trained for F1,\nno threshold to tune", trained, 0.0, means["SoftMetricLoss(f1)"][0]),
]
figure, axes = plt.subplots(1, 3, figsize=(10, 4.1), layout="constrained")
for axis, (title, model, threshold, score) in zip(axes, panels, strict=True):
    positive = scores_of(model, grid).reshape(x.shape) > threshold
    axis.contourf(x, y, positive, levels=[0.5, 1.5], colors=["#f5b971"], alpha=0.45)
    axis.contour(x, y, positive, levels=[0.5], colors="#b3560b", linewidths=1.5)
    axis.scatter(*test[:1500][~truth[:1500]].T, s=3, color="#8a97a8", linewidths=0)
    axis.scatter(*test[:1500][truth[:1500]].T, s=7, color="#1f5fa8", linewidths=0)
    axis.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
    axis.set_xlabel(f"F1 {score:.2f}", fontsize=15, fontweight="bold")
    axis.spines[:].set_visible(False)
plt.show()
