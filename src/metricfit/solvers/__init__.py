"""Solvers of the game, by name, and the certified solution that each returns."""

from metricfit.solvers.registry import solvers
from metricfit.solvers.solution import Answer, ConvergenceWarning, Solution
from metricfit.solvers.solving import solve, solve_many

__all__ = ["Answer", "ConvergenceWarning", "Solution", "solve", "solve_many", "solvers"]
