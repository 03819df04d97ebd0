"""The games of a batch on the device that its logits are on, without a trip to the host.

All of it is queued on the device: no result is looked at, so that nothing waits, and the loss can be captured
in a CUDA graph. What the host path refuses by an exception makes the loss NaN here: logits that are not
finite, and targets other than 0 and 1.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from metricfit.loss.ceiling import ceiling
from metricfit.loss.record import BatchSolution
from metricfit.loss.settings import Settings
from metricfit.solvers import ConvergenceWarning, Solution
from metricfit.solvers.device import Layout, PlayedGames, solve_games
from metricfit.solvers.fast.restriction import whole_tables

__all__ = ["DeviceOutcome", "play_on_device"]


@dataclass(frozen=True, eq=False)
class _Geometry:
    """What depends on the shape of a batch only, kept on its device."""

    layout: Layout
    factor: Tensor  # (n,) what a row's logits are multiplied with
    reach: Tensor  # (n,) where its scores are cut
    rows: Tensor  # (groups, largest) the rows of each group; short groups repeat their last one
    taking_part: Tensor  # (groups, largest) 1, or 0 for a row that is repeated
    best: Tensor  # (groups, largest + 1) the ceiling by the number of positives


@lru_cache(maxsize=64)
def _geometry(device: torch.device, settings: Settings, n: int, labels: int) -> _Geometry:
    groups = settings.group_count(n)
    cuts = [-(-group * n // groups) for group in range(groups + 1)]
    sizes = np.diff(cuts)
    largest = int(sizes.max())
    metric = settings.metric
    starts = tuple(label * n + cut for label in range(labels) for cut in cuts[:-1])
    within = np.minimum(np.arange(largest), sizes[:, None] - 1)
    best = {
        size: [ceiling(metric, size, min(positives, size)) for positives in range(largest + 1)]
        for size in set(sizes.tolist())
    }
    reach = {size: whole_tables(metric, size)[0].reach for size in best}

    def placed(values: object) -> Tensor:
        return torch.from_numpy(np.asarray(values)).to(device)

    return _Geometry(
        Layout(metric, starts, tuple(sizes.tolist()) * labels),
        placed(np.repeat([settings.factor(int(size)) for size in sizes], sizes)),
        placed(np.repeat([reach[size] for size in sizes.tolist()], sizes)),
        placed(np.array(cuts[:-1])[:, None] + within),
        placed((np.arange(largest) < sizes[:, None]).astype(np.float64)),
        placed(np.array([best[size] for size in sizes.tolist()])),
    )


@dataclass(frozen=True, eq=False)
class DeviceOutcome:
    """The games of a batch, as tensors that may not be there yet.

    Attributes
    ----------
    losses : Tensor, shape (groups, labels)
    slopes : Tensor, shape (n, labels)
        Derivative of each game's loss in its own logits.
    played : PlayedGames
        The labels' games one after the other, each with its groups.
    shifts : Tensor, shape (labels, groups)
        What cutting the scores took from the value of each game.
    settings : Settings
    """

    losses: Tensor
    slopes: Tensor
    played: PlayedGames
    shifts: Tensor
    settings: Settings

    def record(self) -> BatchSolution:
        """Wait for the games and return their solutions; warns about those that missed the tolerance."""
        labels, groups = self.shifts.shape
        n = self.slopes.shape[0]
        cuts = [-(-group * n // groups) for group in range(groups + 1)]
        bounds = self.played.bounds.cpu().numpy().reshape(labels, groups, 2)
        report = self.played.report.cpu().numpy().reshape(labels, groups, 2)
        shifts = self.shifts.cpu().numpy()
        adversary = self.played.adversary.cpu().numpy().reshape(labels, n)
        predictor = self.played.predictor.cpu().numpy().reshape(labels, n)
        solutions = []
        for group in range(groups):
            rows = slice(cuts[group], cuts[group + 1])
            for label in range(labels):
                lower, upper = bounds[label, group].tolist()
                gap = upper - lower
                solutions.append(
                    Solution(
                        value=upper - float(shifts[label, group]),
                        gap=gap if np.isnan(gap) else max(gap, 0.0),
                        adversary=adversary[label, rows],
                        predictor=predictor[label, rows],
                        multipliers=np.zeros(0),
                        iterations=int(report[label, group, 1]),
                        solver="device",
                        converged=int(report[label, group, 0]) == 0,
                    )
                )
        missed = [solution.gap for solution in solutions if not solution.converged]
        if missed:
            warnings.warn(
                f"{len(missed)} of {len(solutions)} games on the device were not solved to "
                f"tol={self.settings.tol:g}; the largest gap is {np.max(missed):.2g}, where NaN stands for "
                "logits that are not finite",
                ConvergenceWarning,
                stacklevel=2,
            )
        return BatchSolution(tuple(solutions), float("nan"))


def play_on_device(logits: Tensor, targets: Tensor, settings: Settings) -> DeviceOutcome:
    """Play one game per group and label on the device of the logits.

    Parameters
    ----------
    logits, targets : Tensor, shape (n,) or (n, labels)
    settings : Settings
        How to play; without constraints, `ignore_index` and `gather`.

    Examples
    --------
    >>> import metricfit as mf
    >>> outcome = play_on_device(torch.tensor([5.0, -5.0]), torch.tensor([1, 0]), Settings(mf.accuracy))
    >>> outcome.losses, outcome.slopes.ravel()
    (tensor([[0.]], dtype=torch.float64), tensor([0., 0.], dtype=torch.float64))
    """
    n = logits.shape[0]
    if n == 0 or logits.numel() == 0:
        raise ValueError(
            f"a batch of shape {tuple(logits.shape)} has no loss; leave empty batches out, or use "
            "drop_last=True in the DataLoader"
        )
    labels = logits.shape[1] if logits.dim() == 2 else 1
    geometry = _geometry(logits.device, settings, n, labels)
    truth = targets.detach().reshape(n, labels).t().double()
    scores = (logits.detach().reshape(n, labels).t().double() * geometry.factor).contiguous()
    played = solve_games(geometry.layout, scores.view(-1), settings.tol)
    kept = torch.minimum(torch.maximum(scores, -geometry.reach), geometry.reach)
    excess = scores - kept
    slope = played.adversary.view(labels, n) - truth
    slope = torch.where(truth * (truth - 1.0) == 0.0, slope, torch.nan)
    # What was cut off belongs to items that the adversary surely includes, or surely does not.
    items = torch.where(excess == 0.0, -truth * kept, slope * excess - truth * kept)

    def per_game(values: Tensor) -> Tensor:
        return (values[:, geometry.rows] * geometry.taking_part).sum(-1)

    groups = geometry.rows.shape[0]
    positives = per_game(truth).nan_to_num(0.0).long().clamp(0, geometry.best.shape[1] - 1)
    best = geometry.best.expand(labels, -1, -1).gather(2, positives.unsqueeze(2)).squeeze(2)
    upper = played.bounds[:, 1].view(labels, groups)
    # The value is an upper bound of the game, so rounding and the gap may take this below zero.
    losses = (best - upper + per_game(items)).clamp(min=0.0)
    losses = losses + 0.0 * per_game(slope)  # NaN for targets that are neither 0 nor 1
    slopes = (slope * geometry.factor).t()
    return DeviceOutcome(losses.t(), slopes, played, per_game(excess.clamp(min=0.0)), settings)
