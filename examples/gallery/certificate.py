"""
The certificate
===============

Whatever a solver does, both players' best responses to its answer bound the value of the game from below and
above. So a solver can be stopped at any time, and we know how good its answer is.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np

import metricfit as mf

SHORT = "METRICFIT_SHORT" in os.environ

# %%
# Twenty-five scores, as early in training. The paper's algorithm, ADMM, is stopped after more and more
# iterations; it warns each time that it has not reached the tolerance.

scores = 8 / 25 * np.random.default_rng(3).normal(-0.5, 1.5, 25)
counts = [10, 30] if SHORT else [5, 10, 20, 40, 70, 100, 200, 400, 700, 1000]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", mf.ConvergenceWarning)
    answers = [mf.solve(mf.f1, scores, solver="admm", max_iter=count, tol=1e-9) for count in counts]
fast = mf.solve(mf.f1, scores, tol=1e-9)
print(fast)

# %%
# The left panel shows how the bounds approach the value. The right panel shows the gap, and the error of the
# adversary's probabilities, which are the gradient: they need a small gap. The public implementation always
# stops after 100 iterations.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.fill_between(
    counts, [a.lower for a in answers], [a.value for a in answers], color="#9ec5e8", label="certified by ADMM"
)
left.axhline(fast.value, color="#b3560b", linewidth=1.2, label=f'"fast", {fast.iterations} iterations')
left.set(xscale="log", xlabel="iterations of ADMM", ylabel="value of the game", title="Bounds")
left.legend(frameon=False)
right.plot(counts, [a.gap for a in answers], "o-", color="#3d85c6", label="gap")
errors = [np.abs(a.adversary - fast.adversary).max() for a in answers]
right.plot(counts, errors, "s--", color="#0b3d6e", label="largest error of a probability")
right.axvline(100, color="0.8", linewidth=1, zorder=0)
right.set(xscale="log", yscale="log", xlabel="iterations of ADMM", title="Gap and error")
right.legend(frameon=False)
plt.show()
