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

// In the order of the pivots the factors are triangular. Solutions go by blocks on their diagonal, which are replaced by
// their inverses; the diagonal of L is 1 and not stored. One block of L, or of U, is one warp's work, and a lane has columns
// of its inverse.
constexpr int BLOCK = 16;
template <bool NEAR, bool UPPER>
DEVICE void invert_block(Solver& s, int first) {
    const Border at = border_of(s);
    const int pitch = at.pitch, count = smaller(BLOCK, at.m - first);
    double *matrix = border_place<NEAR>(s), inverse[per_lane(BLOCK)][BLOCK], scaled[per_lane(BLOCK)][BLOCK];
#pragma unroll
    for (int c = 0; c < per_lane(BLOCK); ++c) {
#pragma unroll
        for (int step = 0; step < BLOCK; ++step) {
            const int r = UPPER ? BLOCK - 1 - step : step;
            inverse[c][r] = scaled[c][r] = 0.0;
            if (r >= count) continue;
            const double* row = matrix + s.pivot_row[first + r] * pitch + first;
            double part[2] = {lane() + c * LANES == r ? 1.0 : 0.0, 0.0};
#pragma unroll
            for (int before = 0; before < step; ++before) {
                const int k = UPPER ? BLOCK - 1 - before : before;
                part[before % 2] -= row[smaller(k, count - 1)] * scaled[c][k];
            }
            // A row of U is to be divided by its pivot, and columns of L were not.
            inverse[c][r] = part[0] + part[1];
            scaled[c][r] = inverse[c][r] * s.pivot_inverse[first + r];
        }
    }
    meet();
#pragma unroll
    for (int c = 0; c < per_lane(BLOCK); ++c) {
        const int column = lane() + c * LANES;
#pragma unroll
        for (int r = 0; r < BLOCK; ++r) {
            if (column >= count || r >= count || (UPPER ? column < r : column >= r)) continue;
            double* row = matrix + s.pivot_row[first + r] * pitch + first;
            row[column] = UPPER ? scaled[c][r] : inverse[c][r];
        }
    }
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
    WARP_EACH(task, 2 * ((m + BLOCK - 1) / BLOCK)) {
        if (task % 2) invert_block<NEAR, true>(s, task / 2 * BLOCK);
        else invert_block<NEAR, false>(s, task / 2 * BLOCK);
    }
    barrier();
}

// Inner product of a row of a block with a vector, from begin up to end. Every number is read, whether it counts or not:
// a warp would wait for each that is read on a condition.
INLINE double along_block(const double* row, const double* vector, int count, int begin, int end) {
    double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
    for (int k = 0; k < BLOCK; ++k) {
        const double value = vector[smaller(k, count - 1)];
        part[k % 4] += row[smaller(k, count - 1)] * (k >= begin && k < end ? value : 0.0);
    }
    return (part[0] + part[1]) + (part[2] + part[3]);
}

// Solve in place for s.step with the factors and the inverses of their blocks; one warp's work.
template <bool NEAR>
DEVICE void solve_border(Solver& s) {
    constexpr int MINE = per_lane(BLOCK);
    const Border at = border_of(s);
    const int m = at.m, pitch = at.pitch, blocks = (m + BLOCK - 1) / BLOCK;
    const double* matrix = border_place<NEAR>(s);
    double *work = s.vectors[warp()], *told = s.product;
    LANE_EACH(k, m) work[k] = s.step[s.pivot_row[k]] * s.scale[s.pivot_row[k]];
    meet();
#pragma unroll 1
    for (int task = 0; task < 2 * blocks; ++task) {
        const bool upper = task >= blocks;
        const int first = (upper ? 2 * blocks - 1 - task : task) * BLOCK, count = smaller(BLOCK, m - first);
        double solved[MINE];
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int r = smaller(lane() + c * LANES, count - 1);
            const double* row = matrix + s.pivot_row[first + r] * pitch + first;
            solved[c] = along_block(row, work + first, count, upper ? r : 0, upper ? count : r) + (upper ? 0.0 : work[first + r]);
        }
        meet();
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int r = lane() + c * LANES;
            if (r >= count) continue;
            work[first + r] = solved[c];
            told[r] = upper ? solved[c] : solved[c] * s.pivot_inverse[first + r];
        }
        meet();
        const int begin = upper ? 0 : first + count, end = upper ? first : m;
#pragma unroll 1
        for (int r = begin + lane(); r < end; r += LANES) {
            work[r] -= along_block(matrix + s.pivot_row[r] * pitch + first, told, count, 0, count);
        }
        meet();
    }
    LANE_EACH(k, m) s.step[k] = work[k] * s.scale[k];
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
