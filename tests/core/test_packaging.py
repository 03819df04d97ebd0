"""What is installed: it needs no compiler, little room, no home and no folder to write to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from core.builds import ROOT, run, tool

PROGRAM = "import metricfit as mf; print(mf.__file__, mf.solve(mf.f1, [.1, -.2]).converged)"


def source(folder: Path) -> Path:
    """Return a copy of what git knows, so that nothing that was built before is found."""
    names = run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def installed() -> Iterator[Path]:
    """Install the repaired wheel in an environment that borrows its dependencies, and nothing else."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)  # another user is to find it
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation"]
    run(*build, "--wheel-dir", folder / "raw", source(folder / "source"))
    (raw,) = (folder / "raw").glob("*.whl")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    run(tool("auditwheel"), "repair", "--wheel-dir", folder / "wheel", raw, env=environment)
    (wheel,) = (folder / "wheel").glob("*manylinux*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # A line of a .pth file adds a folder; the .pth files in that folder, of editable installs, are not read.
    (site / "borrowed.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", wheel)
    yield folder
    shutil.rmtree(folder)


def without_compiler(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment in which no program is found."""
    return {"PATH": str(folder / "nothing"), "OMP_NUM_THREADS": "1", **more}


@pytest.mark.slow
def test_the_wheel_runs_without_a_compiler_and_is_small(installed: Path) -> None:
    python = installed / "venv" / "bin" / "python"
    said = run(python, "-c", PROGRAM, env=without_compiler(installed, HOME=str(installed)))
    assert said.startswith(str(installed))
    assert said.endswith("True\n")
    (package,) = installed.glob("venv/lib/python*/site-packages/metricfit")
    libraries = package.with_name("metricfit.libs")
    files = [*package.rglob("*"), *(libraries.rglob("*") if libraries.exists() else ())]
    size = sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")
    assert size <= 10e6, size


@pytest.mark.slow
def test_a_user_without_a_home_and_without_a_folder_to_write_to(installed: Path) -> None:
    python = installed / "venv" / "bin" / "python"
    for path in installed.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222 | 0o444)
    before = sorted(installed.rglob("*"))
    # A user that the system does not know, if we may become one and it may run the interpreter.
    reachable = all(folder.stat().st_mode & 0o001 for folder in python.resolve().parents)
    stranger = {"user": 65533, "group": 65533} if os.geteuid() == 0 and reachable else {}
    done = subprocess.run(
        [python, "-B", "-c", PROGRAM],
        env=without_compiler(installed, TMPDIR="/nonexistent"),
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        **stranger,
    )
    assert done.stdout.endswith("True\n"), done.stderr
    assert sorted(installed.rglob("*")) == before


@pytest.mark.slow
def test_the_source_distribution_says_what_is_missing(tmp_path: Path) -> None:
    program = "import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=source(tmp_path / "source"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / done.stdout.splitlines()[-1]) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.glob("metricfit-*") if path.is_dir())
    for needed in ("CMakeLists.txt", "LICENSE", "cpp/core/solver.hpp", "cpp/core/target.cpp"):
        assert (unpacked / needed).exists()
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("cmake", "ninja"):
        (programs / name).symlink_to(tool(name))
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", str(unpacked)]
    for environment in ({}, {"CXX": "/nonexistent/compiler"}):
        done = subprocess.run(
            [*build, "--wheel-dir", str(tmp_path)],
            env={"PATH": str(programs), "HOME": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0
        said = " ".join((done.stdout + done.stderr).split())
        assert "metricfit needs a C++17 compiler and found none: install one" in said
