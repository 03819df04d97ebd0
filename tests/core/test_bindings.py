"""What the extension refuses: arrays whose shapes do not fit would be read beyond their end."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit import _core
from metricfit.solving.fast.restriction import whole_setting

N = 5
TABLE = np.zeros((N + 1, N + 1))
SIZES = np.arange(N + 1)
SETTING = {
    "alpha": TABLE,
    "beta": TABLE,
    "predictor_sizes": SIZES.astype(float),
    "adversary_sizes": SIZES.astype(float),
    "chain": SIZES,
    "gain": np.empty((0, N + 1)),
    "offset": np.empty((0, N + 1)),
    "rows": SIZES,
    "columns": SIZES,
    "blocks": SIZES,
    "order": np.arange(N),
    "split": N,
    "reach": 10.0,
    "opening": np.empty(0, np.int64),
}
BAD_SETTINGS = {
    "alpha": [TABLE[1:], TABLE[:, 1:].copy()],
    "beta": [TABLE[1:]],
    "predictor_sizes": [np.zeros(N)],
    "adversary_sizes": [np.zeros(N)],
    "chain": [SIZES[:-1], SIZES + 1, SIZES - 1],
    "gain": [np.zeros((1, N + 1))],
    "offset": [np.zeros((1, N + 1))],
    "blocks": [np.empty(0, np.int64), SIZES[:1], SIZES[::-1].copy(), SIZES + 1, SIZES[:-1]],
    "order": [np.arange(N - 1), np.arange(N) + 1, np.zeros(N, np.int64)],
    "split": [-1, N + 1],
    "opening": [np.array([N + 1]), np.array([-1])],
    "rows": [SIZES + 1, SIZES[::-1].copy()],
    "columns": [SIZES + 1, SIZES - 1],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD_SETTINGS.items() for value in values]
)
def test_a_setting_that_does_not_fit_together_is_refused(name: str, value: object) -> None:
    _core.make_setting(**SETTING)
    with pytest.raises(ValueError, match=r"\w"):
        _core.make_setting(**SETTING | {name: value})


def test_scores_of_another_length_are_refused() -> None:
    setting = whole_setting(mf.f1, N, N)
    with pytest.raises(ValueError, match="one score for each item"):
        _core.attempt(setting, np.zeros(N + 1), 1e-4, 10, 1e-6)
    alpha, beta = mf.f1.table(N)
    with pytest.raises(ValueError, match="games of single items"):
        _core.judge(
            setting, np.zeros((2, N + 1)), 1e-4, 10, 1e-6, alpha, beta, np.empty((2, 2, N)), np.empty((2, 3))
        )


def test_blocks_that_leave_the_game_are_refused() -> None:
    marginals, scores = np.zeros((1, 1)), np.zeros(N)
    for blocks in (np.array([0, N + 1]), np.array([1, N]), np.array([0, N - 1])):
        with pytest.raises(ValueError, match="blocks"):
            _core.expected_score(scores, marginals, blocks)
        with pytest.raises(ValueError, match="blocks"):
            _core.tie_averages(scores, N, marginals, blocks)
        with pytest.raises(ValueError, match="blocks"):
            _core.inclusion_in_order(marginals, blocks, np.arange(N), np.empty(N))
    with pytest.raises(ValueError, match="order"):
        _core.inclusion_in_order(marginals, np.array([0, N]), np.arange(N) + 1, np.empty(N))
