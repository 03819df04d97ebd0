r"""The chain of sets, eliminated from the Newton system by a Kalman filter.

In the chain's equations (:mod:`.elimination`) the matrix :math:`\Theta + U W U^\top` has
:math:`W_{jk} = \sum_{i < \min(j,k)} m_i Y_i T_i`, because the sets of the chain are nested;
:math:`Y_i T_i` is what the chain sees of item i if it pulls at it (:mod:`.items`). That is
the covariance of noisy observations :math:`u_j^\top \xi_j` of a random walk :math:`\xi` with
independent increments of covariance :math:`m_i Y_i T_i`. A Kalman filter therefore *is* its
:math:`LDL^\top` factorisation: the innovations are :math:`L^{-1}` times the right-hand side, and the
backward pass is the solve with :math:`L^\top`. The cost is O(G m^2) for G groups and m border unknowns, where
a dense factorisation would need O(G^3).

The filter takes one item after the other, so it wants what belongs to an item next to each other, while
:mod:`.items` keeps items next to each other: what the chain sees is transposed on the way, eight items and
eight columns at a time. And it wants all rows to begin and end with whole vectors, so it has an order of its
own, with room in between, :class:`Order`.
"""

from typing import NamedTuple

from .border import subtract_rows, subtract_rows_twice
from .coupling import fours, whole_eights
from .items import reduced
from .parts import part
from .state import (
    LANES,
    OUT,
    PRECISION,
    SOFTNESS,
    WEIGHT,
    ZERO,
    Floats,
    Iterate,
    Problem,
    Workspace,
    brief,
    lean,
)


class Order(NamedTuple):
    """Where the chain's filter keeps what belongs to an unknown of the border, by whole vectors.

    First the prices of the columns, which are the adversary's, the predictor's, and constraints; a
    constraint's is minus its multiplier. Then the columns' masses, those of both ends, and the levels.
    """

    columns: int
    masses: int
    ends: int
    levels: int
    width: int


@brief
def order_of(columns: int) -> Order:
    """Return it for so many columns."""
    masses = whole_eights(columns)
    ends = masses + columns
    return Order(columns, masses, ends, ends + 2, whole_eights(ends + 4))


@lean
def lay_out_chain(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Fill in what the sets of the chain have to do with the border but for their items."""
    q, constraints = it.adversary.used[0], it.multiplier.shape[0]
    order = order_of(q + it.predictor.used[0] + constraints)
    for j in range(problem.items.shape[1] + 1):
        row = w.chain_row[j]
        for x in range(order.width):
            row[x] = 0.0
        for b in range(q):
            row[order.masses + b] = w.chain_beta[j, b]
        row[order.ends], row[order.ends + 1] = w.chain_beta[j, q], w.chain_beta[j, q + 1]
        row[order.levels + 1] = -1.0
        for c in range(constraints):
            row[order.columns - constraints + c] = problem.chain_gain[c, j]


@brief
def transpose_eight(
    target: Floats,
    s0: Floats,
    s1: Floats,
    s2: Floats,
    s3: Floats,
    s4: Floats,
    s5: Floats,
    s6: Floats,
    s7: Floats,
    items: int,
) -> None:
    """Copy what eight rows hold of up to eight items, so that an item's is next to each other."""
    for i in range(items):
        target[LANES * i] = s0[i]
        target[LANES * i + 1] = s1[i]
        target[LANES * i + 2] = s2[i]
        target[LANES * i + 3] = s3[i]
        target[LANES * i + 4] = s4[i]
        target[LANES * i + 5] = s5[i]
        target[LANES * i + 6] = s6[i]
        target[LANES * i + 7] = s7[i]


@brief
def player(x: int, q: int) -> int:
    """Tell whose a column is among those of both players."""
    return 0 if x < q else 1


@brief
def place(x: int, q: int, f: int) -> int:
    """Tell which of its player's columns it is; of constraints', any."""
    return x if x < q else min(x - q, f - 1)


@lean
def gather(w: Workspace, eight: int, groups: int, q: int, f: int, columns: int, share: Floats) -> None:
    """Copy what the chain sees of eight items, and OUT, by items and eights of columns.

    Columns that are not there repeat the last one, but OUT of theirs is nothing.
    """
    wide, blocks, last = share.shape[0] - 1, share.shape[1], columns - 1
    items = min(LANES, fours(groups - LANES * eight))
    shown = reduced(w, columns, f, groups).seen.reshape((columns, wide, -(-groups // LANES), LANES))
    players, kinds, rows, room = w.sides.shape
    out = w.sides.reshape((players, kinds, rows, room // LANES, LANES))[:, OUT]
    for x in range(blocks):
        x0 = LANES * x
        x1, x2, x3 = min(x0 + 1, last), min(x0 + 2, last), min(x0 + 3, last)
        x4, x5, x6, x7 = min(x0 + 4, last), min(x0 + 5, last), min(x0 + 6, last), min(x0 + 7, last)
        for r in range(wide):
            transpose_eight(
                share[r, x],
                shown[x0, r, eight],
                shown[x1, r, eight],
                shown[x2, r, eight],
                shown[x3, r, eight],
                shown[x4, r, eight],
                shown[x5, r, eight],
                shown[x6, r, eight],
                shown[x7, r, eight],
                items,
            )
        transpose_eight(
            share[wide, x],
            out[player(x0, q), place(x0, q, f), eight],
            out[player(x1, q), place(x1, q, f), eight],
            out[player(x2, q), place(x2, q, f), eight],
            out[player(x3, q), place(x3, q, f), eight],
            out[player(x4, q), place(x4, q, f), eight],
            out[player(x5, q), place(x5, q, f), eight],
            out[player(x6, q), place(x6, q, f), eight],
            out[player(x7, q), place(x7, q, f), eight],
            items,
        )
    for i in range(items):
        for x in range(columns - LANES * (blocks - 1), LANES):
            share[wide, blocks - 1, LANES * i + x] = 0.0


@brief
def add_item(
    p0: Floats,
    p1: Floats,
    p2: Floats,
    p3: Floats,
    m0: Floats,
    m1: Floats,
    m2: Floats,
    m3: Floats,
    a0: Floats,
    a1: Floats,
    a2: Floats,
    a3: Floats,
    out: Floats,
    count: float,
) -> None:
    """Add what an item answers (a) to the prices (p) and masses (m) of eight columns, in four rows."""
    for x in range(LANES):
        v0, v1, v2, v3 = count * a0[x], count * a1[x], count * a2[x], count * a3[x]
        p0[x] -= v0
        p1[x] -= v1
        p2[x] -= v2
        p3[x] -= v3
        m0[x] += v0 * out[x]
        m1[x] += v1 * out[x]
        m2[x] += v2 * out[x]
        m3[x] += v3 * out[x]


@brief
def add_items(state: Floats, share: Floats, i: int, count: float) -> None:
    """Let the chain's random walk take the step of an item, for all columns."""
    wide, columns = share.shape[0] - 1, share.shape[1]
    for r in range(0, wide, 4):
        for x in range(columns):
            add_item(
                state[r, x],
                state[r + 1, x],
                state[r + 2, x],
                state[r + 3, x],
                state[r, columns + x],
                state[r + 1, columns + x],
                state[r + 2, columns + x],
                state[r + 3, columns + x],
                share[r, x, i],
                share[r + 1, x, i],
                share[r + 2, x, i],
                share[r + 3, x, i],
                share[wide, x, i],
                count,
            )


@brief
def observe(observed: Floats, row: Floats, on: Floats, state: Floats, wide: int) -> None:
    """Compute what a set of the chain observes: its row, less what it sees of the walk."""
    for x in range(observed.shape[0]):
        observed[x] = row[x]
    subtract_rows(observed, on, state, wide, ZERO, observed.shape[0])


@brief
def covary(
    target: Floats, basis_t: Floats, of_prices: Floats, on: Floats, factored: bool, wide: int
) -> float:
    """Compute the walk's covariance with what a set observes, and return the variance of that.

    Unless columns are ``factored`` each is a factor of its own.
    """
    variance = 0.0
    if not factored:
        for b in range(wide):
            target[b] = -of_prices[b]
            variance += on[b] * target[b]
        return variance
    for r in range(0, wide, 4):
        c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
        r0, r1, r2, r3 = basis_t[r], basis_t[r + 1], basis_t[r + 2], basis_t[r + 3]
        for b in range(of_prices.shape[0]):
            value = of_prices[b]
            c0 -= value * r0[b]
            c1 -= value * r1[b]
            c2 -= value * r2[b]
            c3 -= value * r3[b]
        target[r], target[r + 1], target[r + 2], target[r + 3] = c0, c1, c2, c3
        variance += (on[r] * c0 + on[r + 1] * c1) + (on[r + 2] * c2 + on[r + 3] * c3)
    return variance


@brief
def add_multiples(
    s0: Floats, s1: Floats, s2: Floats, s3: Floats, factor: Floats, first: int, vector: Floats, m: int
) -> None:
    """Add multiples of a vector to four rows, by four factors from the first on."""
    w0, w1, w2, w3 = factor[first], factor[first + 1], factor[first + 2], factor[first + 3]
    for x in range(m):
        value = vector[x]
        s0[x] += w0 * value
        s1[x] += w1 * value
        s2[x] += w2 * value
        s3[x] += w3 * value


@brief
def keep(e: Floats, observed: Floats, order: Order, q: int, f: int, until: int) -> None:
    """Copy an innovation into the order of the border, and fill up with zeros."""
    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    constraints = order.columns - q - f
    for a in range(f):
        e[a] = observed[order.masses + q + a]
        e[prices_p + a] = observed[q + a]
    for b in range(q):
        e[prices + b] = observed[b]
        e[masses + b] = observed[order.masses + b]
    for x in range(2):
        e[masses + q + x], e[levels + x] = observed[order.ends + x], observed[order.levels + x]
    for c in range(constraints):
        e[levels + 2 + c] = observed[q + f + c]
    for x in range(levels + 2 + constraints, until):
        e[x] = 0.0


@part
def filter_chain(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Eliminate the chain by a Kalman filter and complete the border's Schur complement."""
    q, f = it.adversary.used[0], it.predictor.used[0]
    groups = problem.items.shape[1]
    constraints = it.multiplier.shape[0]
    m = 2 * f + 2 * q + 4 + constraints
    wide, sets, until = w.rank[1], fours(groups + 1), whole_eights(m)
    # Filtered mean of the random walk for each border unknown, plus the items' own share. The columns of
    # the prices are the walk's posterior covariance: a price enters every item of its column alike.
    order = order_of(q + f + constraints)
    state = w.filtered[: wide * order.width].reshape((wide, order.width))
    for r in range(wide):
        for x in range(order.width):
            state[r, x] = 0.0
    in_eights = state.reshape((wide, order.width // LANES, LANES))
    share = w.share[: LANES * (wide + 1) * order.masses].reshape(
        (wide + 1, order.masses // LANES, LANES * LANES)
    )
    shares = share.reshape((wide + 1, order.masses // LANES, LANES, LANES))
    observed, covariance = w.observed[: order.width], w.running[0]
    for j in range(groups + 1):
        variance, on = 0.0, w.chain_on[j]
        if j > 0:
            i = j - 1
            count = problem.items[WEIGHT, i]
            if f == 0:
                for b in range(q):
                    value = count * w.adversary[SOFTNESS, b, i]
                    state[b, b] += value
                    state[b, order.masses + b] -= value * w.adversary[OUT, b, i]
            else:
                if i % LANES == 0:
                    gather(w, i // LANES, groups, q, f, order.columns, share)
                add_items(in_eights, shares, i % LANES, count)
        observe(observed, w.chain_row[j], on, state, wide if j > 0 else 0)
        if j > 0:
            variance = covary(covariance, w.basis_t, observed[: fours(q)], on, f > 0, wide)
        precision = 1.0 / (max(variance, 0.0) + it.chain_slack[j] / it.chain_mass[j])
        w.along[PRECISION, j] = precision
        # A variance lost to rounding says that what this set observes was known before.
        gain, known = w.kalman_gain[j], variance <= 0.0
        for r in range(wide):
            gain[r] = 0.0 if known else covariance[r] * precision
        if not known:
            for r in range(0, wide, 4):
                add_multiples(
                    state[r], state[r + 1], state[r + 2], state[r + 3], gain, r, observed, order.width
                )
        keep(w.innovation[j], observed, order, q, f, until)
    factor, factor_2 = w.factor[0], w.factor[1]
    for j in range(groups + 1, sets):
        factor[j] = 0.0
        factor_2[j] = 0.0
        for x in range(until):
            w.innovation[j, x] = 0.0
    # Two rows at once, by whole vectors; what they get below the diagonal nobody reads.
    for x in range(0, m, 2):
        for j in range(groups + 1):
            factor[j] = -w.innovation[j, x] * w.along[PRECISION, j]
            factor_2[j] = -w.innovation[j, x + 1] * w.along[PRECISION, j]
        first = x // LANES * LANES
        subtract_rows_twice(w.border[x], w.border[x + 1], factor, factor_2, w.innovation, sets, first, until)
