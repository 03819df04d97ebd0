"""The game between predictor and adversary: what a solver solves, and how its answer is certified."""

from metricfit.game.best_response import adversary_values, bounds, predictor_values
from metricfit.game.definition import TABLE_LIMIT, Game, checked_input, make_game
from metricfit.game.errors import InfeasibleConstraintsError
from metricfit.game.feasibility import constraint_slacks, make_feasible, most_slack, slack_tolerances
from metricfit.game.numbers import as_numbers
from metricfit.game.payoff import AdjustedMetric, Payoff, checked_size_scores, sized
from metricfit.game.rounding import batch_rounding, constraint_rounding, extent
from metricfit.game.strategy import Strategy, average_ties, clean, inclusion_in_order, mix

__all__ = [
    "TABLE_LIMIT",
    "AdjustedMetric",
    "Game",
    "InfeasibleConstraintsError",
    "Payoff",
    "Strategy",
    "adversary_values",
    "as_numbers",
    "average_ties",
    "batch_rounding",
    "bounds",
    "checked_input",
    "checked_size_scores",
    "clean",
    "constraint_rounding",
    "constraint_slacks",
    "extent",
    "inclusion_in_order",
    "make_feasible",
    "make_game",
    "mix",
    "most_slack",
    "predictor_values",
    "sized",
    "slack_tolerances",
]
