"""
Lightning: a module for F2
==========================

The loss replaces cross-entropy in ``training_step``. The validation step predicts positive where the logit is
above 0.
"""

from __future__ import annotations

import lightning
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

import metricfit as mf


class Classifier(lightning.LightningModule):
    def __init__(self, features: int, metric: mf.Metric) -> None:
        super().__init__()
        self.model = torch.nn.Sequential(
            torch.nn.Linear(features, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
        )
        self.criterion = mf.MetricLoss(metric)
        self.scores: list[float] = []

    def training_step(self, batch: list[torch.Tensor], _index: int) -> torch.Tensor:
        features, labels = batch
        loss = self.criterion(self.model(features), labels)
        self.log_dict({"loss": loss, "gap": self.criterion.last_solution.gap})
        return loss

    def validation_step(self, batch: list[torch.Tensor], _index: int) -> None:
        features, labels = batch
        score = self.criterion.metric.score(labels.cpu(), self.model(features).cpu() > 0)
        self.log("score", score, prog_bar=True)
        self.scores.append(score)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def train(epochs: int) -> Classifier:
    """Return the trained module, with its scores on the validation part: at first, and after each epoch."""
    features, malignant = load_breast_cancer(return_X_y=True)
    scaled = torch.tensor(StandardScaler().fit_transform(features), dtype=torch.float32)
    data = TensorDataset(scaled, torch.tensor(malignant == 0))
    lightning.seed_everything(0, verbose=False)
    training, validation = torch.utils.data.random_split(data, [0.7, 0.3])
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Classifier(features.shape[1], mf.f2)
    trainer.fit(
        module,
        DataLoader(training, batch_size=32, shuffle=True),
        DataLoader(validation, batch_size=len(validation)),
    )
    return module


def main(epochs: int = 5) -> float:
    """Train and return the score on the validation part."""
    return train(epochs).scores[-1]


# %%
# Lightning measures once before it trains, which is the first point.

if __name__ == "__main__":
    scores = train(epochs=10).scores
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axis.plot(scores, "o-")
    axis.set(xlabel="epoch", ylabel="F2 of the validation part")
    plt.show()
