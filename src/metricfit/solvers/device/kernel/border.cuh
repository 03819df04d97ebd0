// The small dense system that is left when items and chain are eliminated; it is symmetric, but indefinite.

// Where the border is; see chain_alpha_of.
template <bool NEAR>
INLINE double* border_place(const Solver& s) { return NEAR ? quick + s.border_at : s.far_border; }

// Scale rows and columns alike until their largest entries are about 1.
template <bool NEAR>
INLINE void equilibrate(Solver& s, const Border& at) {
    const int m = at.m, pitch = at.pitch;
    double* matrix = border_place<NEAR>(s);
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

// The warp's best candidate for the next pivot, where all its lanes can see it after the next barrier.
INLINE void propose(Solver& s, int k, double size, int row) {
    if (lane() == 0) s.slots[(k % 2) * warps() + warp()] = Pair{size, static_cast<double>(row)};
}

// LU with partial pivoting. Rows stay where they are: pivot_row says which of them was chosen at each step, rank says
// when a row was. Each warp has its rows; while it updates them it looks for the largest entry of the next column, so
// that a step takes one barrier.
template <bool NEAR>
DEVICE void factorise_border(Solver& s) {
    const Border at = border_of(s);
    const int m = at.m, pitch = at.pitch;
    double* matrix = border_place<NEAR>(s);
    equilibrate<NEAR>(s, at);
    double best_size = -2.0;
    int best_row = 0;
    WARP_EACH(row, m) {
        const double size = absolute(matrix[row * pitch]);
        // NaN compares as smaller than all: any row will do, and the step is going to be rejected.
        if (size > best_size || best_size == -2.0) best_size = size >= 0.0 ? size : -1.0, best_row = row;
    }
    propose(s, 0, best_size, best_row);
    barrier();
    for (int k = 0; k < m; ++k) {
        Pair own = {-3.0, 0.0};
        for (int w = lane(); w < warps(); w += LANES) own = Argument()(own, s.slots[(k % 2) * warps() + w]);
        const int best = static_cast<int>(reduce_warp(own, Argument()).second);
        const double* chosen = matrix + best * pitch;
        double pivot = chosen[k];
        if (pivot == 0.0) pivot = 1e-30;
        const double inverse = 1.0 / pivot;
        best_size = -2.0;
        WARP_EACH(row, m) {
            if (row == best || s.rank[row] < k) continue;
            double* target = matrix + row * pitch;
            const double factor = target[k] * inverse;
            double next = 0.0;
            for (int x = k + 1 + lane(); x < m; x += LANES) {
                const double value = target[x] - factor * chosen[x];
                target[x] = value;
                if (x == k + 1) next = absolute(value);
            }
            if (next > best_size || best_size == -2.0) best_size = next >= 0.0 ? next : -1.0, best_row = row;
        }
        propose(s, k + 1, best_size, best_row);
        if (thread() == 0) {
            s.pivot_row[k] = best;
            s.pivot_inverse[k] = inverse;
            s.rank[best] = k;
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
