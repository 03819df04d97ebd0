"""The games of a batch on the device that its logits are on, without a trip to the host.

All of it is queued on the device: the host reads no result, so nothing waits, and the loss can be captured
in a CUDA graph. What the host path refuses by an exception makes the loss NaN here: logits that are not
finite, targets other than 0 and 1, and constraints that cannot be met, unless such games are to be skipped.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from metricfit.game import InfeasibleConstraintsError, batch_rounding, constraint_rounding
from metricfit.game.tables import whole_tables
from metricfit.loss.ceiling import ceiling
from metricfit.loss.record import BatchSolution
from metricfit.loss.settings import Settings
from metricfit.metrics import Metric
from metricfit.solving import ConvergenceWarning, Solution
from metricfit.solving.device import Layout, SolvedGames, solve_games
from metricfit.solving.device.batch import INFEASIBLE, SOLVED
from metricfit.solving.solution import gap_text, has_converged

__all__ = ["DeviceOutcome", "play_on_device"]


@dataclass(frozen=True, eq=False)
class _Geometry:
    """What depends on the shape of a batch only; tensors are on its device."""

    layout: Layout
    cuts: tuple[int, ...]  # where the groups begin, and the number of rows
    factor: Tensor  # (n,) what a row's logits are multiplied with
    reach: Tensor  # (n,) scores are cut there
    items: Tensor  # (games, largest) where each game's items are; one beyond the last where it has none
    best: Tensor  # (games, largest + 1) the ceiling by the number of positives


def _ceilings(metric: Metric, n: int, largest: int) -> list[float]:
    """Return the ceiling by the number of positives; NaN where the constraints cannot be met."""
    found = []
    for positives in range(largest + 1):
        try:
            found.append(ceiling(metric, n, min(positives, n)))
        except InfeasibleConstraintsError:
            found.append(float("nan"))
    return found


@lru_cache(maxsize=64)
def _geometry(device: torch.device, settings: Settings, n: int, labels: int) -> _Geometry:
    groups = settings.group_count(n)
    cuts = tuple(-(-group * n // groups) for group in range(groups + 1))
    sizes = np.diff(cuts)
    largest = int(sizes.max())
    best = {size: _ceilings(settings.metric, size, largest) for size in set(sizes.tolist())}
    starts = tuple(label * n + cut for label in range(labels) for cut in cuts[:-1])
    places = np.arange(largest)
    items = [
        np.where(places < size, start + places, labels * n)
        for start, size in zip(starts, [*sizes] * labels, strict=True)
    ]
    return _Geometry(
        Layout(settings.metric, starts, tuple(sizes.tolist()) * labels),
        cuts,
        torch.from_numpy(np.repeat([settings.factor(int(size)) for size in sizes], sizes)).to(device),
        torch.from_numpy(
            np.repeat([whole_tables(settings.metric, int(size)).reach for size in sizes], sizes)
        ).to(device),
        torch.from_numpy(np.stack(items)).to(device),
        torch.tensor([best[size] for size in sizes.tolist()] * labels, dtype=torch.float64).to(device),
    )


@dataclass(frozen=True, eq=False)
class DeviceOutcome:
    """The games of a batch, as tensors that may not be there yet.

    Attributes
    ----------
    losses : Tensor, shape (groups, labels)
    slopes : Tensor, shape (n, labels)
        Derivative of each game's loss in its own logits.
    count : Tensor, shape ()
        How many games there are to average over.
    solved : SolvedGames
        The labels' games one after the other, each with its groups.
    scores, truth : Tensor, shape (labels, n)
    cuts : tuple of int
        Where the groups begin, and the number of rows.
    settings : Settings
    """

    losses: Tensor
    slopes: Tensor
    count: Tensor
    solved: SolvedGames
    scores: Tensor
    truth: Tensor
    cuts: tuple[int, ...]
    settings: Settings

    def record(self) -> BatchSolution:
        """Wait for the games and return their solutions; warns about those that missed the tolerance."""
        (labels, n), groups, cuts = self.scores.shape, len(self.cuts) - 1, self.cuts
        scores, truth = self.scores.cpu().numpy(), self.truth.cpu().numpy()
        bounds = self.solved.bounds.cpu().numpy().reshape(labels, groups, 2)
        report = self.solved.report.cpu().numpy().reshape(labels, groups, 2)
        adversary = self.solved.adversary.cpu().numpy().reshape(labels, n)
        predictor = self.solved.predictor.cpu().numpy().reshape(labels, n)
        multipliers = self.solved.multipliers.cpu().numpy().reshape(labels, groups, -1)
        solutions: list[Solution | None] = []
        for group in range(groups):
            rows = slice(cuts[group], cuts[group + 1])
            reach = whole_tables(self.settings.metric, cuts[group + 1] - cuts[group]).reach
            for label in range(labels):
                if self.settings.infeasible == "skip" and report[label, group, 0] == INFEASIBLE:
                    solutions.append(None)
                    continue
                lower, upper = bounds[label, group].tolist()
                rounding = batch_rounding(self.settings.metric, scores[label, rows][None])[0]
                if self.settings.metric.constraints and np.isfinite(upper):
                    positives = int(truth[label, rows].sum())
                    upper += constraint_rounding(
                        self.settings.metric, rows.stop - rows.start, positives, multipliers[label, group]
                    )
                upper += rounding
                gap = upper + rounding - lower
                excess = np.maximum(scores[label, rows] - reach, 0.0).sum()
                solutions.append(
                    Solution(
                        value=upper - float(excess),
                        gap=gap,
                        adversary=adversary[label, rows],
                        predictor=predictor[label, rows],
                        multipliers=multipliers[label, group],
                        iterations=int(report[label, group, 1]),
                        solver="device",
                        # A negative gap is a contradiction beyond rounding.
                        converged=int(report[label, group, 0]) == SOLVED
                        and has_converged(gap, self.settings.tol),
                    )
                )
        missed = [solution.gap for solution in solutions if solution and not solution.converged]
        if missed:
            widest = gap_text(float(np.max(missed)), self.settings.tol)
            warnings.warn(
                f"{len(missed)} of {len(solutions)} games on the device were not solved to "
                f"tol={self.settings.tol:g}; the largest gap is {widest}, where NaN stands for "
                "logits that are not finite, targets other than 0 and 1, or constraints that cannot be met",
                ConvergenceWarning,
                stacklevel=2,
            )
        return BatchSolution(tuple(solutions), float("nan"))


def play_on_device(logits: Tensor, targets: Tensor, settings: Settings) -> DeviceOutcome:
    """Solve one game per group and label on the device of the logits.

    Parameters
    ----------
    logits, targets : Tensor, shape (n,) or (n, labels)
    settings : Settings
        What to solve, without `ignore_index` and `gather`.

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
    solved = solve_games(geometry.layout, scores.view(-1), settings.tol, targets=truth)
    losses, slopes = _losses_and_slopes(geometry, solved, scores, truth)
    count = torch.full((), losses.numel(), device=losses.device)
    if settings.infeasible == "skip":
        skipped = solved.report[:, 0] == INFEASIBLE
        losses = torch.where(skipped, 0.0, losses)
        padded = slopes.new_zeros(slopes.numel() + 1)
        padded[geometry.items] = skipped.double()[:, None]
        slopes = torch.where(padded[:-1] > 0.0, 0.0, slopes)
        count = (~skipped).sum().clamp(min=1)
    slopes = slopes.view(labels, n) * geometry.factor
    return DeviceOutcome(
        losses.view(labels, -1).t(), slopes.t(), count, solved, scores, truth, geometry.cuts, settings
    )


def _losses_and_slopes(
    geometry: _Geometry, solved: SolvedGames, scores: Tensor, truth: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the loss of each game and its derivative in every score; see `metricfit.loss.arithmetic`."""
    # A score that is cut belongs to an item that the adversary surely includes, or surely does not.
    cut = scores.clamp(-geometry.reach, geometry.reach)
    valid = (truth == 0.0) | (truth == 1.0)
    slopes = torch.where(valid, solved.adversary.view_as(truth) - truth, torch.nan)

    def by_game(values: Tensor) -> Tensor:
        # Sums in a fixed order: adding to a place per game would change from run to run.
        return torch.cat((values.reshape(-1), values.new_zeros(1)))[geometry.items].sum(1)

    positives = by_game((truth == 1.0).double()).long()
    best = geometry.best.gather(1, positives[:, None])[:, 0]
    losses = (best - solved.bounds[:, 1] - by_game(truth * cut)).clamp(min=0.0)
    return losses + by_game(slopes * (scores - cut)), slopes.reshape(-1)
