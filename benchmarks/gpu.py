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
import statistics
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recorded import METRICS, recorded_games
from torch import Tensor, nn

import metricfit as mf
from metricfit.solvers.device import Layout, PlayedGames, solve_games

TOLERANCE = 1e-4
# The table: games at a time, items, sets of games that are timed in turn.
CASES = ((256, 32, 1), (1, 128, 16), (64, 128, 4), (1, 1024, 4))
THREADS = {32: (128, 192, 256, 384), 128: (192, 256, 384), 1024: (256, 384)}
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


def timed(run: Callable[[], Any], device: torch.device, repeats: int) -> list[float]:
    """Milliseconds of each run, by the device's clock, after one that is not counted."""
    run()
    times = []
    for _ in range(repeats):
        if device.type == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        else:
            started = time.perf_counter()
            run()
            times.append(1e3 * (time.perf_counter() - started))
    return times


def batch(name: str, n: int, count: int, device: torch.device, skip: int = 0) -> tuple[Layout, Tensor]:
    games = list(recorded_games(name, n, count + skip))[skip:]
    scores = torch.from_numpy(np.concatenate([game.scores for game in games]))
    return Layout(mf.get_metric(name), tuple(range(0, n * count, n)), (n,) * count), scores.to(device)


def rounded(value: float) -> float:
    return float(f"{value:.3g}")


def told(played: PlayedGames) -> dict[str, Any]:
    bounds, report = played.bounds.cpu().numpy(), played.report.cpu().numpy()
    return {
        "missed": int((report[:, 0] != 0).sum()),
        "largest_gap": rounded((bounds[:, 1] - bounds[:, 0]).max()),
        "median_steps": float(np.median(report[:, 1])),
        "most_steps": int(report[:, 1].max()),
    }


def kernel_row(
    name: str, count: int, n: int, sets: int, device: torch.device, threads: int | None
) -> dict[str, Any]:
    """Time the kernel alone on one set of games, or the median over several sets."""
    medians, found = [], []
    for number in range(sets):
        layout, scores = batch(name, n, count, device, number * count)

        def run(layout: Layout = layout, scores: Tensor = scores) -> PlayedGames:
            return solve_games(layout, scores, TOLERANCE, threads=threads)

        medians.append(statistics.median(timed(run, device, 3 if n > 500 else 7)))
        found.append(told(run()))
    return {
        "games": count,
        "n": n,
        "metric": name,
        "threads": threads,
        "ms": round(statistics.median(medians), 3),
        "slowest_ms": round(max(medians), 3),
        "missed": sum(row["missed"] for row in found),
        "largest_gap": max(row["largest_gap"] for row in found),
        "median_steps": statistics.median(row["median_steps"] for row in found),
        "most_steps": max(row["most_steps"] for row in found),
    }


def compile_section(cubin: Path | None) -> dict[str, Any]:
    """Compile and load the kernel; `cubin` stands in, if that fails."""
    from metricfit.solvers.device import cuda

    started = time.monotonic()
    try:
        cuda.kernel(0)
        how = "NVRTC or cache"
    except (RuntimeError, OSError) as error:
        if cubin is None:
            raise
        program = cubin.read_bytes()
        cuda.compile_kernel = lambda architecture: program  # type: ignore[assignment]
        cuda.kernel(0)
        how = f"the file, because {str(error)[:300]}"
    return {"seconds": round(time.monotonic() - started, 2), "by": how}


def first_section(device: torch.device) -> dict[str, Any]:
    layout, scores = batch("f1", 8, 2, device)
    played = solve_games(layout, scores, TOLERANCE)
    return {**told(played), "bounds": played.bounds.cpu().tolist()}


def a_batch(n: int, labels: int, device: torch.device, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    targets = (torch.rand(n, labels, generator=generator) < 0.3).float()
    logits = 2.0 * targets - 1.0 + torch.randn(n, labels, generator=generator)
    return logits.to(device).requires_grad_(), targets.to(device)


def sync_section(device: torch.device) -> str:
    """Forward and backward of the loss, with every synchronisation an error."""
    logits, targets = a_batch(128, 2, device)
    loss = mf.MetricLoss(mf.f1, solver="device")
    loss(logits, targets).backward()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            loss(logits, targets).backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return "no synchronisation in forward and backward"


def graph_section(device: torch.device) -> dict[str, Any]:
    """Capture forward and backward, replay on other logits, and compare with a plain call."""
    logits, targets = a_batch(128, 1, device)
    others, other_targets = a_batch(128, 1, device, seed=1)
    loss = mf.MetricLoss(mf.f1, solver="device")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            torch.autograd.grad(loss(logits, targets), logits)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = loss(logits, targets)
        (slope,) = torch.autograd.grad(value, logits)
    with torch.no_grad():
        logits.copy_(others)
        targets.copy_(other_targets)
    graph.replay()
    torch.cuda.synchronize()
    expected = loss(others, other_targets)
    (expected_slope,) = torch.autograd.grad(expected, others)
    return {
        "loss_difference": abs(value.item() - expected.item()),
        "slope_difference": float((slope - expected_slope).abs().max()),
        "replay_ms": round(statistics.median(timed(graph.replay, device, 20)), 3),
    }


def agreement(name: str, n: int, count: int, device: torch.device) -> dict[str, Any]:
    """Bounds of the device against those of the CPU solver: both hold the same value."""
    layout, scores = batch(name, n, count, device)
    played = solve_games(layout, scores, TOLERANCE)
    host = mf.solve_many(layout.metric, scores.cpu().numpy().reshape(count, n), tol=TOLERANCE)
    from metricfit.solvers.fast.restriction import whole_tables

    reach = whole_tables(layout.metric, n)[0].reach
    rows = scores.cpu().numpy().reshape(count, n)
    bounds = played.bounds.cpu().numpy() - np.maximum(rows - reach, 0.0).sum(axis=1)[:, None]
    adversary = played.adversary.cpu().numpy().reshape(count, n)
    lower, upper = (np.array([getattr(s, key) for s in host]) for key in ("lower", "value"))
    off = [float(np.abs(adversary[g] - host[g].adversary).max()) for g in range(count)]
    return {
        **told(played),
        "games": count,
        "value_off": rounded(np.abs(bounds[:, 1] - upper).max()),
        "inconsistent": int(((bounds[:, 1] < lower - 1e-9) | (bounds[:, 0] > upper + 1e-9)).sum()),
        "median_q_off": rounded(np.median(off)),
        "p90_q_off": rounded(np.quantile(off, 0.9)),
    }


def cpu_row(name: str, count: int, n: int, sets: int) -> dict[str, Any]:
    """Wall time of the CPU solver on all cores and on one."""
    row: dict[str, Any] = {"games": count, "n": n, "metric": name}
    times: dict[str, list[float]] = {"all_cores_ms": [], "one_core_ms": []}
    for number in range(sets):
        layout, scores = batch(name, n, count, torch.device("cpu"), number * count)
        rows = scores.numpy().reshape(count, n)
        for key, threads in (("all_cores_ms", None), ("one_core_ms", 1)):
            mf.solve_many(layout.metric, rows[:1], tol=TOLERANCE)
            started = time.perf_counter()
            mf.solve_many(layout.metric, rows, tol=TOLERANCE, threads=threads)
            times[key].append(1e3 * (time.perf_counter() - started))
    return row | {key: round(statistics.median(seen), 3) for key, seen in times.items()}


def loss_row(
    solver: str, count: int, n: int, device: torch.device, metric: mf.Metric = mf.f1
) -> dict[str, Any]:
    """Forward and backward of the loss of `count` labels, by one path, on scores recorded for F1."""
    games = list(recorded_games("f1", n, count))
    columns = np.stack([game.scores for game in games], axis=1)
    logits = torch.from_numpy(columns).float().to(device).requires_grad_()
    targets = torch.from_numpy(np.stack([game.labels for game in games], axis=1)).to(device)
    loss = mf.MetricLoss(metric, scale="batch", group_size=None, solver=solver)

    def run() -> None:
        torch.autograd.grad(loss(logits, targets), logits)

    return {
        "games": count,
        "n": n,
        "metric": metric.name,
        "solver": solver,
        "ms": round(statistics.median(timed(run, device, 5 if n > 500 else 9)), 3),
    }


def rival_row(n: int, games: int) -> dict[str, Any]:
    """One game after the other by ap-perf, 100 iterations, on one core."""
    from ap_perf import common_metrics

    recorded = list(recorded_games("f1", n, games + 1))
    times = []
    for game in recorded:
        started = time.perf_counter()
        common_metrics.f1_score.objective(game.scores, game.labels, max_iter=100)
        times.append(1e3 * (time.perf_counter() - started))
    return {"n": n, "ms_per_game": round(statistics.median(times[1:]), 1)}


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 64),
        nn.ReLU(),
        nn.Linear(64, 1),
        nn.Flatten(0),
    )


def training_section(device: torch.device, steps: int) -> dict[str, Any]:
    """A step of a small network, batch 128 of 28 x 28 images, Adam; timed ten at a time, relative to BCE."""
    generator = torch.Generator().manual_seed(0)
    targets = (torch.rand(16, 128, generator=generator) < 0.2).float()
    pattern = torch.randn(28, 28, generator=generator)
    images = (
        torch.randn(16, 128, 1, 28, 28, generator=generator) + 0.1 * targets[..., None, None, None] * pattern
    )
    images, targets = images.to(device), targets.to(device)
    losses: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "bce": nn.BCEWithLogitsLoss(),
        "device, 4 games of 32": mf.MetricLoss(mf.f1, solver="device"),
        "device, 1 game of 128": mf.MetricLoss(mf.f1, solver="device", group_size=None),
        "host, 4 games of 32": mf.MetricLoss(mf.f1, solver="fast"),
        "host, 1 game of 128": mf.MetricLoss(mf.f1, solver="fast", group_size=None),
    }
    medians: dict[str, float] = {}
    for name, loss in losses.items():
        model = network().to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        turn = 0

        def step(
            model: nn.Module = model,
            loss: Callable[[Tensor, Tensor], Tensor] = loss,
            optimizer: torch.optim.Optimizer = optimizer,
        ) -> None:
            nonlocal turn
            for _ in range(10):
                optimizer.zero_grad()
                loss(model(images[turn % 16]), targets[turn % 16]).backward()
                optimizer.step()
                turn += 1

        medians[name] = statistics.median(timed(step, device, steps)) / 10.0
    return {
        name: {"ms": round(ms, 3), "to_bce": round(ms / medians["bce"], 2)} for name, ms in medians.items()
    }


def precision_section(device: torch.device) -> dict[str, Any]:
    """Autocast and torch.compile give the loss of a plain call."""
    logits, targets = a_batch(96, 1, device)
    loss = mf.MetricLoss(mf.f1, solver="device")
    plain = loss(logits, targets)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        mixed = loss(logits.bfloat16(), targets)
    compiled = torch.compile(lambda x, y: loss(x, y), backend="aot_eager", fullgraph=True)
    return {
        "autocast_difference": abs(mixed.item() - plain.item()),
        "autocast_dtype": str(mixed.dtype),
        "compiled_difference": abs(compiled(logits, targets).item() - plain.item()),
    }


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
        for threads in THREADS.get(n, (1, 3)):
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
        for solver in ("fast", "device"):
            report.add(f"loss {count}x{n} {solver}", lambda v=solver, c=count, n=n: loss_row(v, c, n, device))
    # What the device does not play is played on the host.
    constrained = mf.precision_at_recall(0.8)
    for count, n in ((2, 8),) if quick else ((64, 32), (64, 128)):
        report.add(
            f"loss {count}x{n} constrained", lambda c=count, n=n: loss_row("auto", c, n, device, constrained)
        )
    if not quick:
        report.add("loss 1x4096 auto", lambda: loss_row("auto", 1, 4096, device))
    for n, games in ((8, 1),) if quick else ((32, 4), (128, 2)):
        report.add(f"ap-perf {n}", lambda n=n, g=games: rival_row(n, g))


def machine(device: torch.device) -> dict[str, Any]:
    import os

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor()
    return {
        "device": name,
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
