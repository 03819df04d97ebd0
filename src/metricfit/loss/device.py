"""The games of a batch on the device that its logits are on, without a trip to the host.

All of it is queued on the device: the host reads no result, so nothing waits, and the loss can be captured
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

from metricfit.game import batch_rounding
from metricfit.game.tables import whole_tables
from metricfit.loss.ceiling import ceiling
from metricfit.loss.record import BatchSolution
from metricfit.loss.settings import Settings
from metricfit.solving import ConvergenceWarning, Solution
from metricfit.solving.device import Layout, PlayedGames, solve_games
from metricfit.solving.solution import gap_text, has_converged

__all__ = ["DeviceOutcome", "play_on_device"]


@dataclass(frozen=True, eq=False)
class _Geometry:
    """What depends on the shape of a batch only; tensors are on its device."""

    layout: Layout
    cuts: tuple[int, ...]  # where the groups begin, and the number of rows
    factor: Tensor  # (n,) what a row's logits are multiplied with
    best: Tensor  # (labels * groups, largest + 1) the ceiling by the number of positives


@lru_cache(maxsize=64)
def _geometry(device: torch.device, settings: Settings, n: int, labels: int) -> _Geometry:
    groups = settings.group_count(n)
    cuts = tuple(-(-group * n // groups) for group in range(groups + 1))
    sizes = np.diff(cuts)
    largest = int(sizes.max())
    best = {
        size: [ceiling(settings.metric, size, min(positives, size)) for positives in range(largest + 1)]
        for size in set(sizes.tolist())
    }
    starts = tuple(label * n + cut for label in range(labels) for cut in cuts[:-1])
    factor = np.repeat([settings.factor(int(size)) for size in sizes], sizes)
    ceilings = np.array([best[size] for size in sizes.tolist()] * labels)
    return _Geometry(
        Layout(settings.metric, starts, tuple(sizes.tolist()) * labels),
        cuts,
        torch.from_numpy(factor).to(device),
        torch.from_numpy(ceilings).to(device),
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
    scores : Tensor, shape (labels, n)
    cuts : tuple of int
        Where the groups begin, and the number of rows.
    settings : Settings
    """

    losses: Tensor
    slopes: Tensor
    played: PlayedGames
    scores: Tensor
    cuts: tuple[int, ...]
    settings: Settings

    def record(self) -> BatchSolution:
        """Wait for the games and return their solutions; warns about those that missed the tolerance."""
        (labels, n), groups, cuts = self.scores.shape, len(self.cuts) - 1, self.cuts
        scores = self.scores.cpu().numpy()
        bounds = self.played.bounds.cpu().numpy().reshape(labels, groups, 2)
        report = self.played.report.cpu().numpy().reshape(labels, groups, 2)
        adversary = self.played.adversary.cpu().numpy().reshape(labels, n)
        predictor = self.played.predictor.cpu().numpy().reshape(labels, n)
        solutions = []
        for group in range(groups):
            rows = slice(cuts[group], cuts[group + 1])
            reach = whole_tables(self.settings.metric, cuts[group + 1] - cuts[group]).reach
            for label in range(labels):
                lower, upper = bounds[label, group].tolist()
                rounding = batch_rounding(self.settings.metric, scores[label, rows][None])[0]
                upper += rounding
                gap = upper + rounding - lower
                excess = np.maximum(scores[label, rows] - reach, 0.0).sum()
                solutions.append(
                    Solution(
                        value=upper - float(excess),
                        gap=gap,
                        adversary=adversary[label, rows],
                        predictor=predictor[label, rows],
                        multipliers=np.zeros(0),
                        iterations=int(report[label, group, 1]),
                        solver="device",
                        # A negative gap is a contradiction beyond rounding.
                        converged=int(report[label, group, 0]) == 0 and has_converged(gap, self.settings.tol),
                    )
                )
        missed = [solution.gap for solution in solutions if not solution.converged]
        if missed:
            widest = gap_text(float(np.max(missed)), self.settings.tol)
            warnings.warn(
                f"{len(missed)} of {len(solutions)} games on the device were not solved to "
                f"tol={self.settings.tol:g}; the largest gap is {widest}, where NaN stands for "
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
    scores = (logits.detach().reshape(n, labels).t() * geometry.factor).contiguous()
    truth = targets.detach().reshape(n, labels).t().double().contiguous()
    played = solve_games(geometry.layout, scores.view(-1), settings.tol, targets=truth, best=geometry.best)
    slopes = played.slopes.view(labels, n) * geometry.factor
    return DeviceOutcome(
        played.losses.view(labels, -1).t(), slopes.t(), played, scores, geometry.cuts, settings
    )
