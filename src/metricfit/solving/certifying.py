"""From a metric and scores to a certified solution."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.game import (
    TABLE_LIMIT,
    Game,
    as_numbers,
    batch_rounding,
    checked_input,
    checked_size_scores,
    extent,
    inclusion_in_order,
    make_game,
    sized,
)
from metricfit.metrics import Metric, get_metric
from metricfit.solving.certificate import (
    Certificate,
    better_of,
    certificate,
    plain_answer,
    with_fitted_multipliers,
)
from metricfit.solving.registry import DEFAULT, LAST_RESORT, check_options, find_judge, find_solver, resolve
from metricfit.solving.solution import (
    Answer,
    Certified,
    ConvergenceWarning,
    Solution,
    gap_text,
    has_converged,
)

__all__ = ["certified", "certify", "solve", "solve_many"]

Floats = NDArray[np.float64]


def solve(
    metric: Metric | str,
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    size_scores: ArrayLike | None = None,
    solver: str = "auto",
    tol: float = 1e-4,
    **options: object,
) -> Solution:
    r"""Solve the game between predictor and adversary for one batch of scores.

    .. math:: v(\psi, \varphi) = \min_Q \max_P E[\mathrm{metric}(S, T)] - \sum_i q_i \psi_i
              - \sum_l s_l \varphi_l, \qquad S \sim P, \; T \sim Q, \; q_i = Q(i \in T), \; s_l = Q(|T| = l)

    with `P` limited to those that meet the metric's constraints on the labels, each within a tolerance of
    1e-9 for rounding. Without scores of sizes, :math:`\varphi` is zero.

    Parameters
    ----------
    metric : Metric or str
        The metric, or its name or formula, with its constraints.
    scores : array_like, shape (n,) or (n, n + 1)
        The scores psi, one per item, which the adversary earns. For a model they are its logits times a
        scale, divided by n. With two dimensions ("exact-lp", up to 100 items) they also depend on the number
        of actual positives: ``scores[i, l]`` counts if item `i` is one of `l`.
    labels : array_like of 0 and 1, shape (n,), optional
        The true labels; only constraints need them.
    size_scores : array_like, shape (n + 1,), optional
        The scores phi, one per number of actual positives, which the adversary earns as well.
    solver : str
        One of `solvers()`.
    tol : float
        The largest certified gap that is accepted without a warning.
    **options
        Options of the solver, for instance ``rho`` and ``max_iter`` of "admm".

    Returns
    -------
    Solution
        Its bounds are valid, whatever the solver did.

    Warns
    -----
    ConvergenceWarning
        If the gap is larger than `tol`.

    Examples
    --------
    >>> import metricfit as mf
    >>> sol = mf.solve(mf.accuracy, [0.5, -0.5, 0.0], solver="exact-lp")
    >>> round(sol.value, 4)
    0.3333
    >>> abs(sol.adversary.round(4))
    array([1. , 0. , 0.5])

    That no item is positive is nearly certain:

    >>> none = mf.solve(mf.f1, [0.1, 0.2], size_scores=[3.0, 0.0, 0.0])
    >>> none.adversary.round(4)
    array([0., 0.])
    """
    metric = get_metric(metric)
    # Only if asked for: otherwise scores of two dimensions are a mistake.
    if solver == "exact-lp" and (full := as_numbers(scores, "scores")).ndim == 2:
        _, tol = _checked_request(solver, tol, options)
        # It imports SciPy, which the other solvers do without.
        from metricfit.solving.full_scores import solve_full_scores

        return solve_full_scores(metric, full, size_scores, tol)
    values, positive = checked_input(metric, scores, labels)
    sizes = None if size_scores is None else [checked_size_scores(size_scores, values.size)[None]]
    (found,) = certify(metric, [values[None]], [positive[None]], solver, tol, options, size_scores=sizes)
    (solution,), (note,) = found.solutions(), found.notes
    if not solution.converged:
        reason = f" ({note})" if note else ""
        warnings.warn(
            f"solver {solution.solver!r} stopped with a gap of {gap_text(solution.gap, tol)}, more than "
            f"tol={tol:g}{reason}; the value lies between {solution.lower:.6g} and {solution.value:.6g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solution


THREADED_WORK = 6_000
"""Sum of squared numbers of items from which a batch of games is worth threads."""

LAST_RESORT_ITEMS = 40
"""Up to this many items the linear program is tried where the default solver misses the tolerance."""


def solve_many(
    metric: Metric | str,
    scores: Sequence[ArrayLike] | NDArray[np.float64],
    labels: Sequence[ArrayLike] | NDArray[np.float64] | None = None,
    *,
    size_scores: Sequence[ArrayLike] | NDArray[np.float64] | None = None,
    solver: str = "auto",
    tol: float = 1e-4,
    threads: int | None = None,
    **options: object,
) -> list[Solution]:
    """Solve several games of one metric, in threads.

    Parameters
    ----------
    metric, solver, tol, **options
        As for `solve`.
    scores : sequence of array_like, or array of shape (games, n)
        One set of scores per game; they may differ in length.
    labels : sequence of array_like, or array of shape (games, n), optional
        One set of labels per game.
    size_scores : sequence of array_like, or array of shape (games, n + 1), optional
        One set of scores of the sizes per game.
    threads : int, optional
        By default as many as there are processors, or one if the games are few and small.

    Warns
    -----
    ConvergenceWarning
        Once, if some gaps are larger than `tol`.

    Examples
    --------
    >>> import metricfit as mf
    >>> first, second = mf.solve_many(mf.f1, [[0.1, 0.2], [0.3, -0.1, 0.0]], solver="exact-lp")
    >>> first.adversary.shape, second.adversary.shape
    ((2,), (3,))
    """
    metric = get_metric(metric)
    for what, sets in (("scores", scores), ("labels", labels), ("size_scores", size_scores)):
        if not hasattr(sets, "__len__") and (what == "scores" or sets is not None):
            raise TypeError(f"{what} must be a list of arrays, one per game, not {type(sets).__name__}")
    if labels is not None and len(labels) != len(scores):
        raise ValueError(f"there are {len(scores)} sets of scores but {len(labels)} sets of labels")
    if size_scores is not None and len(size_scores) != len(scores):
        raise ValueError(f"there are {len(scores)} sets of scores but {len(size_scores)} sets of size_scores")
    each: Sequence[ArrayLike | None] = [None] * len(scores) if labels is None else list(labels)
    given = [checked_input(metric, row, truth) for row, truth in zip(scores, each, strict=True)]
    sized = [
        checked_size_scores(row, values.size)
        for row, (values, _) in zip([] if size_scores is None else size_scores, given, strict=False)
    ]
    places: dict[int, list[int]] = {}
    for place, (row, _) in enumerate(given):
        places.setdefault(row.size, []).append(place)
    found = certify(
        metric,
        [np.stack([given[place][0] for place in chosen]) for chosen in places.values()],
        [np.stack([given[place][1] for place in chosen]) for chosen in places.values()],
        solver,
        tol,
        options,
        threads,
        [np.stack([sized[place] for place in chosen]) for chosen in places.values()] if sized else None,
    )
    numbered = {
        place: solution
        for chosen, batch in zip(places.values(), found, strict=True)
        for place, solution in zip(chosen, batch.solutions(), strict=True)
    }
    solutions = [numbered[place] for place in range(len(given))]
    missed = [solution.gap for solution in solutions if not solution.converged]
    if missed:
        warnings.warn(
            f"solver {solutions[0].solver!r} stopped with a gap larger than tol={tol:g} in {len(missed)} of "
            f"{len(solutions)} games; the largest gap is {gap_text(max(missed), tol)}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solutions


def certify(
    metric: Metric,
    scores: Sequence[Floats],
    labels: Sequence[NDArray[np.bool_]],
    solver: str,
    tol: float,
    options: dict[str, object],
    threads: int | None = None,
    size_scores: Sequence[Floats] | None = None,
) -> list[Certified]:
    """Solve batches of games; within a batch all are of one size. Nothing is warned about.

    Parameters
    ----------
    metric, solver, tol, options, threads
        As for `solve_many`.
    scores : sequence of ndarray, shape (games, n)
        C-contiguous, writeable and finite, which is not checked.
    labels : sequence of ndarray of bool, shape (games, n)
        Only used if there are constraints.
    size_scores : sequence of ndarray, shape (games, n + 1), optional
        Finite, which is not checked.

    Examples
    --------
    >>> import metricfit as mf
    >>> rows = np.array([[0.7, -0.7], [-0.7, 0.7]])
    >>> (found,) = certify(mf.accuracy, [rows], [rows > 0], "exact-lp", 1e-4, {})
    >>> abs(found.inclusion[:, 0].round(4))
    array([[1., 0.],
           [0., 1.]])
    """
    name, tol = _checked_request(solver, tol, options)
    if threads is not None and (not isinstance(threads, Integral) or threads < 1):
        raise ValueError(f"threads must be a whole number of 1 or more, or None, got {threads!r}")
    games = work = 0
    for batch in scores:
        games += len(batch)
        work += batch.size * batch.shape[1]
    # Counting the processors, too, takes as long as preparing a small game.
    if threads is None:
        threads = 1 if work < THREADED_WORK else os.cpu_count() or 1
    workers = min(threads, games)
    sized: Sequence[Floats | None] = [None] * len(scores) if size_scores is None else size_scores
    if workers <= 1:
        return [
            _certify_part(metric, batch, truth, sizes, name, tol, options)
            for batch, truth, sizes in zip(scores, labels, sized, strict=True)
        ]
    # Several games to a task, for tasks are handed over under Python's lock; several tasks to a thread, for
    # some games take far longer than others.
    size = -(-games // (4 * workers))
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            [
                pool.submit(
                    _certify_part,
                    metric,
                    batch[first : first + size],
                    truth[first : first + size],
                    None if sizes is None else sizes[first : first + size],
                    name,
                    tol,
                    options,
                )
                for first in range(0, len(batch), size)
            ]
            for batch, truth, sizes in zip(scores, labels, sized, strict=True)
        ]
        return [Certified.joined([task.result() for task in parts]) for parts in tasks]


def _certify_part(
    metric: Metric,
    scores: Floats,
    labels: NDArray[np.bool_],
    size_scores: Floats | None,
    name: str,
    tol: float,
    options: dict[str, object],
) -> Certified:
    """Certify games of one size: all of them the quick way, where there is one, and then those it missed."""
    games, n = scores.shape
    multipliers = np.zeros((games, len(metric.constraints)))
    notes = [""] * games
    inclusion, verdict = np.empty((games, 2, n)), np.full((games, 3), np.inf)
    judge = find_judge(name, bool(metric.constraints)) if size_scores is None else None
    if judge and n <= TABLE_LIMIT:
        payoff = sized(metric, n)
        rounding = batch_rounding(payoff, scores)
        aim = _attainable(tol, 2.0 * float(rounding.max(initial=0.0)), extent(payoff, n)[2])
        inclusion, verdict, multipliers = judge(payoff, scores, labels, aim, **options)
        verdict[:, 0] += rounding
        verdict[:, 1] += 2.0 * rounding
    for game, (_, gap, _) in enumerate(verdict.tolist()):
        if not has_converged(gap, tol):
            notes[game] = _solve_game(
                make_game(
                    metric,
                    scores[game],
                    labels[game],
                    size_scores=None if size_scores is None else size_scores[game],
                ),
                name,
                tol,
                options,
                inclusion[game],
                verdict[game],
                multipliers[game],
            )
    return Certified(verdict, inclusion, multipliers, notes, name, tol)


def _checked_request(solver: str, tol: float, options: dict[str, object]) -> tuple[str, float]:
    name = resolve(solver)
    try:
        number = float(tol)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"tol must be a positive number, got {tol!r}") from error
    if not 0.0 < number < math.inf:
        raise ValueError(f"tol must be a positive number, got {number:g}")
    if options:
        check_options(name, options)
    return name, number


def _attainable(tol: float, rounding: float, terms: float) -> float:
    """Return the tolerance that a solver is asked for: no less than rounding, no more than the payoffs."""
    return max(min(tol, terms), rounding)


def _solve_game(
    game: Game,
    name: str,
    tol: float,
    options: dict[str, object],
    inclusion: Floats,
    verdict: Floats,
    multipliers: Floats,
) -> str:
    """Solve a game, write down what was found, and return what the solver has to say."""
    found, iterations, note = certified(game, name, tol, options)
    verdict[:] = found.upper, found.gap, iterations
    multipliers[:] = found.multipliers
    for player, strategy in enumerate((found.adversary, found.predictor)):
        inclusion_in_order(strategy.marginals, strategy.blocks, game.order, inclusion[player])
    return note


def certified(game: Game, name: str, tol: float, options: dict[str, object]) -> tuple[Certificate, int, str]:
    """Run the solver, or the last resort if it fails; return the bounds, the iterations and a note.

    Examples
    --------
    >>> import metricfit as mf
    >>> found, _, _ = certified(make_game(mf.accuracy, [0.7, -0.7]), "exact-lp", 1e-4, {})
    >>> round(found.lower, 6), round(found.upper, 6)
    (0.3, 0.3)
    """
    rounding, terms = 0.0, math.inf
    if game.n <= TABLE_LIMIT:
        rounding = 2.0 * float(batch_rounding(game.metric, game.scores[None])[0])
        terms = extent(game.metric, game.n)[2]
    aim = _attainable(tol, rounding, terms)
    found, iterations, note = _played(game, name, aim, options)
    if name == DEFAULT and game.n <= LAST_RESORT_ITEMS and not has_converged(found.gap, aim):
        other, _, failure = _played(game, LAST_RESORT, aim, {})
        found = better_of(found, other)
        note = failure or "the linear program finished it"
    if not found.gap >= 0.0:
        found = certificate(game, plain_answer(game, 0, ""))
        note = "its bounds contradicted each other, which should not happen: please report this game"
    if game.gain.shape[0] and tol < 1e-8 and not has_converged(found.gap, tol):
        note = note or "constraints are met within 1e-9, which limits the gap that can be certified"
    if rounding > tol:
        note = f"no gap below {rounding:.1g} can be certified in double precision"
    return found, iterations, note


def _played(game: Game, name: str, tol: float, options: dict[str, object]) -> tuple[Certificate, int, str]:
    """Return what a solver proves, its iterations and its note; something is proved even if it fails."""
    try:
        answer: Answer = find_solver(name)(game, tol, **options)
        found = certificate(game, answer)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        answer = plain_answer(game, 0, f"{name} broke down: {error}")
        found = certificate(game, answer)
    if game.gain.shape[0] and not has_converged(found.gap, tol):
        found = with_fitted_multipliers(game, found, tol)
    return found, answer.iterations, answer.note
