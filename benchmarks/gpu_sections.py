"""The measurements of `gpu.py`: each takes games, runs something, and returns its results."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recorded import recorded_games
from torch import Tensor, nn

import metricfit as mf
from metricfit.solving.device import Layout, SolvedGames, solve_games

TOLERANCE = 1e-4


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


def reported(played: SolvedGames) -> dict[str, Any]:
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

        def run(layout: Layout = layout, scores: Tensor = scores) -> SolvedGames:
            return solve_games(layout, scores, TOLERANCE, threads=threads)

        medians.append(statistics.median(timed(run, device, 3 if n > 500 else 7)))
        found.append(reported(run()))
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
    from metricfit.solving.device import cuda

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
    return {**reported(played), "bounds": played.bounds.cpu().tolist()}


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
    from metricfit.game.tables import whole_tables

    reach = whole_tables(layout.metric, n).reach
    rows = scores.cpu().numpy().reshape(count, n)
    bounds = played.bounds.cpu().numpy() - np.maximum(rows - reach, 0.0).sum(axis=1)[:, None]
    adversary = played.adversary.cpu().numpy().reshape(count, n)
    lower, upper = (np.array([getattr(s, key) for s in host]) for key in ("lower", "value"))
    off = [float(np.abs(adversary[g] - host[g].adversary).max()) for g in range(count)]
    return {
        **reported(played),
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
