// The small dense system that is left when items and chain are eliminated; it is symmetric, but indefinite.

// Where the border is; see chain_alpha_of.
template <bool NEAR>
INLINE double* border_place(const Solver& s) { return NEAR ? quick + s.border_at : s.far_border; }

// Scale rows and columns alike until their largest entries are about 1.
template <bool NEAR>
INLINE void equilibrate(Solver& s, const Border& at) {
    const int m = at.m, pitch = at.pitch;
    double* matrix = border_place<NEAR>(s);
    if (matrix != s.border) {
        EACH(x, m * pitch) matrix[x] = s.border[x];
    }
    EACH(x, m) s.scale[x] = 1.0;
    barrier();
    for (int pass = 0; pass < 3; ++pass) {
        WARP_EACH(x, m) {
            double largest = 0.0;
            LANE_EACH(x2, m) largest = larger(largest, absolute(matrix[x * pitch + x2]) * s.scale[x2]);
            largest = reduce_warp(Pair{largest, 0.0}, Maximum()).first * s.scale[x];
            if (lane() == 0) s.next_scale[x] = largest > 0.0 ? s.scale[x] / sqrt(largest) : s.scale[x];
        }
        barrier();
        EACH(x, m) s.scale[x] = s.next_scale[x];
        barrier();
    }
    WARP_EACH(x, m) {
        LANE_EACH(x2, m) matrix[x * pitch + x2] *= s.scale[x] * s.scale[x2];
    }
    EACH(x, m) s.rank[x] = m;
    barrier();
}

// A number that orders rows by the size of an entry, the row in its last digits. What is not finite comes first, and the
// step is going to be rejected.
INLINE unsigned rank_entry(double value, int row) {
    return (upper_half(value) & 0x7fffff00u) | static_cast<unsigned>(row);
}

// LU with partial pivoting. Rows stay where they are: pivot_row says which of them was chosen at each step, rank says
// when a row was. A thread has a row and every fourth column of it; who has the next column tells how large its entries
// are, so that a step takes one barrier.
template <bool NEAR>
DEVICE void factorise_border(Solver& s) {
    const Border at = border_of(s);
    const int m = at.m, pitch = at.pitch, rows = larger(threads() / 4, 1), shares = threads() / rows;
    const int mine = thread() % rows, share = thread() / rows;
    double* matrix = border_place<NEAR>(s);
    equilibrate<NEAR>(s, at);
    unsigned best = 0;
    EACH(row, m) best = larger(best, rank_entry(matrix[row * pitch], row));
    best = warp_largest(best);
    if (lane() == 0) s.proposals[0][warp()] = best;
    barrier();
    for (int k = 0; k < m; ++k) {
        best = 0;
        for (int w = lane(); w < warps(); w += LANES) best = larger(best, s.proposals[k % 2][w]);
        const int chosen = static_cast<int>(warp_largest(best) & 0xffu);
        const double* source = matrix + chosen * pitch;
        double pivot = source[k];
        if (pivot == 0.0) pivot = 1e-30;
        const double inverse = reciprocal(pivot);
        best = 0;
        for (int row = mine; row < m && share < shares; row += rows) {
            if (row == chosen || s.rank[row] < k) continue;
            double* target = matrix + row * pitch;
            const double factor = target[k] * inverse;
            int x = k + 1 + share;
            if (x < m) target[x] -= factor * source[x];
            if (share == 0 && x < m) best = larger(best, rank_entry(target[x], row));
#pragma unroll 4
            for (x += shares; x < m; x += shares) target[x] -= factor * source[x];
        }
        best = warp_largest(best);
        if (lane() == 0) s.proposals[(k + 1) % 2][warp()] = best;
        if (thread() == 0) {
            s.pivot_row[k] = chosen;
            s.pivot_inverse[k] = inverse;
            s.rank[chosen] = k;
        }
        barrier();
    }
}

// Solve in place for s.step with the factors of factorise_border; one warp's work. Lanes hold the unknowns in the
// order of the pivots.
template <bool NEAR>
DEVICE void solve_border(Solver& s) {
    constexpr int MINE = per_lane(LARGEST_BORDER);
    const Border at = border_of(s);
    const int m = at.m, pitch = at.pitch;
    const double* matrix = border_place<NEAR>(s);
    double work[MINE];
    const double* row[MINE];
#pragma unroll
    for (int c = 0; c < MINE; ++c) {
        const int place = s.pivot_row[smaller(c * LANES + lane(), m - 1)];
        work[c] = s.step[place] * s.scale[place];
        row[c] = matrix + place * pitch;
    }
    meet();
#pragma unroll
    for (int block = 0; block < MINE; ++block) {
        for (int k = block * LANES; k < smaller(m, (block + 1) * LANES); ++k) {
            const double value = from_lane(work[block], k - block * LANES) * s.pivot_inverse[k];
#pragma unroll
            for (int c = block; c < MINE; ++c) {
                if (c * LANES + lane() > k) work[c] -= row[c][k] * value;
            }
        }
    }
#pragma unroll
    for (int block = MINE - 1; block >= 0; --block) {
        for (int k = smaller(m, (block + 1) * LANES) - 1; k >= block * LANES; --k) {
            const double value = from_lane(work[block], k - block * LANES) * s.pivot_inverse[k];
            if (lane() == 0) s.step[k] = value * s.scale[k];
#pragma unroll
            for (int c = 0; c <= block; ++c) {
                if (c * LANES + lane() < k) work[c] -= row[c][k] * value;
            }
        }
    }
    meet();
}

INLINE void factorise_border(Solver& s) {
    if (s.border_at >= 0) factorise_border<true>(s);
    else factorise_border<false>(s);
}

INLINE void solve_border(Solver& s) {
    if (s.border_at >= 0) solve_border<true>(s);
    else solve_border<false>(s);
}
