"""The time of a run in seconds of one core, without other work on the machine."""

from __future__ import annotations

import platform
import time
from pathlib import Path

import torch

__all__ = ["now", "processor"]

CPU_INFO = Path("/proc/cpuinfo")


def now(device: str) -> float:
    """Return a time to subtract from a later one: of this process on the CPU, of the clock on a GPU.

    Examples
    --------
    >>> begun = now("cpu")
    >>> now("cpu") >= begun
    True
    """
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
        return time.perf_counter()
    return time.process_time()


def processor(device: str) -> str:
    """Return the name of the processor, since only times of the same one are comparable."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    lines = CPU_INFO.read_text(encoding="utf-8").splitlines() if CPU_INFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
