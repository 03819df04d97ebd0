"""Intervals are those of resampled rows."""

import numpy as np
import pytest

import metricfit as mf
from metricfit.report import difference_interval, score_interval


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 200)
    one = np.where(generator.random(200) < 0.8, labels, 1 - labels)
    other = np.where(generator.random(200) < 0.6, labels, 1 - labels)
    return labels, one, other


def resampled(score, rows, draws=2000):
    generator = np.random.default_rng(1)
    values = []
    for _ in range(draws):
        chosen = generator.integers(0, 200, 200)
        values.append(score(*(column[chosen] for column in rows)))
    return np.quantile(values, [0.025, 0.975])


def test_the_interval_of_a_score_is_that_of_drawn_rows(rows):
    low, high = resampled(lambda y, one, other: mf.f1.score(y, one), rows)
    interval = score_interval(mf.f1, rows[0], rows[1])
    assert (interval.low, interval.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_the_interval_of_a_difference_is_that_of_the_same_drawn_rows(rows):
    low, high = resampled(lambda y, one, other: mf.mcc.score(y, one) - mf.mcc.score(y, other), rows)
    interval = difference_interval(mf.mcc, *rows)
    assert (interval.low, interval.high) == (pytest.approx(low, abs=0.03), pytest.approx(high, abs=0.03))
