"""
skorch: cross-validation of a net for MCC
=========================================

The metric is an argument of the criterion, so that a grid search can vary it as well.
:class:`metricfit.sklearn.MetricClassifier` does this for you, and more.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier

import metricfit as mf


def probabilities(logits: torch.Tensor) -> torch.Tensor:
    """Columns for both classes; a logit of 0, where the decision is, becomes one half."""
    positive = torch.sigmoid(logits)
    return torch.stack((1 - positive, positive), dim=1)


def make_model(features: int, epochs: int) -> Pipeline:
    net = NeuralNetBinaryClassifier(
        torch.nn.Linear,
        module__in_features=features,
        module__out_features=1,
        criterion=mf.MetricLoss,
        criterion__metric=mf.mcc,
        # skorch knows that cross-entropy takes logits; for any other criterion it needs this setting.
        predict_nonlinearity=probabilities,
        optimizer=torch.optim.Adam,
        lr=1e-2,
        batch_size=32,
        max_epochs=epochs,
        train_split=None,
        verbose=0,
    )
    return make_pipeline(StandardScaler(), net)


def load() -> tuple[np.ndarray, np.ndarray]:
    features, benign = load_breast_cancer(return_X_y=True)
    return features.astype(np.float32), (benign == 0).astype(np.int64)


def main(epochs: int = 5) -> float:
    """Return the mean score of a cross-validation."""
    features, malignant = load()
    torch.manual_seed(0)
    model = make_model(features.shape[1], epochs)
    return float(cross_val_score(model, features, malignant, cv=3, scoring=mf.mcc.scorer()).mean())


# %%
# A search over the scale of the loss, after few epochs.

if __name__ == "__main__":
    features, malignant = load()
    torch.manual_seed(0)
    scales = [0.5, 2.0, 8.0, 32.0, 128.0]
    search = GridSearchCV(
        make_model(features.shape[1], epochs=2),
        {"neuralnetbinaryclassifier__criterion__scale": scales},
        scoring=mf.mcc.scorer(),
        cv=5,
    ).fit(features, malignant)
    mean, deviation = (search.cv_results_[f"{name}_test_score"] for name in ("mean", "std"))
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    axis.errorbar(scales, mean, deviation, fmt="o-", capsize=3)
    axis.set(xscale="log", xlabel="scale", ylabel="MCC of five folds")
    axis.set_xticks(scales, [f"{scale:g}" for scale in scales], minor=False)
    plt.show()
