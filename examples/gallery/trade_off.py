"""
Precision against the recall constraint
=======================================

``precision subject to recall >= t``, for several ``t``: one model each, all on the same data. How much
precision does the constraint cost, and does it hold on new rows?
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

import metricfit as mf
from metricfit.sklearn import best_cut, cut_at

SHORT = "METRICFIT_SHORT" in os.environ

# %%
# Which of the handwritten digits is an 8? The model is linear and only gets the middle rows of the picture,
# so it cannot have both a high precision and a high recall. A third of the rows is for training, one for
# choosing the threshold, and one for the test.

pixels, digits = load_digits(return_X_y=True)
features = torch.tensor(pixels[:, 16:48] / 16 - 0.3, dtype=torch.float32)
labels = torch.tensor(digits == 8)
training, choosing, testing = np.array_split(np.random.default_rng(0).permutation(len(labels)), 3)


def fit(criterion: torch.nn.Module) -> np.ndarray:
    """Train, and return the scores of all rows."""
    torch.manual_seed(0)
    model = torch.nn.Linear(32, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    data = torch.utils.data.TensorDataset(features[training], labels[training].float()[:, None])
    for _ in range(2 if SHORT else 25):
        for batch, wanted in torch.utils.data.DataLoader(data, batch_size=64, shuffle=True):
            optimizer.zero_grad()
            criterion(model(batch), wanted).backward()
            optimizer.step()
    with torch.no_grad():
        return model(features).squeeze(1).double().numpy()


def judged(scores: np.ndarray, threshold: float) -> tuple[float, float]:
    """Recall and precision with a threshold, on the test rows."""
    positive = scores[testing] > threshold
    return mf.recall.score(labels[testing], positive), mf.precision.score(labels[testing], positive)


# %%
# Each model decides in two ways: with the threshold 0, and with the best threshold on the second third that
# meets the constraint, as ``MetricClassifier(cut="empirical")`` does. Cross-entropy gets such a threshold as
# well.

wanted = [0.5, 0.9] if SHORT else [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
plain = fit(torch.nn.BCEWithLogitsLoss())
at_zero, tuned, cross_entropy = [], [], []
for t in wanted:
    metric = mf.precision_at_recall(t)
    scores = fit(mf.MetricLoss(metric))
    at_zero.append(judged(scores, cut_at(metric, scores[choosing], labels[choosing]).threshold))
    tuned.append(judged(scores, best_cut(metric, scores[choosing], labels[choosing]).threshold))
    cross_entropy.append(judged(plain, best_cut(metric, plain[choosing], labels[choosing]).threshold))

# %%
# Left: the recall that was reached against the recall that was required. Right: the precision.

series = {
    "trained for it, threshold 0": (np.array(at_zero), "s:", "#b3560b"),
    "trained for it, tuned threshold": (np.array(tuned), "o-", "#0b3d6e"),
    "cross-entropy, tuned threshold": (np.array(cross_entropy), "^--", "#8a97a8"),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot([0.35, 1], [0.35, 1], color="0.85", linewidth=1)
for name, (points, style, colour) in series.items():
    left.plot(wanted, points[:, 0], style, color=colour, label=name)
    right.plot(wanted, points[:, 1], style, color=colour, label=name)
left.set(xlabel="recall asked for", ylabel="recall on the test rows", title="The promise")
right.set(xlabel="recall asked for", ylabel="precision on the test rows", title="The price")
left.legend(frameon=False)
plt.show()

# %%
# With the threshold 0 the model finds nearly all positives, whatever recall was required: the constraint
# holds, but for a low bound the precision could be higher. With the tuned threshold the recall follows the
# constraint, and on these data cross-entropy with a tuned threshold is as good.
