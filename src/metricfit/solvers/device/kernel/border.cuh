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
INLINE unsigned rank_entry(double value, int row) { return (upper_half(value) & 0x7fffff00u) | static_cast<unsigned>(row); }

// LU with partial pivoting. Rows stay where they are: pivot_row says which of them was chosen at each step, rank says
// when a row was. Each warp has its rows; while it updates them it looks for the largest entry of the next column, so
// that a step takes one barrier.
template <bool NEAR>
DEVICE void factorise_border(Solver& s) {
    constexpr int ROWS = per_lane((LARGEST_BORDER + LEAST_WARPS - 1) / LEAST_WARPS);
    const Border at = border_of(s);
    const int m = at.m, pitch = at.pitch, mine = (m - warp() + warps() - 1) / warps();
    double* matrix = border_place<NEAR>(s);
    equilibrate<NEAR>(s, at);
    double* own = matrix + warp() * pitch;
    const int skip = warps() * pitch;
    unsigned best = 0;
    for (int r = 0; r < mine; ++r) best = larger(best, rank_entry(own[r * skip], warp() + r * warps()));
    if (lane() == 0) s.proposals[0][warp()] = best;
    barrier();
    for (int k = 0; k < m; ++k) {
        best = 0;
        for (int w = lane(); w < warps(); w += LANES) best = larger(best, s.proposals[k % 2][w]);
        const int row = static_cast<int>(warp_largest(best) & 0xffu);
        const double* chosen = matrix + row * pitch;
        double pivot = chosen[k];
        if (pivot == 0.0) pivot = 1e-30;
        const double inverse = 1.0 / pivot;
        double factor[ROWS];  // of row warp + (lane + c LANES) warps; zero if that is done
#pragma unroll
        for (int c = 0; c < ROWS; ++c) {
            const int r = lane() + c * LANES, other = warp() + r * warps();
            factor[c] = r < mine && other != row && s.rank[other] > k ? own[r * skip + k] * inverse : 0.0;
        }
        best = 0;
        for (int first = k + 1; first < m; first += LANES) {
            const int x = first + lane();
            const double value = x < m ? chosen[x] : 0.0;
#pragma unroll
            for (int c = 0; c < ROWS; ++c) {
#pragma unroll 4
                for (int r = c * LANES; r < smaller(mine, (c + 1) * LANES); ++r) {
                    const double times = from_lane(factor[c], r - c * LANES);
                    if (times == 0.0) continue;
                    double* target = own + r * skip + x;
                    if (x < m) {
                        const double updated = *target - times * value;
                        *target = updated;
                        if (x == k + 1) best = larger(best, rank_entry(updated, warp() + r * warps()));
                    }
                }
            }
        }
        if (lane() == 0) s.proposals[(k + 1) % 2][warp()] = best;
        if (thread() == 0) {
            s.pivot_row[k] = row;
            s.pivot_inverse[k] = inverse;
            s.rank[row] = k;
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
