"""The core under threads, forks, interrupts and re-entrance, each in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from core.builds import run

SHAPES = """
import sys
import threading
import torch
import metricfit as mf

def play(seed):
    torch.manual_seed(seed)
    for i in range({rounds}):
        n = 128 + 8 * (i % 20)
        scores = torch.randn(4 * n, requires_grad=True)
        metric = mf.fbeta(round(0.5 + 0.01 * i + seed, 3))
        loss = mf.MetricLoss(metric, group_size=n)(scores, torch.rand(4 * n) < 0.05)
        loss.backward()
        assert scores.grad.isfinite().all()

threads = [threading.Thread(target=play, args=(seed,)) for seed in range({threads})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""

FORKED = """
import multiprocessing
import numpy as np
import metricfit as mf

def value(n):
    return mf.solve(mf.f1, np.linspace(0.1, -0.3, n) / n, solver="fast").value

if __name__ == "__main__":
    sizes = [3, 30, 60, 30, 7, 500]
    wanted = [value(n) for n in sizes]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(value, sizes) == wanted
    assert [value(n) for n in sizes] == wanted
    print("done")
"""

REENTERED = """
import gc
import signal
import numpy as np
import metricfit as mf

# A signal's handler, and what the garbage collector calls, may solve a game while another is being solved.
solved, busy = [], []

def again(*_):
    if busy:
        return
    busy.append(1)
    solved.append(mf.solve(mf.kappa, np.linspace(0.2, -0.2, 12), solver="fast").value)
    busy.clear()

class Dying:
    def __del__(self):
        again()

first = mf.solve(mf.f1, np.linspace(0.1, -0.3, 90) / 90, solver="fast").value
signal.signal(signal.SIGALRM, again)
signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
for _ in range(30):
    cycle = [Dying()]
    cycle.append(cycle)
    del cycle
    assert mf.solve(mf.f1, np.linspace(0.1, -0.3, 90) / 90, solver="fast").value == first
    gc.collect()
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(solved) >= 30 and len(set(solved)) == 1
print("done")
"""

INTERRUPTED = """
import numpy as np
import metricfit as mf

random = np.random.default_rng(0)
scores = random.normal(size=390) / 390
game = lambda: mf.solve(mf.kappa, scores, solver="fast", tol=1e-9).value
wanted = game()
print("ready", flush=True)
interrupts = 0
while interrupts < 5:
    try:
        while True:
            assert game() == wanted
    except KeyboardInterrupt:
        interrupts += 1
        print("interrupted", flush=True)
assert game() == wanted
print("done")
"""


def test_nothing_is_printed_when_python_ends() -> None:
    program = "import metricfit as mf; mf.solve(mf.f1, [0.1, -0.2]); import torch; mf.MetricLoss(mf.f1)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("threads", [1, 4])
def test_losses_of_many_shapes_in_a_fresh_process(threads: int) -> None:
    """Once a kernel was given the address of tables that nobody held any more."""
    assert run(sys.executable, "-c", SHAPES.format(rounds=60 // threads, threads=threads)) == "done\n"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_after_use_finds_the_same_values() -> None:
    assert run(sys.executable, "-W", "ignore", "-c", FORKED) == "done\n"


def test_a_solve_within_a_solve() -> None:
    assert run(sys.executable, "-c", REENTERED) == "done\n"


def test_interrupts_during_a_long_solve() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for _ in range(5):
        time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "done\n"), err
