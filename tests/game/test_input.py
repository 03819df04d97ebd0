"""Unusable input raises an error that says what to change."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import metricfit as mf
from metricfit.game import make_game

CONSTRAINED = mf.precision_at_recall(0.8)


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ([0.1, np.nan], r"scores must be finite, but scores\[1\] is nan"),
        ([np.inf, 0.1], r"scores must be finite, but scores\[0\] is inf"),
        ([-np.inf], r"scores must be finite, but scores\[0\] is -inf"),
        ([], "scores are empty"),
        ([[0.1], [0.2]], r"one dimension, got shape \(2, 1\)"),
        (0.5, r"one dimension, got shape \(\)"),
        (["high", "low"], "scores must be real numbers"),
        ([1j, 0.5], "scores must be real numbers: they are of type complex128"),
        (np.array(["1.5", "2"]), "scores must be real numbers"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "scores must be real numbers"),
        ([None, 0.5], "scores must be real numbers|scores must be finite"),
        ([[0.1, 0.2], [0.3]], "scores must be real numbers"),
        ([0.1, 10**400], "scores must be real numbers: int too large"),
        ([0.1, -1e200], r"scores must be between -1e\+100 and 1e\+100, but scores\[1\] is -1e\+200"),
        (
            torch.tensor([0.1, 0.2], requires_grad=True),
            r"pass scores\.detach\(\)\.double\(\), since solve has no gradient",
        ),
        (np.ma.masked_array([0.1, 0.2], [True, False]), "scores are a masked array"),
        (np.ma.masked_array([0.1, 0.2]), "scores are a masked array"),
    ],
)
def test_bad_scores_are_refused(scores, sentence):
    with pytest.raises(ValueError, match=sentence):
        mf.solve(mf.f1, scores)


@pytest.mark.parametrize("metric", [mf.f1, CONSTRAINED], ids=["plain", "constrained"])
@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([1, -1, 1], "labels must be 0 or 1, got -1"),
        ([1, 0.5, 0], "labels must be 0 or 1, got 0.5"),
        ([1, np.nan, 0], "labels must be 0 or 1, got nan"),
        ([2, 1, 1], "labels must be 0 or 1, got 2"),
        (["yes", "no", "no"], "labels must be 0 or 1, got yes"),
        ([1, 0], r"shape of the scores, \(3,\), got \(2,\)"),
        ([[1], [0], [1]], r"shape of the scores, \(3,\), got \(3, 1\)"),
        (np.ma.masked_array([1, 0, 1], [True, False, False]), "labels are a masked array"),
        (torch.tensor([1.0, 0.0, 1.0], requires_grad=True), r"pass labels\.detach\(\)"),
    ],
)
def test_bad_labels_are_refused(metric, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        mf.solve(metric, [0.1, 0.2, 0.3], labels)


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (torch.zeros((2, 3), requires_grad=True), r"pass scores\.detach\(\)\.double\(\)"),
        (torch.zeros((2, 3), dtype=torch.bfloat16), r"pass scores\.detach\(\)\.double\(\)"),
        (np.zeros((2, 3), complex), "scores must be real numbers: they are of type complex128"),
        ([["a", "b", "c"]] * 2, "scores must be real numbers: they are of type <U1"),
        ([[0.1, 0.2], [0.3]], "scores must be real numbers: setting an array element"),
    ],
)
def test_bad_scores_of_items_and_sizes_are_refused(scores, sentence):
    with pytest.raises(ValueError, match=sentence):
        mf.solve(mf.f1, scores, solver="exact-lp")


@pytest.mark.parametrize(
    ("size_scores", "sentence"),
    [
        (torch.zeros(2, requires_grad=True), r"pass size_scores\.detach\(\)\.double\(\)"),
        ([1j, 0.0], "size_scores must be real numbers: they are of type complex128"),
    ],
)
def test_bad_scores_of_sizes_are_refused(size_scores, sentence):
    with pytest.raises(ValueError, match=sentence):
        mf.solve(mf.f1, [0.1], size_scores=size_scores)


@pytest.mark.parametrize("many", [0.5, None, (row for row in [[0.1, 0.2]])])
def test_solve_many_says_what_it_takes(many):
    with pytest.raises(TypeError, match="scores must be a list of arrays, one per game"):
        mf.solve_many(mf.f1, many)
    with pytest.raises(TypeError, match="labels must be a list of arrays, one per game"):
        mf.solve_many(mf.f1, [[0.1, 0.2]], labels=1)


def test_masked_scores_of_sizes_are_refused():
    with pytest.raises(ValueError, match="size_scores are a masked array"):
        mf.solve(mf.f1, [0.1], size_scores=np.ma.masked_array([0.1, 0.2], [True, False]))


@pytest.mark.parametrize("solver", ["simplex", None, ["fast"]])
def test_an_unknown_solver_is_refused_with_the_known_ones(solver):
    with pytest.raises(ValueError, match=r"unknown solver .*; choose one of auto, fast"):
        mf.solve(mf.f1, [0.1], solver=solver)


def test_constraints_without_labels_are_refused():
    with pytest.raises(ValueError, match="about the true labels: pass labels"):
        mf.solve(CONSTRAINED, [0.1, 0.2])


@pytest.mark.parametrize("kind", [bool, int, float, np.float32, object])
def test_labels_of_any_kind_are_understood(kind):
    game = make_game(CONSTRAINED, [0.1, 0.2, 0.3], np.array([1, 0, 1]).astype(kind))
    assert game.split == 2
    np.testing.assert_array_equal(game.order, [2, 0, 1])


@pytest.mark.parametrize("kind", [bool, int, np.float16, np.float32, list, tuple])
def test_scores_of_any_real_kind_are_understood(kind):
    values = [1, 0, 1]
    scores = kind(values) if kind in (list, tuple) else np.array(values, dtype=kind)
    np.testing.assert_array_equal(make_game(mf.f1, scores).scores, [1.0, 1.0, 0.0])


def test_the_input_is_not_modified():
    scores, labels = np.array([0.3, 0.1, 0.2]), np.array([0, 1, 1])
    mf.solve(CONSTRAINED, scores, labels, solver="exact-lp")
    np.testing.assert_array_equal(scores, [0.3, 0.1, 0.2])
    np.testing.assert_array_equal(labels, [0, 1, 1])
