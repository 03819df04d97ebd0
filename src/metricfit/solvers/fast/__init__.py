"""The fast exact solver."""

from metricfit.solvers.fast.solving import solve_fast

__all__ = ["solve_fast"]
