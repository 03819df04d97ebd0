"""The benchmark of the GPU runs to its end where there is none, with the kernel made for the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu.py"


@pytest.mark.slow
def test_every_part_of_the_benchmark_runs(tmp_path: Path) -> None:
    out = tmp_path / "gpu.json"
    command = [sys.executable, str(SCRIPT), "--device", "cpu", "--quick", "--out", str(out)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    told = json.loads(out.read_text())
    for stage in ("device", "host"):
        assert all(isinstance(result, dict) for result in told[stage].values()), told[stage]
    assert all(row["inconsistent"] == 0 for key, row in told["host"].items() if key.startswith("agreement"))
