// Eliminating the chain from the Newton matrix by a Kalman filter; see metricfit/solvers/fast/elimination.py.
//
// The filter is split. Its covariances need every column at every step and are one warp's work; the columns of the
// prices are those covariances. Given the gains, each other unknown of the border is filtered on its own by a few
// lanes. A right-hand side is filtered with less: between sets j and k < j the factor L of the chain's matrix is the
// inner product of alpha of j and the gain of k, so that L x = y is solved by as many sets at a time as there are
// lanes, and what they mean for all later sets is a vector as long as there are columns.

// Covariances of the filter, a column to a lane; leaves the gains, the inverse variances and the innovations of the
// prices.
template <int WIDTH>
DEVICE void filter_covariance(Solver& s, const Border& at) {
    constexpr int MINE = per_lane(WIDTH);
    const int n = s.n, q = at.q, pitch = s.pitch;
    const double* inverse = s.inverse;
    double column[MINE][WIDTH], item[MINE][WIDTH], gain[MINE];
#pragma unroll
    for (int c = 0; c < MINE; ++c) {
        gain[c] = 0.0;
#pragma unroll
        for (int b = 0; b < WIDTH; ++b) column[c][b] = item[c][b] = 0.0;
    }
    LANE_EACH(x, 2 * CAPACITY) s.product[x] = 0.0;
    meet();
    for (int j = 0; j <= n; ++j) {
        double* product = s.product + (j % 2) * CAPACITY;
        const double* before = s.product + (1 - j % 2) * CAPACITY;
        const double* alpha = s.chain_alpha + j * pitch;
        const double noise = s.noise[j];
        double own[MINE];
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int x = lane() + c * LANES;
            // What the last observation taught, the last item's share, and the next observation.
            double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
            for (int b = 0; b < WIDTH; b += 2) {
                const Pair taught = two(before + b), seen = two(alpha + b);
                column[c][b] = (column[c][b] + item[c][b]) - taught.first * gain[c];
                column[c][b + 1] = (column[c][b + 1] + item[c][b + 1]) - taught.second * gain[c];
                part[b % 4] += seen.first * column[c][b];
                part[b % 4 + 1] += seen.second * column[c][b + 1];
            }
            own[c] = j > 0 ? (part[0] + part[1]) + (part[2] + part[3]) : 0.0;
            if (x < WIDTH) product[x] = own[c];
            if (x < q && j < n) {  // on its way while the set is observed
#pragma unroll
                for (int b = 0; b < WIDTH; ++b) {
                    if (b < q) item[c][b] = inverse[(static_cast<long long>(j) * q + b) * q + x];
                }
            }
        }
        meet();
        double part[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
        for (int b = 0; b < WIDTH; b += 2) {
            const Pair learnt = two(product + b), seen = two(alpha + b);
            part[b % 4] += seen.first * learnt.first;
            part[b % 4 + 1] += seen.second * learnt.second;
        }
        const double variance = (part[0] + part[1]) + (part[2] + part[3]);
        const double scale = 1.0 / (larger(variance, 0.0) + noise);
#pragma unroll
        for (int c = 0; c < MINE; ++c) {
            const int x = lane() + c * LANES;
            gain[c] = own[c] * scale;
            if (x < WIDTH) s.kalman_gain[j * pitch + x] = gain[c];
            if (x < q) s.innovation[static_cast<long long>(j) * at.m + at.prices + x] = -own[c];
        }
        if (lane() == 0) s.precision[j] = scale;
    }
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
template <int WIDTH>
DEVICE void filter_unknowns(Solver& s, const Border& at) {
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
        const double* alpha = s.chain_alpha + begin;
        const double* gain = s.kalman_gain + begin;
        double* innovations = s.innovation + x;
        double mean[MINE], item[MINE], scale = 0.0, start = direct ? direct[0] : constant;
#pragma unroll
        for (int b = 0; b < MINE; ++b) mean[b] = item[b] = 0.0;
        for (int j = 0; j <= n; ++j) {
            double total = 0.0, other = 0.0;
#pragma unroll
            for (int b = 0; b < MINE; ++b) {
                mean[b] += scale * item[b];
                if (b % 2) other += alpha[j * pitch + b] * mean[b];
                else total += alpha[j * pitch + b] * mean[b];
            }
            total += other;
            const double now = start;
            if (j < n) {  // on its way while the set is observed
                if (share.source) {
                    const double* source = share.source + static_cast<long long>(j) * share.step;
                    scale = share.scale ? share.sign * share.scale[j] : share.sign;
#pragma unroll
                    for (int b = 0; b < MINE; ++b) {
                        if (begin + b < q) item[b] = source[(begin + b) * share.stride];
                    }
                }
                if (direct) start = direct[j + 1];
            }
#pragma unroll
            for (int distance = PARTS / 2; distance > 0; distance /= 2) {
                total += from_lane(total, lane() ^ distance);
            }
            const double innovation = now - total;
#pragma unroll
            for (int b = 0; b < MINE; ++b) mean[b] += gain[j * pitch + b] * innovation;
            if (speaks) innovations[static_cast<long long>(j) * m] = innovation;
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

// Solve L x = x, or if told to, L' x = x, in place for a vector along the chain; one warp's work. Leaves the warp met.
DEVICE void solve_chain(Solver& s, double* x, bool transposed) {
    const int sets = s.n + 1, q = s.adversary.used, pitch = s.pitch, blocks = per_lane(sets);
    const double* observed = transposed ? s.kalman_gain : s.chain_alpha;
    const double* taught = transposed ? s.chain_alpha : s.kalman_gain;
    const double* coupling = transposed ? s.coupling_t : s.coupling;
    double *state = s.product, *solved = s.product + CAPACITY;
    double known[per_lane(CAPACITY)];
#pragma unroll
    for (int c = 0; c < per_lane(CAPACITY); ++c) known[c] = 0.0;
    LANE_EACH(b, CAPACITY) state[b] = 0.0;
    meet();
    for (int block = 0; block < blocks; ++block) {
        const int first = (transposed ? blocks - 1 - block : block) * LANES, j = first + lane();
        double value = 0.0, other = 0.0;
        if (j < sets) {
            value = x[j];
            const double* row = observed + j * pitch;
            for (int b = 0; b < q; b += 2) {
                const Pair both = two(row + b), before = two(state + b);
                value -= both.first * before.first;
                other -= both.second * before.second;
            }
            value += other;
        }
#pragma unroll
        for (int turn = 0; turn < LANES; ++turn) {
            const int k = transposed ? LANES - 1 - turn : turn;
            value -= coupling[(first + k) * LANES + lane()] * from_lane(value, k);
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
            double even = known[c], odd = 0.0;
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

// Complete the border's Schur complement, in tiles of four rows and two columns, and its lower triangle.
DEVICE void reduce_border(Solver& s, const Border& at) {
    const int n = s.n, m = at.m, pitch = at.pitch, pairs = m / 2;
    double* border = s.border;
    EACH(tile, (m + 3) / 4 * pairs) {
        const int x = tile / pairs * 4, x2 = tile % pairs * 2;
        if (x2 + 1 < x) continue;
        const int y = x + 2 < m ? x + 2 : x;
        double total[4][2] = {{0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}};
#pragma unroll 2
        for (int j = 0; j <= n; ++j) {
            const double* row = s.innovation + static_cast<long long>(j) * m;
            const double precision = s.precision[j];
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
    const int width = padded(at.q);
    place_border(s);
    EACH(x, at.m * at.pitch) s.border[x] = 0.0;
    EACH(j, s.n + 1) s.innovation[static_cast<long long>(j) * at.m + at.levels] = 0.0;
    barrier();
    const int helpers = threads() - LANES;
    if (warp() == 0) BY_WIDTH(width, filter_covariance, s, at);
    if (helpers == 0) couple_columns(s, thread(), LANES);
    else if (warp() > 0) couple_columns(s, thread() - LANES, helpers);
    barrier();
    BY_WIDTH(width, filter_unknowns, s, at);
    couple_chain(s);
    barrier();
    reduce_border(s, at);
}
