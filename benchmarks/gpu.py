"""Games on a GPU: time and agreement of the device path, beside the host path, the CPU solver and ap-perf.

    python benchmarks/gpu.py --out gpu.json

Two programs run one after the other, so that a fault of the kernel does not take the rest along: `device`
times the kernel, looks for synchronisation and captures a CUDA graph; `host` compares with the CPU solver and
times both paths of the loss. Every part is written to the file as soon as it is done. Times are medians of
CUDA events after warm-up, unless said otherwise. `--device cpu` runs the same parts, where they make sense,
with the kernel as a C++ compiler makes it; its times mean nothing.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from gpu_sections import (
    TOLERANCE,
    agreement,
    compile_section,
    cpu_row,
    first_section,
    graph_section,
    kernel_row,
    loss_row,
    precision_section,
    rival_row,
    sync_section,
    training_section,
)
from recorded import METRICS

import metricfit as mf

# The table: games at a time, items, sets of games that are timed in turn.
CASES = ((256, 32, 1), (1, 128, 16), (64, 128, 4), (1, 1024, 4))
THREADS = {32: (64, 128, 256), 128: (128, 256), 1024: (256,)}
# Games and items for which both paths of the loss are timed.
PATHS = tuple((count, n) for n in (32, 64, 128, 256) for count in (1, 4, 8, 16, 32, 64) if count * n <= 8192)
# Sizes that fill the threads of a warp, and sizes that do not.
AGREEMENT = ((8, 64), (32, 64), (33, 64), (128, 32))


class Report:
    """Results by section; a section that fails says so and the next one follows."""

    def __init__(self, out: Path, until: float) -> None:
        self.out, self.until = out, until
        self.sections: dict[str, Any] = {}

    def add(self, name: str, part: Callable[[], Any]) -> None:
        started = time.monotonic()
        if started > self.until:
            result: Any = "skipped: no time left"
        else:
            try:
                result = part()
            except Exception as error:
                traceback.print_exc()
                result = f"failed: {type(error).__name__}: {str(error)[:600]}"
        self.sections[name] = result
        print(f"[{time.monotonic() - started:6.1f} s] {name}: {json.dumps(result)}", flush=True)
        self.out.write_text(json.dumps(self.sections, indent=1) + "\n")


def device_stage(
    report: Report, device: torch.device, cubin: Path | None, quick: bool, only_first: bool
) -> None:
    if device.type == "cuda":
        report.add("compile", lambda: compile_section(cubin))
    report.add("first", lambda: first_section(device))
    if only_first:
        return
    cases = ((4, 8, 1), (1, 16, 2)) if quick else CASES
    for count, n, sets in cases:
        report.add(
            f"kernel {count}x{n}", lambda c=count, n=n, s=sets: kernel_row("f1", c, n, s, device, None)
        )
    if device.type == "cuda":
        report.add("sync", lambda: sync_section(device))
        report.add("graph", lambda: graph_section(device))
    for count, n, sets in cases[:3]:
        few = min(sets, 4)
        for threads in THREADS.get(n, (32, 96)):
            report.add(
                f"kernel {count}x{n} threads {threads}",
                lambda c=count, n=n, s=few, t=threads: kernel_row("f1", c, n, s, device, t),
            )
    for name in METRICS[1:]:
        for count, n, sets in cases[:3]:
            few = min(sets, 8)
            report.add(
                f"kernel {count}x{n} {name}",
                lambda m=name, c=count, n=n, s=few: kernel_row(m, c, n, s, device, None),
            )
    report.add("precision", lambda: precision_section(device))


def host_stage(report: Report, device: torch.device, quick: bool) -> None:
    cases = ((4, 8, 1), (1, 16, 2)) if quick else CASES
    for n, count in ((12, 3),) if quick else AGREEMENT:
        for name in METRICS:
            report.add(f"agreement {name} {n}", lambda m=name, n=n, c=count: agreement(m, n, c, device))
    report.add("training", lambda: training_section(device, 1 if quick else 12))
    for count, n, sets in cases:
        report.add(f"cpu {count}x{n}", lambda c=count, n=n, s=sets: cpu_row("f1", c, n, s))
    # What "auto" has to choose from, without and with constraints.
    for metric in (mf.f1, mf.precision_at_recall(0.8)):
        for count, n in ((2, 8),) if quick else PATHS:
            for solver in ("fast", "device"):
                report.add(
                    f"loss {metric.name} {count}x{n} {solver}",
                    lambda v=solver, c=count, n=n, m=metric: loss_row(v, c, n, device, m),
                )
    for n, games in ((8, 1),) if quick else ((32, 4), (128, 2)):
        report.add(f"ap-perf {n}", lambda n=n, g=games: rival_row(n, g))


def machine(device: torch.device) -> dict[str, Any]:
    import os

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor()
    return {
        "processor": name,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "tol": TOLERANCE,
        "command": " ".join(["python", *sys.argv]),
    }


def look_for_faults(command: list[str]) -> None:
    """Run the first game again under the memory checker; the rest has to do without the kernel."""
    checker = ["compute-sanitizer", "--tool", "memcheck", *command, "--quick", "--only-first"]
    try:
        found = subprocess.run(checker, capture_output=True, text=True, check=False, timeout=60.0)
        print((found.stdout + found.stderr)[-4000:], flush=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"the memory checker did not finish: {error}", flush=True)


def run_stages(arguments: argparse.Namespace) -> None:
    """Start both programs, with the CPU solver compiling in the background of the first."""
    compiling = subprocess.Popen(
        [sys.executable, "-c", "import metricfit as mf; mf.solve(mf.f1, [0.1, -0.2])"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    begun = time.monotonic()
    merged: dict[str, Any] = {}
    for stage, share in (("device", 0.6), ("host", 1.0)):
        left = share * arguments.budget - (time.monotonic() - begun)
        part = arguments.out.with_suffix(f".{stage}.json")
        command = [sys.executable, __file__, "--stage", stage, "--out", str(part), "--budget", str(left)]
        command += ["--device", arguments.device, *(["--quick"] if arguments.quick else [])]
        command += ["--cubin", str(arguments.cubin)] if arguments.cubin else []
        if stage == "host":
            compiling.wait()
        try:
            subprocess.run(command, check=False, timeout=max(left + 15.0, 5.0))
        except subprocess.TimeoutExpired:
            print(f"{stage} was stopped: it ran out of time", flush=True)
        if part.exists():
            merged[stage] = json.loads(part.read_text())
            part.unlink()
        if stage == "device" and not isinstance(merged.get(stage, {}).get("first"), dict):
            look_for_faults(command)
            arguments.device = "cpu"
        arguments.out.write_text(
            json.dumps(machine(torch.device(arguments.device)) | merged, indent=1) + "\n"
        )
    print(f"wrote {arguments.out}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("benchmark-gpu.json"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--budget", type=float, default=600.0, help="seconds for everything")
    parser.add_argument("--cubin", type=Path, help="machine code to fall back on if compiling fails")
    parser.add_argument("--quick", action="store_true", help="tiny games, to try the program itself")
    parser.add_argument("--only-first", action="store_true", help="one game, of the stage `device`")
    parser.add_argument("--stage", choices=("device", "host"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage is None:
        run_stages(arguments)
        return
    device = torch.device(arguments.device)
    report = Report(arguments.out, time.monotonic() + arguments.budget)
    if arguments.stage == "device":
        device_stage(report, device, arguments.cubin, arguments.quick, arguments.only_first)
    else:
        host_stage(report, device, arguments.quick)


if __name__ == "__main__":
    main()
