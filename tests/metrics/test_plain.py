"""A metric survives being written down as plain values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from drawn import custom_metrics
from metricfit.metrics.builtin import BUILT_IN
from metricfit.metrics.plain import from_plain, to_plain

PLAIN = [made for made in BUILT_IN.values() if isinstance(made, mf.Metric)]


def again(metric: mf.Metric) -> mf.Metric:
    return from_plain(json.loads(json.dumps(to_plain(metric))))


@pytest.mark.parametrize("metric", PLAIN, ids=lambda metric: metric.name)
def test_built_in_metrics_come_back(metric):
    assert again(metric) == metric
    assert again(metric).name == metric.name


@given(custom_metrics())
def test_custom_metrics_come_back(drawn):
    metric, _ = drawn
    assert again(metric) == metric


@given(st.floats(0.01, 100), st.floats(0, 1))
def test_parameters_and_thresholds_come_back_to_the_last_digit(beta, threshold):
    metric = mf.fbeta(beta).subject_to(mf.recall >= threshold)
    assert again(metric) == metric
    assert again(metric).constraints[0].threshold == threshold


def test_special_cases_and_functions_come_back():
    metric = mf.get_metric("tp * exp(1) / sqrt(pp * ap) + log(2 + ap / all) * fp / all")
    forced = metric.with_special_cases(positive=True).subject_to(
        mf.mcc.with_special_cases(negative=True) <= 0.3
    )
    assert again(forced) == forced
    assert repr(again(forced).constraints) == repr(forced.constraints)
