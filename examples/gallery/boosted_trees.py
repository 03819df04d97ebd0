"""
Boosted trees for a metric
==========================

The same trees with logistic loss and with the objective for F1, both with the threshold 0. Positives are
rare, and noise hides some of them.
"""

import os

import lightgbm
import matplotlib.pyplot as plt
import numpy as np

import metricfit as mf
from metricfit.boosting import MetricObjective

SHORT = "METRICFIT_SHORT" in os.environ

# %%
# A point is more often positive the nearer it is to one of two centres.

random = np.random.default_rng(0)
points = random.uniform(-3, 3, (4000, 2))
distance = np.minimum(np.hypot(*(points - (-1, 1)).T), np.hypot(*(points - (1.2, -1)).T))
labels = (random.random(4000) < 0.6 * np.exp(-3 * distance**2)).astype(int)
training, testing = slice(0, 2000), slice(2000, 4000)


def trees(objective: object, rounds: int) -> lightgbm.Booster:
    settings = {
        "objective": objective,
        "num_leaves": 8,
        "learning_rate": 0.05,
        "num_threads": 1,
        "verbose": -1,
    }
    return lightgbm.train(settings, lightgbm.Dataset(points[training], labels[training]), rounds)


# %%
# Logistic loss predicts positive where positives are the majority. For F1 it is better to predict more
# positives: here, where the probability is about one third or more.

rounds = 20 if SHORT else 80
models = {
    "logistic loss": trees("binary", rounds),
    "MetricObjective('f1')": trees(MetricObjective("f1"), rounds),
}

axis_points = np.linspace(-3, 3, 60 if SHORT else 200)
grid = np.stack(np.meshgrid(axis_points, axis_points), axis=-1)
positive = points[training][labels[training] == 1]
figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), sharey=True, layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    raw = model.predict(grid.reshape(-1, 2), raw_score=True).reshape(grid.shape[:2])
    predicted = model.predict(points[testing], raw_score=True) > 0
    score = mf.f1.score(labels[testing], predicted.astype(int))
    axis.contourf(axis_points, axis_points, raw > 0, levels=[0.5, 1.5], colors=["#9ec5e8"])
    axis.plot(*positive.T, ".", color="#0b3d6e", markersize=3)
    axis.set(title=f"{name}\nF1 at 0: {score:.2f}", aspect="equal")
plt.show()

# %%
# The area is where a model predicts positive; the points are the positives it was trained on. With a
# threshold chosen on held-out rows, logistic loss would be about as good.
