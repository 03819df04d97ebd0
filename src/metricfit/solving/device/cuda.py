"""The solver as a CUDA kernel: compiled by NVRTC, loaded and launched by the driver.

Both libraries are there wherever PyTorch has CUDA, and both have had these few C functions unchanged for
years; so neither a CUDA toolkit nor another package is needed, nor anything private of PyTorch.
"""

from __future__ import annotations

import ctypes
import logging
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import torch

from metricfit.solving.device.program import cuda_source, kept

__all__ = ["Kernel", "compile_kernel", "find_nvrtc", "kernel", "shared_limit"]

MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION

MOST_SHARED = 220 * 1024
"""More is not asked for."""


class _Attribute(ctypes.Structure):
    """``CUlaunchAttribute``, as it is for the dimensions of a cluster."""

    _fields_ = (("id", c_uint), ("padding", c_uint), ("dimensions", c_uint * 16))


class _Launch(ctypes.Structure):
    """``CUlaunchConfig``."""

    _fields_ = (
        ("blocks", c_uint * 3),
        ("threads", c_uint * 3),
        ("shared_bytes", c_uint),
        ("stream", c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", c_uint),
    )


class Kernel:
    """A loaded kernel, for the device that was current when it was loaded."""

    def __init__(self, program: bytes, name: str, shared_bytes: int) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1" if sys.platform != "win32" else "nvcuda.dll")
        self._module, self._function = c_void_p(), c_void_p()
        self._call("cuModuleLoadData", byref(self._module), c_char_p(program))
        self._call("cuModuleGetFunction", byref(self._function), self._module, name.encode())
        self._call("cuFuncSetAttribute", self._function, c_int(MAX_DYNAMIC_SHARED), c_int(shared_bytes))

    def launch(
        self,
        argument: ctypes.Structure,
        blocks: int,
        threads: int,
        shared_bytes: int,
        stream: int,
        team: int = 1,
    ) -> None:
        """Queue the kernel, whose only argument is copied at once; blocks meet in teams of so many."""
        arguments = (c_void_p * 1)(ctypes.addressof(argument))
        cluster = _Attribute(CLUSTER_DIMENSION, 0, (c_uint * 16)(team, 1, 1))
        launch = _Launch(
            (c_uint * 3)(blocks, 1, 1),
            (c_uint * 3)(threads, 1, 1),
            shared_bytes,
            stream,
            ctypes.pointer(cluster),
            1 if team > 1 else 0,
        )
        self._call("cuLaunchKernelEx", byref(launch), self._function, arguments, None)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._driver, name)(*arguments)
        if code:
            text = c_char_p()
            self._driver.cuGetErrorString(c_int(code), byref(text))
            said = text.value.decode() if text.value else "no explanation"
            raise RuntimeError(f"{name} failed with CUDA error {code}: {said}")


@cache
def kernel(device: int) -> Kernel:
    """Return the kernel on a device."""
    major, minor = torch.cuda.get_device_capability(device)
    with torch.cuda.device(device):
        torch.cuda.current_stream().synchronize()  # makes PyTorch's context the current one
        return Kernel(compile_kernel(f"sm_{major}{minor}"), "solve_games", shared_limit(device))


@cache
def shared_limit(device: int) -> int:
    """Return how many bytes of shared memory a block gets at most."""
    properties = torch.cuda.get_device_properties(device)
    return min(int(getattr(properties, "shared_memory_per_block_optin", 48 * 1024)), MOST_SHARED)


def compile_kernel(architecture: str) -> bytes:
    """Return the kernel's machine code, from the cache or from the compiler.

    Parameters
    ----------
    architecture : str
        Such as ``"sm_90"``.
    """

    def compiled() -> bytes:
        logging.getLogger("metricfit").warning(
            "compiling the solver for the GPU, about a minute; this happens once per installation"
        )
        nvrtc = find_nvrtc()
        if nvrtc is not None:
            return _compile_by_nvrtc(nvrtc, architecture)
        return _compile_by_nvcc(architecture)

    key = "\n".join((cuda_source(), architecture, str(torch.version.cuda)))
    return kept(key, ".cubin", compiled).read_bytes()


def find_nvrtc() -> ctypes.CDLL | None:
    """Load the NVRTC library that came with PyTorch, or else the system's."""
    for place in _nvrtc_places():
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    return None


def _nvrtc_places() -> Iterator[str]:
    site = Path(torch.__file__).parent.parent
    for folder in (Path(torch.__file__).parent / "lib", *sorted((site / "nvidia").glob("*/lib"))):
        yield from (str(file) for file in sorted(folder.glob("libnvrtc.so*")))
        yield from (
            str(file) for file in sorted(folder.glob("libnvrtc-*.so*")) if "builtins" not in file.name
        )
    major = (torch.version.cuda or "13").split(".")[0]
    yield from (f"libnvrtc.so.{major}", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so")


def _compile_by_nvrtc(nvrtc: ctypes.CDLL, architecture: str) -> bytes:
    program = c_void_p()
    source = cuda_source().encode()
    if nvrtc.nvrtcCreateProgram(byref(program), c_char_p(source), b"solving.cu", c_int(0), None, None):
        raise RuntimeError("NVRTC could not take the source of the solver")
    options = (c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++17")
    failed = nvrtc.nvrtcCompileProgram(program, c_int(len(options)), options)
    size = c_size_t()
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(
            f"NVRTC could not compile the solver:\n{log.value.decode(errors='replace')[-4000:]}"
        )
    nvrtc.nvrtcGetCUBINSize(program, byref(size))
    result = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetCUBIN(program, result)
    nvrtc.nvrtcDestroyProgram(byref(program))
    return result.raw


def _compile_by_nvcc(architecture: str) -> bytes:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise RuntimeError(
            "the solver for the GPU is compiled at its first use, but there is neither the library NVRTC nor "
            'nvcc; install the package nvidia-cuda-nvrtc, or play on the host by solver="fast"'
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "solving.cu", Path(folder) / "solving.cubin"
        source.write_text(cuda_source())
        command = [nvcc, "-std=c++17", f"-arch={architecture}", "-cubin", "-o", str(target), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"nvcc could not compile the solver:\n{done.stderr[-4000:]}")
        return target.read_bytes()
