"""The fast exact solver."""

from metricfit.solving.fast.solving import judge_fast, solve_fast

__all__ = ["judge_fast", "solve_fast"]
