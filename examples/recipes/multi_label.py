"""
Several labels per row: tags, some of them rare
===============================================

Every text has any number of tags. ``MultiLabelBinarizer`` makes columns of 0 and 1 of them. Logistic
regression with the usual threshold of one half misses most of the rare tags.
:class:`metricfit.sklearn.MetricEnsemble` fits the same model and chooses a threshold for each tag, for the
mean of the F1 scores of the tags.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer

import metricfit as mf
from metricfit.sklearn import MetricEnsemble

SHARES = {"sports": 0.4, "politics": 0.3, "science": 0.15, "music": 0.08, "chess": 0.04, "opera": 0.03}
MODELS = {
    "logistic regression": OneVsRestClassifier(LogisticRegression()),
    "MetricEnsemble of it": MetricEnsemble([LogisticRegression()], metric="macro f1", random_state=0),
}


def texts(n: int, seed: int) -> tuple[np.ndarray, list[list[str]]]:
    """Counts of 40 words, and the tags of each text. Every tag makes five words more frequent."""
    random = np.random.default_rng(seed)
    tagged = random.random((n, len(SHARES))) < list(SHARES.values())
    words = np.random.default_rng(0).permuted(np.tile(np.arange(40) < 5, (len(SHARES), 1)), axis=1)
    counts = random.poisson(0.5 + 0.8 * tagged @ words)
    return np.log1p(counts), [[tag for tag, has in zip(SHARES, row, strict=True) if has] for row in tagged]


def main(model: ClassifierMixin, rows: int = 1000) -> np.ndarray:
    """Return the F1 score of every tag on new texts."""
    tags = MultiLabelBinarizer(classes=list(SHARES))
    features, wanted = texts(rows, seed=1)
    model.fit(features, tags.fit_transform(wanted))
    features, wanted = texts(4000, seed=2)
    predicted = model.predict(features)
    print(f"the first new text: {tags.inverse_transform(predicted[:1])[0]}")
    return mf.f1.score(tags.transform(wanted), predicted)


# %%
# F1 of every tag, from the most frequent to the rarest.

if __name__ == "__main__":
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for name, model in MODELS.items():
        scores = main(model)
        axis.plot(list(SHARES), scores, "o-", label=f"{name}, mean {scores.mean():.2f}")
    axis.set(ylabel="F1 on new texts", ylim=(0, 1))
    axis.legend()
    plt.show()
