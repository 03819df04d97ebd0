// Eliminating the chain from the Newton matrix by a Kalman filter; see metricfit/solvers/fast/elimination.py.
//
// The filter's state is a matrix: for each unknown of the border the filtered mean of a random walk, a number for every
// adversary column; the columns of the prices are the walk's covariance. A set of the chain observes it, and an item is
// added between two sets. Here that is done PANEL sets at a time. What the items of a panel add, and what its sets
// would observe of that alone, is found for all panels at once. Then one panel follows the other: the state before it
// is observed too, the covariance of the observations is factorised, L S L', L^-1 makes innovations of the
// observations, and these correct the state. Between sets j and k < j the factor L of the whole chain is the inner
// product of alpha of j and the gain of k, so that a right-hand side is filtered by panels as well.

// Where the chain's tables are: near, which the compiler has to know to make good use of it, or far.
template <bool NEAR>
INLINE double* chain_alpha_of(const Solver& s) { return NEAR ? quick + s.chain_at : s.far_chain; }
template <bool NEAR>
INLINE double* kalman_gain_of(const Solver& s) { return chain_alpha_of<NEAR>(s) + s.pitch * (s.n + 1); }

// What items and sets mean to an unknown of the border: item i adds sign * scale[i] * source[i * step + b * stride] to
// the mean, and set j knows direct_sign * direct[j] at once.
struct Share {
    const double *source, *scale, *direct;
    int stride, step;
    double sign, direct_sign;
};

INLINE Share share_of(const Solver& s, const Border& at, int x) {
    const int n = s.n, q = at.q, f = at.f, sets = n + 1;
    Share share = {s.inverse, s.ones, s.ones, q, q * q, 0.0, 0.0};
    if (x < f) {
        share = {s.mixed + x, s.predictor_out + x * n, s.ones, f, q * f, 1.0, 0.0};
    } else if (x < at.masses) {
        share = {s.inverse + (x - at.prices), s.ones, s.ones, q, q * q, 1.0, 0.0};
    } else if (x < at.prices_p) {
        const int b = x - at.masses;
        share.direct = s.beta_t + (b < q ? s.adversary.size[b] : b == q ? 0 : n) * sets;
        share.direct_sign = 1.0;
        if (b < q) {
            share.source = s.inverse + b;
            share.scale = s.curvature_out + b * n;
            share.sign = -1.0;
        }
    } else if (x < at.levels) {
        share = {s.mixed + (x - at.prices_p), s.ones, s.ones, f, q * f, -1.0, 0.0};
    } else if (x > at.levels) {
        share.direct_sign = -1.0;
    }
    return share;
}

// What the items of each panel add to the state, and what its sets observe of that; a thread has one unknown and panel.
template <int WIDTH, bool NEAR>
DEVICE void observe_items(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, m = at.m, pitch = s.pitch, panels = (n + PANEL) / PANEL;
    EACH(task, panels * m) {
        const int panel = task / m, x = task % m, first = panel * PANEL, end = smaller(first + PANEL, n + 1);
        const Share share = share_of(s, at, x);
        const double* alpha = chain_alpha_of<NEAR>(s) + first * pitch;
        double mean[WIDTH];
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) mean[b] = 0.0;
#pragma unroll 1
        for (int j = first; j < end; ++j, alpha += pitch) {
            if (j > 0) {
                const double* source = share.source + static_cast<long long>(j - 1) * share.step;
                const double scale = share.sign * far_read(share.scale + j - 1);
#pragma unroll
                for (int b = 0; b < WIDTH; ++b) {
                    if (b < q) mean[b] += scale * far_read(source + b * share.stride);
                }
            }
            const double seen = along_row<WIDTH>(mean, alpha);
            s.innovation[static_cast<long long>(j) * m + x] = share.direct_sign * far_read(share.direct + j) - seen;
        }
        double* added = s.added + static_cast<long long>(panel) * q * m + x;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) {
            if (b < q) added[b * m] = mean[b];
        }
    }
}

// Factorise the covariance of a panel's observations and make innovations of the observations, for as many unknowns as
// there are lanes: one warp's work, which needs no other. Each lane has a column of the covariance and the observations
// of one unknown; the innovations of the prices give the gains. Behind the unknowns come the columns of the identity,
// of which L^-1 makes itself. All turn by one row at each step, as in invert_columns.
template <bool NEAR>
DEVICE void innovate_panel(Solver& s, int first, int count, int group) {
    static_assert(PANEL <= 2 * CHUNK);
    constexpr int MINE = per_lane(PANEL);
    const Border at = border_of(s);
    const int m = at.m, pitch = s.pitch, x = group * LANES + lane(), b = x - at.prices, identity = x - m;
    const bool unknown = x < m, price = b >= 0 && x < at.masses, inverted = identity >= 0 && identity < PANEL;
    const double *noise = quick + s.noise + first, *covariance = quick + s.panel;
    double *precision = quick + s.precision + first, *seen = quick + s.observed + x;
    double *innovation = s.innovation + static_cast<long long>(first) * m + x;
    double *gain = kalman_gain_of<NEAR>(s) + first * pitch + b, *told = s.vectors[warp()];
    double *inverses = s.coupling + (first + identity) * PANEL, *inverses_t = s.coupling_t + first * PANEL + identity;
    double column[MINE][PANEL], value[PANEL];
#pragma unroll
    for (int j = 0; j < PANEL; ++j) {
#pragma unroll
        for (int c = 0; c < MINE; ++c) column[c][j] = covariance[smaller(lane() + c * LANES, PANEL - 1) * PANEL + j];
        value[j] = unknown ? seen[j * m] : j == identity ? 1.0 : 0.0;
    }
#pragma unroll 1
    for (int k = 0; k < count; ++k) {
        double *pivots = told + k % 2 * PANEL, factor[MINE];
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            if (lane() + c * LANES != k) continue;
#pragma unroll
            for (int j = 0; j < PANEL; j += 2) {
                *reinterpret_cast<Pair*>(pivots + j) = Pair{column[c][j], column[c][j + 1]};
            }
        }
        meet();
        Pair both[CHUNK];
        read_pairs<PANEL>(both, pivots, 0);
        const double inverse = reciprocal(larger(both[0].first, 0.0) + noise[k]), own = value[0] * inverse;
        if (unknown) {
            seen[k * m] = value[0];
            innovation[k * m] = value[0];
        }
        if (price) gain[k * pitch] = -own;
        if (inverted) inverses[k] = inverses_t[k * PANEL] = value[0];
        if (group == 0 && lane() == 0) precision[k] = inverse;
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            factor[c] = pivots[larger(smaller(lane() + c * LANES, PANEL - 1) - k, 0)] * inverse;
        }
#pragma unroll
        for (int j = 0; j < PANEL; j += 2) {
            const Pair pair = both[j / 2];
            if (j > 0) value[j - 1] = value[j] - pair.first * own;
            value[j] = value[j + 1] - pair.second * own;
#pragma unroll
            for (int c = 0; c < MINE; ++c) {
                if (j > 0) column[c][j - 1] = column[c][j] - pair.first * factor[c];
                column[c][j] = column[c][j + 1] - pair.second * factor[c];
            }
        }
    }
    for (int k = count; k < PANEL; ++k) {
        if (inverted) inverses[k] = inverses_t[k * PANEL] = 0.0;
    }
    meet();
}

// The filter, one panel after the other. Warps that have nothing to do meanwhile couple the columns.
template <bool NEAR>
DEVICE void filter_panels(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, m = at.m, pitch = s.pitch, panels = (n + PANEL) / PANEL;
    double *state = quick + s.state, *seen = quick + s.observed, *covariance = quick + s.panel;
    EACH(x, q * m) state[x] = 0.0;
    EACH(x, (n + 1) * pitch) kalman_gain_of<NEAR>(s)[x] = 0.0;
    barrier();
    for (int panel = 0; panel < panels; ++panel) {
        const int first = panel * PANEL, count = smaller(PANEL, n + 1 - first);
        const double* alpha = chain_alpha_of<NEAR>(s) + first * pitch;
        EACH(task, PANEL * m) {
            const int j = task / m, x = task % m;
            double value = 0.0, other = 0.0;
            if (j < count) {
                value = s.innovation[static_cast<long long>(first + j) * m + x];
#pragma unroll 4
                for (int b = 0; b + 1 < q; b += 2) {
                    value -= alpha[j * pitch + b] * state[b * m + x];
                    other -= alpha[j * pitch + b + 1] * state[(b + 1) * m + x];
                }
                if (q % 2) value -= alpha[j * pitch + q - 1] * state[(q - 1) * m + x];
            }
            seen[task] = value + other;
        }
        barrier();
        EACH(task, PANEL * PANEL) {
            const int k = task / PANEL, j = task % PANEL;
            double value = 0.0, other = 0.0;
            if (k <= j && j < count) {
                const double *row = seen + k * m + at.prices, *weight = alpha + j * pitch;
#pragma unroll 4
                for (int b = 0; b + 1 < q; b += 2) {
                    value -= row[b] * weight[b];
                    other -= row[b + 1] * weight[b + 1];
                }
                if (q % 2) value -= row[q - 1] * weight[q - 1];
            }
            covariance[task] = value + other;
        }
        barrier();
        const int groups = per_lane(m + PANEL), helpers = warps() - groups;
        for (int group = warp(); group < groups; group += warps()) innovate_panel<NEAR>(s, first, count, group);
        // The other warps couple the columns meanwhile, or all do if there are no others.
        const int end = smaller(first + PANEL, n);
        if (helpers <= 0) couple_columns(s, first, end, thread(), threads());
        else if (warp() >= groups) couple_columns(s, first, end, thread() - groups * LANES, helpers * LANES);
        barrier();
        if (panel + 1 == panels) break;
        const double* added = s.added + static_cast<long long>(panel) * q * m;
        const double* gain = kalman_gain_of<NEAR>(s) + first * pitch;
        EACH(x, q * m) {
            const int b = x / m, unknown = x % m;
            double value = state[x] + far_read(added + x), other = 0.0;
#pragma unroll
            for (int j = 0; j < PANEL; j += 2) {
                value += gain[j * pitch + b] * seen[j * m + unknown];
                other += gain[(j + 1) * pitch + b] * seen[(j + 1) * m + unknown];
            }
            state[x] = value + other;
        }
        barrier();
    }
}

// Solve L x = x, or if told to, L' x = x, in place for the chain's step; one warp's work. Leaves the warp met.
template <bool NEAR>
DEVICE void solve_chain(Solver& s, bool transposed) {
    constexpr int MINE = per_lane(PANEL), COLUMNS = per_lane(CAPACITY);
    const int sets = s.n + 1, q = s.adversary.used, pitch = s.pitch, panels = (sets + PANEL - 1) / PANEL;
    const double *alpha = chain_alpha_of<NEAR>(s), *gain = kalman_gain_of<NEAR>(s);
    const double *observed = transposed ? gain : alpha, *taught = transposed ? alpha : gain;
    const double* inverses = transposed ? s.coupling_t : s.coupling;
    double *x = quick + s.step_chain, *state = s.product, *told = s.product + CAPACITY, *solved = told + PANEL;
    double known[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) known[c] = 0.0;
    LANE_EACH(b, CAPACITY) state[b] = 0.0;
    meet();
#pragma unroll 1
    for (int panel = 0; panel < panels; ++panel) {
        const int first = (transposed ? panels - 1 - panel : panel) * PANEL;
        double inverse[MINE][PANEL];
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int place = smaller(lane() + c * LANES, PANEL - 1), j = smaller(first + place, sets - 1);
            const double* row = observed + j * pitch;
#pragma unroll
            for (int k = 0; k < PANEL; ++k) inverse[c][k] = far_read(inverses + (first + k) * PANEL + place);
            double value = x[j], other = 0.0;
#pragma unroll 4
            for (int b = 0; b < q; b += 2) {
                const Pair both = two(row + b), before = two(state + b);
                value -= both.first * before.first;
                other -= both.second * before.second;
            }
            if (lane() + c * LANES < PANEL) told[place] = first + place < sets ? value + other : 0.0;
        }
        meet();
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int place = lane() + c * LANES;
            const double value = along_row<PANEL>(inverse[c], told);
            if (place < PANEL) solved[place] = value;
            if (place < PANEL && first + place < sets) x[first + place] = value;
        }
        meet();
        const int count = smaller(PANEL, sets - first);
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            const int b = lane() + c * LANES;
            if (b >= q) continue;
            const double* column = taught + first * pitch + b;
            double even = known[c], odd = 0.0;
#pragma unroll 4
            for (int k = 0; k + 1 < count; k += 2) {
                even += column[k * pitch] * solved[k];
                odd += column[(k + 1) * pitch] * solved[k + 1];
            }
            if (count % 2) even += column[(count - 1) * pitch] * solved[count - 1];
            state[b] = known[c] = even + odd;
        }
        meet();
    }
}

INLINE void solve_chain(Solver& s, bool transposed) {
    if (s.chain_at >= 0) solve_chain<true>(s, transposed);
    else solve_chain<false>(s, transposed);
}

// Complete the border's Schur complement, in tiles of four rows and two columns, and its lower triangle.
DEVICE void reduce_border(Solver& s, const Border& at) {
    const int n = s.n, m = at.m, pitch = at.pitch, pairs = m / 2;
    const double* precisions = quick + s.precision;
    double* border = s.border;
    EACH(tile, (m + 3) / 4 * pairs) {
        const int x = tile / pairs * 4, x2 = tile % pairs * 2;
        if (x2 + 1 < x) continue;
        const int y = x + 2 < m ? x + 2 : x;
        double total[4][2] = {{0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}};
#pragma unroll 2
        for (int j = 0; j <= n; ++j) {
            const double* row = s.innovation + static_cast<long long>(j) * m;
            const double precision = precisions[j];
            const Pair right = two(row + x2), upper = two(row + x), lower = two(row + y);
            const double scaled = right.first * precision, scaled2 = right.second * precision;
            total[0][0] += upper.first * scaled;
            total[0][1] += upper.first * scaled2;
            total[1][0] += upper.second * scaled;
            total[1][1] += upper.second * scaled2;
            total[2][0] += lower.first * scaled;
            total[2][1] += lower.first * scaled2;
            total[3][0] += lower.second * scaled;
            total[3][1] += lower.second * scaled2;
        }
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                if (x + r <= x2 + c && x + r < m) border[(x + r) * pitch + x2 + c] += total[r][c];
            }
        }
    }
    barrier();
    WARP_EACH(x, m) {
        LANE_EACH(x2, x) border[x * pitch + x2] = border[x2 * pitch + x];
    }
    barrier();
}

// Eliminate the items, whose blocks are inverted, and the chain.
DEVICE void eliminate(Solver& s) {
    const Border at = border_of(s);
    const int width = s.chain_at >= 0 ? padded(at.q) : FAR;
    place_border(s);
    start_border(s);
    BY_WIDTH(width, observe_items, s);
    barrier();
    if (s.chain_at >= 0) filter_panels<true>(s);
    else filter_panels<false>(s);
    reduce_border(s, at);
}
