"""
The loss of two scores
======================

A batch of two rows, the first positive and the second negative. The loss as a function of their logits is
convex and piecewise linear, and 0 once both are on the right side with a margin.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import torch

import metricfit as mf

steps = 21 if "METRICFIT_SHORT" in os.environ else 61
axis_values = np.linspace(-2, 2, steps)
first, second = np.meshgrid(axis_values, axis_values)
labels = torch.tensor([1, 0])


def landscape(criterion: torch.nn.Module) -> np.ndarray:
    pairs = torch.tensor(np.column_stack([first.ravel(), second.ravel()]), dtype=torch.float64)
    return np.array([float(criterion(pair, labels)) for pair in pairs]).reshape(first.shape)


# %%
# ``scale=2`` makes the scores of the game the logits themselves, since there are two of them.

losses = {
    "F1": mf.MetricLoss(mf.f1, scale=2.0),
    "F2": mf.MetricLoss(mf.f2, scale=2.0),
    "precision": mf.MetricLoss(mf.precision, scale=2.0),
    "MCC": mf.MetricLoss(mf.mcc, scale=2.0),
}

figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), sharey=True, layout="constrained")
for axis, (name, criterion) in zip(axes, losses.items(), strict=True):
    heights = landscape(criterion)
    drawn = axis.contourf(
        first, second, heights, levels=np.linspace(0, 5, 21), cmap="viridis_r", extend="max"
    )
    axis.contour(first, second, heights, levels=[1e-3], colors="white", linewidths=1.5)
    axis.plot([-2, 2], [0, 0], [0, 0], [-2, 2], color="white", linewidth=0.5)
    axis.set(title=name, xlabel="logit of the positive", aspect="equal")
axes[0].set_ylabel("logit of the negative")
figure.colorbar(drawn, ax=axes, label="loss", shrink=0.8)
plt.show()

# %%
# Inside the white line the loss is 0. The positive needs a margin of 1 for every metric. The negative needs
# one of 1 for MCC, less than a half for F1 and F2, and none for precision, as long as it is below 0.
# Along a line the kinks are easy to see. Between two of them the adversary's probabilities do not change:

figure, axis = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
along = torch.linspace(-2, 2, 4 * steps, dtype=torch.float64)
for name, criterion in losses.items():
    axis.plot(along, [float(criterion(torch.stack([t, -t]), labels)) for t in along], label=name)
axis.set(xlabel="t, for logits (t, -t)", ylabel="loss")
axis.legend(frameon=False)
plt.show()
