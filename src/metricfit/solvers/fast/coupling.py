r"""What columns and sets do to each other: alpha in few factors.

For the usual metrics alpha is a smooth function of both sizes, :math:`2 / (k + l)` for F1. So few products
of a number for each :math:`k` and one for each :math:`l` add up to nearly all of it,
:math:`A \approx U V^\top`: three or four in games of 100 items, for metrics like MCC one. A Newton step needs
no more than that. Residuals are computed with alpha itself, and each step corrects what the one before has
left. If too much of it stays, steps become more exact, until all of alpha is in the factors.

What a Newton step may leave aside is measured in :math:`\sqrt{k l}\,\alpha_{kl}`, to which sets of all sizes
contribute alike.
"""

import numpy as np

from .state import LANES, PRECISION, SEEN, STEP_CHAIN, Floats, Iterate, Problem, Workspace, brief, lean

COARSE = 1e-2
"""Share of alpha, as a norm, that Newton steps leave aside at first."""

NOTHING = 1e-14
"""What is left of alpha by rounding is less than this share."""


@brief
def fours(count: int) -> int:
    """Return the next multiple of four."""
    return -(-count // 4) * 4


@brief
def whole_eights(count: int) -> int:
    """Return the next multiple of eight."""
    return -(-count // LANES) * LANES


@brief
def subtract_multiple(target: Floats, factor: float, row: Floats) -> float:
    """Subtract a multiple of a row; returns the sum of squares that is left."""
    left = 0.0
    for x in range(row.shape[0]):
        value = target[x] - factor * row[x]
        target[x] = value
        left += value * value
    return left


@lean
def factorise_alpha(problem: Problem, it: Iterate, w: Workspace, left_aside: float) -> None:
    """Find U for the chain and the predictor's columns and V for the adversary's, by elimination.

    Pivots are the largest entries of the columns of which most is left. Without columns of the predictor
    nothing is gained by it, and each column is a factor of its own.
    """
    adversary, predictor = it.adversary, it.predictor
    q, f, sets = adversary.used[0], predictor.used[0], problem.items.shape[1] + 1
    if f == 0:
        for j in range(sets):
            for b in range(q):
                w.chain_on[j, b] = w.chain_alpha[j, b]
            for b in range(q, fours(q)):
                w.chain_on[j, b] = 0.0
        for b in range(q, fours(q)):
            for i in range(sets - 1):
                w.moments[SEEN, i // LANES, b // 4, LANES * (b % 4) + i % LANES] = 0.0
        w.rank[0], w.rank[1] = q, fours(q)
        return
    rest = w.rest[: q * (sets + f)].reshape((q, sets + f))
    root, per_root = w.along[STEP_CHAIN], w.along[PRECISION]
    left, per_q, per_f = w.running[0], w.running[1], w.running[2]
    for j in range(sets):
        root[j] = np.sqrt(problem.predictor_sizes[problem.chain[j]])
        per_root[j] = 1.0 / root[j] if j > 0 else 0.0
    for a in range(f):
        per_f[a] = 1.0 / np.sqrt(problem.predictor_sizes[predictor.size_index[a]])
    whole = 0.0
    for b in range(q):
        row = rest[b]
        scale = np.sqrt(problem.adversary_sizes[adversary.size_index[b]])
        per_q[b] = 1.0 / scale
        for j in range(sets):
            row[j] = w.chain_alpha[j, b] * scale * root[j]
        for a in range(f):
            row[sets + a] = w.cross[a, b] * scale / per_f[a]
        left[b] = subtract_multiple(row, 0.0, row)
        whole += left[b]
    rank = 0
    while rank < min(q, w.basis.shape[1]):
        total, column = 0.0, 0
        for b in range(q):
            total += left[b]
            if left[b] > left[column]:
                column = b
        # Factors come in fours: what there is room for costs nothing.
        limit = left_aside if rank % 4 == 0 else min(left_aside, NOTHING)
        if total <= limit * limit * whole:
            break
        row, pivot = rest[column], 0
        for x in range(sets + f):
            if abs(row[x]) > abs(row[pivot]):
                pivot = x
        per = 1.0 / row[pivot]
        for j in range(sets):
            w.chain_on[j, rank] = row[j] * per * per_root[j]
        for a in range(f):
            value = row[sets + a] * per * per_f[a]
            w.cross_on[a, rank] = value
        for b in range(q):
            value = rest[b, pivot]
            w.basis[b, rank], w.basis_t[rank, b] = value * per_q[b], value * per_q[b]
            if b != column:
                left[b] = subtract_multiple(rest[b], value * per, row)
        left[column] = 0.0
        for x in range(sets + f):
            row[x] = 0.0
        rank += 1
    wide = fours(max(rank, 1))
    for r in range(wide):
        for b in range(q, fours(q)):
            w.basis[b, r], w.basis_t[r, b] = 0.0, 0.0
        for a in range(f, fours(f)):
            w.cross_on[a, r] = 0.0
    for r in range(rank, wide):
        for j in range(sets):
            w.chain_on[j, r] = 0.0
        for b in range(q):
            w.basis[b, r], w.basis_t[r, b] = 0.0, 0.0
        for a in range(f):
            w.cross_on[a, r] = 0.0
    w.rank[0], w.rank[1] = rank, wide
