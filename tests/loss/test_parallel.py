"""Data parallel training under torchrun, two processes on gloo."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def torchrun(script: Path) -> str:
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(script),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


def test_two_ranks_have_the_gradients_of_one_process():
    torchrun(Path(__file__).with_name("ranks.py"))


@pytest.mark.slow
def test_data_parallel_example_runs():
    assert "epoch 4" in torchrun(ROOT / "examples" / "recipes" / "data_parallel.py")
