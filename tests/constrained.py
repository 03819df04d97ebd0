"""Constrained games at the edge of what can be met, and a referee in exact arithmetic for them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import metricfit as mf
from metricfit.game import Game, Strategy, slack_tolerances
from metricfit.solving.certificate import Certificate

METRICS = [
    mf.accuracy,
    mf.precision,
    mf.recall,
    mf.specificity,
    mf.f1,
    mf.f2,
    mf.gm_precision_recall,
    mf.balanced_accuracy,
    mf.informedness,
    mf.kappa,
    mf.mcc,
    mf.get_metric("tp - fp"),
]
TOLERANCES = [1e-3, 1e-4, 1e-6, 1e-9, 1e-12, 1e-300]


def drawn_game(
    random: np.random.Generator, most: int = 12
) -> tuple[mf.Metric, NDArray[np.float64], NDArray[np.int64], float]:
    """Return a metric under hard constraints, scores with ties, labels and a tolerance."""
    n = int(random.integers(1, most + 1))
    labels = (random.random(n) < random.choice([0.0, 0.2, 0.5, 1.0])).astype(np.int64)
    scores = random.choice([0.0, 1e-3, 0.1, 0.5, 10.0]) * random.integers(-3, 4, n).astype(float)
    constraints = []
    for _ in range(random.integers(1, 4)):
        metric = METRICS[random.integers(len(METRICS))]
        attained = metric.score(labels, (random.random(n) < random.random()).astype(int))
        threshold = float(random.choice([0.0, 1.0, attained, 0.5, random.random()]))
        threshold += float(random.choice([0.0, 0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-7, -1e-7, 1e-4, -1e-4]))
        low, high = metric.value_range(25)
        threshold = min(max(threshold, max(low, -1.0)), min(high, 1.0))
        constraints.append(metric >= threshold if random.random() < 0.6 else metric <= threshold)
    objective = METRICS[random.integers(len(METRICS))]
    return objective.subject_to(*constraints), scores, labels, float(random.choice(TOLERANCES))


def exact_bounds(game: Game, found: Certificate) -> tuple[Fraction, Fraction]:
    """Return the bounds that the strategies prove, in exact arithmetic; the tables are taken as they are.

    A strategy is a mixture up to rounding only. What is missing is put right exactly first.
    """
    n = game.n
    alpha, beta = ([[Fraction(x) for x in row] for row in table.tolist()] for table in game.metric.table(n))
    scores = [Fraction(x) for x in game.scores.tolist()]
    gain, offset = (
        [[Fraction(x) for x in row] for row in rows.tolist()] for rows in (game.gain, game.offset)
    )
    multipliers = [Fraction(x) for x in found.multipliers.tolist()]
    tolerances = [Fraction(x) for x in slack_tolerances(game.gain, game.offset, game.split).tolist()]

    sizes, weights, items = exact_mixture(found.adversary)
    paid = sum((sum(row[i] for row in items) * scores[i] for i in range(n)), Fraction(0))
    extra = sum((m * t for m, t in zip(multipliers, tolerances, strict=True)), Fraction(0))
    uppers = []
    for k in range(n + 1):
        shift = sum((m * g[k] for m, g in zip(multipliers, gain, strict=True)), Fraction(0))
        worth = sorted(
            (
                sum((alpha[k][l] * row[i] for l, row in zip(sizes, items, strict=True)), Fraction(0))
                + (shift if i < game.split else 0)
                for i in range(n)
            ),
            reverse=True,
        )
        fixed = sum((beta[k][l] * w for l, w in zip(sizes, weights, strict=True)), Fraction(0))
        fixed += sum((m * o[k] for m, o in zip(multipliers, offset, strict=True)), Fraction(0))
        uppers.append(sum(worth[:k], fixed))

    sizes, weights, items = exact_mixture(found.predictor)
    for g, o, tolerance in zip(gain, offset, tolerances, strict=True):
        slack = sum(
            (
                g[k] * sum(row[: game.split], Fraction(0)) + o[k] * w
                for k, w, row in zip(sizes, weights, items, strict=True)
            ),
            Fraction(0),
        )
        assert slack >= -tolerance * Fraction(1001, 1000)
    lowers = []
    for l in range(n + 1):
        worth = sorted(
            sum((alpha[k][l] * row[i] for k, row in zip(sizes, items, strict=True)), Fraction(0)) - scores[i]
            for i in range(n)
        )
        fixed = sum((beta[k][l] * w for k, w in zip(sizes, weights, strict=True)), Fraction(0))
        lowers.append(sum(worth[:l], fixed))
    return min(lowers), max(uppers) - paid + extra


def exact_mixture(strategy: Strategy) -> tuple[list[int], list[Fraction], list[list[Fraction]]]:
    """Return sizes, weights that sum to one, and marginals that sum to size times weight, exactly."""
    total = sum((Fraction(w) for w in strategy.weights.tolist()), Fraction(0))
    weights = [Fraction(w) / total for w in strategy.weights.tolist()]
    items = []
    for size, weight, row in zip(
        strategy.sizes.tolist(),
        weights,
        np.repeat(strategy.marginals, np.diff(strategy.blocks), axis=1),
        strict=True,
    ):
        values = [min(max(Fraction(x) / total, Fraction(0)), weight) for x in row.tolist()]
        have, need = sum(values, Fraction(0)), size * weight
        if have > need:
            values = [x * need / have for x in values]
        elif have < need:
            left = len(values) * weight
            values = [weight - (weight - x) * (left - need) / (left - have) for x in values]
        items.append(values)
    return strategy.sizes.tolist(), weights, items
