// The Newton matrix of the interior point method, eliminated: items first, then the chain, then the border.
//
// The mathematics is that of metricfit/solvers/fast/elimination.py. What is different is who does what: items,
// pairs of columns and unknowns of the border are shared out among the threads, and the Kalman filter along the
// chain is split in two. Its covariances need every column at every step; given the gains, each unknown of the
// border is then filtered on its own.

// The inverse N^-1 of every item's N = D + A' E^-1 A, and what follows from it.
DEVICE void invert_items(Solver& s, double regularisation) {
    const int n = s.n, q = s.adversary.used, f = s.predictor.used, qq = q * q;
    const Columns &adversary = s.adversary, &predictor = s.predictor;
    EACH(x, q * n) {
        s.curvature_out[x] = adversary.dual_outside[x] / adversary.outside[x];
    }
    EACH(x, f * n) {
        const double out = predictor.dual_outside[x] / predictor.outside[x];
        s.predictor_out[x] = out;
        s.predictor_inverse[x] = 1.0 / (predictor.dual_inside[x] / predictor.inside[x] + out + regularisation);
    }
    barrier();
    EACH(x, n * qq) {
        const int i = x / qq, pair = x % qq, b = pair / q, b2 = pair % q;
        double value = 0.0;
        if (b == b2) {
            const int at = b * n + i;
            value = adversary.dual_inside[at] / adversary.inside[at] + s.curvature_out[at] + regularisation;
            if (f == 0) value = 1.0 / value;
        }
        for (int a = 0; a < f; ++a) {
            value += s.cross[a * q + b] * s.cross[a * q + b2] * s.predictor_inverse[a * n + i];
        }
        s.inverse[x] = value;
    }
    barrier();
    if (f == 0) return;
    // The symmetric sweep operator; N is positive definite, so no pivoting.
    for (int k = 0; k < q; ++k) {
        EACH(x, n * q) {
            const int i = x / q, b = x % q;
            s.pivots[i * (q + 1) + b] = s.inverse[i * qq + k * q + b];
            if (b == k) s.pivots[i * (q + 1) + q] = 1.0 / s.inverse[i * qq + k * q + k];
        }
        barrier();
        EACH(x, n * q) {
            const int i = x / q, b2 = x % q;
            const double* column = s.pivots + i * (q + 1);
            double* entry = s.inverse + i * qq + b2;
            const double pivot = column[q], own = column[b2] * pivot;
            if (b2 == k) {
                for (int b = 0; b < q; ++b) entry[b * q] = column[b] * pivot;
                entry[k * q] = -pivot;
            } else {
                for (int b = 0; b < k; ++b) entry[b * q] -= column[b] * own;
                entry[k * q] = own;
                for (int b = k + 1; b < q; ++b) entry[b * q] -= column[b] * own;
            }
        }
        barrier();
    }
    EACH(x, n * qq) s.inverse[x] = -s.inverse[x];
    barrier();
    EACH(x, n * f * q) {
        const int i = x / (f * q), rest = x % (f * q), a = rest / q, b = rest % q;
        double value = 0.0;
        for (int b2 = 0; b2 < q; ++b2) value += s.cross[a * q + b2] * s.inverse[i * qq + b2 * q + b];
        s.mixed[x] = value * s.predictor_inverse[a * n + i];
    }
    barrier();
    // E^-1 - E^-1 A N^-1 A' E^-1
    EACH(x, n * f * f) {
        const int i = x / (f * f), rest = x % (f * f), a = rest / f, a2 = rest % f;
        const double* row = s.mixed + (i * f + a) * q;
        double value = a == a2 ? 1.0 : 0.0;
        for (int b = 0; b < q; ++b) value -= row[b] * s.cross_t[b * f + a2];
        s.left[x] = value * s.predictor_inverse[a2 * n + i];
    }
    barrier();
}

// Two adversary columns, in the upper triangle of the border.
INLINE void couple_adversary(Solver& s, const Border& at, double* border, int b, int b2) {
    const int n = s.n, q = at.q, m = at.m;
    double nn = 0.0, ns = 0.0, ss = 0.0, outside = 0.0;
    for (int i = 0; i < n; ++i) {
        const double out = s.curvature_out[b * n + i];
        double value = s.inverse[(i * q + b) * q + b2];
        nn += value;
        value *= s.curvature_out[b2 * n + i];
        ns += value;
        ss += out * value;
        outside += out;
    }
    if (b == b2) {
        ns -= s.adversary.size[b];
        ss -= outside + s.adversary.dual_mass[b] / s.adversary.mass[b];
    }
    border[(at.prices + b) * m + at.prices + b2] = -nn;
    border[(at.prices + b) * m + at.masses + b2] = ns;
    border[(at.masses + b) * m + at.masses + b2] = -ss;
}

// A predictor column and an adversary column.
INLINE void couple_players(Solver& s, const Border& at, double* border, int a, int b) {
    const int n = s.n, q = at.q, f = at.f, m = at.m;
    double plain = 0.0, scaled = 0.0, out_plain = 0.0, out_scaled = 0.0;
    for (int i = 0; i < n; ++i) {
        const double value = s.mixed[(i * f + a) * q + b];
        const double times = value * s.curvature_out[b * n + i];
        const double out = s.predictor_out[a * n + i];
        plain += value;
        scaled += times;
        out_plain += out * value;
        out_scaled += out * times;
    }
    border[(at.prices + b) * m + at.prices_p + a] = plain;
    border[(at.masses + b) * m + at.prices_p + a] = -scaled;
    border[a * m + at.prices + b] = -out_plain;
    border[a * m + at.masses + b] = out_scaled + s.beta[s.predictor.size[a] * (n + 1) + s.adversary.size[b]];
}

// Two predictor columns.
INLINE void couple_predictor(Solver& s, const Border& at, double* border, int a, int a2) {
    const int n = s.n, f = at.f, m = at.m;
    double pp = 0.0, po = 0.0, oo = 0.0, outside = 0.0;
    for (int i = 0; i < n; ++i) {
        const double value = s.left[(i * f + a) * f + a2], out = s.predictor_out[a * n + i];
        pp += value;
        po += out * value;
        oo += out * value * s.predictor_out[a2 * n + i];
        outside += out;
    }
    if (a == a2) {
        po -= s.predictor.size[a];
        oo -= outside + s.predictor.dual_mass[a] / s.predictor.mass[a];
    }
    border[(at.prices_p + a) * m + at.prices_p + a2] = pp;
    border[a * m + at.prices_p + a2] = -po;
    border[a * m + a2] = oo;
}

// The border of the Newton system without the items' marginals; upper triangle.
DEVICE void eliminate_items(Solver& s) {
    const Border at = border_of(s);
    const int n = s.n, q = at.q, f = at.f, m = at.m;
    double* border = s.border;
    EACH(x, m * m) border[x] = 0.0;
    barrier();
    const int own = q * q, both = own + f * q, all = both + f * f;
    EACH(x, all) {
        if (x < own) {
            couple_adversary(s, at, border, x / q, x % q);
        } else if (x < both) {
            couple_players(s, at, border, (x - own) / q, (x - own) % q);
        } else {
            couple_predictor(s, at, border, (x - both) / f, (x - both) % f);
        }
    }
    EACH(b, q + 2) {
        border[(at.masses + b) * m + at.levels] = 1.0;
        if (b >= q) {
            const int end = CAPACITY + b - q;
            border[(at.masses + b) * m + at.masses + b] = s.adversary.dual_mass[end] / s.adversary.mass[end];
        }
    }
    EACH(a, f) {
        const double* beta = s.beta + s.predictor.size[a] * (n + 1);
        border[a * m + at.masses + q] = beta[0];
        border[a * m + at.masses + q + 1] = beta[n];
        border[a * m + at.levels + 1] = -1.0;
    }
    barrier();
}

// Covariances of the filter, with one column to a thread; leaves the gains and the inverse variances.
DEVICE void filter_covariance(Solver& s) {
    const int n = s.n, q = s.adversary.used, width = padded(q);
    double* __restrict__ covariance = s.covariance;
    const double* __restrict__ inverse = s.inverse;
    const double* __restrict__ chain_alpha = s.chain_alpha;
    EACH(x, q * q) covariance[x] = 0.0;
    EACH(x, 2 * CAPACITY) s.product[x] = 0.0;
    EACH(x, (n + 1) * width) s.kalman_gain[x] = 0.0;
    EACH(j, n + 1) s.noise[j] = s.chain_slack[j] / s.chain_mass[j];
    barrier();
    double scale = 1.0;
    for (int j = 0; j <= n; ++j) {
        const double* before = s.product + (j % 2) * CAPACITY;
        double* product = s.product + ((j + 1) % 2) * CAPACITY;
        const double* item = inverse + static_cast<long long>(j - 1) * q * q;
        const double* alpha = chain_alpha + j * width;
        EACH(x, q) {
            // What the last observation taught, the next item's share, and the next observation.
            const double gain = before[x] * scale;
            double total = 0.0;
            if (j > 0) {
#pragma unroll 4
                for (int b = 0; b < q; ++b) {
                    const double value = covariance[b * q + x] - before[b] * gain + item[b * q + x];
                    covariance[b * q + x] = value;
                    total += alpha[b] * value;
                }
            }
            product[x] = total;
        }
        barrier();
        double variance = 0.0;
#pragma unroll 4
        for (int b = 0; b < q; ++b) variance += alpha[b] * product[b];
        scale = 1.0 / (larger(variance, 0.0) + s.noise[j]);
        EACH(x, q) s.kalman_gain[j * width + x] = product[x] * scale;
        if (thread() == 0) s.precision[j] = scale;
    }
    barrier();
}

// What an item adds to the filtered mean of a border unknown: scale * source[stride * b].
struct Share {
    const double *source, *scale;
    int stride, step;
    double sign;
};

INLINE Share share_of(const Solver& s, const Border& at, int x) {
    const int n = s.n, q = at.q, f = at.f;
    if (x < f) return {s.mixed + x * q, s.predictor_out + x * n, 1, f * q, 1.0};
    if (x < at.masses) return {s.inverse + (x - at.prices), nullptr, q, q * q, 1.0};
    if (x < at.masses + q) {
        return {s.inverse + (x - at.masses), s.curvature_out + (x - at.masses) * n, q, q * q, -1.0};
    }
    if (x >= at.prices_p && x < at.levels) return {s.mixed + (x - at.prices_p) * q, nullptr, 1, f * q, -1.0};
    return {nullptr, nullptr, 0, 0, 0.0};
}

// What an unknown of the border does to the chain's equations directly: a column of beta, or a constant.
INLINE const double* direct_of(const Solver& s, const Border& at, int x) {
    const int sets = s.n + 1;
    if (x < at.masses || x >= at.prices_p) return nullptr;
    const int b = x - at.masses;
    return s.beta_t + (b < at.q ? s.adversary.size[b] : b == at.q ? 0 : s.n) * sets;
}

// One observation of the filter: returns the innovation and corrects the mean.
template <int WIDTH>
INLINE double observe(const double* __restrict__ alpha, const double* __restrict__ gain, double start,
                      double (&mean)[WIDTH]) {
    double part[4] = {start, 0.0, 0.0, 0.0};
#pragma unroll
    for (int b = 0; b < WIDTH; ++b) part[b % 4] -= alpha[b] * mean[b];
    const double innovation = (part[0] + part[1]) + (part[2] + part[3]);
#pragma unroll
    for (int b = 0; b < WIDTH; ++b) mean[b] += gain[b] * innovation;
    return innovation;
}

// The filter for one unknown of the border, whose mean stays in registers.
template <int WIDTH>
DEVICE void filter_unknown(Solver& s, const Border& at, int x) {
    const int n = s.n, q = at.q, m = at.m;
    const Share share = share_of(s, at, x);
    const double* direct = direct_of(s, at, x);
    const double constant = x == at.levels + 1 ? -1.0 : 0.0;
    const double* __restrict__ chain_alpha = s.chain_alpha;
    const double* __restrict__ kalman_gain = s.kalman_gain;
    double* __restrict__ innovations = s.innovation + x;
    double mean[WIDTH];
#pragma unroll
    for (int b = 0; b < WIDTH; ++b) mean[b] = 0.0;
    for (int j = 0; j <= n; ++j) {
        if (j > 0 && share.source) {
            const double* source = share.source + static_cast<long long>(j - 1) * share.step;
            const double scale = share.scale ? share.sign * share.scale[j - 1] : share.sign;
#pragma unroll
            for (int b = 0; b < WIDTH; ++b) {
                if (b < q) mean[b] += scale * source[b * share.stride];
            }
        }
        const double start = direct ? direct[j] : constant;
        const double innovation = observe<WIDTH>(chain_alpha + j * WIDTH, kalman_gain + j * WIDTH, start, mean);
        innovations[static_cast<long long>(j) * m] = innovation;
    }
}

// The filter for the chain's right-hand side, after what the items would do alone.
template <int WIDTH>
DEVICE void filter_forward(Solver& s) {
    const int n = s.n, q = s.adversary.used;
    const double* __restrict__ chain_alpha = s.chain_alpha;
    const double* __restrict__ kalman_gain = s.kalman_gain;
    const double* __restrict__ own = s.own;
    const double* __restrict__ rhs = s.rhs_chain;
    const double* __restrict__ precision = s.precision;
    double* __restrict__ result = s.step_chain;
    double mean[WIDTH];
#pragma unroll
    for (int b = 0; b < WIDTH; ++b) mean[b] = 0.0;
    for (int j = 0; j <= n; ++j) {
        if (j > 0) {
#pragma unroll
            for (int b = 0; b < WIDTH; ++b) {
                if (b < q) mean[b] -= own[b * n + j - 1];
            }
        }
        result[j] = precision[j] * observe<WIDTH>(chain_alpha + j * WIDTH, kalman_gain + j * WIDTH, rhs[j], mean);
    }
}

// Eliminate the chain, of the right-hand side too, and complete the border's Schur complement.
DEVICE void filter_chain(Solver& s) {
    filter_covariance(s);
    const Border at = border_of(s);
    const int n = s.n, m = at.m, width = padded(at.q);
    EACH(x, m + 1) {
        if (x == m) BY_WIDTH(width, filter_forward, s);
        else BY_WIDTH(width, filter_unknown, s, at, x);
    }
    barrier();
    // Four rows at a time: what is read once is used four times.
    double* border = s.border;
    EACH(tile, (m + 3) / 4 * m) {
        const int x = tile / m * 4, x2 = tile % m;
        if (x2 < x) continue;
        const int y1 = smaller(x + 1, m - 1), y2 = smaller(x + 2, m - 1), y3 = smaller(x + 3, m - 1);
        double total[4] = {0.0, 0.0, 0.0, 0.0};
        for (int j = 0; j <= n; ++j) {
            const double* row = s.innovation + static_cast<long long>(j) * m;
            const double value = row[x2] * s.precision[j];
            total[0] += row[x] * value;
            total[1] += row[y1] * value;
            total[2] += row[y2] * value;
            total[3] += row[y3] * value;
        }
#pragma unroll
        for (int y = 0; y < 4; ++y) {
            if (x + y <= x2) border[(x + y) * m + x2] += total[y];
        }
    }
    barrier();
    for (int x = 1 + warp(); x < m; x += warps()) {
        for (int x2 = lane(); x2 < x; x2 += lanes()) border[x * m + x2] = border[x2 * m + x];
    }
    barrier();
}

// LU with partial pivoting after symmetric equilibration; the border is indefinite. Rows stay where they are:
// pivot_row says which of them was chosen at each step, rank says when a row was.
DEVICE void lu_factorise(Solver& s) {
    const int m = border_of(s).m;
    double* matrix = s.border;
    EACH(x, m) s.scale[x] = 1.0;
    barrier();
    for (int pass = 0; pass < 3; ++pass) {
        EACH(x, m) {
            double largest = 0.0;
            for (int x2 = 0; x2 < m; ++x2) largest = larger(largest, absolute(matrix[x2 * m + x]) * s.scale[x2]);
            largest *= s.scale[x];
            s.next_scale[x] = largest > 0.0 ? s.scale[x] / sqrt(largest) : s.scale[x];
        }
        barrier();
        EACH(x, m) s.scale[x] = s.next_scale[x];
        barrier();
    }
    EACH(x, m * m) matrix[x] *= s.scale[x / m] * s.scale[x % m];
    EACH(x, m) s.rank[x] = m;
    barrier();
    for (int k = 0; k < m; ++k) {
        Pair own = {-2.0, 0.0};
        EACH(x, m) {
            if (s.rank[x] < m) continue;
            const double size = absolute(matrix[x * m + k]);
            // NaN compares as smaller than all: any row will do, and the step is going to be rejected.
            if (size > own.first || own.first == -2.0) own = {size >= 0.0 ? size : -1.0, static_cast<double>(x)};
        }
        const int best = static_cast<int>(reduce(s.slots, own, Argument()).second);
        double pivot = matrix[best * m + k];
        if (pivot == 0.0) pivot = 1e-30;
        const double inverse = 1.0 / pivot;
        for (int row = warp(); row < m; row += warps()) {
            if (row == best || s.rank[row] < k) continue;
            const double factor = matrix[row * m + k] * inverse;
            for (int x = k + 1 + lane(); x < m; x += lanes()) matrix[row * m + x] -= factor * matrix[best * m + x];
        }
        if (thread() == 0) {
            s.pivot_row[k] = best;
            s.pivot_inverse[k] = inverse;
            s.rank[best] = k;
        }
        barrier();
    }
}

// Solve in place for s.step with the factors of lu_factorise.
DEVICE void lu_solve(Solver& s) {
    const int m = border_of(s).m;
    const double* matrix = s.border;
    double *x = s.step, *work = s.border_sum;
    EACH(k, m) work[k] = x[k] * s.scale[k];
    barrier();
    for (int k = 0; k < m; ++k) {
        const double value = work[s.pivot_row[k]] * s.pivot_inverse[k];
        EACH(row, m) {
            if (s.rank[row] > k) work[row] -= matrix[row * m + k] * value;
        }
        barrier();
    }
    for (int k = m - 1; k >= 0; --k) {
        const double value = work[s.pivot_row[k]] * s.pivot_inverse[k];
        EACH(row, m) {
            if (s.rank[row] < k) work[row] -= matrix[row * m + k] * value;
        }
        if (thread() == 0) x[k] = value * s.scale[k];
        barrier();
    }
}

// Eliminate the items, whose blocks are inverted, then the chain, and factorise what remains.
DEVICE void factorise(Solver& s) {
    const int m = border_of(s).m;
    if (thread() == 0) s.border = m * m <= s.near_size ? s.near_border : s.far_border;
    barrier();
    eliminate_items(s);
    filter_chain(s);
    lu_factorise(s);
}
