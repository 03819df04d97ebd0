"""What hypothesis draws: metrics, scores with ties, labels and constraints."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import metricfit as mf
from oracles import DEFINITIONS, Measure

SMALL = st.integers(-2, 2)


@st.composite
def custom_metrics(draw: st.DrawFn) -> tuple[mf.Metric, Measure]:
    """Draw a weighted sum of the four counts over a weighted sum of the sizes, and its definition."""
    # If the weights cancel, no prediction changes the metric, which is refused.
    counts = st.tuples(SMALL, SMALL, SMALL, SMALL).filter(lambda w: w[0] - w[1] - w[2] + w[3] != 0)
    tp, fp, fn, tn = draw(counts)
    ap, pp, everything = draw(st.tuples(*[st.integers(0, 2)] * 3).filter(any))

    def custom(C):
        return (tp * C.tp + fp * C.fp + fn * C.fn + tn * C.tn) / (ap * C.ap + pp * C.pp + everything * C.all)

    def measure(a: float, b: float, c: float, d: float) -> float:
        return (tp * a + fp * b + fn * c + tn * d) / (
            ap * (a + c) + pp * (a + b) + everything * (a + b + c + d)
        )

    return mf.metric(custom), measure


def built_in_metrics() -> st.SearchStrategy[tuple[mf.Metric, Measure]]:
    return st.sampled_from(list(DEFINITIONS.values()))


@st.composite
def scores_of(draw: st.DrawFn, n: int) -> NDArray[np.float64]:
    """Scores of any magnitude from 1e-3 to 1e2; drawn from few values, so that ties are common."""
    scale = 10.0 ** draw(st.integers(-3, 2))
    few = draw(st.booleans())
    one = st.integers(-2, 2).map(float) if few else st.floats(-2, 2, allow_subnormal=False)
    return scale * np.array(draw(st.lists(one, min_size=n, max_size=n)))


@st.composite
def constraint_sets(draw: st.DrawFn, count: int) -> tuple[mf.Constraint, ...]:
    chosen = []
    for _ in range(count):
        metric, _ = draw(built_in_metrics())
        low, high = metric.value_range(6)
        threshold = draw(st.floats(max(low, -1.0), min(high, 1.0)))
        chosen.append(metric >= threshold if draw(st.booleans()) else metric <= threshold)
    return tuple(chosen)


def labels_of(n: int) -> st.SearchStrategy[NDArray[np.int64]]:
    return st.lists(st.integers(0, 1), min_size=n, max_size=n).map(np.array)
