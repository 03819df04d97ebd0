"""The projection of the ADMM is the nearest point, by the inequality that characterises it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricfit._core import project


@settings(deadline=None, max_examples=100)
@given(
    n=st.integers(1, 8),
    scale=st.sampled_from([1e-3, 0.1, 1.0, 100.0]),
    ties=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_marginals_are_nearer(n, scale, ties, seed):
    random = np.random.default_rng(seed)
    point = random.normal(size=(n, n))
    point = scale * (point.round() if ties else point)
    found = project(point)
    sizes = np.arange(1, n + 1)
    weights = found.sum(axis=1) / sizes
    assert np.all((found >= 0.0) & (found <= weights[:, None] + 1e-12))
    assert weights.sum() <= 1.0 + 1e-9
    # The direction to the point makes no acute angle with any direction inside the polytope.
    direction = point - found
    corners = [np.sort(direction[k - 1])[::-1][:k].sum() for k in sizes]
    assert max(0.0, *corners) - np.sum(direction * found) <= 1e-9 * max(1.0, scale)


def test_marginals_are_their_own_projection():
    inside = np.array([[0.25, 0.25], [0.5, 0.5]])
    assert project(inside) == pytest.approx(inside)
