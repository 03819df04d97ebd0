r"""The best strategies so far, as mixtures of those met on the way.

What a mixture of strategies loses to the best response of one size is at most the mixture of what they lose
to it, as that is convex in the marginals. Strategies from different steps are weak against different sizes,
so that a mixture of two proves a better bound than either.
"""

import numpy as np

from .parts import part
from .pricing import largest
from .state import INSIDE, MAX_COLUMNS, Columns, Floats, Indices, Ints, Vector, Workspace, lean

MOST_TRIALS = 25
"""A few are the rule, as each trial finds a line that was not known before."""


@lean
def top_at(kept: Floats, new: Floats, shift: float, t: float) -> tuple[float, float]:
    """Return the largest entry of ``(1 - t) kept + t (new + shift)``, and how fast it grows with t."""
    top, slope = -np.inf, 0.0
    for x in range(kept.shape[0]):
        change = new[x] + shift - kept[x]
        if kept[x] + t * change > top:
            top, slope = kept[x] + t * change, change
    return top, slope


@lean
def best_share(kept: Floats, new: Floats, shift: float) -> float:
    """Return the share t of ``new + shift`` at which the largest entry of the mixture is least.

    The largest entry is convex in t and made of straight lines. Those at both ends of an interval meet within
    it; if no other entry is above them there, that is the place, and else the new one narrows the interval.
    """
    low, high = 0.0, 1.0
    top_low, slope_low = top_at(kept, new, shift, low)
    if slope_low >= 0.0:
        return low
    top_high, slope_high = top_at(kept, new, shift, high)
    if slope_high <= 0.0:
        return high
    for _ in range(MOST_TRIALS):
        t = low + (top_high - top_low - slope_high * (high - low)) / (slope_low - slope_high)
        if not low < t < high:
            break
        top, slope = top_at(kept, new, shift, t)
        if slope in (slope_low, slope_high):
            return t
        if slope > 0.0:
            high, top_high, slope_high = t, top, slope
        else:
            low, top_low, slope_low = t, top, slope
    return low


@lean
def mix(kept: Floats, new: Floats, share: float, shift: float) -> None:
    """Move an array to its mixture with ``new + shift``, which takes this share."""
    for x in range(kept.shape[0]):
        kept[x] = new[x] + shift if share == 1.0 else kept[x] + share * (new[x] + shift - kept[x])


@lean
def place_of(columns: Columns, index: int) -> int:
    """Return the column of this size, or the first free one."""
    for a in range(columns.used[0]):
        if columns.size_index[a] == index:
            return a
    return int(columns.used[0])


@lean
def share_of(kept: Columns, new: Columns, losses: Floats, new_losses: Floats, shift: float) -> float:
    """Return how much of a new strategy to mix into the one that was kept, by what each of them loses.

    Where the sizes of both do not fit together, all or nothing.
    """
    together = kept.used[0]
    for a in range(new.used[0]):
        together += place_of(kept, new.size_index[a]) == kept.used[0]
    if together <= MAX_COLUMNS:
        return best_share(losses, new_losses, shift)
    better = new_losses[largest(new_losses)] + shift < losses[largest(losses)]
    return 1.0 if better else 0.0


@lean
def add_items(kept: Floats, new: Floats, share: float, blocks: Ints, groups: int) -> None:
    """Add this share of what every item of a group has."""
    if groups == kept.shape[0]:
        for i in range(groups):
            kept[i] += share * new[i]
        return
    for g in range(groups):
        for i in range(blocks[g], blocks[g + 1]):
            kept[i] += share * new[g]


@lean
def mix_chain(kept: Floats, new: Floats, share: float, blocks: Ints, groups: int) -> None:
    """Move the chain's probabilities to their mixture with new ones, which are of fewer sets."""
    for j in range(kept.shape[0]):
        kept[j] = 0.0 if share == 1.0 else kept[j] * (1.0 - share)
    for g in range(groups + 1):
        kept[blocks[g]] += share * new[g]


@lean
def mix_columns(kept: Columns, new: Columns, share: float, blocks: Ints, groups: int) -> None:
    """Move a player's strategy to its mixture with a new one of these groups, which takes this share."""
    if share == 1.0:
        kept.used[0] = 0
    for a in range(kept.used[0]):
        kept.mass[a] *= 1.0 - share
        for i in range(kept.marginal.shape[2]):
            kept.marginal[INSIDE, a, i] *= 1.0 - share
    for a in range(MAX_COLUMNS, MAX_COLUMNS + 2):
        kept.mass[a] += share * (new.mass[a] - kept.mass[a])
    for a in range(new.used[0]):
        place = place_of(kept, new.size_index[a])
        if place == kept.used[0]:
            kept.used[0] += 1
            kept.size_index[place] = new.size_index[a]
            kept.mass[place] = 0.0
            for i in range(kept.marginal.shape[2]):
                kept.marginal[INSIDE, place, i] = 0.0
        kept.mass[place] += share * new.mass[a]
        add_items(kept.marginal[INSIDE, place], new.marginal[INSIDE, a], share, blocks, groups)


@part
def blend(
    kept: Columns,
    new: Columns,
    w: Workspace,
    losses: Vector,
    new_losses: Vector,
    shift: float,
    known: bool,
    blocks: Indices,
    groups: int,
) -> float:
    """Mix a new strategy into the one that was kept, if there is one, and return its share.

    ``losses`` becomes what the mixture loses to each size; what the new one does is ``new_losses + shift``.
    """
    share = share_of(kept, new, losses, new_losses, shift) if known else 1.0
    if share > 0.0:
        mix_columns(kept, new, share, blocks, groups)
        mix(losses, new_losses, share, shift)
    return share
