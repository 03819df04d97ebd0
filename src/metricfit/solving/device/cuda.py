"""The solver as a CUDA kernel: compiled with the package or by NVRTC, loaded and launched by the driver.

The driver and NVRTC are there wherever PyTorch has CUDA, and have had these few C functions unchanged for
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

from metricfit.solving.device.program import ENTRY, kept, prebuilt, source_folder, sources

__all__ = ["CudaError", "Kernel", "compile_kernel", "find_nvrtc", "kernel", "load"]

NAME = "solve_games"

OPTIONS = ("-std=c++17", "-DMETRICFIT_TARGET=gpu")

NO_BINARY_FOR_GPU = 209  # CUDA_ERROR_NO_BINARY_FOR_GPU

# NVRTC has no headers of the standard library. These few names are all that the kernel needs of them.
HEADERS = {
    "cmath": "#pragma once\n#define INFINITY (__longlong_as_double(0x7ff0000000000000LL))\n"
    "namespace std { using ::ceil; using ::fabs; using ::floor; using ::sqrt; }\n",
    "cstddef": "#pragma once\nnamespace std { typedef decltype(sizeof(0)) size_t; "
    "typedef decltype((char*)0 - (char*)0) ptrdiff_t; }\n",
    "cstdint": "#pragma once\nnamespace std { typedef unsigned long long uint64_t; }\n",
}


class CudaError(RuntimeError):
    """A call of the driver failed; ``code`` is what it returned."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Kernel:
    """A loaded kernel, for the device that was current when it was loaded."""

    def __init__(self, program: bytes) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1" if sys.platform != "win32" else "nvcuda.dll")
        self._module, self._function = c_void_p(), c_void_p()
        self._call("cuModuleLoadData", byref(self._module), c_char_p(program))
        self._call("cuModuleGetFunction", byref(self._function), self._module, NAME.encode())

    def launch(self, argument: ctypes.Structure, blocks: int, threads: int, stream: int) -> None:
        """Queue the kernel, whose only argument is copied at once."""
        arguments = (c_void_p * 1)(ctypes.addressof(argument))
        shape = [c_uint(x) for x in (blocks, 1, 1, threads, 1, 1, 0)]
        self._call("cuLaunchKernel", self._function, *shape, c_void_p(stream), arguments, None)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._driver, name)(*arguments)
        if code:
            text = c_char_p()
            self._driver.cuGetErrorString(c_int(code), byref(text))
            said = text.value.decode() if text.value else "no explanation"
            raise CudaError(f"{name} failed with CUDA error {code}: {said}", code)


@cache
def kernel(device: int) -> Kernel:
    """Return the kernel on a device."""
    major, minor = torch.cuda.get_device_capability(device)
    with torch.cuda.device(device):
        torch.cuda.current_stream().synchronize()  # makes PyTorch's context the current one
        return load(f"sm_{major}{minor}")


def load(architecture: str) -> Kernel:
    """Load the kernel for the current device: that of the package, or else one compiled now."""
    if (program := prebuilt()) is not None:
        try:
            return Kernel(program)
        except CudaError as error:
            if error.code != NO_BINARY_FOR_GPU:
                raise
    return Kernel(compile_kernel(architecture))


def compile_kernel(architecture: str) -> bytes:
    """Return the machine code of the kernel, by NVRTC or another CUDA compiler.

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
        return _compile_by_nvcc(architecture) if nvrtc is None else _compile_by_nvrtc(nvrtc, architecture)

    return kept(
        "\n".join((sources(), *HEADERS.values(), *OPTIONS, architecture, str(torch.version.cuda))), compiled
    )


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
    entry = (source_folder() / ENTRY).read_bytes()
    names = (c_char_p * len(HEADERS))(*(name.encode() for name in HEADERS))
    contents = (c_char_p * len(HEADERS))(*(text.encode() for text in HEADERS.values()))
    program = c_void_p()
    if nvrtc.nvrtcCreateProgram(
        byref(program), c_char_p(entry), ENTRY.encode(), c_int(len(HEADERS)), contents, names
    ):
        raise RuntimeError("NVRTC could not take the source of the solver")
    flags = (f"--gpu-architecture={architecture}", f"--include-path={source_folder()}", *OPTIONS)
    options = (c_char_p * len(flags))(*(flag.encode() for flag in flags))
    failed = nvrtc.nvrtcCompileProgram(program, c_int(len(flags)), options)
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
            "the solver for this GPU is compiled at its first use, but there is neither the library NVRTC "
            'nor nvcc; install the package nvidia-cuda-nvrtc, or solve on the host by solver="fast"'
        )
    with tempfile.TemporaryDirectory() as folder:
        target, entry = Path(folder) / "solver.cubin", source_folder() / ENTRY
        include = f"-I{source_folder()}"
        command = [nvcc, *OPTIONS, f"-arch={architecture}", include, "-cubin", "-o", str(target), str(entry)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"nvcc could not compile the solver:\n{done.stderr[-4000:]}")
        return target.read_bytes()
