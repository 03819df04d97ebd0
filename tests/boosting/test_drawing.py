"""Games hold positives, and rows as often as their weights ask for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metricfit.boosting.curve import fitted_curve
from metricfit.boosting.drawing import draw_games


@given(st.integers(2, 400), st.floats(0.0, 1.0), st.integers(2, 40), st.integers(1, 20), st.integers(0, 99))
def test_every_game_holds_positives_equally_many_up_to_one(n, share, size, games, seed):
    positive = np.arange(n) < max(1, int(share * n))
    rows = draw_games(positive, None, size, games, np.random.default_rng(seed))
    counts = positive[rows].sum(axis=1)
    assert rows.shape == (games, size)
    assert counts.min() >= 1
    assert counts.max() - counts.min() <= 1


def test_every_row_is_drawn_once_if_the_games_hold_as_many():
    rows = draw_games(np.arange(120) % 4 == 0, None, 12, 10, np.random.default_rng(0))
    assert np.bincount(rows.ravel(), minlength=120).tolist() == [1] * 120


def test_rows_are_drawn_in_proportion_to_their_weights():
    positive = np.arange(100) % 2 == 0
    weights = np.repeat([0.0, 1.0, 2.0, 4.0], 25)
    seen = np.zeros(100)
    for seed in range(200):
        rows = draw_games(positive, weights, 10, 10, np.random.default_rng(seed))
        seen += np.bincount(rows.ravel(), minlength=100)
    means = seen.reshape(4, 25).mean(axis=1) / 200
    assert means[0] == 0.0
    np.testing.assert_allclose(means[1:] / means[1], [1.0, 2.0, 4.0], rtol=0.1)


@given(st.lists(st.tuples(st.integers(-3, 3), st.floats(0, 1)), min_size=1, max_size=50))
def test_the_curve_increases_and_keeps_the_mean(points):
    scores, shares = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    x, y = fitted_curve(scores, shares)
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) >= -1e-12).all()
    np.testing.assert_allclose(np.interp(scores, x, y).mean(), shares.mean(), atol=1e-9)
