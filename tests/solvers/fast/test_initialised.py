"""No kernel reads memory before it writes it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import metricfit

PROGRAM = """
import json
import numpy as np
import metricfit as mf

random = np.random.default_rng(0)
found = []
for number in range(40):
    n = 2 + number
    metric = (mf.f2, mf.kappa, mf.mcc, mf.precision_at_recall(0.6))[number % 4]
    scores, labels = random.normal(size=n) / n, np.arange(n) % 3 == 0
    solution = mf.solve(metric, scores, labels.astype(int), solver="fast")
    found.append([solution.value, solution.iterations])
print(json.dumps(found))
"""


def answers(source: Path, cache: Path) -> list[list[float]]:
    environment = os.environ | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def poisoned(text: str) -> str:
    """Fill every new array of floats with NaN."""
    simple = r"np\.empty\(((?:[^()]|\([^()]*\))*)\)"
    return re.sub(simple, lambda m: m[0] if "np." in m[1] else f"np.full({m[1]}, np.nan)", text)


@pytest.mark.slow
def test_arrays_that_start_as_nan_change_nothing(tmp_path: Path) -> None:
    original = Path(metricfit.__file__).parent
    copy = tmp_path / "source" / "metricfit"
    shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
    changed = 0
    for file in (copy / "solvers" / "fast").glob("*.py"):
        before = file.read_text()
        file.write_text(poisoned(before))
        changed += before != poisoned(before)
    assert changed >= 4
    plain = np.array(answers(original.parent, tmp_path / "plain"))
    with_nan = np.array(answers(copy.parent, tmp_path / "nan"))
    np.testing.assert_allclose(with_nan[:, 0], plain[:, 0], rtol=0, atol=1e-7)
    np.testing.assert_array_equal(with_nan[:, 1], plain[:, 1])
