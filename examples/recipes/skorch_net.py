"""
skorch: cross-validation of a net for MCC
=========================================

The metric is an argument of the criterion, so that a grid search can vary it as well.
:class:`metricfit.sklearn.MetricClassifier` is this and more, ready-made.
"""

from __future__ import annotations

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier

import metricfit as mf


def probabilities(logits: torch.Tensor) -> torch.Tensor:
    """Columns for both classes; a logit of 0, where the decision is, becomes one half."""
    positive = torch.sigmoid(logits)
    return torch.stack((1 - positive, positive), dim=1)


def main(epochs: int = 5) -> float:
    """Return the mean score of a cross-validation."""
    features, malignant = load_breast_cancer(return_X_y=True)
    torch.manual_seed(0)
    net = NeuralNetBinaryClassifier(
        torch.nn.Linear,
        module__in_features=features.shape[1],
        module__out_features=1,
        criterion=mf.MetricLoss,
        criterion__metric=mf.mcc,
        # skorch knows of cross-entropy that it takes logits; of any other criterion it has to be told.
        predict_nonlinearity=probabilities,
        optimizer=torch.optim.Adam,
        lr=1e-2,
        batch_size=32,
        max_epochs=epochs,
        train_split=None,
        verbose=0,
    )
    model = make_pipeline(StandardScaler(), net)
    scores = cross_val_score(
        model, features.astype(np.float32), (malignant == 0).astype(np.int64), cv=3, scoring=mf.mcc.scorer()
    )
    return float(scores.mean())


if __name__ == "__main__":
    print(f"mean MCC of three folds: {main():.3f}")
