"""Exact mixtures of sets out of iterates that are so up to rounding, before they are judged."""

from .growth import dilute
from .parts import part
from .state import (
    ALPHA,
    INSIDE,
    MAX_COLUMNS,
    OUTSIDE,
    POSITIVE,
    WEIGHT,
    Columns,
    Floats,
    Iterate,
    Problem,
    Workspace,
    lean,
)


@lean
def tidy_columns(columns: Columns, count: Floats, sizes: Floats, total: float) -> None:
    """Remove rounding from the marginals, so that the bounds computed from them are valid."""
    used = columns.used[0]
    if abs(total - 1.0) > 1e-14:
        dilute(columns, 1.0 / total, count.shape[0])
    for a in range(used):
        mass = columns.mass[a]
        inside, outside = 0.0, 0.0
        for i in range(count.shape[0]):
            scale = mass / (columns.marginal[INSIDE, a, i] + columns.marginal[OUTSIDE, a, i])
            columns.marginal[INSIDE, a, i] *= scale
            columns.marginal[OUTSIDE, a, i] *= scale
            inside += count[i] * columns.marginal[INSIDE, a, i]
            outside += count[i] * columns.marginal[OUTSIDE, a, i]
        missing = sizes[columns.size_index[a]] * mass - inside
        if missing > 0.0:
            move = missing / outside
            for i in range(count.shape[0]):
                columns.marginal[INSIDE, a, i] += move * columns.marginal[OUTSIDE, a, i]
                columns.marginal[OUTSIDE, a, i] *= 1.0 - move
        else:
            move = -missing / inside
            for i in range(count.shape[0]):
                columns.marginal[OUTSIDE, a, i] += move * columns.marginal[INSIDE, a, i]
                columns.marginal[INSIDE, a, i] *= 1.0 - move


@lean
def tidy(problem: Problem, it: Iterate) -> None:
    """Make both players' strategies exact mixtures of sets."""
    adversary, predictor = it.adversary, it.predictor
    total = adversary.mass[MAX_COLUMNS] + adversary.mass[MAX_COLUMNS + 1]
    for b in range(adversary.used[0]):
        total += adversary.mass[b]
    tidy_columns(adversary, problem.items[WEIGHT], problem.adversary_sizes, total)
    sets = problem.items.shape[1] + 1
    total = 0.0
    for j in range(sets):
        total += it.chain_mass[j]
    for a in range(predictor.used[0]):
        total += predictor.mass[a]
    for j in range(sets):
        it.chain_mass[j] /= total
    tidy_columns(predictor, problem.items[WEIGHT], problem.predictor_sizes, total)


@lean
def copy_strategy(source: Columns, target: Columns, groups: int) -> None:
    """Copy a player's strategy, without its dual variables."""
    target.used[0] = source.used[0]
    for a in range(MAX_COLUMNS + 2):
        target.mass[a] = source.mass[a]
    for a in range(source.used[0]):
        target.size_index[a] = source.size_index[a]
        for i in range(groups):
            target.marginal[INSIDE, a, i] = source.marginal[INSIDE, a, i]


@part
def pool(problem: Problem, adversary: Columns, w: Workspace, row: int, target: Columns) -> None:
    """Average the adversary over neighbours until the predictor's item gains at ``row`` fall.

    Pool-adjacent-violators, within each label. Averaging never raises a best response, and without
    constraints the chain's set of this size is one afterwards. It irons out the noise of marginals
    that ought to be equal.
    """
    groups = problem.items.shape[1]
    used = adversary.used[0]
    copy_strategy(adversary, target, groups)
    member = w.order[0]  # groups of this label, in the order of the chain
    first = w.order[1]  # where each pool begins in it
    level, weight = w.scratch[0], w.scratch[1]
    for label in range(2):
        members, pools = 0, 0
        for i in range(groups):
            if problem.items[POSITIVE, i] != label:
                continue
            gain = 0.0
            for b in range(used):
                gain += problem.tables[ALPHA, row, adversary.size_index[b]] * adversary.marginal[INSIDE, b, i]
            first[pools], level[pools], weight[pools] = members, gain, problem.items[WEIGHT, i]
            member[members] = i
            members += 1
            pools += 1
            while pools > 1 and level[pools - 1] >= level[pools - 2]:
                total = weight[pools - 2] + weight[pools - 1]
                level[pools - 2] += (level[pools - 1] - level[pools - 2]) * weight[pools - 1] / total
                weight[pools - 2] = total
                pools -= 1
        first[pools] = members
        for x in range(pools):
            if first[x + 1] - first[x] == 1:
                continue
            for b in range(used):
                total = 0.0
                for y in range(first[x], first[x + 1]):
                    total += problem.items[WEIGHT, member[y]] * adversary.marginal[INSIDE, b, member[y]]
                for y in range(first[x], first[x + 1]):
                    target.marginal[INSIDE, b, member[y]] = total / weight[x]
