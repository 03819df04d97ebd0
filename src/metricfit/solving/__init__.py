"""Solvers of the game, by name, and the certified solution that each returns."""

from metricfit.solving.certifying import solve, solve_many
from metricfit.solving.registry import solvers
from metricfit.solving.solution import Answer, ConvergenceWarning, Solution

__all__ = ["Answer", "ConvergenceWarning", "Solution", "solve", "solve_many", "solvers"]
