"""Scores of items and sizes: against the enumeration, and what they decide for known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import metricfit as mf
from oracles import DEFINITIONS, all_sets, enumerated_value, payoffs

Floats = NDArray[np.float64]


def scored_sets(scores: Floats, phi: Floats) -> Floats:
    """What every true set is worth by its scores."""
    sets = all_sets(len(scores))
    sizes = sets.sum(axis=1)
    return np.einsum("ti,it->t", sets, scores[:, sizes]) + phi[sizes]


@pytest.mark.parametrize("name", ["f1", "f2", "mcc", "kappa", "precision", "accuracy", "informedness"])
@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_the_value_is_that_of_the_enumeration(name: str, n: int) -> None:
    metric, measure = DEFINITIONS[name]
    random = np.random.default_rng(n)
    scores, phi = random.normal(size=(n, n + 1)), random.normal(size=n + 1)
    truth = enumerated_value(payoffs(measure, n) - scored_sets(scores, phi), np.zeros(n))
    found = mf.solve(metric, scores, size_scores=phi, solver="exact-lp", tol=1e-7)
    assert found.lower <= truth <= found.value
    assert found.converged


def test_equal_columns_are_scores_of_items_alone() -> None:
    scores = 0.3 * np.random.default_rng(0).normal(size=9)
    full = mf.solve(mf.mcc, np.tile(scores[:, None], 10), solver="exact-lp")
    plain = mf.solve(mf.mcc, scores, solver="exact-lp")
    assert full.value == pytest.approx(plain.value, abs=1e-7)
    np.testing.assert_allclose(full.predictor.sum(), plain.predictor.sum(), atol=0.5)


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(n, n \+ 1\)"):
        mf.solve(mf.f1, np.zeros((3, 3)), solver="exact-lp")
    with pytest.raises(ValueError, match="finite numbers"):
        mf.solve(mf.f1, np.full((1, 2), np.nan), solver="exact-lp")
    with pytest.raises(ValueError, match="do not support constraints"):
        mf.solve(mf.f1.subject_to(mf.recall >= 0.5), np.zeros((1, 2)), solver="exact-lp")
    with pytest.raises(ValueError, match="up to 100 items"):
        mf.solve(mf.f1, np.zeros((101, 102)), solver="exact-lp")
    with pytest.raises(ValueError, match="must have one dimension"):
        mf.solve(mf.f1, np.zeros((3, 4)))


def expected_payoffs(name: str, chances: Floats, n: int) -> Floats:
    """The metric of every prediction in the mean over a distribution of true sets."""
    return payoffs(DEFINITIONS[name][1], n) @ chances


def risk(name: str, scores: Floats, phi: Floats, chances: Floats) -> tuple[float, mf.Solution]:
    """The expected loss of scores: the best metric, less the value and the mean score of the truth."""
    found = mf.solve(DEFINITIONS[name][0], scores, size_scores=phi, solver="exact-lp", tol=1e-6)
    return 1.0 - found.value - float(chances @ scored_sets(scores, phi)), found


@pytest.mark.parametrize("name", ["f1", "mcc", "kappa"])
@pytest.mark.parametrize("seed", range(6))
def test_the_best_full_scores_decide_as_the_distribution_of_the_truth_asks(name: str, seed: int) -> None:
    """Fisher consistency: at the scores of least expected loss, the prediction is best in expectation.

    The expected loss is minimised by cutting planes over all scores in a box, without use of the answer.
    """
    from scipy.optimize import linprog

    n = 3
    random = np.random.default_rng(seed)
    sets, chances = all_sets(n), random.dirichlet(np.full(2**n, 0.4))
    sizes = sets.sum(axis=1)
    gains = expected_payoffs(name, chances, n)
    # One unknown per item and size, and one per size.
    of_size = (sizes[:, None] == np.arange(n + 1)).astype(float)
    features = np.hstack([*(sets[:, [i]] * of_size for i in range(n)), of_size])
    unknowns = features.shape[1]
    table = payoffs(DEFINITIONS[name][1], n)
    best, point = np.inf, np.zeros(unknowns)
    rows, right = [], []
    for _ in range(400):
        scores, phi = point[: -(n + 1)].reshape(n, n + 1), point[-(n + 1) :]
        value, found = risk(name, scores, phi, chances)
        if value < best:
            best, kept = value, found
        # The adversary's mixture over true sets, which the slope of the loss is made of.
        slope = features.T @ (adversary_mixture(table, features @ point) - chances)
        rows.append(np.append(slope, -1.0))
        right.append(slope @ point - value)
        program = linprog(
            np.append(np.zeros(unknowns), 1.0),
            A_ub=rows,
            b_ub=right,
            bounds=[(-2, 2)] * unknowns + [(None, None)],
        )
        if best - program.fun < 1e-6:
            break
        point = program.x[:-1]
    else:
        pytest.fail("the minimum was not found")
    assert best == pytest.approx(1.0 - gains.max(), abs=2e-6)
    decided = int(np.flatnonzero((sets == np.round(kept.predictor)).all(axis=1))[0])
    assert gains[decided] == pytest.approx(gains.max(), abs=1e-9)


def adversary_mixture(table: Floats, worth: Floats) -> Floats:
    """The adversary's optimal mixture over true sets, by the enumeration."""
    from scipy.optimize import linprog

    count = len(worth)
    result = linprog(
        np.append(-worth, 1.0),
        A_ub=np.hstack((table, -np.ones((count, 1)))),
        b_ub=np.zeros(count),
        A_eq=np.append(np.ones(count), 0.0)[None, :],
        b_eq=np.ones(1),
        bounds=[(0, None)] * count + [(None, None)],
        method="highs",
    )
    return np.asarray(result.x[:-1])
