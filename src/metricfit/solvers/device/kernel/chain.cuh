// Eliminating the chain from the Newton matrix by a Kalman filter; see metricfit/solvers/fast/elimination.py.
//
// The filter is split. Its covariances need every column at every step and are one warp's work; the columns of the
// prices are those covariances. Given the gains, each other unknown of the border is filtered on its own by a few
// lanes. A right-hand side is filtered with less: between sets j and k < j the factor L of the chain's matrix is the
// inner product of alpha of j and the gain of k, so that L x = y is solved by as many sets at a time as there are
// lanes, and what they mean for all later sets is a vector as long as there are columns.

// Where the chain's tables are: near, which the compiler has to know to make good use of it, or far.
template <bool NEAR>
INLINE double* chain_alpha_of(const Solver& s) { return NEAR ? quick + s.chain_at : s.far_chain; }
template <bool NEAR>
INLINE double* kalman_gain_of(const Solver& s) { return chain_alpha_of<NEAR>(s) + s.pitch * (s.n + 1); }

// Send the inverse of item i on its way to near memory; one warp's work.
INLINE void send_item(const Solver& s, int i, int size) {
    if (i < s.n) {
        double* target = quick + s.stream + i % AHEAD * size;
        const double* source = s.inverse + static_cast<long long>(i) * size;
        LANE_EACH(x, size) fetch(target + x, source + x);
    }
    end_part();
}

// Covariances of the filter, a column to a lane; leaves the gains, the inverse variances and the innovations of the
// prices.
template <int WIDTH, bool NEAR>
DEVICE void filter_covariance(Solver& s) {
    constexpr int MINE = per_lane(WIDTH);
    const Border at = border_of(s);
    const int n = s.n, q = at.q, pitch = s.pitch;
    const double *noises = quick + s.noise, *alpha = chain_alpha_of<NEAR>(s);
    double *precisions = quick + s.precision, *gains = kalman_gain_of<NEAR>(s), *prices = s.innovation + at.prices;
    double column[MINE][WIDTH], gain[MINE];
#pragma unroll
    for (int c = 0; c < MINE; ++c) {
        gain[c] = 0.0;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) column[c][b] = 0.0;
    }
    LANE_EACH(x, 2 * CAPACITY) s.product[x] = 0.0;
    for (int i = 0; i < AHEAD - 1; ++i) send_item(s, i, q * q);
    meet();
    for (int j = 0; j <= n; ++j, alpha += pitch, gains += pitch, prices += at.m) {
        double* product = s.product + j % 2 * CAPACITY;
        const double* before = s.product + (1 - j % 2) * CAPACITY;
        const double* item = quick + s.stream + (j + AHEAD - 1) % AHEAD * q * q;
        double own[MINE];
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int x = lane() + c * LANES;
            // What the last observation taught, the last item's share, and the next observation.
            double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
            for (int b = 0; b < WIDTH; b += 2) {
                const Pair taught = two(before + b), seen = two(alpha + b);
                column[c][b] -= taught.first * gain[c];
                column[c][b + 1] -= taught.second * gain[c];
                if (j > 0 && x < q && b < q) column[c][b] += item[b * q + x];
                if (j > 0 && x < q && b + 1 < q) column[c][b + 1] += item[(b + 1) * q + x];
                part[b % 4] += seen.first * column[c][b];
                part[b % 4 + 1] += seen.second * column[c][b + 1];
            }
            own[c] = (part[0] + part[1]) + (part[2] + part[3]);
            if (x < WIDTH) product[x] = own[c];
        }
        arrived<AHEAD - 2>();
        meet();
        send_item(s, j + AHEAD - 1, q * q);
        double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
        for (int b = 0; b < WIDTH; b += 2) {
            const Pair learnt = two(product + b), seen = two(alpha + b);
            part[b % 4] += seen.first * learnt.first;
            part[b % 4 + 1] += seen.second * learnt.second;
        }
        const double variance = (part[0] + part[1]) + (part[2] + part[3]);
        const double scale = 1.0 / (larger(variance, 0.0) + noises[j]);
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int x = lane() + c * LANES;
            gain[c] = own[c] * scale;
            if (x < WIDTH) gains[x] = gain[c];
            if (x < q) prices[x] = -own[c];
        }
        if (lane() == 0) precisions[j] = scale;
    }
    arrived<0>();
}

// What an item adds to the filtered mean of a border unknown: scale * source[stride * b].
struct Share {
    const double *source, *scale;
    int stride, step;
    double sign;
};

INLINE Share share_of(const Solver& s, const Border& at, int x) {
    const int n = s.n, q = at.q, f = at.f;
    if (x < f) return {s.mixed + x, s.predictor_out + x * n, f, q * f, 1.0};
    if (x >= at.masses && x < at.masses + q) {
        return {s.inverse + (x - at.masses), s.curvature_out + (x - at.masses) * n, q, q * q, -1.0};
    }
    if (x >= at.prices_p && x < at.levels) return {s.mixed + (x - at.prices_p), nullptr, f, q * f, -1.0};
    return {nullptr, nullptr, 0, 0, 0.0};
}

// What an unknown of the border does to the chain's equations directly: a column of beta, or a constant.
INLINE const double* direct_of(const Solver& s, const Border& at, int x) {
    const int sets = s.n + 1;
    if (x < at.masses || x >= at.prices_p) return nullptr;
    const int b = x - at.masses;
    return s.beta_t + (b < at.q ? s.adversary.size[b] : b == at.q ? 0 : s.n) * sets;
}

constexpr int PARTS = LANES < PAD ? LANES : PAD;  // lanes that filter one unknown together

// The filter for the unknowns of the border other than prices. The mean of each stays in the registers of its lanes.
template <int WIDTH, bool NEAR>
DEVICE void filter_unknowns(Solver& s) {
    const Border at = border_of(s);
    constexpr int MINE = WIDTH / PARTS, TOGETHER = LANES / PARTS;
    const int n = s.n, q = at.q, m = at.m, count = m - q, pitch = s.pitch;
    const int part = lane() % PARTS, begin = part * MINE;
    for (int first = warp() * TOGETHER; first < count; first += warps() * TOGETHER) {
        const int index = first + lane() / PARTS, last = smaller(index, count - 1);
        const int x = last < at.f ? last : last + q;
        const bool speaks = part == 0 && index < count;
        const Share share = share_of(s, at, x);
        const double* direct = direct_of(s, at, x);
        const double constant = x == at.levels + 1 ? -1.0 : 0.0;
        const double *alpha = chain_alpha_of<NEAR>(s) + begin, *gain = kalman_gain_of<NEAR>(s) + begin;
        double* innovations = s.innovation + x;
        double mean[MINE], item[MINE], scale = 0.0, start = direct ? direct[0] : constant;
#pragma unroll
        for (int b = 0; b < MINE; ++b) mean[b] = item[b] = 0.0;
        for (int j = 0; j <= n; ++j, alpha += pitch, gain += pitch, innovations += m) {
            double total = 0.0, other = 0.0;
#pragma unroll
            for (int b = 0; b < MINE; ++b) {
                mean[b] += scale * item[b];
                if (b % 2) other += alpha[b] * mean[b];
                else total += alpha[b] * mean[b];
            }
            total += other;
            const double now = start;
            if (j < n) {  // on its way while the set is observed
                if (share.source) {
                    const double* source = share.source + static_cast<long long>(j) * share.step;
                    scale = share.scale ? share.sign * far_read(share.scale + j) : share.sign;
#pragma unroll
                    for (int b = 0; b < MINE; ++b) {
                        if (begin + b < q) item[b] = far_read(source + (begin + b) * share.stride);
                    }
                }
                if (direct) start = far_read(direct + j + 1);
            }
#pragma unroll
            for (int distance = PARTS / 2; distance > 0; distance /= 2) {
                total += from_lane(total, lane() ^ distance);
            }
            const double innovation = now - total;
#pragma unroll
            for (int b = 0; b < MINE; ++b) mean[b] += gain[b] * innovation;
            if (speaks) *innovations = innovation;
        }
    }
}

// The factor L between sets that are looked at together, by the first and by the last of the two.
DEVICE void couple_chain(Solver& s) {
    const int sets = s.n + 1, q = s.adversary.used, pitch = s.pitch, blocks = per_lane(sets);
    EACH(x, blocks * LANES * LANES) {
        const int k = x / LANES, j = k / LANES * LANES + x % LANES;
        double forward = 0.0, backward = 0.0;
        if (j < sets && k < sets) {
            for (int b = 0; b < q; ++b) {
                if (j > k) forward += s.chain_alpha[j * pitch + b] * s.kalman_gain[k * pitch + b];
                if (j < k) backward += s.chain_alpha[k * pitch + b] * s.kalman_gain[j * pitch + b];
            }
        }
        s.coupling[x] = forward;
        s.coupling_t[x] = backward;
    }
}

// Solve L x = x, or if told to, L' x = x, in place for the chain's step; one warp's work. Leaves the warp met.
template <bool NEAR>
DEVICE void solve_chain(Solver& s, bool transposed) {
    const int sets = s.n + 1, q = s.adversary.used, pitch = s.pitch, blocks = per_lane(sets);
    const double *alpha = chain_alpha_of<NEAR>(s), *gain = kalman_gain_of<NEAR>(s);
    const double *observed = transposed ? gain : alpha, *taught = transposed ? alpha : gain;
    const double* coupling = (transposed ? s.coupling_t : s.coupling) + lane();
    double *x = quick + s.step_chain, *state = s.product, *solved = s.product + CAPACITY;
    double known[per_lane(CAPACITY)];
#pragma unroll
    for (int c = 0; c < per_lane(CAPACITY); ++c) known[c] = 0.0;
    LANE_EACH(b, CAPACITY) state[b] = 0.0;
    meet();
    for (int block = 0; block < blocks; ++block) {
        const int first = (transposed ? blocks - 1 - block : block) * LANES, j = first + lane();
        double factor[LANES], value = 0.0, other = 0.0;
#pragma unroll
        for (int turn = 0; turn < LANES; ++turn) {
            factor[turn] = far_read(coupling + (first + (transposed ? LANES - 1 - turn : turn)) * LANES);
        }
        if (j < sets) {
            value = x[j];
            const double* row = observed + j * pitch;
#pragma unroll 4
            for (int b = 0; b < q; b += 2) {
                const Pair both = two(row + b), before = two(state + b);
                value -= both.first * before.first;
                other -= both.second * before.second;
            }
            value += other;
        }
#pragma unroll
        for (int turn = 0; turn < LANES; ++turn) {
            value -= factor[turn] * from_lane(value, transposed ? LANES - 1 - turn : turn);
        }
        if (j < sets) x[j] = value;
        solved[lane()] = value;
        meet();
        const int count = smaller(LANES, sets - first);
#pragma unroll
        for (int c = 0; c < per_lane(CAPACITY); ++c) {
            const int b = lane() + c * LANES;
            if (b >= q) continue;
            const double* column = taught + first * pitch + b;
            double part[4] = {known[c], 0.0, 0.0, 0.0};
#pragma unroll 8
            for (int k = 0; k < count; ++k) part[k % 4] += column[k * pitch] * solved[k];
            state[b] = known[c] = (part[0] + part[1]) + (part[2] + part[3]);
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

// Eliminate the items, whose blocks are inverted, and the chain. The first warp has the covariances to do, the others
// the border meanwhile.
DEVICE void eliminate(Solver& s) {
    const Border at = border_of(s);
    const int width = s.chain_at >= 0 ? padded(at.q) : FAR;
    place_border(s);
    EACH(x, at.m * at.pitch) s.border[x] = 0.0;
    EACH(j, s.n + 1) s.innovation[static_cast<long long>(j) * at.m + at.levels] = 0.0;
    barrier();
    const int helpers = threads() - LANES;
    if (warp() == 0) BY_WIDTH(width, filter_covariance, s);
    if (helpers == 0) couple_columns(s, thread(), LANES);
    else if (warp() > 0) couple_columns(s, thread() - LANES, helpers);
    barrier();
    BY_WIDTH(width, filter_unknowns, s);
    couple_chain(s);
    barrier();
    reduce_border(s, at);
}
