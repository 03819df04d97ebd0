"""One solver, compiled for several instruction sets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from core.builds import instruction_sets, run
from metricfit import _core

GAMES = """
import json
import numpy as np
import metricfit as mf
from metricfit import _core

random = np.random.default_rng(0)
metrics = [mf.f2, mf.kappa, mf.mcc, mf.accuracy, mf.precision_at_recall(0.6), mf.gm_precision_recall]
found = []
for number in range(60):
    n = 1 + number
    scores, labels = random.normal(size=n) / n, (np.arange(n) % 3 == 0).astype(int)
    found.append(mf.solve(metrics[number % 6], scores, labels, solver="fast", tol=1e-8).value)
# Whoever uses long double afterwards finds it as it was.
rest = [float(np.longdouble(1) / np.longdouble(3)) for _ in range(20)]
print(json.dumps([_core.target(), found, rest]))
"""


@cache
def played(name: str) -> tuple[str, np.ndarray, list[float]]:
    target, values, rest = json.loads(
        run(sys.executable, "-c", GAMES, env=os.environ | {"METRICFIT_TARGET": name})
    )
    return target, np.array(values), rest


def test_every_instruction_set_finds_the_same_values() -> None:
    _, wanted, _ = played("baseline")
    for name in instruction_sets():
        target, values, _ = played(name)
        assert target == name
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-7)


@pytest.mark.parametrize("name", instruction_sets())
def test_long_double_is_left_in_order(name: str) -> None:
    assert played(name)[2] == [1 / 3] * 20


def test_the_widest_instruction_set_is_taken() -> None:
    wanted = os.environ.get("METRICFIT_TARGET")
    assert _core.target() == (wanted or instruction_sets()[-1])


def test_an_instruction_set_that_is_not_there_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import metricfit as mf; mf.solve(mf.f1, [0.1])"],
        capture_output=True,
        text=True,
        env=os.environ | {"METRICFIT_TARGET": "sse9"},
        check=False,
    )
    assert done.returncode == 1
    assert "METRICFIT_TARGET=sse9 is not an instruction set of this processor" in done.stderr
