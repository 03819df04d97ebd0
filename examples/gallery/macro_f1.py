"""
Macro-F1 of several labels
==========================

With logits of shape ``(n, labels)`` the loss plays one game per label and averages, which is macro-F1. Here
a row may have any of eight labels, from one that is common to one that is rare.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import torch

import metricfit as mf

SHORT = "METRICFIT_SHORT" in os.environ
LABELS = 8
shares = np.geomspace(0.4, 0.02, LABELS)


def make_rows(n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = np.random.default_rng(seed)
    directions = np.random.default_rng(7).normal(size=(20, LABELS))
    features = draw.normal(size=(n, 20))
    noisy = features @ directions / np.linalg.norm(directions, axis=0) + 0.6 * draw.normal(size=(n, LABELS))
    spread = np.sqrt(1 + 0.6**2)
    thresholds = spread * np.array(
        [np.quantile(np.random.default_rng(1).normal(size=100_000), 1 - p) for p in shares]
    )
    return torch.tensor(features, dtype=torch.float32), torch.tensor(noisy > thresholds)


train, labels = make_rows(500 if SHORT else 2000, seed=0)
test, truth = make_rows(10_000, seed=1)

# %%
# One linear model for all labels, once with cross-entropy and once for macro-F1. Games are larger than by
# default, so that there are positives of the rare labels in most of them.


def fit(criterion: torch.nn.Module) -> torch.Tensor:
    torch.manual_seed(0)
    model = torch.nn.Linear(20, LABELS)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    data = torch.utils.data.TensorDataset(train, labels.float())
    for _ in range(1 if SHORT else 15):
        for features, wanted in torch.utils.data.DataLoader(data, batch_size=128, shuffle=True):
            optimizer.zero_grad()
            criterion(model(features), wanted).backward()
            optimizer.step()
    with torch.no_grad():
        return model(test) > 0


def f1_of_each(predicted: torch.Tensor) -> list[float]:
    return [mf.f1.score(truth[:, label], predicted[:, label]) for label in range(LABELS)]


results = {
    "cross-entropy": f1_of_each(fit(torch.nn.BCEWithLogitsLoss())),
    "macro-F1": f1_of_each(fit(mf.MetricLoss(mf.f1, group_size=64))),
}
for name, scores in results.items():
    print(f"{name}: macro-F1 {np.mean(scores):.3f}")

# %%
# The rarer the label, the larger the gain.

figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
places = np.arange(LABELS)
for offset, colour, (name, scores) in zip((-0.2, 0.2), ("#c9ced6", "#1f5fa8"), results.items(), strict=True):
    axis.bar(places + offset, scores, width=0.38, color=colour, label=f"{name}, mean {np.mean(scores):.2f}")
axis.set_xticks(places, [f"{share:.0%}" for share in shares])
axis.set(xlabel="share of rows that have the label", ylabel="F1 on unseen rows")
axis.legend(frameon=False)
plt.show()
