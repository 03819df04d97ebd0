"""The solver for devices by its name, for games on the host."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from metricfit.game import Game, Payoff, constraint_rounding
from metricfit.game.tables import whole_tables
from metricfit.metrics import Metric
from metricfit.solving.device.batch import SOLVED, solve_games
from metricfit.solving.device.tables import MOST_ITEMS, Layout
from metricfit.solving.fast import solve_fast
from metricfit.solving.solution import Answer

__all__ = ["judge_device", "solve_device"]

Floats = NDArray[np.float64]


def judge_device(
    metric: Payoff, scores: Floats, labels: NDArray[np.bool_], tol: float, *, max_iter: int = 150
) -> tuple[Floats, Floats, Floats]:
    """Solve a batch on the GPU if there is one, otherwise by the same program on the CPU.

    Nothing is proved of games of more than `MOST_ITEMS` items, of those with constraints and other payoffs
    than the metric's, and of those that were not solved to the tolerance. Parameters and results are those
    of `find_judge`.

    Examples
    --------
    >>> import metricfit as mf
    >>> rows = np.array([[0.5, -0.5], [2.0, 0.5]])
    >>> inclusion, verdict, multipliers = judge_device(mf.accuracy, rows, rows > 0, 1e-4)
    >>> verdict[:, 0].round(2), bool(verdict[:, 1].max() <= 1e-4)
    (array([ 0.5, -1.5]), True)
    """
    games, n = scores.shape
    verdict, inclusion = np.full((games, 3), np.inf), np.empty((games, 2, n))
    multipliers = np.zeros((games, len(metric.constraints)))
    if n > MOST_ITEMS or (metric.constraints and not isinstance(metric, Metric)):
        return inclusion, verdict, multipliers
    device = (
        torch.device("cuda", torch.cuda.current_device())
        if torch.cuda.is_available()
        else torch.device("cpu")
    )
    layout = Layout(metric, tuple(range(0, games * n, n)), (n,) * games)
    on_device = torch.tensor(scores.ravel(), device=device)
    targets = torch.tensor(labels.ravel(), dtype=torch.float64, device=device) if metric.constraints else None
    found = solve_games(layout, on_device, tol, targets=targets, max_iter=max_iter)
    bounds, report = found.bounds.cpu().numpy(), found.report.cpu().numpy()
    excess = np.maximum(scores - whole_tables(metric, n).reach, 0.0).sum(axis=1)
    solved = report[:, 0] == SOLVED
    verdict[:, 2] = report[:, 1]
    verdict[solved, 0] = bounds[solved, 1] - excess[solved]
    verdict[solved, 1] = np.maximum(bounds[solved, 1] - bounds[solved, 0], 0.0)
    inclusion[:, 0] = found.adversary.cpu().numpy().reshape(games, n)
    inclusion[:, 1] = found.predictor.cpu().numpy().reshape(games, n)
    multipliers[solved] = found.multipliers.cpu().numpy()[solved]
    if isinstance(metric, Metric) and metric.constraints:
        for game in np.flatnonzero(solved):
            verdict[game, :2] += constraint_rounding(metric, n, int(labels[game].sum()), multipliers[game])
    return inclusion, verdict, multipliers


def solve_device(game: Game, tol: float, *, max_iter: int = 150) -> Answer:
    """Solve a game that the device could not, by the fast solver on the host.

    Parameters
    ----------
    game : Game
    tol : float
        Gap to reach.
    max_iter : int
        Newton steps of the first attempt.
    """
    answer = solve_fast(game, tol, max_iter=max_iter)
    return replace(answer, note=answer.note or "the device did not solve it, and the host did")
