"""
The adversary's answer to a batch
=================================

The gradient of the loss is ``q - y``: the adversary's probability that a row is positive, minus its label.
With cross-entropy it would be the sigmoid of the score. Here it depends on the metric, and on the other
rows of the batch.
"""

import matplotlib.pyplot as plt
import numpy as np

import metricfit as mf

n = 25
# %%
# Twenty-five scores, most of them negative, as those of a model when positives are rare.

logits = np.sort(np.random.default_rng(3).normal(-0.5, 1.5, n))
scales = {1: "#9ec5e8", 2: "#3d85c6", 8: "#0b3d6e"}

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), sharey=True, layout="constrained")
for axis, metric in zip(axes, (mf.f1, mf.f2, mf.mcc), strict=True):
    for scale, colour in scales.items():
        solution = mf.solve(metric, scale / n * logits, tol=1e-6)
        axis.plot(logits, solution.adversary, "o-", color=colour, markersize=3.5, label=f"scale {scale}")
    axis.axvline(0, color="0.8", linewidth=1, zorder=0)
    axis.set(title=metric.name.upper(), xlabel="logit")
axes[0].set(ylabel="q, how often the adversary\nmakes the row positive", ylim=(-0.03, 1.03))
axes[0].legend(frameon=False)
plt.show()

# %%
# Training moves a score until the row is positive as often as ``q`` says. So the height of a curve at 0 is
# the share of positives at which the model is undecided: about 0.4 for F1 and MCC here, and 0.1 to 0.2 for
# F2, for which missed positives are worse than false alarms. With cross-entropy it is always one half.
# With a small scale the adversary can deviate from the model; with a large one it has to follow the signs of
# the scores.
#
# Every answer comes with a certificate:

print(mf.solve(mf.mcc, 8 / n * logits))
