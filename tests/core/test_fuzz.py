"""Random games of any metric, with the referee and the linear program as oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import metricfit as mf
from drawn import built_in_metrics, constraint_sets, custom_metrics, labels_of, scores_of
from metricfit.game import InfeasibleConstraintsError, make_game
from metricfit.solving.certificate import Certificate
from metricfit.solving.certifying import certified

Drawn = tuple[mf.Metric, NDArray[np.float64], NDArray[np.int64]]


@st.composite
def games(draw: st.DrawFn, most: int) -> Drawn:
    n = draw(st.integers(1, most))
    metric, _ = draw(st.one_of(built_in_metrics(), custom_metrics()))
    constraints = draw(constraint_sets(draw(st.sampled_from([0, 0, 1, 2]))))
    return (
        metric.subject_to(*constraints) if constraints else metric,
        draw(scores_of(n)),
        draw(labels_of(n)),
    )


def certificates(game: Drawn, tol: float, *solvers: str) -> list[Certificate]:
    """Return what the referee makes of the solvers' strategies; games that cannot be played do not count."""
    try:
        made = make_game(*game)
    except InfeasibleConstraintsError:
        assume(False)
    return [certified(made, solver, tol, {})[0] for solver in solvers]


@pytest.mark.slow
@settings(max_examples=300)
@given(games(8), st.sampled_from([1e-3, 1e-6]))
def test_bounds_enclose_the_value_that_the_linear_program_finds(game: Drawn, tol: float) -> None:
    fast, exact = certificates(game, tol, "fast", "exact-lp")
    assert fast.lower <= exact.upper
    assert exact.lower <= fast.upper


@pytest.mark.slow
@settings(max_examples=300)
@given(games(60))
def test_whatever_the_core_returns_is_a_mixture(game: Drawn) -> None:
    (found,) = certificates(game, 1e-4, "fast")
    assert -np.inf < found.lower <= found.upper < np.inf
    assert found.gap <= 1e-4
    for strategy in (found.adversary, found.predictor):
        lengths = np.diff(strategy.blocks)
        assert strategy.weights.min() >= 0.0
        assert strategy.weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert (strategy.marginals >= 0.0).all()
        assert (strategy.marginals <= strategy.weights[:, None] * (1.0 + 1e-12)).all()
        held = strategy.marginals @ lengths
        np.testing.assert_allclose(held, strategy.sizes * strategy.weights, rtol=0, atol=1e-9 * game[1].size)
