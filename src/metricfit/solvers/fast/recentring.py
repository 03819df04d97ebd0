"""Backing off towards the central path before new columns join.

Late in a game many marginals are next to nothing, and a new column may need just those: every step is then
held up by them. A convex combination of two feasible iterates is feasible, and its duality gap is that of
their gaps. A little of an earlier iterate, which was centred at a larger gap, brings every product of
complementary variables to about that share of the earlier one's.
"""

from .blending import mix
from .parts import part
from .state import Columns, Iterate, Workspace, lean

BACK = 0.11
"""Share of the earlier iterate that is mixed in."""


@lean
def approach_columns(columns: Columns, other: Columns, groups: int, share: float) -> None:
    """Move one player's columns and their duals this share of the way to the other's, size by size."""
    if share == 1.0:
        columns.used[0] = other.used[0]
    mix(columns.mass, other.mass, share, 0.0)
    mix(columns.dual_mass, other.dual_mass, share, 0.0)
    mix(columns.price, other.price, share, 0.0)
    for a in range(other.used[0]):
        for part_of in range(columns.marginal.shape[0]):
            mix(columns.marginal[part_of, a][:groups], other.marginal[part_of, a][:groups], share, 0.0)


@part
def approach(it: Iterate, w: Workspace, other: Iterate, groups: int, share: float) -> None:
    """Move an iterate this share of the way to another with the same columns; all the way is a copy.

    Which sizes the columns have is not copied.
    """
    approach_columns(it.adversary, other.adversary, groups, share)
    approach_columns(it.predictor, other.predictor, groups, share)
    mix(it.chain_mass[: groups + 1], other.chain_mass[: groups + 1], share, 0.0)
    mix(it.chain_slack[: groups + 1], other.chain_slack[: groups + 1], share, 0.0)
    mix(it.multiplier, other.multiplier, share, 0.0)
    mix(it.multiplier_slack, other.multiplier_slack, share, 0.0)
    mix(it.level, other.level, share, 0.0)
