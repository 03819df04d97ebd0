"""
Two processes, one game
=======================

:doc:`../recipes/data_parallel` is started by torchrun: with one process and batches of 32, and with two
processes that have 16 of the 32 rows each. With ``gather=True`` the two play one game over all 32.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt

SCRIPT = Path(sys.argv[0]).resolve().parents[1] / "recipes" / "data_parallel.py"


def torchrun(processes: int) -> list[float]:
    """Return the F1 score after each epoch, as the script prints it."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    done = subprocess.run(
        [*command, str(SCRIPT)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(score) for score in re.findall(r"F1 ([\d.]+)", done.stdout)]


runs = {"two processes, gather=True": torchrun(2)}
if "METRICFIT_SHORT" not in os.environ:
    runs["one process"] = torchrun(1)

# %%
# Both trainings are the same, to the last digit that is printed.

figure, axis = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
styles = {
    "one process": {"linewidth": 7, "color": "#c5dcf0"},
    "two processes, gather=True": {"linewidth": 2, "color": "#0b3d6e"},
}
for name, style in styles.items():
    if name in runs:
        axis.plot(range(1, len(runs[name]) + 1), runs[name], label=name, **style)
axis.set(xlabel="epoch", ylabel="F1 of all rows", xticks=range(1, 6))
axis.legend(frameon=False)
plt.show()
