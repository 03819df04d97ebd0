"""Builds of the programs in cpp/tests."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512vl", "avx512bw", "fma"}}


def instruction_sets() -> list[str]:
    """Return those of the solver that this machine has."""
    known = Path("/proc/cpuinfo")
    flags = set(known.read_text().split()) if known.exists() else set()
    return ["baseline", *(name for name, needed in FLAGS.items() if needed <= flags)]


def tool(name: str) -> str:
    """Return the path of a program of this environment, or of the system."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found is not None, f"{name} is needed to build the programs in cpp/tests"
    return found


def cmake(arguments: list[str]) -> None:
    done = subprocess.run([tool("cmake"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]


def built(factory: pytest.TempPathFactory, name: str, target: str, *options: str) -> Path:
    """Build a target in a folder that all workers of a run share, once; return the folder of the programs."""
    folder = factory.getbasetemp().resolve()
    if folder.name.startswith("popen-"):  # of one worker of several
        folder = folder.parent
    folder /= name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "CMakeCache.txt").exists():
            paths = [f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"]
            cmake(
                ["-S", str(ROOT), "-B", str(folder), "-G", "Ninja", "-DMETRICFIT_TESTS=ON", *paths, *options]
            )
        cmake(["--build", str(folder), "--target", target, "--parallel", "2"])
    return folder / "cpp" / "tests"


def run(*command: str | Path, env: dict[str, str] | None = None) -> str:
    """Run a program that has to succeed, and return what it wrote."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, env=env, timeout=600
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout
