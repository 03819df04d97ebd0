"""Compiling, loading and launching for CUDA, as far as that can be tested without a GPU."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import metricfit as mf
from metricfit import _core
from metricfit.solving.device import Layout, batch, cuda, solve_games
from metricfit.solving.device.program import kept, source_folder, sources


def load_data(_module: Any, program: ctypes.c_char_p) -> int:
    return 0 if program.value == b"image" else cuda.NO_BINARY_FOR_GPU


def get_function(_function: Any, _module: Any, name: bytes) -> int:
    return 0 if name == b"solve_games" else 500


def get_error(_code: Any, text: Any) -> int:
    text._obj.value = b"a reason"
    return 0


def launch(_function: Any, *rest: Any) -> int:
    *shape, stream, arguments, extra = rest
    assert [x.value for x in shape[1:]] == [1, 1, 128, 1, 1, 0]
    assert stream.value == 7
    assert extra is None
    _core.solve_on_host(arguments[0], shape[0].value)
    return 0


# A driver that loads what is called "image", and solves on the CPU what is launched.
DRIVER = SimpleNamespace(
    cuModuleLoadData=load_data,
    cuModuleGetFunction=get_function,
    cuGetErrorString=get_error,
    cuLaunchKernel=launch,
)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda.ctypes, "CDLL", lambda _: DRIVER)


def test_the_kernel_gets_the_argument_that_the_program_for_the_cpu_gets(
    driver: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, scores = Layout(mf.f1, (0, 5), (5, 3)), torch.linspace(-1, 1, 8, dtype=torch.float64)
    expected = solve_games(layout, scores)
    kernel = cuda.Kernel(b"image")

    class Launcher:
        block_bytes = staticmethod(_core.block_bytes)

        @staticmethod
        def solve_on_host(address: int, blocks: int) -> None:
            kernel.launch(batch._Batch.from_address(address), blocks, 128, 7)

    monkeypatch.setattr(batch, "_core", Launcher)
    solved = solve_games(layout, scores)
    assert torch.equal(solved.bounds, expected.bounds)
    assert torch.equal(solved.adversary, expected.adversary)


def test_what_the_driver_refuses_is_an_error_with_its_reason(driver: None) -> None:
    with pytest.raises(cuda.CudaError, match="cuModuleLoadData failed with CUDA error 209: a reason"):
        cuda.Kernel(b"something else")


@pytest.mark.parametrize("prebuilt", [None, b"of another architecture", b"image"])
def test_a_kernel_is_compiled_if_the_package_has_none_for_this_gpu(
    driver: None, monkeypatch: pytest.MonkeyPatch, prebuilt: bytes | None
) -> None:
    compiled = []

    def compile_kernel(architecture: str) -> bytes:
        compiled.append(architecture)
        return b"image"

    monkeypatch.setattr(cuda, "prebuilt", lambda: prebuilt)
    monkeypatch.setattr(cuda, "compile_kernel", compile_kernel)
    cuda.load("sm_75")
    assert compiled == ([] if prebuilt == b"image" else ["sm_75"])


def test_without_a_compiler_for_cuda_there_gives_a_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cuda, "find_nvrtc", lambda: None)
    monkeypatch.setattr(cuda.shutil, "which", lambda _: None)
    with pytest.raises(RuntimeError, match="install the package nvidia-cuda-nvrtc"):
        cuda.compile_kernel("sm_90")


class Builder:
    """Builds a kernel and counts how often."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self) -> bytes:
        self.built += 1
        return b"program"


def test_a_kernel_is_built_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build = Builder()
    assert [kept("key", build), kept("key", build)] == [b"program"] * 2
    assert build.built == 1
    kept("other key", build)
    assert build.built == 2


def test_a_damaged_kernel_is_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    build = Builder()
    kept("key", build)
    (file,) = (tmp_path / "metricfit").iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert kept("key", build) == b"program"
    assert kept("key", build) == b"program"
    assert build.built == 2


def test_a_kernel_is_built_where_the_cache_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert kept("key", Builder()) == b"program"


def test_a_kernel_is_built_where_there_is_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert kept("key", Builder()) == b"program"


def test_the_source_is_the_solver_of_the_cpu() -> None:
    text = sources()
    assert "__global__" in text
    for name in ("core/solver.hpp", "gpu/execution.hpp", "gpu/solve.hpp"):
        assert (source_folder() / name).read_text() in text


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("n", [1, 8, 32, 33, 40, 129])
def test_the_device_finds_what_the_cpu_finds(n: int) -> None:
    layout, scores = Layout(mf.kappa, (0, n), (n, 9)), torch.linspace(-1, 1, n + 9, dtype=torch.float64)
    here, there = solve_games(layout, scores), solve_games(layout, scores.cuda())
    assert torch.allclose(here.bounds, there.bounds.cpu(), atol=1e-6)
    assert torch.equal(here.report[:, 0], there.report[:, 0].cpu())
