"""
Many classes: macro-F1 of three kinds of loss
=============================================

Logits of shape ``(n, classes)`` and integer targets go into the loss as they go into cross-entropy, and the
decision stays ``argmax``. Here a linear model distinguishes three kinds of wine; one of them is made rare.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import metricfit as mf

LOSSES = {
    "cross-entropy": torch.nn.CrossEntropyLoss(),
    "MetricLoss": mf.MetricLoss("macro f1"),
    "SoftMetricLoss": mf.SoftMetricLoss("macro f1"),
}


def load() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    features, kinds = load_wine(return_X_y=True)
    kept = np.flatnonzero((kinds != 2) | (np.arange(len(kinds)) % 2 == 0))
    train, test, y, truth = train_test_split(
        features[kept], kinds[kept], test_size=0.5, stratify=kinds[kept], random_state=0
    )
    scaler = StandardScaler().fit(train)
    rows = [torch.tensor(scaler.transform(part), dtype=torch.float32) for part in (train, test)]
    return rows[0], torch.tensor(y), rows[1], torch.tensor(truth)


def main(criterion: torch.nn.Module, epochs: int = 20) -> float:
    """Return macro-F1 on new rows."""
    train, y, test, truth = load()
    torch.manual_seed(0)
    model = torch.nn.Linear(train.shape[1], 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(epochs):
        for rows in torch.randperm(len(y)).split(32):
            optimizer.zero_grad()
            criterion(model(train[rows]), y[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        predicted = model(test).argmax(dim=1)
    return float(mf.get_metric("macro f1").score(truth, predicted))


# %%
# Every loss after a few epochs.

if __name__ == "__main__":
    lengths = [1, 2, 5, 10, 20]
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for name, criterion in LOSSES.items():
        axis.plot(lengths, [main(criterion, epochs) for epochs in lengths], "o-", label=name)
    axis.set(xlabel="epochs", ylabel="macro-F1 on new rows")
    axis.legend()
    plt.show()
