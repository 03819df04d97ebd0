"""What can be wrong with a game that was asked for."""

from __future__ import annotations

__all__ = ["InfeasibleConstraintsError"]


class InfeasibleConstraintsError(ValueError):
    """No prediction, and no mixture of predictions, satisfies the constraints on these labels."""
